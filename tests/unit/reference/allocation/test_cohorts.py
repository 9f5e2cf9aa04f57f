"""Whole cohorts and launch schedules, by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fairlane.reference.allocation import GraphAllocation, fair_allocation, fair_allocation_graphs
from fairlane.reference.allocation.basic_rows import basic_rows
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request


def _streams(n: int) -> list[Request]:
    return [Request(id=f"s{i}", prompt=0, limit=1) for i in range(n)]


@pytest.fixture(scope="module")
def five_on_four() -> GraphAllocation:
    graphs = [
        Graph(name="d4", duration_ms=21, decode_capacity=4),
        Graph(name="d5", duration_ms=29, decode_capacity=5),
    ]
    return fair_allocation_graphs(graphs, _streams(5))


def test_five_streams_on_four_rows_rotate_through_the_five_cohorts(five_on_four: GraphAllocation) -> None:
    # z = 4/5 each: laid end to end over four rows, somebody pauses in each fifth
    shares = five_on_four.cohorts()
    assert {cohort.requests for cohort in shares.cohorts} == {
        tuple(i for i in range(5) if i != paused) for paused in range(5)
    }
    for cohort in shares.cohorts:
        assert cohort.action == 0
        assert float(cohort.share) == pytest.approx(0.2, abs=1e-12)


def test_a_period_of_five_launches_attains_the_rates_exactly(five_on_four: GraphAllocation) -> None:
    # one launch of 21 ms each is 105 ms, in which everybody gets 4 tokens
    schedule = five_on_four.cohorts().schedule(105)
    assert schedule.launches == (1, 1, 1, 1, 1)
    assert schedule.cycle_ms == 105
    np.testing.assert_allclose(schedule.rates, [4 / 105] * 5, rtol=1e-12)
    assert schedule.rate_error < 1e-9
    assert sorted(schedule.order()) == [0, 1, 2, 3, 4]


def test_the_rounding_error_of_a_short_period_is_told(five_on_four: GraphAllocation) -> None:
    # 84 ms hold four launches: the stream that would pause in the fifth gets 4 of 4, the others 3 of 4
    schedule = five_on_four.cohorts().schedule(84)
    assert sum(schedule.launches) == 4
    attained = np.array([4, 3, 3, 3, 3]) / 84
    np.testing.assert_allclose(np.sort(schedule.rates)[::-1], attained, rtol=1e-12)
    # 4/84 against 4/105 is a quarter too much
    assert schedule.rate_error == pytest.approx(0.25)


def test_shares_are_of_time_and_launches_are_not() -> None:
    # f = (1, 1) on two one-request actions halves the time; at 2 and 6 ms that is three launches to one
    found = fair_allocation([[1, 0], [0, 1]])
    schedule = found.cohorts([2, 6]).schedule(12)
    assert schedule.launches == (3, 1)
    np.testing.assert_allclose(schedule.rates, [0.5, 0.5])
    # evenly interleaved: turns at 1/6, 3/6, 5/6 and at 1/2
    assert tuple(schedule.order()) == (0, 0, 1, 0)


def test_the_error_falls_with_the_period() -> None:
    graphs = [
        Graph(name="a", duration_ms=7, decode_capacity=2),
        Graph(name="b", duration_ms=3, decode_capacity=1, width=2),
        Graph(name="m", duration_ms=11, decode_capacity=1, prefill_capacity=16),
    ]
    requests = [
        *(Request(id=f"s{i}", prompt=0, limit=1, acceptance=[f"0.{2 * i + 1}"]) for i in range(5)),
        Request(id="p", prompt=90, limit=1),
    ]
    shares = fair_allocation_graphs(graphs, requests).cohorts()
    total = float(sum(g.duration_ms for g in graphs)) * len(shares.cohorts)
    for cycle in (1_000, 100_000, 10_000_000):
        # each cohort is off by less than one launch of at most 11 ms
        assert shares.schedule(cycle).rate_error <= 20 * total / cycle


def test_one_launch_at_least_is_made() -> None:
    schedule = fair_allocation([[1, 1]]).cohorts([10]).schedule("1/2")
    assert schedule.launches == (1,)
    assert schedule.cycle_ms == 10


@pytest.mark.parametrize(
    ("durations", "message"),
    [([1], "durations_ms has 1 numbers; need 2"), ([1, 0], r"durations_ms\[1\] is 0; need > 0")],
)
def test_bad_durations_are_refused(durations: list[int], message: str) -> None:
    with pytest.raises(InvalidInstance, match=message):
        fair_allocation([[1, 0], [0, 1]]).cohorts(durations)


def test_bad_periods_and_durations_beside_graphs_are_refused(five_on_four: GraphAllocation) -> None:
    with pytest.raises(InvalidInstance, match="cycle_ms is 0; need > 0"):
        five_on_four.cohorts().schedule(0)
    with pytest.raises(InvalidInstance, match="the catalog has the durations"):
        five_on_four.cohorts([1, 2])


def test_the_prompts_of_a_mixed_graph_run_beside_its_rows() -> None:
    graph = Graph(name="m", duration_ms=4, prefill_capacity=8, prefill_lanes=2, decode_capacity=2)
    requests = [*_streams(2), Request(id="p", prompt=9, limit=1), Request(id="q", prompt=9, limit=1)]
    shares = fair_allocation_graphs([graph], requests).cohorts()
    assert [(cohort.requests, cohort.share) for cohort in shares.cohorts] == [
        ((0, 1, 2), Fraction(1, 2)),
        ((0, 1, 3), Fraction(1, 2)),
    ]


def test_two_parts_a_request_in_two_equal_graphs_become_one() -> None:
    # four requests with a half of each of two graphs of two rows: a vertex has at most 4 + 2 fractional parts
    rates = np.ones((2, 4))
    held = np.full((2, 4), 0.25)
    shares = np.array([0.5, 0.5])
    z = basic_rows(rates, held, shares, np.array([2.0, 2.0]))
    np.testing.assert_allclose(z.sum(axis=0), 0.5)
    np.testing.assert_allclose(z.sum(axis=1), 1.0)
    fractional = (z > 1e-12) & (z < 0.5 - 1e-12)
    assert fractional.sum() == 0  # each request holds one graph throughout


def test_a_catalog_of_copies_is_served_by_few_cohorts() -> None:
    catalog = Catalog(Graph(name=f"g{k}", duration_ms=5, decode_capacity=3) for k in range(4))
    found = fair_allocation_graphs(catalog, _streams(10))
    shares = found.cohorts()
    np.testing.assert_allclose(shares.rates(), [3 / 50] * 10, rtol=1e-9)
    assert len(shares.cohorts) <= 10 + 12
