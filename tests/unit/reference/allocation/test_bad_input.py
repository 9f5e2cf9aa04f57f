"""Bad input is one line that names what was found, what is needed, and the request or action."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse import csr_array

from fairlane.reference.allocation import (
    ToleranceNotMet,
    ToleranceTooSmall,
    check_certificate,
    exact_certificate,
    fair_allocation,
    fair_allocation_graphs,
    rate_region,
    support_gap,
)
from fairlane.reference.errors import InvalidInstance, Unsupported
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.request import Request

NAN, INF = float("nan"), float("inf")
FINE = [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ([[1, 0], [0, NAN]], r"rates\[1\]\[1\] is nan \(action 1, request 1\); need a finite rate >= 0"),
        ([[1, -2], [0, 1]], r"rates\[0\]\[1\] is -2 \(action 0, request 1\)"),
        ([[1, 0], [INF, 1]], r"rates\[1\]\[0\] is inf"),
        (np.array([[1.0, 0.0], [0.0, -INF]]), r"rates\[1\]\[1\] is -inf"),
        (csr_array(np.array([[1.0, 0.0], [NAN, 1.0]])), r"rates\[1\]\[0\] is nan"),
        ([[1, 0], [2, 0]], r"requests\[1\] is served by no action"),
        (csr_array(np.array([[1.0, 0.0], [2.0, 0.0]])), r"requests\[1\] is served by no action"),
        ([], "rates is empty; need at least one action"),
        ([[], []], "need at least one request"),
        (np.zeros((0, 3)), "need at least one action"),
        ([[1, 0], [1]], r"rates\[1\] has 1 rates; need 2"),
        ([1, 2], r"rates\[0\] is a int; need a list"),
        (np.ones(3), "1 dimensions; need 2"),
        (np.ma.masked_greater(np.ones((2, 2)), 5), "rates is a masked array; need every rate"),
        (csr_array(np.eye(2) * 1j), "rates has numbers of type complex128; need real numbers"),
        ([{1, 2}], r"rates\[0\] is a set; need a list"),
        ("no table", "rates is 'no table'"),
        ([[1, "x"]], r"rates\[0\]\[1\] is 'x'; need a finite number"),
        ([[1, True]], r"rates\[0\]\[1\] is true"),
        ([[1, 10**400]], r"rates\[0\]\[1\] is beyond the range of doubles"),
        ([[1, 1e130]], r"rates\[0\]\[1\] is 1e\+130 \(action 0, request 1\); need a rate <= 1e\+120"),
        ([[1, 1e-130]], r"requests\[1\] has no rate above 1e-130; need one of at least 1e-120"),
    ],
)
def test_a_bad_table_is_refused_by_name(rates: object, message: str) -> None:
    with pytest.raises(InvalidInstance, match=message) as refusal:
        fair_allocation(rates)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"token_values": [0, -1]}, r"token_values\[1\] is -1; need a finite number >= 0"),
        ({"token_values": [0, NAN]}, r"token_values\[1\] is nan"),
        ({"token_values": [0]}, "token_values has 1 numbers; need 2, one a request"),
        ({"token_values": np.ones((2, 2))}, "token_values has 2x2 numbers; need 2"),
        ({"fairness_weights": [0, 1]}, r"fairness_weights\[0\] is 0; need a finite number > 0"),
        ({"fairness_weights": [1, INF]}, r"fairness_weights\[1\] is inf"),
        ({"fairness_weights": [1, 1e-200]}, r"fairness_weights\[1\] is 1e-200; need one from 1e-120 to 1e\+120"),
        ({"fairness_weights": 3}, "fairness_weights is a int; need one number a request"),
        ({"fairness_weights": np.array(3.0)}, "fairness_weights is a ndarray; need one number a request"),
        ({"token_values": {0.5, 1.5}}, "token_values is a set; need one number a request"),
        ({"tolerance": "small"}, "tolerance is 'small'; need a number >= 1e-13"),
        ({"tolerance": None}, "tolerance is None; need a number >= 1e-13"),
        ({"tolerance": 10**400}, "tolerance is 10.*; need a number >= 1e-13"),
        ({"tolerance": NAN}, "tolerance is nan; need a finite number"),
        ({"tolerance": -1e-9}, "tolerance is -1e-09; need a finite number"),
        ({"method": "simplex"}, "method is 'simplex'; need one of conditional-gradients, interior-point"),
    ],
)
def test_bad_options_are_refused_by_name(option: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInstance, match=message):
        fair_allocation(FINE, **option)  # type: ignore[arg-type]  # wrong on purpose


def test_a_tolerance_below_double_precision_is_refused_with_the_smallest_that_can_be_met() -> None:
    with pytest.raises(InvalidInstance, match=r"tolerance is 1e-30; .* need >= 1e-13") as refusal:
        fair_allocation(FINE, tolerance=1e-30)
    assert isinstance(refusal.value, ToleranceTooSmall)
    assert fair_allocation(FINE, tolerance=1e-13).relative_gap <= 1e-13


def _decode(name: str) -> Request:
    return Request(id=name, prompt=0, limit=1)


def test_a_graph_problem_names_the_request_that_no_graph_serves() -> None:
    prefill_only = [Graph(name="p", duration_ms=1, prefill_capacity=4)]
    with pytest.raises(InvalidInstance, match=r"requests\[1\] \('b'\) is served by no graph: it decodes"):
        fair_allocation_graphs(prefill_only, [Request(id="a", prompt=3, limit=1), _decode("b")])
    decode_only = [Graph(name="d", duration_ms=1, decode_capacity=4)]
    with pytest.raises(InvalidInstance, match=r"requests\[0\] \('a'\) is served by no graph: its prompt of 3 tokens"):
        fair_allocation_graphs(decode_only, [Request(id="a", prompt=3, limit=1), _decode("b")])


def test_graph_problems_name_ids_in_errors_of_values_and_weights() -> None:
    graph = [Graph(name="d", duration_ms=1, decode_capacity=1)]
    with pytest.raises(InvalidInstance, match=r"fairness_weights\[1\] \(request 'b'\) is 0; need"):
        fair_allocation_graphs(graph, [_decode("a"), _decode("b")], fairness_weights=[1, 0])
    with pytest.raises(InvalidInstance, match="token_values has the key 'c'; need ids of requests"):
        fair_allocation_graphs(graph, [_decode("a"), _decode("b")], token_values={"c": 1})
    with pytest.raises(InvalidInstance, match=r"requests\[1\].id is 'a', already the id of requests\[0\]"):
        fair_allocation_graphs(graph, [_decode("a"), _decode("a")])
    with pytest.raises(InvalidInstance, match="requests is empty"):
        fair_allocation_graphs(graph, [])


def test_a_graph_beyond_the_range_of_rates_is_named() -> None:
    with pytest.raises(InvalidInstance, match=r"graph 'slow' lasts 1e\+130 ms .* need rates from 1e-120"):
        fair_allocation_graphs([Graph(name="slow", duration_ms=10**130, decode_capacity=1)], [_decode("a")])


def test_a_capacity_beyond_machine_integers_serves_everybody() -> None:
    # all three rows in one graph of 2 ms: 1/2 each
    graph = [Graph(name="wide", duration_ms=2, decode_capacity=10**30)]
    found = fair_allocation_graphs(graph, [_decode("a"), _decode("b"), _decode("c")])
    np.testing.assert_allclose(found.rates, 0.5, rtol=1e-12)
    assert [cohort.requests for cohort in found.cohorts().cohorts] == [(0, 1, 2)]


@pytest.mark.parametrize(
    ("graphs", "requests", "message"),
    [
        ([1], [_decode("a")], r"graphs\[0\] is a int; need a Graph"),
        (None, [_decode("a")], "graphs is null; need a list of Graph"),
        ([Graph(name="d", duration_ms=1, decode_capacity=1)], ["a"], r"requests\[0\] is 'a'; need a Request"),
        ([Graph(name="d", duration_ms=1, decode_capacity=1)], _decode("a"), "requests is a Request; need a list"),
    ],
)
def test_what_is_no_graph_or_no_request_is_named(graphs: object, requests: object, message: str) -> None:
    for function in (fair_allocation_graphs, rate_region):
        with pytest.raises(InvalidInstance, match=message):
            function(graphs, requests)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize("kind", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("container", ["array", "matrix"])
def test_every_sparse_format_gives_the_dense_answer_and_is_left_alone(kind: str, container: str) -> None:
    dense = np.array([[2.0, 0, 1], [0, 5, 1], [1, 1, 3]])
    given: Any = getattr(scipy.sparse, f"{kind}_{container}")(dense)
    found = fair_allocation(given)
    np.testing.assert_allclose(found.rates, fair_allocation(dense).rates, rtol=1e-12)
    check_certificate(exact_certificate(found), given)
    np.testing.assert_array_equal(given.toarray(), dense)


def test_a_sparse_matrix_with_repeats_and_stored_zeros_is_read_and_not_tidied() -> None:
    # 1 + 2 at (0, 0), a stored 0 at (0, 1)
    given: Any = csr_array((np.array([1.0, 2.0, 0.0, 4.0]), np.array([0, 0, 1, 1]), np.array([0, 3, 4])), shape=(2, 2))
    given.data.setflags(write=False)
    np.testing.assert_allclose(fair_allocation(given).rates, [1.5, 2], rtol=1e-12)
    assert given.nnz == 4


def test_decimals_and_ratios_are_read_exactly() -> None:
    table = [[Decimal("0.5"), 0], [0, "1/3"]]
    np.testing.assert_allclose(fair_allocation(table).rates, [1 / 4, 1 / 6], rtol=1e-12)
    # q = (4, 6): both actions are worth 2, and so is <q, x> = 2
    assert support_gap(table, [Decimal("0.25"), Fraction(1, 6)]) == 0
    with pytest.raises(InvalidInstance, match=r"rates\[0\]\[0\] is 'NaN'; need a finite number"):
        fair_allocation([[Decimal("NaN")]])


def test_exact_and_float_gaps_refuse_the_same_tables() -> None:
    for one in (1, 1.0):
        with pytest.raises(InvalidInstance, match=r"requests\[1\] is served by no action"):
            support_gap([[one, 0]], [1, 1])
    with pytest.raises(InvalidInstance, match=r"rates\[0\] is an object; need a list"):
        support_gap([{1: 2}], [1])
    with pytest.raises(InvalidInstance, match=r"rates\[0\]\[1\] is -1 \(action 0, request 1\); need >= 0"):
        check_certificate(exact_certificate(fair_allocation([[1, 1]])), csr_array(np.array([[1, -1]])))


def test_water_filling_says_where_it_does_not_apply() -> None:
    with pytest.raises(Unsupported, match="action 0 serves 2; use another method"):
        fair_allocation([[1, 1], [0, 1]], method="water-filling")
    graphs = [Graph(name=name, duration_ms=1, decode_capacity=1) for name in "ab"]
    with pytest.raises(Unsupported, match="needs one graph; 2 serve"):
        fair_allocation_graphs(graphs, [_decode("x"), _decode("y")], method="water-filling")


def test_a_method_that_stops_short_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairlane.reference.allocation import conditional_gradients

    monkeypatch.setattr(
        conditional_gradients.solve, "__kwdefaults__", {"max_steps": 3, "max_seconds": 9.0, "on_progress": None}
    )
    rates = np.random.default_rng(0).uniform(0.1, 1, (20, 8))
    with pytest.raises(ToleranceNotMet, match="reached a relative gap of") as refusal:
        fair_allocation(rates, method="conditional-gradients")
    best = refusal.value.best
    assert best.relative_gap > 1e-9
    assert f"{best.gap:.3g}" in str(refusal.value)
    # the gap it names is honest: the optimum is no better than that
    assert fair_allocation(rates).utility <= best.utility + best.gap
