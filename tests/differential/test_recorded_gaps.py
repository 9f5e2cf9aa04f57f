"""The table of exact gaps beside the notes is that of the suite as it is now, instance by instance."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import pytest

from fairlane import policies, suite
from fairlane.oracle.evaluate import evaluate
from fairlane.oracle.solve import solve

TABLE = Path(__file__).parents[2] / "docs" / "notes" / "suite-gaps.csv"


def recorded() -> dict[tuple[str, str], dict[str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {(row["instance"], row["policy"]): row for row in csv.DictReader(file)}


def test_every_policy_and_instance_has_its_row() -> None:
    assert set(recorded()) == {(i, p) for i in suite.names() for p in policies.names()}


# a claim computes two rows again; an instance that was changed must not pass because others were drawn
@pytest.mark.parametrize("name", suite.names())
def test_no_instance_is_stale(name: str) -> None:
    instance = suite.load(name)
    solution = solve(instance)
    found = evaluate(instance, policies.load_policy("fixed-value"), solution=solution)
    rows = {policy: row for (of, policy), row in recorded().items() if of == name}
    assert {Fraction(row["optimum"]) for row in rows.values()} == {solution.value}
    assert Fraction(rows["fixed-value"]["gap"]) == found.gap
