"""Names that others type, import or parse. They come from the published interface, not from our own output."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from fairlane.cli.app import build
from fairlane.policies import names

PUBLIC = {
    "fairlane.reference": (
        "Graph Catalog Request Instance Objective load_catalog load_instance dump_instance expected_yield "
        "yield_distribution best_prefill fixed_value_score best_cohort output_age_area prefill_completion_ms "
        "prefill_plan conditional_remaining pareto_remaining fair_allocation fair_allocation_graphs support_gap"
    ),
    "fairlane.oracle": "solve evaluate long_run solve_many verify_many process_pool solve_tiny TinyResults search",
    "fairlane.search": "Space Aim Budget Case Counterexample Report explore search",
    "fairlane.simulator": "simulate",
    "fairlane.simulator.experiments": "suite_regret trace_behaviour ongoing_distance closed_systems",
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

COMMANDS = {
    "verify",
    "solve",
    "check",
    "evaluate",
    "long-run",
    "export",
    "allocate",
    "simulate",
    "metrics",
    "search",
    "experiment",
    "notes",
}


@pytest.mark.parametrize("package", sorted(PUBLIC))
def test_every_published_name_can_be_imported_and_is_a_callable(package: str) -> None:
    module = importlib.import_module(package)
    for name in PUBLIC[package].split():
        assert callable(getattr(module, name)), name
        assert name in module.__all__, name


@pytest.mark.parametrize("package", sorted(PUBLIC))
def test_no_module_hides_a_name_of_its_package(package: str) -> None:
    # `from package import name` finds a module of that name first, whatever the package says of it
    names_of = importlib.import_module(package).__all__
    code = f"import types\nfrom {package} import {', '.join(names_of)}\n" + "\n".join(
        f"assert not isinstance({name}, types.ModuleType), {name}" for name in names_of
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_published_policy_is_registered() -> None:
    assert set(names()) >= POLICIES


def test_every_published_command_exists() -> None:
    assert set(build().commands) >= COMMANDS | {"catalog"}
