"""Exhaustive replay with two frames equals a recursion over the readable step that was written from the rules."""

from __future__ import annotations

import os
import random
from fractions import Fraction

import pytest

from fairlane import suite
from fairlane.oracle.policy_value.evaluate import Situation, action_of, view_of
from fairlane.oracle.solve import solve
from fairlane.policies import names, spec
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Choice, Decision, FunctionPolicy, RequestView, View, branches
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import FINISHED, Action, State, initial_state, is_final, prompt_shares
from fairlane.reference.model.step import step
from fairlane.simulator.replay import replay
from tests.counts import count
from tests.random_instances import random_instance

FULL = os.environ.get("FAIRLANE_FULL") == "1"

Queue = Action | None


def some_decision(view: View, request: RequestView, salt: int) -> Decision:
    fitting = [g for g in view.catalog if (g.decode_capacity if request.decoding else g.prefill_capacity)]
    graph = fitting[salt % len(fitting)]
    if request.decoding:
        others = [r.id for r in view.requests if r.decoding and r.id != request.id]
        return Decision(graph=graph.name, decode=(request.id, *others)[: 1 + salt % graph.decode_capacity])
    return Decision(graph=graph.name, prefill=(request.id,))


def by_progress(view: View) -> Choice:
    """Depends on prompts and outputs alone."""
    salt = sum(r.prompt + 3 * r.generated for r in view.requests)
    return some_decision(view, view.requests[salt % len(view.requests)], salt)


def coin(view: View) -> Choice:
    one = some_decision(view, view.requests[0], len(view.requests))
    two = some_decision(view, view.requests[-1], view.requests[-1].generated + 1)
    return ((Fraction(1, 3), one), (Fraction(2, 3), two))


def choices(instance: Instance, state: State, policy: FunctionPolicy) -> list[tuple[Fraction, Queue]]:
    """What the policy does where the requests of ``state`` that have not finished are on offer."""
    if is_final(state):
        return [(Fraction(1), None)]
    view = view_of(instance, Situation(state, (None,) * len(state), Fraction(0), None))
    return [(p, action_of(instance, view, d)) for p, d in branches(policy.decide(view, None))]


def behind(instance: Instance, state: State, action: Action) -> State:
    """The state on offer while ``action`` runs: what waits for its outcome counts as finished."""
    shares = prompt_shares(instance.graphs.graphs[action.graph], state, action.prefill)
    out = list(state)
    for i, share in zip(action.prefill, shares, strict=True):
        left = state[i].prompt - share
        out[i] = state[i]._replace(prompt=left) if left else FINISHED
    for i in action.decode:
        out[i] = FINISHED
    return tuple(out)


def value(instance: Instance, policy: FunctionPolicy) -> Fraction:
    known: dict[tuple[State, Queue], Fraction] = {}

    def of(state: State, queued: Queue) -> Fraction:
        if is_final(state):
            return Fraction(0)
        if (state, queued) not in known:
            total = Fraction(0)
            for p, first in [(Fraction(1), queued)] if queued else choices(instance, state, policy):
                assert first is not None
                for q, second in choices(instance, behind(instance, state, first), policy):
                    for outcome in step(instance, state, first):
                        total += p * q * outcome.probability * (outcome.reward + of(outcome.state, second))
            known[state, queued] = total
        return known[state, queued]

    return of(initial_state(instance), None)


@pytest.mark.parametrize("rule", [by_progress, coin])
def test_replay_with_two_frames_equals_the_recursion(rule: object) -> None:
    rng = random.Random(77)
    different = 0
    for k in range(count(300)):
        instance = random_instance(rng, age=k % 2 == 1)
        policy = FunctionPolicy(rule, frozenset())  # type: ignore[arg-type]  # one of the functions above
        found = replay(instance, policy, two_frames=True).value
        assert found == value(instance, policy)
        different += found != replay(instance, policy).value
    assert different > 0


def test_a_queue_chosen_too_early_by_hand() -> None:
    # two streams of one and two tokens' limit, rows of one in 4 ms or two in 5 ms, completion price 1, all rows that
    # fit. One frame: both to 5, b again to 9: -(5 + 9).
    # Two: both run to 5 and b depends on it; the same. Three streams a, b, c of one token, two rows: one frame
    # -(5 + 5 + 9); two queue c behind at once: the same.
    graphs = [
        Graph(name="one", duration_ms=4, decode_capacity=1),
        Graph(name="two", duration_ms=5, decode_capacity=2),
    ]

    def all_that_fit(view: View) -> Decision:
        rows = tuple(r.id for r in view.requests)[:2]
        return Decision(graph="two" if len(rows) == 2 else "one", decode=rows)

    def episode(*limits: int) -> Instance:
        return Instance(
            graphs=graphs,
            requests=[Request(id=f"r{k}", prompt=0, limit=n) for k, n in enumerate(limits)],
            objective=Objective(decode_value=0, completion_price=1),
        )

    for limits, one, two in (
        ((1, 2), -14, -14),
        ((1, 1, 1), -19, -19),
        # a, b to 5. One: a, b again to 10, c, alone by then, to 14 and 18: -(10 + 10 + 18).
        # Two: c alone is queued behind, 5 to 9; behind it a and b, 9 to 14; behind those c, 14 to 18: -(14 + 14 + 18)
        ((2, 2, 2), -38, -46),
    ):
        assert replay(episode(*limits), all_that_fit).value == one
        assert replay(episode(*limits), all_that_fit, two_frames=True).value == two


def test_no_policy_beats_the_optimum_by_queueing_and_some_come_nearer_to_it() -> None:
    # a schedule with a queue is a schedule; that one rule gains by it is no contradiction, since it is not optimal
    nearer = 0
    for name in suite.names():
        if name in {"rtx-width-and-batch", "rtx-mixed-widths", "rtx-verification-widths"}:
            continue
        instance = suite.load(name)
        optimum = solve(instance).value
        assert optimum is not None
        for policy in names() if FULL else ("fixed-value", "ongoing", "fair-gradient", "continuation"):
            queued = replay(instance, spec(policy), two_frames=True).value
            assert queued <= optimum, (name, policy)
            nearer += queued > replay(instance, spec(policy)).value
    assert nearer > 0


def test_alternating_prompts_behind_each_other_by_hand() -> None:
    # one prompt graph of 4 tokens in 3 ms; a of 8 and b of 4 tokens, limit 1; the longest left first, price 1 per ms
    # to the first output. One frame: a (8 left), then a and b tie at 4, a first: a done at 6, b at 9: -15.
    # Two frames: behind a's first chunk a is known to have 4 left, the same choice
    instance = Instance(
        graphs=[Graph(name="p", duration_ms=3, prefill_capacity=4)],
        requests=[Request(id="a", prompt=8, limit=1), Request(id="b", prompt=4, limit=1)],
        objective=Objective(decode_value=0, prefill_value=0, first_output_price=1),
    )

    def longest(view: View) -> Decision:
        return Decision(graph="p", prefill=(max(view.requests, key=lambda r: r.prompt).id,))

    assert replay(instance, longest).value == replay(instance, longest, two_frames=True).value == -15
