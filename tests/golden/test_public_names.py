"""Names that others type, import or parse. They come from the published interface, not from our own output."""

from __future__ import annotations

import importlib

import pytest

from fairlane.cli.app import build
from fairlane.policies import names

PUBLIC = {
    "fairlane.reference": (
        "Graph Catalog Request Instance Objective load_catalog load_instance dump_instance expected_yield "
        "yield_distribution best_prefill fixed_value_score best_cohort output_age_area prefill_completion_ms "
        "prefill_plan conditional_remaining pareto_remaining fair_allocation fair_allocation_graphs support_gap"
    ),
    "fairlane.oracle": "solve evaluate long_run solve_tiny TinyResults",
    "fairlane.simulator": "simulate",
    "fairlane.testing": "assert_within instances",
}

POLICIES = {
    "fixed-value",
    "fair-gradient",
    "ongoing",
    "continuation",
    "age-only",
    "prefill-first",
    "decode-first",
    "round-robin",
    "least-served",
    "shortest-prompt",
    "goodput-width",
    "stall-bonus",
    "episode-ratio",
}

COMMANDS = {"verify", "solve", "check", "evaluate", "long-run", "export", "allocate", "simulate", "metrics", "notes"}


@pytest.mark.parametrize("package", sorted(PUBLIC))
def test_every_published_name_can_be_imported_and_is_a_callable(package: str) -> None:
    module = importlib.import_module(package)
    for name in PUBLIC[package].split():
        assert callable(getattr(module, name)), name
        assert name in module.__all__, name


def test_every_published_policy_is_registered() -> None:
    assert set(names()) >= POLICIES


def test_every_published_command_exists() -> None:
    assert set(build().commands) >= COMMANDS | {"catalog"}
