"""Exact policy evaluation against a plain recursion over the whole tree of outcomes, which merges nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from fairlane.oracle.policy_value.evaluate import Situation, action_of, evaluate, view_of
from fairlane.oracle.rational.plain import solve_plain
from fairlane.reference.errors import IdlesWithWork, PolicyError
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import (
    NOTHING,
    Choice,
    Completion,
    Decision,
    LaneResult,
    Memory,
    Policy,
    View,
    as_policy,
    branches,
)
from fairlane.reference.model.state import FINISHED, Action, LocalState, State, actions, initial_state, is_final
from fairlane.reference.model.step import step
from tests.counts import count
from tests.random_instances import random_instance


def tree_value(instance: Instance, policy: Policy) -> Fraction:
    """Expected reward by recursion over every path, with true clocks and service times."""

    def below(situation: Situation) -> Fraction:
        if is_final(situation.state):
            return Fraction(0)
        view = view_of(instance, situation)
        total = Fraction(0)
        for chance, decision in branches(policy.decide(view, situation.memory)):
            action = action_of(instance, view, decision)
            graph = instance.graphs.graphs[action.graph]
            ended = situation.now_ms + graph.duration_ms
            for outcome in step(instance, situation.state, action):
                published, consumed = dict(outcome.published), dict(outcome.consumed)
                served = (*action.prefill, *action.decode)
                lanes = tuple(
                    LaneResult(
                        id=instance.requests[i].id,
                        consumed=consumed.get(i, 0),
                        published=published.get(i, 0),
                        finished=outcome.state[i].finished,
                    )
                    for i in served
                )
                spent = graph.duration_ms
                told = Completion(
                    view=view,
                    decision=decision,
                    graph=graph,
                    ended_ms=ended,
                    elapsed_ms=spent,
                    measured_ms=spent,
                    lanes=lanes,
                )
                service = tuple(ended if i in served else t for i, t in enumerate(situation.service))
                after = Situation(outcome.state, service, ended, policy.observe(situation.memory, told))
                total += chance * outcome.probability * (outcome.reward + below(after))
        return total

    start = initial_state(instance)
    return below(Situation(start, (None,) * len(start), Fraction(0), policy.initial(instance.graphs)))


class Alternating:
    """A stateful policy: it counts its own decisions and takes the legal action of that number, in rotation."""

    def initial(self, catalog: Catalog) -> Memory:
        return 0

    def decide(self, view: View, memory: Memory) -> Choice:
        assert isinstance(memory, int)
        options = legal(view)
        return options[memory % len(options)]

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        assert isinstance(memory, int)
        return memory + 1 + sum(lane.published for lane in completion.lanes)


class OldestFirst:
    """A stateless policy that sees ages, times and the clock, and draws between two actions."""

    def initial(self, catalog: Catalog) -> Memory:
        return None

    def decide(self, view: View, memory: Memory) -> Choice:
        options = legal(view)
        ages = [r.age_ms for r in view.requests if r.age_ms is not None]
        pick = int(sum(ages) + view.now_ms) % len(options)
        return ((Fraction(1, 3), options[pick]), (Fraction(2, 3), options[0]))

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        return None


def legal(view: View) -> list[Decision]:
    """One-request decisions, enough to be legal everywhere."""
    out = []
    for graph in view.catalog:
        for request in view.requests:
            if request.decoding and graph.decode_capacity:
                out.append(Decision(graph=graph.name, decode=(request.id,)))
            if not request.decoding and graph.prefill_capacity:
                out.append(Decision(graph=graph.name, prefill=(request.id,)))
    return out


@pytest.mark.parametrize("policy", [Alternating(), OldestFirst()], ids=["stateful", "randomised"])
def test_value_equals_the_tree_recursion(policy: Policy) -> None:
    for seed in range(count(100)):
        instance = random_instance(random.Random(seed), age=seed % 3 == 0)
        solution = solve_plain(instance)
        result = evaluate(instance, policy, solution=solution)
        assert result.value == tree_value(instance, policy)
        assert result.optimum == solution.value
        assert result.gap >= 0


def test_the_optimal_policy_has_no_loss_and_the_worst_action_has_one() -> None:
    lossy_ones = 0
    for seed in range(count(100)):
        instance = random_instance(random.Random(1000 + seed))
        lossy_ones += _one_bad_start(instance)
    assert lossy_ones > 0


def _one_bad_start(instance: Instance) -> bool:
    solution = solve_plain(instance)
    start = initial_state(instance)
    best = evaluate(instance, _first_optimal(instance, solution.optimal_actions), solution=solution)
    assert best.gap == 0
    assert best.first_loss is None
    bad = next((a for a in actions(instance, start) if a not in solution.optimal_actions(start)), None)
    if bad is None:
        return False

    def choose(state: State) -> tuple[Action, ...]:
        return (bad,) if state == start else solution.optimal_actions(state)

    lossy = evaluate(instance, _first_optimal(instance, choose), solution=solution)
    assert lossy.first_loss is not None
    assert lossy.first_loss.decisions_before == 0
    assert lossy.gap == -lossy.first_loss.advantage
    return True


def _first_optimal(instance: Instance, chosen: Callable[[State], tuple[Action, ...]]) -> Policy:
    def decide(view: View) -> Choice:
        live = {r.index: r for r in view.requests}
        state = tuple(
            LocalState(live[i].prompt, live[i].generated, Fraction(0), False) if i in live else FINISHED
            for i in range(len(instance.requests))
        )
        action = chosen(state)[0]
        ids = [r.id for r in instance.requests]
        return Decision(
            graph=instance.graphs.graphs[action.graph].name,
            prefill=tuple(ids[i] for i in action.prefill),
            decode=tuple(ids[i] for i in action.decode),
        )

    return as_policy(decide)


def test_idling_with_work_ends_an_evaluation() -> None:
    instance = random_instance(random.Random(5))
    with pytest.raises(IdlesWithWork, match="idles with work"):
        evaluate(instance, lambda view: NOTHING, solution=solve_plain(instance))


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (Decision(graph="nope", decode=("r0",)), "need a graph of the catalog"),
        ("p1", "decision is a str"),
        (((Fraction(1, 2), NOTHING),), "sum to 1/2"),
        (((Fraction(-1), NOTHING), (Fraction(2), NOTHING)), "need >= 0"),
        ((), "decision is a tuple"),
    ],
)
def test_an_illegal_decision_is_named(choice: object, message: str) -> None:
    instance = random_instance(random.Random(5))
    with pytest.raises(PolicyError, match=message):
        evaluate(instance, lambda view: choice, solution=solve_plain(instance))
