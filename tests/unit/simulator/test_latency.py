"""Latencies, gaps and ages on tables small enough to work out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

import pytest

from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.simulator.goodput import MissingTarget, Targets, goodput
from fairlane.simulator.latency import latencies
from fairlane.simulator.metrics import measure
from fairlane.simulator.publication_rows import PublicationRow, table_of
from fairlane.simulator.publication_table import Outcome


def row(
    name: str,
    arrival: float,
    *publications: tuple[float, int],
    outcome: Outcome = Outcome.FINISHED,
    prompt: int = -1,
    targets: Targets | None = None,
) -> PublicationRow:
    """A request in a few words."""
    return PublicationRow(
        id=name,
        arrival_ms=Decimal(str(arrival)),
        publications=tuple((Decimal(str(at)), n) for at, n in publications),
        outcome=outcome,
        prompt=prompt,
        targets=targets or Targets(),
    )


def test_ttft_counts_from_the_arrival() -> None:
    figures = latencies(table_of([row("a", 5, (12, 1), (20, 1)), row("b", 3, (12, 1))]))
    assert figures.ttft_ms.tolist() == [7, 9]
    assert figures.e2e_ms.tolist() == [15, 9]


def test_a_request_that_arrives_decoding_has_no_ttft_and_its_arrival_opens_a_gap() -> None:
    figures = latencies(table_of([row("a", 5, (12, 2), (20, 1), prompt=0)]))
    assert math.isnan(figures.ttft_ms[0])
    assert figures.gaps_ms.tolist() == [7, 8]
    # 7²/2 + 8²/2
    assert figures.age_area_ms2.tolist() == [56.5]


def test_tpot_is_undefined_for_one_token_and_counted() -> None:
    metrics = measure(table_of([row("a", 0, (5, 1)), row("b", 0, (5, 1), (25, 4))]))
    # (25 - 5) / (5 - 1)
    assert metrics.tpot.mean == 5
    assert metrics.tpot.samples == 1
    assert metrics.n_tpot_undefined == 1


def test_a_single_burst_has_no_tpot() -> None:
    # no time between deliveries was measured, so there is none per token
    metrics = measure(table_of([row("a", 0, (5, 3))]))
    assert (metrics.tpot.mean, metrics.n_tpot_undefined) == (None, 1)


def test_unfinished_requests_have_a_ttft_but_no_end_and_leave_a_stall_open() -> None:
    table = table_of([row("a", 0, (4, 1), (10, 1), outcome=Outcome.UNFINISHED)], boundary_ms=16)
    metrics = measure(table)
    assert metrics.ttft.mean == 4
    assert metrics.e2e.samples == metrics.tpot.samples == 0
    assert metrics.gap.samples == 1
    assert (metrics.n_open_stalls, metrics.longest_open_stall_ms) == (1, 6)
    # 6²/2 between the outputs and 6²/2 from the last one to the boundary
    assert metrics.age_area_ms2 == 36


def test_a_prompt_still_waiting_at_the_boundary_has_no_age() -> None:
    metrics = measure(table_of([row("a", 0, outcome=Outcome.UNFINISHED)], boundary_ms=100))
    assert metrics.age_area_ms2 == 0
    assert metrics.n_open_stalls == 0


def test_a_stream_that_arrived_decoding_and_was_never_served_ages_to_the_boundary() -> None:
    metrics = measure(table_of([row("a", 4, outcome=Outcome.UNFINISHED, prompt=0)], start_ms=0, boundary_ms=10))
    assert metrics.age_area_ms2 == 18
    assert metrics.longest_open_stall_ms == 6


def test_a_rejected_request_has_no_figures_and_no_age() -> None:
    metrics = measure(table_of([row("a", 4, outcome=Outcome.REJECTED, prompt=0)], boundary_ms=10))
    assert (metrics.n_rejected, metrics.n_open_stalls, metrics.age_area_ms2) == (1, 0, 0)


def test_small_ages_beside_huge_ones_keep_their_digits() -> None:
    figures = latencies(table_of([row("a", 0, (1e9, 1), (2e9, 1)), row("b", 0, (1, 1), (1.5, 1))]))
    assert figures.age_area_ms2[1] == 0.125


def test_clocks_that_count_from_an_epoch_lose_nothing() -> None:
    epoch = Decimal("1777142838338.653125")
    table = table_of(
        [
            PublicationRow(
                id="a", arrival_ms=epoch, publications=((epoch + Decimal("0.001"), 1),), outcome=Outcome.FINISHED
            )
        ]
    )
    assert latencies(table).ttft_ms.tolist() == [0.001]


def test_nothing_measured_is_none_throughout() -> None:
    metrics = measure(table_of([]), targets=Targets(ttft_ms=20))
    shown = (metrics.ttft.mean, metrics.ttft.at(99), metrics.gap.largest, metrics.jain, metrics.acceptance)
    assert shown == (None,) * 5
    assert (metrics.goodput.attainment, metrics.output_tokens_per_ms, metrics.goodput_per_s) == (None, None, None)


def test_only_finished_requests_can_meet_targets() -> None:
    rows = [
        row("ok", 0, (10, 1)),
        row("late", 0, (30, 1)),
        row("open", 0, (10, 1), outcome=Outcome.UNFINISHED),
        row("gone", 0, outcome=Outcome.REJECTED),
    ]
    table = table_of(rows)
    met = goodput(table, latencies(table), targets=Targets(ttft_ms=20))
    assert (met.met, met.requests) == (1, 4)
    assert str(met.attainment) == "1/4"


def test_a_missing_figure_or_target_fails_unless_told_otherwise() -> None:
    table = table_of([row("one token", 0, (10, 1)), row("two", 0, (10, 1), (15, 1))])
    figures = latencies(table)
    assert goodput(table, figures, targets=Targets(tpot_ms=9)).met == 1
    assert goodput(table, figures, targets=Targets(tpot_ms=9), missing=MissingTarget.MET).met == 2
    own = table_of([row("has", 0, (10, 1), targets=Targets(ttft_ms=20)), row("lacks", 0, (10, 1))])
    assert goodput(own, latencies(own)).met == 1
    assert goodput(own, latencies(own), missing=MissingTarget.MET).met == 2


def test_a_requests_own_target_takes_the_place_of_the_common_one() -> None:
    table = table_of([row("strict", 0, (10, 1), targets=Targets(ttft_ms=5)), row("plain", 0, (10, 1))])
    assert goodput(table, latencies(table), targets=Targets(ttft_ms=20)).met == 1


def test_without_any_target_there_is_no_attainment() -> None:
    table = table_of([row("a", 0, (10, 1))])
    assert goodput(table, latencies(table)).attainment is None


def test_jain_is_taken_over_rates_of_requests_that_were_not_rejected() -> None:
    # 1 token in 10 ms and 3 tokens in 10 ms: (1 + 3)² / (2 (1 + 9))
    rows = [row("a", 0, (10, 1)), row("b", 0, (10, 3)), row("c", 0, outcome=Outcome.REJECTED)]
    assert measure(table_of(rows)).jain == pytest.approx(16 / 20, rel=1e-12)


def test_a_log_of_first_and_last_outputs_has_no_gaps_and_no_ages() -> None:
    metrics = measure(table_of([row("a", 0, (10, 1), (50, 4))], gaps_known=False))
    assert metrics.tpot.mean == 10
    assert metrics.gap.samples == 0
    assert metrics.age_area_ms2 is None


@pytest.mark.parametrize(
    ("bounds", "words"),
    [((1, None), "start_ms is 1; need at most 0"), ((None, 9), "boundary_ms is 9; need at least 10")],
)
def test_events_outside_the_stated_interval_are_refused(bounds: tuple[int | None, int | None], words: str) -> None:
    with pytest.raises(DataError, match=words):
        table_of([row("a", 0, (10, 1))], start_ms=bounds[0], boundary_ms=bounds[1])


def test_a_table_checks_its_own_order() -> None:
    table = table_of([row("a", 0, (10, 1), (20, 1))])
    with pytest.raises(InvalidInstance, match="before its arrival or its previous publication"):
        replace(table, at_ms=table.at_ms[::-1].copy())
    two = table_of([row("a", 0, (10, 1)), row("b", 0, (10, 1))])
    with pytest.raises(InvalidInstance, match="ids are not distinct"):
        replace(two, ids=("a", "a"))
    with pytest.raises(InvalidInstance, match="boundary_ms is 5"):
        replace(two, boundary_ms=5.0)
    with pytest.raises(InvalidInstance, match="tokens has shape"):
        replace(two, tokens=two.tokens[:1].copy())
    with pytest.raises(ValueError, match="read-only"):
        two.at_ms[0] = 3


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf])
def test_a_target_must_be_a_positive_number(bad: float) -> None:
    with pytest.raises(InvalidInstance, match=r"targets\.ttft_ms"):
        Targets(ttft_ms=bad)
