"""The published rule of each policy on views small enough to decide by hand; the sums stand beside the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from fairlane.policies import load_policy, names
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import (
    NOTHING,
    Completion,
    Decision,
    LaneResult,
    Memory,
    RequestView,
    View,
)

LIGHT = tuple(name for name in names() if name not in ("continuation", "episode-ratio"))


def seen(
    id: str,
    index: int,
    *,
    prompt: int = 0,
    acceptance: Sequence[str] = (),
    arrival_ms: int = 0,
    age_ms: int = 0,
    last_service_ms: int | None = None,
    weight: int = 1,
    limit: int = 50,
) -> RequestView:
    return RequestView(
        id=id,
        index=index,
        weight=Fraction(weight),
        arrival_ms=Fraction(arrival_ms),
        prompt=prompt,
        generated=0,
        limit=limit,
        acceptance=tuple(Fraction(q) for q in acceptance),
        length_prior=None,
        age_ms=None if prompt else Fraction(age_ms),
        last_service_ms=None if last_service_ms is None else Fraction(last_service_ms),
    )


def view_at(graphs: Sequence[Graph], *requests: RequestView, decode_value: int = 1, now_ms: int = 0) -> View:
    return View(
        catalog=Catalog(graphs),
        now_ms=Fraction(now_ms),
        objective=Objective(decode_value=decode_value),
        requests=requests,
    )


def decided(policy: str, view: View, memory: Memory = None) -> Decision:
    rule = load_policy(policy)
    decision = rule.decide(view, rule.initial(view.catalog) if memory is None else memory)
    assert isinstance(decision, Decision)
    return decision


P10 = Graph(name="p10", duration_ms=10, prefill_capacity=10)
D1 = Graph(name="d1", duration_ms=10, decode_capacity=1)


def test_prefill_first_takes_prompts_in_order_of_arrival_however_dear_output_is() -> None:
    requests = seen("late", 0, prompt=5, arrival_ms=1), seen("early", 1, prompt=5), seen("stream", 2)
    assert decided("prefill-first", view_at([D1, P10], *requests, decode_value=1000, now_ms=2)) == Decision(
        graph="p10", prefill=("early",)
    )


def test_prefill_first_fills_lanes_from_the_queue_and_takes_the_graph_of_highest_score() -> None:
    # alone in p10: (5 + 1) / 10 = 0.6; early whole and late for 2 of 5 in p7x2: (7 + 1) / 11 = 0.73
    two = Graph(name="p7x2", duration_ms=11, prefill_capacity=7, prefill_lanes=2)
    requests = seen("late", 0, prompt=5, arrival_ms=1), seen("early", 1, prompt=5)
    view = view_at([P10, two], *requests, now_ms=2)
    assert decided("prefill-first", view) == Decision(graph="p7x2", prefill=("early", "late"))


def test_shortest_prompt_passes_by_an_earlier_long_one() -> None:
    requests = seen("long", 0, prompt=9), seen("short", 1, prompt=3, arrival_ms=1), seen("stream", 2)
    assert decided("shortest-prompt", view_at([D1, P10], *requests, now_ms=2)).prefill == ("short",)


def test_decode_first_leaves_a_quick_prompt_waiting_unless_it_can_ride_along() -> None:
    requests = seen("prompt", 0, prompt=10), seen("stream", 1)
    assert decided("decode-first", view_at([P10, D1], *requests)) == Decision(graph="d1", decode=("stream",))
    # d1: 1 / 10; the mixed graph: (10 + 1 + 1) / 30 = 0.4
    mixed = Graph(name="mix", duration_ms=30, prefill_capacity=10, decode_capacity=1)
    riding = decided("decode-first", view_at([P10, D1, mixed], *requests))
    assert riding == Decision(graph="mix", prefill=("prompt",), decode=("stream",))


def test_round_robin_serves_whoever_was_served_longest_ago() -> None:
    requests = (
        seen("a", 0, last_service_ms=30, acceptance=["1"] * 3),
        seen("b", 1, last_service_ms=10),
        seen("c", 2, prompt=90, last_service_ms=20),
    )
    assert decided("round-robin", view_at([P10, D1], *requests, now_ms=30)).decode == ("b",)
    # a new request comes before all of them
    fresh = view_at([P10, D1], *requests, seen("new", 3, prompt=2, arrival_ms=30), now_ms=30)
    assert decided("round-robin", fresh) == Decision(graph="p10", prefill=("new",))


def test_age_only_serves_the_longest_wait_whatever_it_yields() -> None:
    requests = seen("quick", 0, age_ms=8, acceptance=["1"] * 3), seen("old", 1, age_ms=9)
    wide = Graph(name="d1w4", duration_ms=10, decode_capacity=1, width=4)
    assert decided("age-only", view_at([wide], *requests, now_ms=9)).decode == ("old",)
    # a prompt waits since its arrival, 20 ms here
    waiting = view_at([wide, P10], *requests, seen("prompt", 2, prompt=3, arrival_ms=30), now_ms=50)
    assert decided("age-only", waiting).prefill == ("prompt",)


def test_goodput_width_counts_tokens_and_no_weights() -> None:
    # acceptance 1/10: width 4 emits 1.111 in 15 ms, width 1 emits 1 in 10 ms
    narrow = Graph(name="w1", duration_ms=10, decode_capacity=2)
    wide = Graph(name="w4", duration_ms=15, decode_capacity=2, width=4)
    poor = seen("poor", 0, acceptance=["1/10"] * 3, weight=1), seen("rich", 1, acceptance=["1/10"] * 3, weight=9)
    assert decided("goodput-width", view_at([wide, narrow], *poor)).graph == "w1"
    # acceptance 9/10: 3.439 tokens in 15 ms are more than 1 in 10
    good = seen("good", 0, acceptance=["9/10"] * 3), seen("also", 1, acceptance=["9/10"] * 3)
    assert decided("goodput-width", view_at([narrow, wide], *good)).graph == "w4"
    # one row at weight 100 in 5 ms: 0.2 tokens a ms; two rows in 9 ms: 0.222
    one = Graph(name="one", duration_ms=5, decode_capacity=1)
    two = Graph(name="two", duration_ms=9, decode_capacity=2)
    assert decided("goodput-width", view_at([one, two], seen("a", 0, weight=100), seen("b", 1))).graph == "two"


def test_stall_bonus_multiplies_the_whole_burst_of_a_neglected_stream() -> None:
    # D(4): 1 + .9 + .81 + .729 = 3.439 against 1 + .5 + .25 + .125 = 1.875, times 1 + 100/50 = 3 is 5.625
    wide = Graph(name="d1w4", duration_ms=10, decode_capacity=1, width=4)
    requests = seen("good", 0, acceptance=["9/10"] * 3), seen("poor", 1, acceptance=["1/2"] * 3, age_ms=100)
    assert decided("fixed-value", view_at([wide], *requests, now_ms=100)).decode == ("good",)
    assert decided("stall-bonus", view_at([wide], *requests, now_ms=100)).decode == ("poor",)


def told(view: View, decision: Decision, *lanes: LaneResult) -> Completion:
    assert decision.graph is not None
    graph = view.catalog[decision.graph]
    return Completion(
        view=view,
        decision=decision,
        graph=graph,
        ended_ms=view.now_ms,
        elapsed_ms=graph.duration_ms,
        measured_ms=graph.duration_ms,
        lanes=lanes,
    )


def test_least_served_charges_one_a_prompt_token_and_two_an_output_over_the_weight() -> None:
    rule = load_policy("least-served")
    mixed = Graph(name="mix", duration_ms=1, prefill_capacity=8, decode_capacity=1)
    view = view_at([mixed], seen("p", 0, prompt=12, weight=2), seen("s", 1), seen("idle", 2))
    lanes = (
        LaneResult(id="p", consumed=8, published=0, finished=False),
        LaneResult(id="s", consumed=0, published=1, finished=False),
    )
    memory = rule.observe(
        rule.initial(view.catalog), told(view, Decision(graph="mix", prefill=("p",), decode=("s",)), *lanes)
    )
    # p: 8 / 2 = 4, s: 2, idle: 0, so idle runs; p rides along, being the only prompt
    assert rule.decide(view, memory) == Decision(graph="mix", prefill=("p",), decode=("idle",))


def test_least_served_lifts_a_newcomer_to_the_least_counter_of_the_live() -> None:
    rule = load_policy("least-served")
    old = seen("a", 0), seen("b", 1)
    view = view_at([D1], *old)
    memory = rule.initial(view.catalog)
    served: list[str] = []
    for _ in range(6):
        decision = rule.decide(view, memory)
        assert isinstance(decision, Decision)
        served += decision.decode
        lane = LaneResult(id=decision.decode[0], consumed=0, published=1, finished=False)
        memory = rule.observe(memory, told(view, decision, lane))
    assert served == ["a", "b"] * 3
    # the counters stand at 6 each; a newcomer at 0 would be served three times in a row
    joined = view_at([D1], *old, seen("new", 2))
    after: list[str] = []
    for _ in range(6):
        decision = rule.decide(joined, memory)
        assert isinstance(decision, Decision)
        after += decision.decode
        lane = LaneResult(id=decision.decode[0], consumed=0, published=1, finished=False)
        memory = rule.observe(memory, told(joined, decision, lane))
    assert after == ["a", "b", "new"] * 2


def test_of_equal_scores_the_less_recently_served_then_the_smaller_capacity_then_the_catalog_wins() -> None:
    # one row in 10 ms, two in 20: both 1/10 a ms, the cohorts begin alike, so the smaller graph runs
    two = Graph(name="d2", duration_ms=20, decode_capacity=2)
    streams = seen("a", 0), seen("b", 1)
    assert decided("fixed-value", view_at([two, D1], *streams)) == Decision(graph="d1", decode=("a",))
    # a was served at 5, b at 3
    served = seen("a", 0, last_service_ms=5), seen("b", 1, last_service_ms=3)
    assert decided("fixed-value", view_at([D1], *served, now_ms=5)).decode == ("b",)
    # (9 + 1) / 10 for the prompt, 10 rows' worth of nothing else: 1 / 1 for the stream; the prompt was never served
    quick = Graph(name="q", duration_ms=1, decode_capacity=1)
    waiting = view_at([quick, P10], seen("s", 0, last_service_ms=1), seen("p", 1, prompt=9), now_ms=5)
    assert decided("fixed-value", waiting).prefill == ("p",)
    # two rows that differ in name only
    twin = Graph(name="twin", duration_ms=10, decode_capacity=1)
    assert decided("fixed-value", view_at([twin, D1], *streams)).graph == "twin"


@pytest.mark.parametrize("policy", LIGHT)
def test_what_can_be_served_is_served_where_the_preferred_phase_has_no_graph(policy: str) -> None:
    both = seen("prompt", 0, prompt=4), seen("stream", 1)
    assert decided(policy, view_at([D1], *both)) == Decision(graph="d1", decode=("stream",))
    assert decided(policy, view_at([P10], *both)) == Decision(graph="p10", prefill=("prompt",))


@pytest.mark.parametrize("policy", LIGHT)
def test_without_work_there_is_nothing_to_do(policy: str) -> None:
    assert decided(policy, view_at([D1, P10])) == NOTHING
