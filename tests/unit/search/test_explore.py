"""The search: exhaustive bounds beside plain enumeration, statuses, proposals, and policies that break."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import pytest

from fairlane.oracle import evaluate, process_pool, search, solve_plain
from fairlane.policies import load_policy
from fairlane.reference import Decision, Graph, Instance, Objective, PolicyError, Request, View
from fairlane.reference.model.policy import Choice
from fairlane.search import (
    Aim,
    Breach,
    Budget,
    Case,
    Measure,
    Report,
    Space,
    Status,
    explore,
    graph_options,
    request_options,
    size_of,
)
from fairlane.search.enumeration import PieceResult
from fairlane.search.explore import Phase
from fairlane.search.minimise import minimise
from fairlane.search.space import tokens_of
from fairlane.search.variation import with_number

SMALL = Space(
    requests=request_options(prompt=[0, 1], limit=[1, 2]),
    graphs=graph_options(prefill_capacity=[1, 2], decode_capacity=[1, 2], duration_ms=[1, 2]),
)


def legal(view: View) -> Decision:
    """Serves the first request alone."""
    first = view.requests[0]
    for graph in view.catalog:
        if first.prompt and graph.prefill_capacity:
            return Decision(graph=graph.name, prefill=(first.id,))
        if not first.prompt and graph.decode_capacity:
            return Decision(graph=graph.name, decode=(first.id,))
    raise AssertionError


@pytest.mark.parametrize("name", ["fixed-value", "decode-first", "least-served"])
@pytest.mark.parametrize("measure", list(Measure))
def test_bound_and_smallest_witness_are_those_of_plain_enumeration(name: str, measure: Measure) -> None:
    # the other side: every instance one by one, the readable solver, the evaluation of one episode
    aim = Aim(measure=measure)
    gaps: list[tuple[Fraction, Instance]] = []
    unmeasured = looked = 0
    for instance in SMALL.instances():
        looked += 1
        found = evaluate(instance, load_policy(name), solution=solve_plain(instance))
        gap = aim.gap_of(found.gap, found.optimum)
        if gap is None:
            unmeasured += found.gap > 0
        elif gap > 0:
            gaps.append((gap, instance))
    report = explore(name, SMALL, aim=aim, widen=False)
    assert report.exhaustive
    assert (report.instances, report.unmeasured) == (looked, unmeasured)
    assert report.bound == max(gap for gap, _ in gaps) > 0
    assert report.counterexample is not None
    assert report.counterexample.status is Status.GLOBAL_MIN
    assert report.counterexample.size == min(size_of(instance) for _, instance in gaps)


def test_a_policy_that_is_optimal_on_a_space_is_reported_as_none() -> None:
    # one request, one row at a time, no drafts: the fastest graph is best, and best by fixed value too
    space = Space(
        n_requests=(1,),
        requests=request_options(prompt=[0], limit=[1, 2, 3]),
        n_graphs=(1, 2),
        graphs=graph_options(prefill_capacity=[], decode_capacity=[1], duration_ms=[1, 2, "5/2"]),
    )
    report = explore("fixed-value", space)
    # three limits beside three single graphs and three pairs
    assert report.counterexample is None
    assert report.exhaustive
    assert report.instances == 3 * (3 + 3)
    assert report.bound == 0
    assert search("fixed-value", space) is None


def test_nothing_below_a_threshold_is_a_witness_and_the_bound_stays() -> None:
    free = explore("fixed-value", SMALL, widen=False)
    report = explore("fixed-value", SMALL, aim=Aim(exceeds=free.bound))
    assert report.counterexample is None
    assert report.bound == free.bound
    assert report.exhaustive


def test_an_instance_budget_stops_and_repeats() -> None:
    # 400 instances in all; pieces are blocks here, all of them below 500
    first = explore("fixed-value", SMALL, budget=Budget(instances=220), widen=False)
    assert not first.exhaustive
    assert 220 <= first.instances < 400
    assert stripped(first) == stripped(explore("fixed-value", SMALL, budget=Budget(instances=220), widen=False))


def stripped(report: Report) -> object:
    """A report without the time that evaluations took."""
    witness = report.counterexample
    assert witness is not None
    same = replace(witness, evaluation=replace(witness.evaluation, seconds=0.0))
    return replace(report, counterexample=same)


def test_any_executor_gives_the_same_report() -> None:
    alone = stripped(explore("least-served", SMALL, widen=False))
    with process_pool(2) as pool:
        assert stripped(explore("least-served", SMALL, widen=False, executor=pool)) == alone
    with ThreadPoolExecutor(2) as threads:
        assert stripped(explore("least-served", SMALL, widen=False, executor=threads)) == alone


def test_a_search_goes_on_from_known_pieces() -> None:
    kept = {}
    whole = explore("fixed-value", SMALL, widen=False, on_piece=lambda k, _, result: kept.update({k: result}))
    half = {k: result for k, result in kept.items() if k % 2}
    fresh: list[int] = []
    again = explore("fixed-value", SMALL, widen=False, known=half, on_piece=lambda k, *_: fresh.append(k))
    assert fresh == [k for k in kept if k not in half]
    assert stripped(again) == stripped(whole)


def test_draws_beyond_an_enumeration_are_minimised() -> None:
    # nothing is found among the first instances, which have one request each
    space = Space(
        n_requests=(1, 3),
        requests=request_options(prompt=[0, 2, 3], limit=[2, 3]),
        n_graphs=(2, 3),
        graphs=graph_options(prefill_capacity=[1, 2], decode_capacity=[1, 2], duration_ms=["3/2", "7/3", 2]),
    )
    report = explore("decode-first", space, budget=Budget(instances=1, proposals=400), widen=False)
    witness = report.counterexample
    assert witness is not None
    assert witness.origin == "random draw"
    assert witness.status is Status.LOCAL_MIN
    assert witness.gap == evaluate(witness.instance, load_policy("decode-first")).gap > 0
    # what minimising can always do: the common measure of all durations is 1
    assert all(g.duration_ms.denominator == 1 for g in witness.instance.graphs)


def test_the_optimiser_climbs_over_a_threshold_that_no_instance_of_the_space_reaches() -> None:
    space = replace(SMALL, n_requests=(2,), n_graphs=(2,))
    most = explore("fixed-value", space, widen=False).bound
    aim = Aim(exceeds=most)
    report = explore("fixed-value", space, aim=aim, budget=Budget(instances=200, proposals=400), widen=False)
    assert report.counterexample is not None
    assert report.counterexample.origin == "optimiser"
    assert report.counterexample.gap > most


def test_minimising_ends_where_no_step_is_left() -> None:
    # a witness is an instance with two graphs and at least three tokens: the smallest has one request of three
    def holds(instance: Instance) -> bool:
        return len(instance.graphs) == 2 and sum(map(tokens_of, instance.requests)) >= 3

    start = Instance(
        graphs=[
            Graph(name="p", duration_ms="7/3", prefill_capacity=4),
            Graph(name="d", duration_ms="14/3", decode_capacity=3, width=2),
            Graph(name="e", duration_ms=5, decode_capacity=2),
        ],
        requests=[
            Request(id="a", prompt=5, limit=2, length_prior={1: "1/3", 2: "2/3"}, acceptance=["2/7"], weight="3/2"),
            Request(id="b", prompt=0, limit=7, generated=3),
        ],
        objective=Objective(decode_value=16, time_price="1/3", completion_price=2),
    )
    least, looked, done = minimise(start, holds, max_instances=1000)
    assert done
    assert looked > 0
    assert len(least.requests) == 1
    # of each graph one capacity of 1, lanes 1, width 1 and 1 ms: 4; the weight 1; every price 0
    assert size_of(least)[:5] == (1, 3, 2, 0, 2 * 4 + 1)
    _, looked, done = minimise(start, holds, max_instances=3)
    assert (looked, done) == (3, False)


def test_regions_end_where_the_gap_does() -> None:
    # by hand: decode in 1 ms and prefill in T ms are equally good by value at T = 2; below, prefill comes first,
    # and the policy is optimal
    witness = explore("fixed-value", SMALL).counterexample
    assert witness is not None
    assert [(g.prefill_capacity, g.decode_capacity, int(g.duration_ms)) for g in witness.instance.graphs] == [
        (1, 0, 2),
        (0, 2, 1),
    ]
    duration = witness.regions[0]
    assert (duration.low.value, duration.low.included, duration.low.sharp) == (Fraction(2), True, True)
    assert not duration.high.sharp
    beside = with_number(witness.instance, duration.number, Fraction(2) - Fraction(1, 1000))
    assert evaluate(beside, load_policy("fixed-value")).gap == 0


def test_a_predicate_takes_the_place_of_the_gap() -> None:
    def slow_start(case: Case) -> bool:
        return len(case.run) >= 3 and case.instance.requests[-1].id == "b"

    report = explore("round-robin", SMALL, aim=Aim(predicate=slow_start), widen=False)
    assert report.counterexample is not None
    assert report.counterexample.status is Status.GLOBAL_MIN
    smaller = [i for i in SMALL.instances() if size_of(i) < report.counterexample.size]
    assert not any(slow_start(Case(i, load_policy("round-robin"))) for i in smaller)


def raises(view: View) -> Decision:
    """Fails on its second decision."""
    if view.requests[0].generated:
        raise KeyError("no such table")
    return legal(view)


def hangs(view: View) -> Decision:
    """Never ends where two requests wait."""
    while len(view.requests) > 1:
        time.sleep(0.001)
    return legal(view)


def swallows(view: View) -> Decision:
    """Hangs, and takes every exception for its own."""
    while len(view.requests) > 1:
        try:
            time.sleep(0.001)
        except Exception:
            continue
    return legal(view)


def illegal(view: View) -> Decision:
    """Puts a finished request into a lane once it is alone."""
    done = legal(view)
    alone = [request.id for request in view.requests]
    return done if len(alone) > 1 or alone == ["a"] else replace(done, decode=("a",), prefill=())


def not_a_number(view: View) -> object:
    """A probability that is no number."""
    return ((float("nan"), legal(view)), (0.5, legal(view)))


def idles(view: View) -> Decision:
    """Does nothing beside a prompt."""
    return Decision() if any(r.prompt for r in view.requests) else legal(view)


@pytest.mark.parametrize(
    ("policy", "breach", "message"),
    [
        (raises, Breach.RAISES, "no such table"),
        (hangs, Breach.HANGS, "no decision after"),
        (swallows, Breach.HANGS, "no decision after"),
        (illegal, Breach.ILLEGAL, "need a live request"),
        (not_a_number, Breach.NOT_A_NUMBER, "nan"),
        (idles, Breach.IDLES, "nothing to do"),
    ],
)
def test_a_policy_that_breaks_is_reported_with_its_view(policy: object, breach: Breach, message: str) -> None:
    report = explore(policy, SMALL, limit_s=0.1)
    assert report.counterexample is None
    failure = report.failure
    assert failure is not None
    assert failure.breach is breach
    assert message in failure.message
    assert failure.instance is not None
    assert failure.view.catalog == failure.instance.graphs
    assert len(failure.view.requests) >= 1
    with pytest.raises(PolicyError, match=r"on the view at \d+ ms of "):
        search(policy, SMALL, limit_s=0.1)


def test_a_policy_that_changes_its_mind_is_refused() -> None:
    mended = False

    def moody(view: View) -> Choice:
        return load_policy("ongoing").decide(view, ()) if mended else legal(view)

    def mend(_: int, __: object, result: PieceResult) -> None:
        nonlocal mended
        mended = result.smallest is not None

    with pytest.raises(PolicyError, match="another value when it is replayed"):
        explore(moody, SMALL, budget=Budget(first=True), on_piece=mend)


def test_a_phase_ends_where_it_is_told_to() -> None:
    asked: list[Phase] = []

    def enough(phase: Phase) -> bool:
        asked.append(phase)
        return asked.count(phase) < 3

    # nothing loses 1,000 here, so that both phases run into their ends
    report = explore("fixed-value", SMALL, aim=Aim(exceeds=Fraction(1000)), go_on=enough)
    assert report.counterexample is None
    assert not report.exhaustive
    assert asked == [Phase.ENUMERATION] * 3 + [Phase.PROPOSALS] * 3
    assert report.proposed <= 2
