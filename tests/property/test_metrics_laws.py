"""Laws of the metrics, and a second, plain calculation of each of them from its definition."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlane.simulator.goodput import Targets
from fairlane.simulator.metrics import Metrics, measure
from fairlane.simulator.metrics_json import metrics_to_json
from fairlane.simulator.percentiles import PercentileMethod, percentile
from fairlane.simulator.publication_rows import PublicationRow, table_of
from fairlane.simulator.publication_table import Outcome
from fairlane.simulator.starvation import Service, starved


@st.composite
def rows(draw: st.DrawFn) -> list[PublicationRow]:
    """Up to six requests on a grid of quarter milliseconds, where doubles are exact."""
    out = []
    for i in range(draw(st.integers(0, 6))):
        arrival = draw(st.integers(0, 40))
        steps = draw(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 4)), max_size=5))
        at = arrival
        published: list[tuple[Decimal, int]] = []
        for wait, tokens in steps:
            at += wait
            published.append((Decimal(at) / 4, tokens))
        outcome = Outcome.UNFINISHED
        closed = draw(st.booleans())
        if closed:
            outcome = Outcome.FINISHED if published else Outcome.REJECTED
        proposed = draw(st.integers(0, 5))
        out.append(
            PublicationRow(
                id=f"r{i}",
                arrival_ms=Decimal(arrival) / 4,
                publications=tuple(published),
                outcome=outcome,
                prompt=draw(st.sampled_from([-1, 0, 7])),
                proposed_drafts=proposed,
                accepted_drafts=draw(st.integers(0, proposed)),
            )
        )
    return out


BOUNDARY = Decimal(60)
TARGETS = Targets(ttft_ms=4, gap_ms=3)


def figures(metrics: Metrics) -> dict[str, object]:
    """Everything but the order of the gaps."""
    return {name: value for name, value in metrics_to_json(metrics).items() if name != "gaps_ms"}


@given(rows())
def test_each_figure_follows_from_its_definition(given_rows: list[PublicationRow]) -> None:
    metrics = measure(table_of(given_rows, start_ms=0, boundary_ms=BOUNDARY), targets=TARGETS)
    ttft, e2e, tpot, gaps, area, met = [], [], [], [], Fraction(0), 0
    for row in given_rows:
        times = [Fraction(at) for at, _ in row.publications]
        tokens = sum(n for _, n in row.publications)
        arrival = Fraction(row.arrival_ms)
        first = times[0] - arrival if times and row.prompt != 0 else None
        own = [b - a for a, b in pairwise(times)]
        if row.prompt == 0 and times:
            own.insert(0, times[0] - arrival)
        if first is not None:
            ttft.append(first)
        if row.outcome is Outcome.FINISHED:
            e2e.append(times[-1] - arrival)
            if tokens >= 2 and len(times) >= 2:
                tpot.append((times[-1] - times[0]) / (tokens - 1))
            met += first is not None and first <= 4 and bool(own) and max(own) <= 3
        gaps += own
        area += sum((g * g / 2 for g in own), Fraction(0))
        since = times[-1] if times else arrival if row.prompt == 0 else None
        if row.outcome is Outcome.UNFINISHED and since is not None:
            area += (Fraction(BOUNDARY) - since) ** 2 / 2
    for sample, shown in ((ttft, metrics.ttft), (e2e, metrics.e2e), (tpot, metrics.tpot), (gaps, metrics.gap)):
        assert shown.samples == len(sample)
        if sample:
            assert shown.mean == pytest.approx(float(sum(sample) / len(sample)), rel=1e-12, abs=1e-12)
            assert shown.largest == pytest.approx(float(max(sample)), rel=1e-12)
        else:
            assert shown.mean is None
    assert metrics.age_area_ms2 == pytest.approx(float(area), rel=1e-12)
    assert metrics.goodput.met == met
    proposed = sum(row.proposed_drafts for row in given_rows)
    accepted = sum(row.accepted_drafts for row in given_rows)
    assert metrics.acceptance == (Fraction(accepted, proposed) if proposed else None)
    assert metrics.output_tokens == sum(n for row in given_rows for _, n in row.publications)


@given(rows(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_their_names_change_no_figure(given_rows: list[PublicationRow], rng: object) -> None:
    order = list(given_rows)
    rng.shuffle(order)  # type: ignore[attr-defined]  # a random.Random
    renamed = [
        PublicationRow(
            id=f"other-{i}",
            arrival_ms=row.arrival_ms,
            publications=row.publications,
            outcome=row.outcome,
            prompt=row.prompt,
            proposed_drafts=row.proposed_drafts,
            accepted_drafts=row.accepted_drafts,
        )
        for i, row in enumerate(order)
    ]
    one, two = (
        figures(measure(table_of(r, start_ms=0, boundary_ms=BOUNDARY), targets=TARGETS)) for r in (given_rows, renamed)
    )
    for name, value in one.items():
        # sums of doubles depend on their order in the last digit
        assert two[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value)


@given(rows(), st.integers(1, 10**12))
def test_a_later_clock_changes_no_figure(given_rows: list[PublicationRow], shift: int) -> None:
    later = [
        PublicationRow(
            id=row.id,
            arrival_ms=row.arrival_ms + shift,
            publications=tuple((at + shift, n) for at, n in row.publications),
            outcome=row.outcome,
            prompt=row.prompt,
            proposed_drafts=row.proposed_drafts,
            accepted_drafts=row.accepted_drafts,
        )
        for row in given_rows
    ]
    one = measure(table_of(given_rows, start_ms=0, boundary_ms=BOUNDARY), targets=TARGETS)
    two = measure(table_of(later, start_ms=shift, boundary_ms=BOUNDARY + shift), targets=TARGETS)
    assert metrics_to_json(one) == metrics_to_json(two)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30), st.integers(1, 100))
def test_nearest_rank_is_the_smallest_sample_that_covers_the_level(sample: list[int], level: int) -> None:
    value = percentile(np.array(sample, dtype=np.float64), level, method=PercentileMethod.NEAREST_RANK)
    # rank ⌈n p / 100⌉, in integers
    assert value == sorted(sample)[-(-len(sample) * level // 100) - 1]


@st.composite
def services(draw: st.DrawFn) -> Service:
    """Launches one after another on whole milliseconds, and phases that fit them."""
    n = draw(st.integers(1, 5))
    arrival = [draw(st.integers(0, 30)) for _ in range(n)]
    prompt_left = [draw(st.integers(0, 2)) for _ in range(n)]
    output_left = [draw(st.integers(1, 3)) for _ in range(n)]
    decoding = [a if p == 0 else math.inf for a, p in zip(arrival, prompt_left, strict=True)]
    finished = [math.inf] * n
    served = [draw(st.integers(0, 5)) > 0 for _ in range(n)]
    lanes: list[tuple[int, int, int]] = []
    now = 0
    for _ in range(draw(st.integers(0, 12))):
        now += draw(st.sampled_from([0, 0, 1, 5, 40]))
        end = now + draw(st.integers(1, 3))
        live = [i for i in range(n) if served[i] and arrival[i] <= now and finished[i] == math.inf]
        for i in live:
            if draw(st.booleans()):
                lanes.append((i, now, end))
                if prompt_left[i]:
                    prompt_left[i] -= 1
                    decoding[i] = end if prompt_left[i] == 0 else math.inf
                else:
                    output_left[i] -= 1
                    finished[i] = end if output_left[i] == 0 else math.inf
        now = end
    boundary = max(now, *arrival) + draw(st.integers(0, 60))

    def column(k: int) -> npt.NDArray[np.float64]:
        return np.array([lane[k] for lane in lanes], dtype=np.float64)

    return Service(
        request=column(0).astype(np.int64),
        start_ms=column(1),
        end_ms=column(2),
        arrival_ms=np.array(arrival, dtype=np.float64),
        decoding_ms=np.array(decoding),
        finished_ms=np.array(finished),
        served=np.array(served),
        shortest_prefill_ms=2.0,
        shortest_decode_ms=1.0,
        boundary_ms=float(boundary),
    )


@given(services(), st.sampled_from([1.0, 2.0, 10.0]))
def test_starvation_follows_from_its_definition_wait_by_wait(service: Service, factor: float) -> None:
    n = len(service.arrival_ms)
    wanted = [False] * n
    for i in range(n):
        if not service.served[i]:
            continue
        spans = [
            (float(s), float(e))
            for r, s, e in zip(service.request, service.start_ms, service.end_ms, strict=True)
            if r == i
        ]
        begins = [float(service.arrival_ms[i]), *(e for _, e in spans)]
        ends = [s for s, _ in spans] + ([service.boundary_ms] if service.finished_ms[i] == math.inf else [])
        for begin, end in zip(begins, ends, strict=False):
            one_round = sum(
                service.shortest_decode_ms if service.decoding_ms[j] <= begin else service.shortest_prefill_ms
                for j in range(n)
                if service.served[j] and service.arrival_ms[j] <= begin < service.finished_ms[j]
            )
            wanted[i] |= end - begin > factor * one_round
    assert starved(service, factor=factor).tolist() == wanted
