"""The compact form is the hull of all cohorts: checked by enumerating every cohort of small instances."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

from fairlane.reference.allocation import fair_allocation, fair_allocation_graphs, support_gap
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request
from fairlane.reference.model.yields import expected_yield
from tests.allocation_instances import FAMILIES, graph_instance
from tests.counts import count

Rates = tuple[Fraction, ...]


def every_cohort(catalog: Catalog, requests: tuple[Request, ...], *, splits: bool = False) -> list[Rates]:
    """Rates of every legal action; with ``splits`` also of prompts too short to fill the capacity alone.

    Backlogged prompts are longer than any capacity, so the first in a list takes all of it. With ``splits`` every way
    of sharing the capacity in tenths among the listed prompts counts as an action too.
    """
    decoding = [i for i, request in enumerate(requests) if request.prompt == 0]
    prompts = [i for i, request in enumerate(requests) if request.prompt > 0]
    out: set[Rates] = set()
    for graph in catalog:
        lists: list[tuple[tuple[int, Fraction], ...]] = [()]
        if graph.prefill_capacity:
            lists += [((i, Fraction(1)),) for i in prompts]
            if splits:
                for size in range(2, min(graph.prefill_lanes, len(prompts)) + 1):
                    for order in permutations(prompts, size):
                        lists += [((order[0], Fraction(k, 10)), (order[1], Fraction(10 - k, 10))) for k in range(1, 10)]
        for rows in range(min(graph.decode_capacity, len(decoding)) + 1):
            for held in combinations(decoding, rows):
                for prefill in lists:
                    rates = [Fraction(0)] * len(requests)
                    for i in held:
                        rates[i] = expected_yield(requests[i].acceptance, graph.width) / graph.duration_ms
                    for i, part in prefill:
                        rates[i] = part * graph.prefill_capacity / graph.duration_ms
                    out.add(tuple(rates))
    return sorted(out - {(Fraction(0),) * len(requests)})


def _small(seed: int) -> tuple[Catalog, tuple[Request, ...], np.random.Generator]:
    rng = np.random.default_rng([seed, 21])
    n = int(rng.integers(1, 6))
    graphs = [
        Graph(
            name=f"g{g}",
            duration_ms=int(rng.integers(1, 9)),
            decode_capacity=int(rng.integers(0, 4)),
            width=int(rng.integers(1, 4)),
            prefill_capacity=int(rng.integers(1, 9)),
            prefill_lanes=int(rng.integers(1, 4)),
        )
        for g in range(int(rng.integers(1, 4)))
    ]
    graphs.append(Graph(name="mix", duration_ms=5, decode_capacity=2, prefill_capacity=3, width=2))
    requests = tuple(
        Request(
            id=f"r{i}",
            prompt=int(rng.choice([0, 100])),
            limit=1,
            acceptance=[Fraction(int(q), 10) for q in rng.integers(0, 11, 2)],
        )
        for i in range(n)
    )
    return Catalog(graphs), requests, rng


@pytest.mark.parametrize("seed", range(count(120)))
def test_the_fair_optimum_over_all_cohorts_is_the_compact_one(seed: int) -> None:
    catalog, requests, rng = _small(seed)
    cohorts = every_cohort(catalog, requests)
    f = rng.uniform(0.5, 2, len(requests))
    v = rng.uniform(0, 3, len(requests)) * (seed % 2)
    compact = fair_allocation_graphs(catalog, requests, token_values=v, fairness_weights=f)
    listed = fair_allocation(cohorts, token_values=v, fairness_weights=f)
    np.testing.assert_allclose(compact.rates, listed.rates, rtol=1e-9)
    np.testing.assert_allclose(compact.utility, listed.utility, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(count(120)))
def test_ranking_finds_the_best_of_all_cohorts_exactly_in_any_direction(seed: int) -> None:
    # equal support functions in every nonnegative direction mean equal (comprehensive) hulls
    catalog, requests, rng = _small(seed)
    cohorts = every_cohort(catalog, requests, splits=True)
    for _ in range(5):
        x = [Fraction(int(k), 7) for k in rng.integers(1, 50, len(requests))]
        assert support_gap((catalog, requests), x) == support_gap(cohorts, x)


@pytest.mark.parametrize("family", FAMILIES)
def test_cohorts_attain_the_rates_and_are_few(family: str) -> None:
    for seed in range(count(60)):
        instance = graph_instance(family, np.random.default_rng([seed, 22]))
        found = fair_allocation_graphs(
            instance.catalog,
            instance.requests,
            token_values=instance.token_values,
            fairness_weights=instance.fairness_weights,
        )
        shares = found.cohorts()
        assert sum(cohort.share for cohort in shares.cohorts) == 1
        for cohort in shares.cohorts:
            graph = instance.catalog.graphs[cohort.action]
            decoding = [i for i in cohort.requests if instance.requests[i].prompt == 0]
            assert cohort.requests
            assert len(set(cohort.requests)) == len(cohort.requests)
            assert len(decoding) <= graph.decode_capacity
            # backlogged prompts run one at a time: the first takes all the capacity
            assert len(cohort.requests) - len(decoding) <= (1 if graph.prefill_capacity else 0)
        np.testing.assert_allclose(shares.rates(), found.rates, rtol=1e-9)
        rows = sum(graph.decode_capacity + (graph.prefill_capacity > 0) for graph in instance.catalog)
        assert len(shares.cohorts) <= len(instance.requests) + rows


@pytest.mark.parametrize("family", FAMILIES)
def test_graph_rates_are_right_to_the_ninth_digit(family: str) -> None:
    # the explicit solver (held to fifty digits elsewhere) on the cohorts of the graph solution, whose own gap over ALL
    # cohorts is checked, is a second way to the same optimum
    for seed in range(count(60)):
        instance = graph_instance(family, np.random.default_rng([seed, 23]))
        v, f = instance.token_values, instance.fairness_weights
        found = fair_allocation_graphs(instance.catalog, instance.requests, token_values=v, fairness_weights=f)
        lane = np.zeros((len(instance.catalog), len(instance.requests)))
        lane[:, found.problem.decode_index] = found.problem.decode_rates
        lane[:, found.problem.prefill_index] = found.problem.prefill_rates[:, None]
        columns = []
        for cohort in found.cohorts().cohorts:
            columns.append(np.zeros(len(instance.requests)))
            columns[-1][list(cohort.requests)] = lane[cohort.action, list(cohort.requests)]
        listed = fair_allocation(np.array(columns), token_values=v, fairness_weights=f)
        scale = float(v @ listed.rates + f.sum())
        gap = support_gap(found.problem, listed.rates)
        assert float(gap) <= 1e-9 * scale
        np.testing.assert_allclose(found.rates, listed.rates, rtol=1e-9)
