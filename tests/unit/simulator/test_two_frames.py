"""Two frames in flight on runs small enough to follow by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlane import policies
from fairlane.policies.ongoing import Ongoing
from fairlane.policies.service_rates import Rate, measured_graphs, observed, projected, rates_of
from fairlane.reference.errors import InvalidInstance, PolicyError
from fairlane.reference.exact import Real
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import (
    NOTHING,
    Completion,
    Decision,
    LaneResult,
    Memory,
    RequestView,
    Running,
    View,
)
from fairlane.reference.model.request import Request
from fairlane.reference.model.yields import row_outcomes
from fairlane.simulator.fast_loops import Path
from fairlane.simulator.simulate import simulate

GRAPHS = Catalog(
    [
        Graph(name="p", duration_ms=5, prefill_capacity=10),
        Graph(name="d", duration_ms=10, decode_capacity=1),
    ]
)


def prompt(name: str, tokens: int, output: int = 1, arrival: int = 0) -> Request:
    return Request(id=name, prompt=tokens, limit=output, arrival_ms=arrival)


def stream(name: str, output: int, arrival: int = 0) -> Request:
    return Request(id=name, prompt=0, limit=output, arrival_ms=arrival)


def shortest(view: View) -> Decision:
    """The prompt with the least left, then the first stream."""
    prompts = [r for r in view.requests if r.prompt]
    if prompts:
        return Decision(graph="p", prefill=(min(prompts, key=lambda r: r.prompt).id,))
    return Decision(graph="d", decode=(view.requests[0].id,))


def schedule(
    requests: list[Request],
    *,
    two_frames: bool = True,
    policy: object = shortest,
    gap: int = 0,
    horizon: Real | str | None = None,
) -> list[tuple[str, float, float, float]]:
    """(first request, chosen, start, end) of each launch."""
    run = simulate(
        requests,
        GRAPHS,
        policy,
        decode_value=1,
        two_frames=two_frames,
        launch_gap_ms=gap,
        horizon_ms=horizon,
    )
    chosen = run.start_ms if run.chosen_ms is None else run.chosen_ms
    who = [run.requests[i].id for i in run.lane_request[run.lane_offsets[:-1]]]
    return list(zip(who, chosen.tolist(), run.start_ms.tolist(), run.end_ms.tolist(), strict=True))


def test_the_next_chunk_of_a_running_prompt_is_queued_with_what_is_left_after_it() -> None:
    # behind a's first chunk a has 5 left and b 20, so a again; behind a's last chunk, which ends a, only b is left
    assert schedule([prompt("a", 15), prompt("b", 20)]) == [
        ("a", 0, 0, 5),
        ("a", 0, 5, 10),
        ("b", 5, 10, 15),
        ("b", 10, 15, 20),
    ]


def test_an_arrival_does_not_change_a_queued_graph() -> None:
    # b arrives at 2, when a's second chunk is queued already; with one frame it is next at 5
    requests = [prompt("a", 30), prompt("b", 5, arrival=2)]
    assert schedule(requests) == [("a", 0, 0, 5), ("a", 0, 5, 10), ("b", 5, 10, 15), ("a", 10, 15, 20)]
    assert [row[0] for row in schedule(requests, two_frames=False)] == ["a", "b", "a", "a"]


def test_a_single_stream_pauses_at_every_graph() -> None:
    # its next input is what it publishes: nothing can ever be queued
    for request in (stream("a", 4), prompt("a", 8, output=4)):
        rows = schedule([request])
        assert rows == schedule([request], two_frames=False)
        assert [chosen for _, chosen, _, _ in rows] == [start for _, _, start, _ in rows]


def test_streams_take_turns_behind_each_other() -> None:
    # one row a graph: behind a's row b is free, behind b's row a is, its token known at 10
    assert schedule([stream("a", 2), stream("b", 2)]) == [
        ("a", 0, 0, 10),
        ("b", 0, 10, 20),
        ("a", 10, 20, 30),
        ("b", 20, 30, 40),
    ]


def test_a_pause_ends_with_an_arrival() -> None:
    # behind a's row nothing can run until b arrives at 3; behind b's last chunk a is free again
    assert schedule([stream("a", 2), prompt("b", 5, arrival=3)]) == [
        ("a", 0, 0, 10),
        ("b", 3, 10, 15),
        ("a", 10, 15, 25),
    ]


def test_an_arrival_at_the_completion_finds_nothing_running() -> None:
    assert schedule([stream("a", 1), prompt("b", 5, arrival=10)]) == [("a", 0, 0, 10), ("b", 10, 10, 15)]


def test_idle_time_jumps_to_the_next_arrival() -> None:
    assert schedule([prompt("a", 5), prompt("b", 5, arrival=100)]) == [("a", 0, 0, 5), ("b", 100, 100, 105)]


def test_a_policy_may_leave_the_queue_empty() -> None:
    def careful(view: View) -> Decision:
        return NOTHING if view.in_flight else shortest(view)

    # b could be queued behind a's first row and is not; a's second is its last for sure, so nothing is in flight then
    rows = schedule([stream("a", 2), stream("b", 1)], policy=careful)
    assert rows == [("a", 0, 0, 10), ("a", 10, 10, 20), ("b", 10, 20, 30)]


def test_no_queued_graph_starts_at_the_horizon() -> None:
    assert len(schedule([prompt("a", 30)], horizon=5)) == 1
    assert schedule([prompt("a", 30)], horizon="5.5") == [("a", 0, 0, 5), ("a", 0, 5, 10)]


def test_a_launch_gap_is_hidden_by_a_queued_graph_as_far_as_the_running_one_lasts() -> None:
    # one frame: 2 ms before each graph. Two: the second is chosen at 2 and could start from 4 on
    assert schedule([prompt("a", 20)], two_frames=False, gap=2) == [("a", 0, 2, 7), ("a", 7, 9, 14)]
    assert schedule([prompt("a", 20)], gap=2) == [("a", 0, 2, 7), ("a", 2, 7, 12)]
    # a gap of 8: chosen at 8, not before 16, although the graph ahead ends at 13
    assert schedule([prompt("a", 20)], gap=8) == [("a", 0, 8, 13), ("a", 8, 16, 21)]
    # no graph starts at or after the horizon, the gap included
    assert schedule([prompt("a", 20)], two_frames=False, gap=2, horizon=9) == [("a", 0, 2, 7)]
    assert schedule([prompt("a", 20)], gap=8, horizon=16) == [("a", 0, 8, 13)]


def test_what_depends_on_the_running_graph_cannot_be_queued() -> None:
    def stubborn(view: View) -> Decision:
        return Decision(graph="d", decode=("a",))

    with pytest.raises(PolicyError, match="names 'a' in 'd'; its next input depends on 'd', which runs"):
        schedule([stream("a", 3), stream("b", 3)], policy=stubborn)
    with pytest.raises(PolicyError, match="need a live request"):
        schedule(
            [stream("a", 3), stream("b", 3)],
            policy=lambda v: Decision(graph="d", decode=("ab"[bool(v.in_flight)] * 2,)),
        )


def test_the_compiled_loops_have_one_frame_and_no_gap() -> None:
    rule = policies.spec("fixed-value")
    with pytest.raises(InvalidInstance, match="need the event loop"):
        simulate([stream("a", 1)], GRAPHS, rule, decode_value=1, path=Path.FAST, two_frames=True)
    with pytest.raises(InvalidInstance, match="need the event loop"):
        simulate([stream("a", 1)], GRAPHS, rule, decode_value=1, path=Path.COMPILED, launch_gap_ms=1)
    with pytest.raises(InvalidInstance, match="launch_gap_ms is -1; need >= 0"):
        simulate([stream("a", 1)], GRAPHS, rule, decode_value=1, launch_gap_ms=-1)


class Watching:
    """Keeps what it is shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[View, Memory]] = []

    def initial(self, catalog: Catalog) -> Memory:
        return 0

    def decide(self, view: View, memory: Memory) -> Decision:
        self.shown.append((view, memory))
        return shortest(view)

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        assert isinstance(memory, int)
        return memory + 1


class Projecting(Watching):
    def project(self, memory: Memory, running: Running) -> Memory:
        assert isinstance(memory, int)
        return memory + 100


def of(view: View, name: str) -> RequestView:
    return next(r for r in (*view.requests, *view.in_flight) if r.id == name)


def test_only_a_policy_that_projects_sees_ages_and_memory_as_at_the_completion() -> None:
    plain, projects = Watching(), Projecting()
    requests = [prompt("a", 25, output=3), stream("b", 2)]
    for policy in (plain, projects):
        schedule(requests, policy=policy)
    view, memory = plain.shown[1]
    # a's first chunk of 10 runs from 0 to 5; the tokens in it are certain, everything else is as observed
    assert (view.now_ms, memory, of(view, "a").prompt, of(view, "a").last_service_ms, of(view, "b").age_ms) == (
        (0, 0, 15, None, 0)
    )
    view, memory = projects.shown[1]
    assert (view.now_ms, memory, of(view, "a").prompt, of(view, "a").last_service_ms, of(view, "b").age_ms) == (
        (5, 100, 15, 5, 5)
    )
    # a's last chunk runs from 10 to 15, chosen behind the second; b is chosen behind it and is 15 old by then
    view, memory = projects.shown[3]
    assert [r.id for r in view.requests] == ["b"]
    assert [(r.id, r.prompt, r.generated, r.age_ms) for r in view.in_flight] == [("a", 0, 1, 0)]
    # two graphs have completed: copies were projected, the history was not
    assert (view.now_ms, memory, of(view, "b").age_ms) == (15, 102, 15)


def row(
    name: str, *, prompt: int = 0, age: int = 0, generated: int = 1, limit: int = 99, weight: int = 1
) -> RequestView:
    return RequestView(
        id=name,
        index=ord(name) - ord("a"),
        weight=Fraction(weight),
        arrival_ms=0,
        prompt=prompt,
        generated=0 if prompt else generated,
        limit=limit,
        acceptance=(Fraction(4, 5), Fraction(1, 2)),
        length_prior=None,
        age_ms=None if prompt else age,
        last_service_ms=None,
    )


def test_streams_in_flight_count_in_the_ages_and_in_the_interval_of_ongoing() -> None:
    # one stream of age 30, four in flight; a row of 20 ms; v = 1, c = 1/100, no fairness; N = 5, G = 5 * 20 = 100:
    # (1 - c (30 * 20 + 5 * 20² / 2) + G c (30 - 4 * 20)) / 20 = (1 - 16 - 50) / 20
    catalog = Catalog([Graph(name="d", duration_ms=20, decode_capacity=1)])
    view = View(
        catalog=catalog,
        now_ms=0,
        objective=Objective(decode_value=1, age_price="1/100"),
        requests=(row("a", age=30),),
        in_flight=tuple(row(name) for name in "bcde"),
    )
    rule = Ongoing(token_fairness=0.0, delivery_fairness=0.0)
    (offer,) = rule.offers(view, {}, measured_graphs(view))
    assert offer.score == pytest.approx(-3.25, rel=1e-12)


def test_the_projected_rates_are_the_mean_of_what_the_completion_can_leave() -> None:
    # the update is linear in the tokens received, so its mean over outcomes is the update by their mean
    graph = Graph(name="m", duration_ms=30, prefill_capacity=16, prefill_lanes=2, decode_capacity=1, width=3)
    requests = (row("a"), row("b", prompt=10), row("c", prompt=40), row("d", age=7))
    view = View(catalog=Catalog([graph]), now_ms=0, objective=Objective(decode_value=1), requests=requests)
    decision = Decision(graph="m", prefill=("b", "c"), decode=("a",))
    memory = (("a", Rate(0.3, 0.02)), ("c", Rate(0.5, None)))
    graphs = measured_graphs(view)
    after: dict[str, Rate] = {}
    mean: dict[str, float] = dict.fromkeys("abcd", 0.0)
    for outcome in row_outcomes(requests[0].acceptance, 3, None, 1, 99):
        lanes = (
            LaneResult(id="b", consumed=10, published=1, finished=False),
            LaneResult(id="c", consumed=6, published=0, finished=False),
            LaneResult(id="a", consumed=0, published=outcome.n, finished=False),
        )
        done = Completion(
            view=view, decision=decision, graph=graph, ended_ms=30, elapsed_ms=30, measured_ms=30, lanes=lanes
        )
        after = rates_of(observed(memory, done, graphs, 200.0))
        for name, rate in after.items():
            mean[name] += float(outcome.probability) * rate.tokens_per_ms
    copies = rates_of(projected(memory, Running(view=view, decision=decision, graph=graph), graphs, 200.0))
    assert {name: rate.tokens_per_ms for name, rate in copies.items()} == pytest.approx(mean, rel=1e-12)
    # deliveries are certain, so they are the same in every outcome
    assert {n: r.deliveries_per_ms for n, r in copies.items()} == {n: r.deliveries_per_ms for n, r in after.items()}


def test_who_must_reach_the_limit_leaves_the_projection() -> None:
    graph = Graph(name="m", duration_ms=30, prefill_capacity=16, decode_capacity=2)
    requests = (row("a", limit=2), row("b", prompt=10, limit=1), row("c"))
    view = View(catalog=Catalog([graph]), now_ms=0, objective=Objective(decode_value=1), requests=requests)
    running = Running(view=view, decision=Decision(graph="m", prefill=("b",), decode=("a",)), graph=graph)
    assert set(rates_of(projected((), running, measured_graphs(view), 200.0))) == {"c"}
