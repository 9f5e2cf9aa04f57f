"""The CVXPY region with utilities and side conditions of one's own; answers worked out by hand."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np
import pytest

from fairlane.reference.allocation import fair_allocation_graphs, rate_region
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request

# Clarabel stops at a relative utility of about 1e-8, which leaves the square root of that in the rates
CLARABEL = 5e-4
STREAMS = [Request(id=f"s{i}", prompt=0, limit=1) for i in range(3)]
# one row of 1 ms: rates x with sum 1
ONE_ROW = Catalog([Graph(name="d1", duration_ms=1, decode_capacity=1)])
ROWS = Catalog([Graph(name="d1", duration_ms=1, decode_capacity=1), Graph(name="d2", duration_ms=3, decode_capacity=2)])


def _solve(objective: Any, constraints: list[Any]) -> float:
    value: Any = cvxpy.Problem(cvxpy.Maximize(objective), constraints).solve(solver=cvxpy.CLARABEL)
    return float(value)


def test_max_min_on_a_table_equalises() -> None:
    # 2a = 5(1 - a): a = 5/7, both at 10/7
    region = rate_region([[2, 0], [0, 5]])
    assert _solve(cvxpy.min(region.rates), region.constraints) == pytest.approx(10 / 7, rel=1e-6)
    np.testing.assert_allclose(region.time_shares.value, [5 / 7, 2 / 7], rtol=CLARABEL)


def test_max_min_on_graphs() -> None:
    # one row gives 1 token a ms to share, two rows 2/3: everybody at 1/3
    region = rate_region(ROWS, STREAMS)
    assert _solve(cvxpy.min(region.rates), region.constraints) == pytest.approx(1 / 3, rel=1e-6)


def test_alpha_fair_of_two_at_different_speeds() -> None:
    # alpha = 2, maximise -(1/(4a) + 1/b), a + b = 1: a : b = 1 : 2, so the rates are 4/3 and 2/3
    region = rate_region([[4, 0], [0, 1]])
    _solve(-cvxpy.sum(cvxpy.inv_pos(region.rates)), region.constraints)
    np.testing.assert_allclose(region.rates.value, [4 / 3, 2 / 3], rtol=CLARABEL)


def test_a_rate_floor_takes_from_the_others_evenly() -> None:
    # log utility with x_0 >= 1/2 leaves 1/2 for two
    region = rate_region(ONE_ROW, STREAMS)
    _solve(cvxpy.sum(cvxpy.log(region.rates)), [*region.constraints, region.rates[0] >= 0.5])
    np.testing.assert_allclose(region.rates.value, [0.5, 0.25, 0.25], rtol=CLARABEL)


def test_a_rate_cap_leaves_the_rest_to_the_others() -> None:
    region = rate_region(ONE_ROW, STREAMS)
    _solve(cvxpy.sum(cvxpy.log(region.rates)), [*region.constraints, region.rates[0] <= 0.2])
    np.testing.assert_allclose(region.rates.value, [0.2, 0.4, 0.4], rtol=CLARABEL)


def test_mixed_phases_keep_request_order() -> None:
    # prompts 0 and 2 at 2 tokens a ms, decode 1 at 1: two thirds of the time to the prompts
    catalog = Catalog([Graph(name="p", duration_ms=4, prefill_capacity=8, prefill_lanes=3), ONE_ROW.graphs[0]])
    requests = [
        Request(id="p", prompt=9, limit=1),
        Request(id="d", prompt=0, limit=1),
        Request(id="q", prompt=9, limit=1),
    ]
    region = rate_region(catalog, requests)
    _solve(cvxpy.sum(cvxpy.log(region.rates)), region.constraints)
    np.testing.assert_allclose(region.rates.value, [2 / 3, 1 / 3, 2 / 3], rtol=CLARABEL)
    np.testing.assert_allclose(fair_allocation_graphs(catalog, requests).rates, [2 / 3, 1 / 3, 2 / 3], rtol=1e-12)


def test_scaled_rates_come_with_their_unit() -> None:
    region = rate_region([[1e-6, 0], [0, 1e6]], scaled=True)
    _solve(cvxpy.sum(cvxpy.log(region.rates)), region.constraints)
    np.testing.assert_allclose(region.unit * region.rates.value, [5e-7, 5e5], rtol=CLARABEL)


def test_a_catalog_needs_requests() -> None:
    with pytest.raises(InvalidInstance, match="requests is missing"):
        rate_region(ONE_ROW)
