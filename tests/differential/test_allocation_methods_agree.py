"""All methods, an outside solver, and closed forms or higher precision agree on the same instances."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from fairlane.reference.allocation import (
    Allocation,
    AllocationMethod,
    ToleranceNotMet,
    fair_allocation,
    fair_allocation_graphs,
)
from fairlane.reference.errors import Unsupported
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request
from tests.allocation_instances import FAMILIES, graph_instance, table_instance
from tests.counts import count

EASY = ("plain", "half-ineligible", "duplicates", "ties", "single-resource")


def _agree(one: Allocation, other: Allocation) -> None:
    """Utilities differ by no more than either certificate allows."""
    slack = 1e-12 * (1 + abs(one.utility))
    assert other.utility <= one.utility + one.gap + slack
    assert one.utility <= other.utility + other.gap + slack


@pytest.mark.parametrize("family", FAMILIES)
def test_methods_agree_on_tables(family: str) -> None:
    for seed in range(count(40)):
        instance = table_instance(family, np.random.default_rng([seed, 11]), largest=12)
        v, f = instance.token_values, instance.fairness_weights
        default = fair_allocation(instance.rates, token_values=v, fairness_weights=f)
        for method in (
            AllocationMethod.INTERIOR_POINT,
            AllocationMethod.COLUMN_GENERATION,
            AllocationMethod.CONDITIONAL_GRADIENTS,
            AllocationMethod.WATER_FILLING,
        ):
            rough = method is AllocationMethod.CONDITIONAL_GRADIENTS
            try:
                found = fair_allocation(
                    instance.rates, token_values=v, fairness_weights=f, method=method, tolerance=1e-4 if rough else 1e-9
                )
            except Unsupported:
                if method is not AllocationMethod.WATER_FILLING:
                    raise
                continue
            assert found.method is method
            _agree(default, found)
            if not rough and family in EASY:
                np.testing.assert_allclose(found.rates, default.rates, rtol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_methods_agree_on_graphs(family: str) -> None:
    for seed in range(count(30)):
        instance = graph_instance(family, np.random.default_rng([seed, 12]), largest=12)
        v, f = instance.token_values, instance.fairness_weights

        def solve(method: AllocationMethod | None, tolerance: float) -> Allocation:
            return fair_allocation_graphs(
                instance.catalog,  # noqa: B023  # called in this pass only
                instance.requests,  # noqa: B023
                token_values=v,  # noqa: B023
                fairness_weights=f,  # noqa: B023
                method=method,
                tolerance=tolerance,
            )

        default = solve(None, 1e-9)
        _agree(default, solve(AllocationMethod.INTERIOR_POINT, 1e-9))
        _agree(default, solve(AllocationMethod.COLUMN_GENERATION, 1e-9))
        if family in EASY:
            _agree(default, solve(AllocationMethod.CONDITIONAL_GRADIENTS, 1e-4))


@pytest.mark.parametrize("seed", range(count(40)))
def test_cvxpy_agrees_where_it_is_accurate(seed: int) -> None:
    rng = np.random.default_rng([seed, 13])
    tolerance = 1e-6
    for solved in (0, 1):
        if solved == 0:
            table = table_instance(EASY[seed % len(EASY)], rng, largest=20)
            ours = fair_allocation(
                table.rates, token_values=table.token_values, fairness_weights=table.fairness_weights
            )
            try:
                theirs = fair_allocation(
                    table.rates,
                    token_values=table.token_values,
                    fairness_weights=table.fairness_weights,
                    method=AllocationMethod.CVXPY,
                    tolerance=tolerance,
                )
            except ToleranceNotMet as short:
                # its own doubt is certified: where it falls short, ours must still be within its gap
                theirs = short.best
        else:
            graphs = graph_instance(EASY[seed % len(EASY)], rng, largest=12)
            v, f = graphs.token_values, graphs.fairness_weights
            ours = fair_allocation_graphs(graphs.catalog, graphs.requests, token_values=v, fairness_weights=f)
            try:
                theirs = fair_allocation_graphs(
                    graphs.catalog,
                    graphs.requests,
                    token_values=v,
                    fairness_weights=f,
                    method=AllocationMethod.CVXPY,
                    tolerance=tolerance,
                )
            except ToleranceNotMet as short:
                theirs = short.best
        _agree(ours, theirs)
        if theirs.relative_gap <= tolerance:
            scale = float(ours.problem.token_values @ ours.rates + ours.problem.fairness_weights.sum())
            assert theirs.utility == pytest.approx(ours.utility, abs=2 * tolerance * scale)


def _two_action_share(y0: list[float], y1: list[float], v: list[float], f: list[float]) -> Any:
    """The share of the first of two actions by bisection of the slope at 50 digits."""
    with mpmath.workdps(50):
        low, high = mpmath.mpf(0), mpmath.mpf(1)
        for _ in range(170):
            t = (low + high) / 2
            slope = mpmath.mpf(0)
            for a, b, vi, fi in zip(y0, y1, v, f, strict=True):
                a, b = mpmath.mpf(a), mpmath.mpf(b)
                slope += (a - b) * (mpmath.mpf(vi) + mpmath.mpf(fi) / (t * a + (1 - t) * b))
            low, high = (t, high) if slope > 0 else (low, t)
        return (low + high) / 2


@pytest.mark.parametrize("seed", range(count(200)))
def test_two_actions_match_a_bisection_at_fifty_digits(seed: int) -> None:
    rng = np.random.default_rng([seed, 14])
    n = int(rng.integers(2, 6))
    decades = 10.0 ** rng.uniform(-3, 3, n) if seed % 2 else np.ones(n)
    rates = rng.uniform(0.2, 5, (2, n)) * decades
    f = 10.0 ** rng.uniform(-6, 3, n) if seed % 3 == 0 else rng.uniform(0.2, 3, n)
    v = rng.uniform(0, 2, n) * (seed % 5 == 0)
    found = fair_allocation(rates, token_values=v, fairness_weights=f)
    share = _two_action_share(rates[0].tolist(), rates[1].tolist(), v.tolist(), f.tolist())
    expected = [share * mpmath.mpf(a) + (1 - share) * mpmath.mpf(b) for a, b in rates.T.tolist()]
    np.testing.assert_allclose(found.rates, [float(x) for x in expected], rtol=1e-9)
    np.testing.assert_allclose(found.time_shares, [float(share), float(1 - share)], rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(count(100)))
def test_one_resource_with_values_matches_its_price_at_fifty_digits(seed: int) -> None:
    # theta_i = f_i / (price - v_i r_i) of sum 1, the price found by bisection
    rng = np.random.default_rng([seed, 15])
    n = int(rng.integers(1, 30))
    speeds = 10.0 ** rng.uniform(-6, 6, n)
    f = 10.0 ** rng.uniform(-6, 3, n)
    worth = 10.0 ** rng.uniform(-3, 3, n) * (rng.random(n) < 0.5)
    v = worth / speeds
    with mpmath.workdps(50):
        c = [mpmath.mpf(vi) * mpmath.mpf(ri) for vi, ri in zip(v.tolist(), speeds.tolist(), strict=True)]
        weights = [mpmath.mpf(fi) for fi in f.tolist()]
        low, high = max(c), max(c) + sum(weights)
        for _ in range(300):
            price = (low + high) / 2
            total = mpmath.fsum(fi / (price - ci) for fi, ci in zip(weights, c, strict=True))
            low, high = (price, high) if total > 1 else (low, price)
        shares = [float(fi / (high - ci)) for fi, ci in zip(weights, c, strict=True)]
    for method in (AllocationMethod.INTERIOR_POINT, AllocationMethod.WATER_FILLING):
        found = fair_allocation(np.diag(speeds), token_values=v, fairness_weights=f, method=method)
        np.testing.assert_allclose(found.time_shares, shares, rtol=1e-6)


def test_graphs_of_one_row_are_one_resource_with_weights_over_nine_decades() -> None:
    # D(1) = 1 token a row, so a row of each graph is the same resource up to speed; only the fastest is used
    catalog = Catalog(Graph(name=f"g{k}", duration_ms=k + 1, decode_capacity=1) for k in range(3))
    f = 10.0 ** np.linspace(-6, 3, 40)
    requests = [Request(id=f"r{i}", prompt=0, limit=1) for i in range(40)]
    found = fair_allocation_graphs(catalog, requests, fairness_weights=f)
    np.testing.assert_allclose(found.rates, f / f.sum(), rtol=1e-9)


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_prompts_alone_share_the_fastest_prefill_by_weight(lanes: int) -> None:
    catalog = Catalog(
        [
            Graph(name="slow", duration_ms=4, prefill_capacity=10, prefill_lanes=lanes),
            Graph(name="fast", duration_ms=4, prefill_capacity=12, prefill_lanes=lanes),
        ]
    )
    requests = [Request(id=f"r{i}", prompt=9, limit=1) for i in range(5)]
    found = fair_allocation_graphs(catalog, requests, fairness_weights=[1, 2, 3, 4, 5])
    np.testing.assert_allclose(found.rates, [3 * k / 15 for k in (1, 2, 3, 4, 5)], rtol=1e-12)
