"""Laws that every built-in policy keeps on drawn instances, along a random run of each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlane.oracle.policy_value.evaluate import PolicySweep, Situation, action_of, view_of
from fairlane.policies import load_policy, names, spec
from fairlane.reference.exact import Real
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import (
    Decision,
    Memory,
    Policy,
    RequestView,
    Sees,
    View,
    branches,
    check_decision,
    sees_of,
)
from fairlane.reference.model.state import is_final
from fairlane.testing import instances
from tests.counts import count

DRAWN = instances(max_requests=3, max_prompt=3, max_limit=2, max_graphs=2, age=True)
# those that plan a whole episode would make another plan for every change of a view
LIGHT = tuple(name for name in names() if name not in ("continuation", "episode-ratio"))


def run(instance: Instance, policy: Policy, seed: int) -> Iterator[tuple[View, Memory, Decision]]:
    """Views with true clocks, ages and service times, memories and decisions along one random run."""
    rng = random.Random(seed)
    sweep = PolicySweep(instance, policy, keeps_age=True, keeps_clock=True, keeps_times=True)
    situation: Situation = sweep.start()
    while not is_final(situation.state):
        view = view_of(instance, situation)
        options = branches(policy.decide(view, situation.memory))
        _, decision = rng.choice(options)
        yield view, situation.memory, decision
        action = action_of(instance, view, decision)
        _, situation = rng.choice(list(sweep.successors(situation, view, decision, action)))


@pytest.mark.parametrize("name", names())
@settings(max_examples=count(200))
@given(instance=DRAWN, seed=st.integers(0, 999))
def test_a_policy_never_idles_and_every_decision_is_legal(name: str, instance: Instance, seed: int) -> None:
    policy = load_policy(name)
    begun = policy.initial(instance.graphs)
    assert hash(begun) == hash(policy.initial(instance.graphs))
    for view, memory, decision in run(instance, policy, seed):
        hash(memory)
        check_decision(view, decision)
        assert policy.decide(view, memory) == policy.decide(view, memory)


def mapped(view: View, change: Callable[[RequestView], RequestView], now_ms: Real) -> View:
    return replace(view, now_ms=now_ms, requests=tuple(change(r) for r in view.requests))


@pytest.mark.parametrize("name", LIGHT)
@settings(max_examples=count(200))
@given(instance=DRAWN, seed=st.integers(0, 999))
def test_a_policy_sees_no_more_than_it_says(name: str, instance: Instance, seed: int) -> None:
    policy = load_policy(name)
    sees = sees_of(policy)
    rng = random.Random(seed)
    for view, memory, decision in run(instance, policy, seed):
        if Sees.AGE not in sees:
            aged = mapped(
                view,
                lambda r: replace(r, age_ms=None if r.age_ms is None else Fraction(rng.randint(0, 9))),
                view.now_ms,
            )
            assert policy.decide(aged, memory) == decision
        if not sees & {Sees.NOW, Sees.SERVICE_TIMES}:
            assert policy.decide(mapped(view, lambda r: r, view.now_ms + 17), memory) == decision
        if Sees.SERVICE_TIMES not in sees:
            # other times in the same order
            times = sorted({r.last_service_ms for r in view.requests if r.last_service_ms is not None})
            place: dict[Real | None, Real | None] = {time: Fraction(k, 7) for k, time in enumerate(times)}
            shown = tuple(replace(r, last_service_ms=place.get(r.last_service_ms)) for r in view.requests)
            moved = replace(view, requests=shown)
            assert policy.decide(moved, memory) == decision


@pytest.mark.parametrize("name", names())
@settings(max_examples=count(200))
@given(instance=DRAWN, seed=st.integers(0, 999))
def test_renaming_requests_and_graphs_renames_the_decision(name: str, instance: Instance, seed: int) -> None:
    policy = load_policy(name)
    new = {r.id: f"z{9 - i}" for i, r in enumerate(instance.requests)}
    renamed = Instance(
        graphs=instance.graphs,
        requests=[
            type(r)(
                id=new[r.id],
                prompt=r.prompt,
                limit=r.limit,
                length_prior=r.length_prior,
                acceptance=r.acceptance,
                weight=r.weight,
            )
            for r in instance.requests
        ],
        objective=instance.objective,
        name=instance.name,
    )
    for (_, _, first), (_, _, second) in zip(run(instance, policy, seed), run(renamed, policy, seed), strict=True):
        assert second.graph == first.graph
        assert second.prefill == tuple(new[i] for i in first.prefill)
        assert second.decode == tuple(new[i] for i in first.decode)


@pytest.mark.parametrize("name", names())
def test_a_registered_policy_names_its_source_and_what_it_assumes(name: str) -> None:
    entry = spec(name)
    assert entry.name == name
    assert len(entry.source) > 10
    assert entry.assumes
