"""Exhaustive replay through the production event loop equals the exact evaluation, in rationals."""

from __future__ import annotations

import os
import random
from fractions import Fraction
from functools import cache

import pytest

from fairlane import suite
from fairlane.oracle.policy_value.evaluate import evaluate
from fairlane.oracle.solve import Solution, solve
from fairlane.policies import names, spec
from fairlane.reference.errors import IdlesWithWork, TooLarge
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import NOTHING, Choice, Completion, Decision, Memory, RequestView, Sees, View
from fairlane.reference.model.request import Request
from fairlane.simulator.replay import replay
from tests.counts import count
from tests.random_instances import random_instance


def first_fit(view: View, request: RequestView, salt: int) -> Decision:
    """Some legal decision for one request, by a rule that has nothing to do with its value."""
    fitting = [g for g in view.catalog if (g.decode_capacity if request.decoding else g.prefill_capacity)]
    graph = fitting[salt % len(fitting)]
    if request.decoding:
        others = [r.id for r in view.requests if r.decoding and r.id != request.id]
        return Decision(graph=graph.name, decode=(request.id, *others)[: 1 + salt % graph.decode_capacity])
    return Decision(graph=graph.name, prefill=(request.id,))


class Counting:
    """Depends on everything: the clock, ages, service times, and a memory of deliveries."""

    def initial(self, catalog: object) -> Memory:
        return 0

    def decide(self, view: View, memory: Memory) -> Choice:
        assert isinstance(memory, int)
        clock = sum((Fraction(r.age_ms or 0) + Fraction(r.last_service_ms or 0) for r in view.requests), view.now_ms)
        salt = memory + int(clock)
        return first_fit(view, view.requests[salt % len(view.requests)], salt)

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        assert isinstance(memory, int)
        return memory + sum(lane.published + 2 * lane.consumed + lane.finished for lane in completion.lanes)


class Coin:
    """Randomised, and promises to look at nothing but prompts and outputs."""

    sees: frozenset[Sees] = frozenset()

    def initial(self, catalog: object) -> Memory:
        return None

    def decide(self, view: View, memory: Memory) -> Choice:
        one = first_fit(view, view.requests[0], len(view.requests))
        two = first_fit(view, view.requests[-1], view.requests[-1].generated + 1)
        return ((Fraction(1, 3), one), (Fraction(2, 3), two))

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        return None


@pytest.mark.parametrize("policy", [Counting(), Coin()], ids=["stateful", "randomised"])
def test_replay_equals_evaluation_on_random_instances(policy: object) -> None:
    rng = random.Random(51)
    for k in range(count(300)):
        instance = random_instance(rng, age=k % 2 == 1)
        assert replay(instance, policy).value == evaluate(instance, policy).value


def test_a_row_of_width_two_by_hand() -> None:
    # one stream, two tokens left, q = 1/2, width 2 in 3 ms, time price 1, output value 4:
    # 1/2: both tokens in 3 ms; 1/2: one token, then the second: 6 ms. Value 8 - (3/2 + 6/2) = 7/2.
    # Launches: 2 branches of the first, and 2 of the second, whose draft is drawn although the limit cuts it
    instance = Instance(
        graphs=[Graph(name="d", duration_ms=3, decode_capacity=1, width=2)],
        requests=[Request(id="a", prompt=0, limit=2, acceptance=["1/2"])],
        objective=Objective(decode_value=4, time_price=1),
    )
    result = replay(instance, lambda view: Decision(graph="d", decode=("a",)))
    assert (result.value, result.branches) == (Fraction(7, 2), 4)


def test_hidden_lengths_follow_the_belief_given_what_was_published() -> None:
    # lengths 1, 2, 3 with 1/2, 1/4, 1/4, one token already out: ends after one more with 1/2, after two with 1/2.
    # completion price 1 over 5 ms rows: 5 + 5/2
    instance = Instance(
        graphs=[Graph(name="d", duration_ms=5, decode_capacity=1)],
        requests=[
            Request(id="a", prompt=0, generated=1, limit=9, length_prior={1: "1/2", 2: "1/4", 3: "1/4"}),
        ],
        objective=Objective(decode_value=0, completion_price=1),
    )
    assert replay(instance, lambda view: Decision(graph="d", decode=("a",))).value == Fraction(-15, 2)


def test_idling_and_size_are_refused() -> None:
    instance = Instance(
        graphs=[Graph(name="d", duration_ms=3, decode_capacity=1, width=2)],
        requests=[Request(id="a", prompt=0, limit=9, acceptance=["1/2"])],
        objective=Objective(decode_value=4),
    )
    with pytest.raises(IdlesWithWork, match="idles with work"):
        replay(instance, lambda view: NOTHING)
    with pytest.raises(TooLarge, match="more than 5 launches"):
        replay(instance, lambda view: Decision(graph="d", decode=("a",)), max_branches=5)


FULL = os.environ.get("FAIRLANE_FULL") == "1"


@cache
def solved(name: str) -> Solution:
    return solve(suite.load(name))


BRANCHY = {"rtx-width-and-batch", "rtx-mixed-widths"}


@pytest.mark.parametrize("name", names())
def test_replay_equals_evaluation_for_every_built_in_policy_on_the_suite(name: str) -> None:
    compared = 0
    for instance in map(suite.load, suite.names()):
        if instance.name in BRANCHY and name not in {"fixed-value", "least-served"} and not FULL:
            continue
        rule = spec(name).policy
        assert replay(instance, rule).value == evaluate(instance, rule, solution=solved(instance.name)).value, (
            instance.name
        )
        compared += 1
    assert compared >= 12
