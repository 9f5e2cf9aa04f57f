"""The event loop on runs small enough to follow by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fairlane.reference.errors import IdlesWithWork, InvalidInstance, PolicyError
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.policy import NOTHING, Choice, Completion, Decision, Memory, View
from fairlane.reference.model.request import Request
from fairlane.simulator.realised import realised_value
from fairlane.simulator.run import Status, publications
from fairlane.simulator.simulate import simulate

GRAPHS = Catalog(
    [
        Graph(name="p", duration_ms=5, prefill_capacity=10),
        Graph(name="d", duration_ms="0.1", decode_capacity=2),
    ]
)


def greedy(view: View) -> Decision:
    """Streams first, then the first prompt."""
    streams = tuple(r.id for r in view.requests if r.decoding)
    if streams:
        return Decision(graph="d", decode=streams[:2])
    return Decision(graph="p", prefill=(view.requests[0].id,))


def prompt(name: str, tokens: int, output: int = 1, arrival: str | int = 0) -> Request:
    return Request(id=name, prompt=tokens, limit=output, arrival_ms=arrival)


def stream(name: str, output: int, arrival: str | int = 0) -> Request:
    return Request(id=name, prompt=0, limit=output, arrival_ms=arrival)


def test_an_arrival_at_the_instant_of_a_completion_is_seen_by_the_decision_made_then() -> None:
    # eight rows of 0.1 ms: in doubles their sum is 0.7999..., and the arrival at 0.8 would be missed
    run = simulate([stream("a", 12), stream("b", 1, "0.8")], GRAPHS, greedy, decode_value=1)
    k = int(np.flatnonzero(np.diff(run.lane_offsets) == 2)[0])
    assert run.start_ms[k] == 0.8


def test_an_arrival_during_a_graph_waits_for_its_end_and_accrues_from_its_arrival() -> None:
    # the prompt graph runs to 5; a stream that arrives at 3 is served from 5 to 5.1, its first gap is 2.1
    run = simulate([prompt("a", 10), stream("b", 1, 3)], GRAPHS, greedy, decode_value=1)
    rows = publications(run)
    assert rows.at_ms[rows.offsets[1]] == pytest.approx(5.1)
    from fairlane.simulator.run_metrics import measure_run

    # age area: from 3 to 5.1, 2.1 ** 2 / 2
    assert measure_run(run).publications.age_area_ms2 == pytest.approx(2.205)


def test_idle_time_jumps_to_the_next_arrival() -> None:
    run = simulate([prompt("a", 10), prompt("b", 10, arrival=1000)], GRAPHS, greedy, decode_value=1)
    assert run.start_ms.tolist() == [0, 1000]
    assert run.boundary_ms == 1005


def test_a_graph_that_starts_before_the_horizon_finishes_in_full() -> None:
    run = simulate([prompt("a", 30)], GRAPHS, greedy, decode_value=1, horizon_ms="5.001")
    assert run.end_ms.tolist() == [5, 10]
    assert run.prompt_left.tolist() == [10]
    assert run.boundary_ms == 10
    assert run.status.tolist() == [Status.UNFINISHED]


def test_no_graph_starts_at_the_horizon() -> None:
    run = simulate([prompt("a", 30)], GRAPHS, greedy, decode_value=1, horizon_ms=5)
    assert run.end_ms.tolist() == [5]


def test_requests_beyond_the_horizon_have_not_arrived() -> None:
    run = simulate([prompt("a", 10), prompt("b", 10, arrival=50)], GRAPHS, greedy, decode_value=1, horizon_ms=20)
    assert run.boundary_ms == 20
    assert run.status.tolist() == [Status.FINISHED, Status.NOT_ARRIVED]


def test_a_request_that_no_graph_serves_is_rejected_and_blocks_nobody() -> None:
    only_prefill = Catalog([Graph(name="p", duration_ms=5, prefill_capacity=10)])
    requests = [prompt("a", 10, 2), prompt("b", 10, 1), stream("c", 1)]
    run = simulate(requests, only_prefill, greedy, decode_value=1)
    assert run.status.tolist() == [Status.REJECTED, Status.FINISHED, Status.REJECTED]
    assert [(r.request, "decode_capacity" in r.reason) for r in run.rejections] == [(0, True), (2, True)]


def test_requests_are_ranked_by_arrival_and_ties_keep_the_order_given() -> None:
    run = simulate([prompt("late", 1, arrival=5), prompt("b", 1), prompt("a", 1)], GRAPHS, greedy, decode_value=1)
    assert [r.id for r in run.requests] == ["b", "a", "late"]
    assert run.warnings
    assert "1 requests arrive before" in run.warnings[0]


def test_a_policy_may_wait_for_an_arrival_but_not_for_nobody() -> None:
    def patient(view: View) -> Decision:
        return greedy(view) if len(view.requests) > 1 else NOTHING

    run = simulate(
        [prompt("a", 10), stream("b", 1, 7)], GRAPHS, lambda v: greedy(v) if v.now_ms else NOTHING, decode_value=1
    )
    assert run.start_ms[0] == 7
    with pytest.raises(IdlesWithWork, match="nobody else will arrive"):
        simulate([prompt("a", 10)], GRAPHS, patient, decode_value=1)


class Told:
    """Remembers what it was told."""

    def initial(self, catalog: Catalog) -> Memory:
        return ()

    def decide(self, view: View, memory: Memory) -> Choice:
        self.seen = memory
        return greedy(view)

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        assert isinstance(memory, tuple)
        lane = completion.lanes[0]
        return (*memory, (completion.graph.name, completion.ended_ms, lane.consumed, lane.published, lane.finished))


def test_a_policy_is_told_what_each_lane_delivered() -> None:
    policy = Told()
    simulate([prompt("a", 12, 2)], GRAPHS, policy, decode_value=1)
    assert policy.seen == (("p", 5, 10, 0, False), ("p", 10, 2, 1, False))


def test_a_view_shows_ages_and_service_and_never_the_hidden_length() -> None:
    views: list[View] = []

    def watching(view: View) -> Decision:
        views.append(view)
        return greedy(view)

    requests = [Request(id="a", prompt=3, limit=99, output_length=2), stream("b", 1, 5)]
    simulate(requests, GRAPHS, watching, decode_value=1)
    first, second = views[0].requests[0], views[1].requests
    assert (first.prompt, first.age_ms, first.last_service_ms, first.limit) == (3, None, None, 99)
    assert [(r.id, r.age_ms, r.last_service_ms) for r in second] == [("a", 0, 5), ("b", 0, None)]
    assert not hasattr(first, "output_length")


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (Decision(graph="x", decode=("s",)), "need a graph of the catalog"),
        (Decision(graph="d", decode=("p0",)), "3 prompt tokens are left"),
        (Decision(graph="p", prefill=("s",)), "its prompt is consumed"),
        (Decision(graph="d", decode=("s", "s")), "twice"),
        (Decision(graph="d"), "no request"),
        (Decision(graph="d", decode=("nobody",)), "need a live request"),
        ("d", "need a Decision"),
        (((Fraction(1, 2), NOTHING),), "sum to 1/2"),
    ],
)
def test_an_illegal_decision_is_an_error_in_words(decision: object, message: str) -> None:
    def wrong(view: View) -> Choice:
        return decision  # type: ignore[return-value]  # that is the point

    with pytest.raises(PolicyError, match=message):
        simulate([stream("s", 3), prompt("p0", 3)], GRAPHS, wrong, decode_value=1)


def test_bad_input_is_named() -> None:
    one = prompt("a", 1)
    with pytest.raises(InvalidInstance, match=r"requests\[1\].id is 'a'"):
        simulate([one, one], GRAPHS, greedy, decode_value=1)
    with pytest.raises(InvalidInstance, match="horizon_ms is 0"):
        simulate([one], GRAPHS, greedy, decode_value=1, horizon_ms=0)
    with pytest.raises(InvalidInstance, match="exactly one"):
        simulate([one], GRAPHS, greedy)
    with pytest.raises(InvalidInstance, match="seed is -1"):
        simulate([one], GRAPHS, greedy, decode_value=1, seed=-1)
    short = Request(id="s", prompt=0, generated=3, limit=9, output_length=2)
    with pytest.raises(InvalidInstance, match=r"output_length is 2; need > generated, which is 3"):
        simulate([short], GRAPHS, greedy, decode_value=1)


def test_no_request_is_an_empty_run() -> None:
    run = simulate([], GRAPHS, greedy, decode_value=1)
    assert (run.n_launches, run.boundary_ms) == (0, 0)


def test_drafts_are_counted_before_the_cut_and_outputs_after_it() -> None:
    # width 4, every draft accepted, two tokens left: three accepted drafts, two published tokens
    graphs = Catalog([Graph(name="d", duration_ms=1, decode_capacity=1, width=4)])
    request = Request(id="a", prompt=0, limit=2, acceptance=[1, 1, 1])
    run = simulate([request], graphs, lambda v: Decision(graph="d", decode=("a",)), decode_value=1)
    assert (run.lane_proposed.tolist(), run.lane_accepted.tolist(), run.lane_published.tolist()) == ([3], [3], [2])


def test_the_value_of_a_run_by_hand() -> None:
    from fairlane.reference.model.objective import Objective

    # a: prompt 10 in 5 ms with its first output, then rows ending at 5.1 and 5.2. b: a stream, one row to 5.1.
    # work 10 + 2 * 4 = 18; time 5.2; completions 5.2 + 5.1; first output 5; ages: 5.1 ** 2 / 2 + 2 * 0.1 ** 2 / 2
    prices = Objective(decode_value=2, time_price=1, completion_price=10, first_output_price=100, age_price=1000)

    def prompts_first(view: View) -> Decision:
        waiting = [r.id for r in view.requests if not r.decoding]
        return Decision(graph="p", prefill=(waiting[0],)) if waiting else greedy(view)

    run = simulate([prompt("a", 10, 3), stream("b", 1)], GRAPHS, prompts_first, objective=prices)
    assert realised_value(run) == pytest.approx(18 - 5.2 - 103 - 500 - 1000 * (5.1**2 / 2 + 0.01))


def test_named_workloads_are_sixteen_and_fit_the_words() -> None:
    from fairlane.simulator.workloads import WORKLOADS, workload, workload_names

    assert len(WORKLOADS) == len(set(workload_names())) == 16
    assert "prefill_five_decodes" in workload_names()
    assert max(len(w.requests) for w in WORKLOADS) == 16
    assert any(len({r.acceptance for r in w.requests}) > 1 for w in WORKLOADS)
    assert any(any(r.arrival_ms > 0 for r in w.requests) for w in WORKLOADS)
    five = workload("prefill_five_decodes").requests
    assert sorted(r.prompt == 0 for r in five) == [False, True, True, True, True, True]
    with pytest.raises(InvalidInstance, match="need one of solo_prefill"):
        workload("nothing")
