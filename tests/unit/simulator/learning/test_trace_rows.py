"""A trace explains every launch: who else stood for choice, and why it was not taken."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlane.simulator.learning import policies
from fairlane.simulator.learning.config import LearningConfig
from fairlane.simulator.learning.run import run
from fairlane.simulator.learning.trace_rows import trace_row
from tests.learning_scenarios import mixed

NAMED = {
    "mean_score",
    "optimistic_score",
    "loss_ms",
    "extra_ms",
    "age_busy_ms",
    "n_valid",
    "pending",
    "awaiting",
    "mean_ms",
}


def rows_of(config: LearningConfig) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    run(config, mixed(), 3, on_settled=lambda settled: rows.append(trace_row(settled)))
    found: list[dict[str, Any]] = json.loads(json.dumps(rows, allow_nan=False))
    return found


@pytest.mark.parametrize("policy", policies.names())
def test_every_launch_names_every_candidate(policy: str) -> None:
    rows = rows_of(LearningConfig(policy=policy, funded=False))
    for row in rows:
        by_name = {c["graph"]: c for c in row["candidates"]}
        assert row["graph"] in by_name
        assert all(set(c) >= NAMED for c in row["candidates"])
        if row["incumbent"] is not None and row["kind"] == "ordinary" and row["reason"] == "ordinary":
            # the ordinary choice has the best mean score among what is measured
            measured = [c["mean_score"] for c in row["candidates"] if c["mean_ms"] is not None]
            assert row["score"] == pytest.approx(max(measured), rel=1e-11)


def test_an_unmeasured_candidate_has_no_mean_and_counts_from_its_first_valid_timing() -> None:
    rows = rows_of(LearningConfig(policy="greedy"))
    first = {c["graph"]: c for c in rows[0]["candidates"]}
    assert all(c["mean_ms"] is None and c["n_valid"] == 0 and c["age_busy_ms"] is None for c in first.values())
    # the chosen graph as it stood when it was chosen, not as it is known afterwards
    assert rows[0]["measured_ms"] is not None
    assert first[rows[0]["graph"]]["n_valid"] == 0
    assert any(c["n_valid"] == 1 for c in rows[1]["candidates"])


def test_a_challenger_is_within_both_limits_and_better_at_its_optimistic_cost() -> None:
    config = LearningConfig(policy="targeted", funded=False, probe_extra_ms=3.0, probe_loss_ms=4.0)
    challengers = [row for row in rows_of(config) if row["reason"] == "challenger"]
    assert challengers
    for row in challengers:
        candidate = next(c for c in row["candidates"] if c["graph"] == row["graph"])
        assert candidate["optimistic_score"] > row["incumbent_score"]
        if candidate["n_valid"]:
            assert candidate["extra_ms"] <= 3.0
            assert candidate["loss_ms"] <= 4.0


def test_a_trace_changes_nothing() -> None:
    config = LearningConfig(policy="targeted", funded=False)
    rows: list[object] = []
    traced = run(config, mixed(), 3, on_settled=lambda settled: rows.append(trace_row(settled)))
    assert traced.difference(run(config, mixed(), 3)) is None
    assert len(rows) == traced.n_launches
