"""Durations that differ from the catalog's: who draws them, who is told of them, and who decides by what he knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import pytest

from fairlane import policies
from fairlane.policies import load_policy
from fairlane.reference.errors import PolicyError
from fairlane.reference.exact import Real
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Choice, Completion, Decision, Memory, Policy, View
from fairlane.reference.model.request import Request
from fairlane.simulator.clock import Clock
from fairlane.simulator.draws import KeyedDraws, Timing
from fairlane.simulator.event_loop import EventLoop, LaneRecord, Launch
from fairlane.simulator.ledger import Ledger
from fairlane.simulator.two_frames import FrameLoop

SLOW_AND_FAST = Catalog(
    [Graph(name="a", duration_ms=20, decode_capacity=1), Graph(name="b", duration_ms=25, decode_capacity=1)]
)
PRICES = Objective(decode_value=1, time_price=1)


class Drifting(KeyedDraws):
    """Graph a takes 30 ms instead of its 20 and its timer shows 29; every other launch of b shows nothing."""

    def duration(self, graph: int, execution: int, listed: Timing) -> Timing:
        if graph == 0:
            return Timing(30, 29)
        return Timing(listed.ticks, None if execution % 2 else listed.measured_ms)


@dataclass
class Spans:
    """A recorder of (graph, start, end)."""

    rows: list[tuple[int, int, int]] = field(default_factory=list)

    def record(self, launch: Launch, start: int, end: int, lanes: Sequence[LaneRecord]) -> None:
        self.rows.append((launch.graph, start, end))


@dataclass
class Means:
    """Another policy by the means of what was measured, the catalog's durations before that."""

    of: Policy
    told: list[tuple[Real, Real | None]] = field(default_factory=list)

    def initial(self, catalog: Catalog) -> Memory:
        return (self.of.initial(catalog), ((0, Fraction(0)),) * len(catalog))

    def decide(self, view: View, memory: Memory) -> Choice:
        assert isinstance(memory, tuple)
        inner, sums = memory
        known = tuple(total / n if n else d for (n, total), d in zip(sums, view.catalog.durations_ms, strict=True))
        return self.of.decide(replace(view, estimates=known), inner)

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        assert isinstance(memory, tuple)
        inner, sums = memory
        self.told.append((completion.elapsed_ms, completion.measured_ms))
        k = [g.name for g in completion.view.catalog].index(completion.graph.name)
        n, total = sums[k]
        if completion.measured_ms is not None:
            sums = (*sums[:k], (n + 1, total + Fraction(completion.measured_ms)), *sums[k + 1 :])
        return (self.of.observe(inner, completion), sums)


def loop_of(requests: Sequence[Request], catalog: Catalog, policy: Policy) -> EventLoop:
    arrivals = [int(r.arrival_ms) for r in requests]
    source = Drifting(requests, 1)
    return EventLoop(requests, arrivals, [True] * len(requests), catalog, PRICES, policy, source, Clock(1, exact=True))


def test_the_loop_asks_the_source_for_every_duration_and_the_policy_learns_from_its_timer() -> None:
    # a looks best by the catalog, 1/20 against 1/25; after one launch it is known to take 29, and b wins for good
    rule = Means(load_policy("fixed-value"))
    loop = loop_of([Request(id="s", prompt=0, limit=4)], SLOW_AND_FAST, rule)
    spans = Spans()
    loop.run(spans)
    assert spans.rows == [(0, 0, 30), (1, 30, 55), (1, 55, 80), (1, 80, 105)]
    assert rule.told == [(30, 29), (25, 25), (25, None), (25, 25)]


def test_a_queued_graph_starts_when_the_running_one_really_ends() -> None:
    requests = [Request(id="s", prompt=0, limit=1), Request(id="t", prompt=0, limit=1)]
    rule = load_policy("round-robin")
    loop = loop_of(requests, SLOW_AND_FAST, rule)
    spans = Spans()
    FrameLoop(loop, SLOW_AND_FAST, rule, frames=2).run(spans)
    assert spans.rows[0][1:] == (0, 30)
    assert spans.rows[1][1] == 30


def test_an_arrival_before_the_late_end_is_seen_by_the_choice_behind() -> None:
    # nothing can be queued behind s until t arrives at 25: after the listed end of a, before its real one
    requests = [Request(id="s", prompt=0, limit=1), Request(id="t", prompt=0, limit=1, arrival_ms=25)]
    only_a = Catalog([SLOW_AND_FAST["a"]])
    rule = load_policy("round-robin")
    frames = FrameLoop(loop_of(requests, only_a, rule), only_a, rule, frames=2)
    spans = Spans()
    frames.run(spans)
    assert spans.rows == [(0, 0, 30), (0, 30, 60)]
    assert frames.chosen == [0, 25]


def view_of(estimates: tuple[Real | None, ...] = ()) -> View:
    request = Request(id="s", prompt=0, limit=2)
    ledger = Ledger([request], [0], SLOW_AND_FAST, PRICES, Clock(1, exact=True))
    ledger.admit(0)
    return replace(ledger.view(), estimates=estimates)


def test_estimates_left_out_are_the_durations_of_the_catalog() -> None:
    assert view_of().estimates == (20, 25)


def test_estimates_of_another_number_of_graphs_are_refused() -> None:
    with pytest.raises(PolicyError, match=r"view.estimates holds 1 durations; need one a graph, 2"):
        view_of((3,))


def chosen(name: str, view: View) -> str | None:
    policy = load_policy(name)
    choice = policy.decide(view, policy.initial(view.catalog))
    assert isinstance(choice, Decision)
    return choice.graph


@pytest.mark.parametrize("name", policies.names())
def test_every_policy_decides_by_the_estimates_and_leaves_alone_what_it_knows_nothing_of(name: str) -> None:
    assert chosen(name, view_of((7, 6))) == "b"
    assert chosen(name, view_of((None, 1000))) == "b"
    assert chosen(name, view_of((1000, None))) == "a"
