"""What the notes import: gaps by cause count every losing decision, and the generated note is up to date."""

from __future__ import annotations

from collections.abc import Iterable

import notes_support
import regret_by_policy

from fairlane.oracle import evaluate, solve
from fairlane.policies import load_policy
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request


def many_losses() -> Instance:
    """Four streams of open length, where turns in order lose nearly everywhere."""
    graphs = Catalog(
        [
            Graph(name="slow", duration_ms=5, decode_capacity=2, width=3),
            Graph(name="fast", duration_ms=2, decode_capacity=2),
        ]
    )
    law = dict.fromkeys(range(1, 9), "1/8")
    requests = tuple(
        Request(id=f"s{k}", prompt=0, limit=8, length_prior=law, acceptance=("1/2",) * 2, weight=k + 1)
        for k in range(4)
    )
    return Instance(graphs=graphs, requests=requests, objective=Objective(decode_value=1, completion_price=1))


def test_every_losing_decision_counts_beyond_the_hundred_that_are_listed() -> None:
    instance = many_losses()
    solution = solve(instance)
    listed = evaluate(instance, load_policy("round-robin"), solution=solution)
    assert listed.n_losses > len(listed.losses) == 100
    # the gap is the sum over all losses; the listed ones alone fall short
    assert -sum(loss.contribution for loss in listed.losses) < listed.gap
    by_cause = notes_support.gap_by_cause(instance, "round-robin", solution)
    parts = [by_cause[cause] for cause in notes_support.CAUSES]
    assert sum_of(parts) == by_cause["gap"] == listed.gap


def sum_of(parts: Iterable[object]) -> object:
    total: object = 0
    for part in parts:
        total = total + part  # type: ignore[operator]  # rationals, in a row of mixed columns
    return total


def test_the_note_on_regret_by_policy_is_what_the_recorded_table_gives() -> None:
    # python docs/notes/regret_by_policy.py writes it anew
    assert regret_by_policy.NOTE.read_text(encoding="utf-8") == regret_by_policy.text()


def test_a_changed_table_changes_the_note() -> None:
    other = tuple(of._replace(worst="rtx-heavy-tail") for of in regret_by_policy.recorded_gaps())
    assert regret_by_policy.text(other) != regret_by_policy.text()
