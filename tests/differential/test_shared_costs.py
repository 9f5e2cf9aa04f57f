"""The costs that a search shares between episodes, beside the evaluation of one episode and the readable solver."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from fairlane.oracle import evaluate, solve_plain
from fairlane.policies import load_policy, names
from fairlane.reference import Decision, Instance, View
from fairlane.reference.model.policy import Choice, as_policy
from fairlane.reference.rationals import to_fraction
from fairlane.search.failure import Guard
from fairlane.search.shared_costs import SharedCosts
from fairlane.search.space import IDS, renamed
from tests.counts import count
from tests.random_instances import random_instance, with_energy


def by_time(view: View) -> Choice:
    """Looks at everything a view has, and draws: the odd ms serve the youngest, the even ms either end of the line."""
    line = sorted(view.requests, key=lambda r: (r.age_ms or 0, r.last_service_ms or 0, r.index))
    order = list(view.catalog) if view.now_ms.denominator == 1 else list(reversed(view.catalog.graphs))  # type: ignore[union-attr]  # exact work has rational clocks

    def serve(request_id: str, prompt: int) -> Decision:
        for graph in order:
            if prompt and graph.prefill_capacity:
                return Decision(graph=graph.name, prefill=(request_id,))
            if not prompt and graph.decode_capacity:
                return Decision(graph=graph.name, decode=(request_id,))
        raise AssertionError

    first, last = (serve(r.id, r.prompt) for r in (line[0], line[-1]))
    if int(view.now_ms) % 2:
        return first
    return ((Fraction(1, 3), first), (Fraction(2, 3), last))


def drawn(rng: random.Random, n: int, *, age: bool) -> list[Instance]:
    """Instances that share a catalog and an objective."""
    first = random_instance(rng, age=age)
    if rng.random() < 0.3:
        first = with_energy(first, rng)
    out: list[Instance] = []
    while len(out) < n:
        other = random_instance(rng)
        requests = tuple(renamed(r, IDS[i]) for i, r in enumerate(other.requests))
        out.append(Instance(graphs=first.graphs, requests=requests, objective=first.objective))
    return out


@pytest.mark.parametrize("age", [False, True])
@pytest.mark.parametrize("name", [*names(), "by_time"])
def test_gap_and_optimum_are_those_of_one_episode_alone(name: str, age: bool) -> None:
    policy = as_policy(by_time) if name == "by_time" else load_policy(name)
    rng = random.Random(f"{name} {age}")
    slow = name in ("continuation", "episode-ratio")
    for _ in range(count(20 if slow else 60)):
        group = drawn(rng, 2 if slow else 4, age=age)
        shared = SharedCosts(group[0].graphs, group[0].objective, Guard(policy, 60))
        for instance in group:
            solution = solve_plain(instance)
            alone = evaluate(instance, policy, solution=solution)
            assert to_fraction(shared.optimum(instance.requests)) == solution.value
            assert to_fraction(shared.gap(instance.requests)) == alone.gap
