"""Regret of policies over instances whose optimum is worked by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Decision, View
from fairlane.reference.model.request import Request
from fairlane.simulator.experiments import suite_regret
from fairlane.simulator.experiments.documents import gaps_table, regret_row

FAST = Graph(name="fast", duration_ms=2, decode_capacity=1)
SLOW = Graph(name="slow", duration_ms=5, decode_capacity=1)


def one_token(name: str, *graphs: Graph, decode_value: int) -> Instance:
    """One stream, one token, a ms costs 1: a graph of T ms earns decode_value − T."""
    return Instance(
        name=name,
        graphs=graphs,
        requests=[Request(id="a", prompt=0, limit=1)],
        objective=Objective(decode_value=decode_value, time_price=1),
    )


CHOICE = one_token("choice", FAST, SLOW, decode_value=10)  # 10 − 2 = 8 against 10 − 5 = 5
FORCED = one_token("forced", SLOW, decode_value=10)  # 5 whatever one does
NOTHING = one_token("nothing", FAST, SLOW, decode_value=2)  # 2 − 2 = 0 against 2 − 5 = −3


def slowest(view: View) -> Decision:
    return Decision(graph="slow", decode=tuple(r.id for r in view.requests))


def fastest(view: View) -> Decision:
    graph = min(view.catalog, key=lambda g: g.duration_ms)
    return Decision(graph=graph.name, decode=tuple(r.id for r in view.requests))


def idle(view: View) -> Decision:
    return Decision(graph=None)


def test_relative_gaps_by_hand() -> None:
    slow, fast = suite_regret({"slow": slowest, "fast": fastest}, [FORCED, CHOICE])
    # gaps 0/5 and (8 − 5)/8
    assert slow.mean_gap == (0 + Fraction(3, 8)) / 2
    assert (slow.largest_gap, slow.worst) == (Fraction(3, 8), "choice")
    assert (slow.optimal_on, slow.n_instances, slow.n_gaps) == (1, 2, 2)
    assert fast.mean_gap == fast.largest_gap == 0
    assert (fast.worst, fast.optimal_on) == (None, 2)


def test_an_optimum_of_0_has_no_relative_gap_and_still_counts_as_not_attained() -> None:
    (slow,) = suite_regret({"slow": slowest}, [NOTHING, CHOICE])
    assert (slow.n_gaps, slow.optimal_on) == (1, 0)
    assert slow.mean_gap == Fraction(3, 8)


def test_only_an_optimum_of_0_leaves_no_mean() -> None:
    (slow,) = suite_regret({"slow": slowest}, [NOTHING])
    assert (slow.mean_gap, slow.largest_gap, slow.worst) == (None, None, None)
    assert regret_row(slow)["mean_gap"] is None


def test_a_rule_broken_is_a_failure_and_no_gap() -> None:
    (found,) = suite_regret({"idle": idle}, [CHOICE, FORCED])
    assert (found.n_gaps, found.optimal_on, found.n_instances) == (0, 0, 2)
    assert found.failure is not None
    assert found.failure.startswith("choice: ")
    assert "idles with work" in found.failure


def test_every_gap_in_a_table_by_instance_then_policy() -> None:
    text = gaps_table(suite_regret({"slow": slowest, "fast": fastest, "idle": idle}, [CHOICE, NOTHING]))
    assert text.splitlines() == [
        "policy,instance,optimum,gap,relative_gap",
        "slow,choice,8,3,3/8",
        "fast,choice,8,0,0",
        "slow,nothing,0,3,",
        "fast,nothing,0,0,",
    ]


def test_progress_counts_policies_times_instances() -> None:
    seen: list[tuple[int, int]] = []
    suite_regret({"slow": slowest, "fast": fastest}, [CHOICE, FORCED], on_progress=lambda a, b: seen.append((a, b)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_no_instance_is_refused() -> None:
    with pytest.raises(InvalidInstance, match="instances is empty"):
        suite_regret({"slow": slowest}, [])
