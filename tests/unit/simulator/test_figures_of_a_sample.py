"""Percentiles, Jain's index, acceptance and starvation, worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from fairlane.reference.errors import InvalidInstance
from fairlane.simulator.acceptance_rate import acceptance_of_rounds, acceptance_rate
from fairlane.simulator.fairness import jain_index
from fairlane.simulator.percentiles import PercentileMethod, distribution, percentile
from fairlane.simulator.starvation import Service, starved

NEAREST = PercentileMethod.NEAREST_RANK
INF = math.inf


def test_linear_percentiles_interpolate_between_ranks() -> None:
    values = np.array([40.0, 10.0, 30.0, 20.0])
    # position (4 - 1) · 0.9 = 2.7: 30 + 0.7 · 10
    assert percentile(values, 90) == pytest.approx(37, rel=1e-12)
    assert percentile(values, 50) == 25


@pytest.mark.parametrize(("level", "value"), [(50, 20), (51, 30), (75, 30), (90, 40), (25, 10), (100, 40)])
def test_nearest_rank_is_the_smallest_sample_with_enough_below(level: float, value: float) -> None:
    assert percentile(np.array([40.0, 10.0, 30.0, 20.0]), level, method=NEAREST) == value


def test_no_sample_is_none_and_names_its_count_and_method() -> None:
    none = distribution(np.zeros(0), method=NEAREST)
    assert (none.samples, none.mean, none.at(50), none.largest, none.method) == (0, None, None, None, NEAREST)


def test_one_sample_is_every_percentile() -> None:
    assert {value for _, value in distribution(np.array([7.0])).percentiles} == {7.0}


def test_jain_of_equal_rates_is_one_and_of_a_single_taker_one_over_n() -> None:
    assert jain_index(np.array([3.0, 3.0, 3.0])) == 1
    assert jain_index(np.array([5.0, 0.0, 0.0, 0.0])) == 0.25
    # (1 + 2 + 3)² / (3 · 14)
    assert jain_index(np.array([1.0, 2.0, 3.0])) == pytest.approx(36 / 42, rel=1e-12)
    assert jain_index(np.zeros(3)) is None
    assert jain_index(np.zeros(0)) is None


def test_jain_survives_rates_whose_squares_underflow() -> None:
    assert jain_index(np.array([1e-200, 1e-200])) == 1


def test_acceptance_is_exact_and_nothing_proposed_is_no_rate() -> None:
    assert acceptance_rate(1, 3) == Fraction(1, 3)
    assert acceptance_rate(0, 0) is None
    assert acceptance_of_rounds([], proposed_per_round=3) is None


@pytest.mark.parametrize(("accepted", "proposed"), [(2, 1), (-1, 3), (0, -1)])
def test_acceptance_refuses_impossible_counts(accepted: int, proposed: int) -> None:
    with pytest.raises(InvalidInstance):
        acceptance_rate(accepted, proposed)


def service(
    lanes: list[tuple[int, float, float]],
    arrival: list[float],
    decoding: list[float],
    finished: list[float],
    *,
    boundary: float,
    rejected: tuple[int, ...] = (),
) -> Service:
    """Launches (request, start, end) with prefill graphs of 10 ms and decode graphs of 1 ms at best."""

    def column(k: int) -> npt.NDArray[np.float64]:
        return np.array([lane[k] for lane in lanes], dtype=np.float64)

    return Service(
        request=column(0).astype(np.int64),
        start_ms=column(1),
        end_ms=column(2),
        arrival_ms=np.array(arrival, dtype=np.float64),
        decoding_ms=np.array(decoding, dtype=np.float64),
        finished_ms=np.array(finished, dtype=np.float64),
        served=np.array([i not in rejected for i in range(len(arrival))]),
        shortest_prefill_ms=10,
        shortest_decode_ms=1,
        boundary_ms=boundary,
    )


def test_a_wait_at_the_bound_is_not_starvation_and_one_beyond_it_is() -> None:
    # alone and decoding: the bound is 10 · 1 ms, counted from the arrival to the start of service
    for start, wanted in ((10.0, False), (10.5, True)):
        case = service([(0, start, start + 1)], [0], [0], [start + 1], boundary=start + 1)
        assert starved(case).tolist() == [wanted]


def test_the_bound_sums_over_everyone_live_when_the_wait_began() -> None:
    # two decoders and one prompt at 0: 10 · (1 + 1 + 10) = 120 ms; the later arrival at 1 does not count
    lanes = [(0, 119.0, 120.0), (1, 120.5, 121.5), (2, 0.0, 10.0), (2, 10.0, 20.0)]
    case = service(lanes, [0, 0, 0, 1], [0, 0, INF, INF], [120, 121.5, INF, INF], boundary=130)
    assert starved(case).tolist() == [False, True, False, False]


def test_a_request_that_finished_as_the_wait_began_is_not_live() -> None:
    # request 0 is served to 5, when request 1 finishes: bound 10 · 1, wait 11 from 5 on
    case = service([(0, 0, 5), (1, 0, 5), (0, 16, 17)], [0, 0], [0, 0], [17, 5], boundary=17)
    assert starved(case).tolist() == [True, False]


def test_an_open_wait_counts_to_the_boundary_and_rejected_requests_never() -> None:
    case = service([], [0, 0], [0, 0], [INF, INF], boundary=15, rejected=(1,))
    assert starved(case).tolist() == [True, False]


def test_the_factor_is_an_option() -> None:
    case = service([(0, 10.5, 11.5)], [0], [0], [11.5], boundary=11.5)
    assert starved(case, factor=11).tolist() == [False]
    with pytest.raises(InvalidInstance, match="factor"):
        starved(case, factor=0)
