"""What users' test suites call: it passes and fails where it should, and says why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given

from fairlane import suite
from fairlane.oracle.rational.plain import solve_plain
from fairlane.oracle.solve import solve
from fairlane.reference.model.instance import Instance
from fairlane.testing import assert_within, instances


def test_a_gap_within_the_limit_passes_and_beyond_it_fails_with_the_decision() -> None:
    tail = suite.load("h100-prompt-tail")
    assert assert_within("fixed-value", tail, relative_gap="1/20").gap > 0
    with pytest.raises(AssertionError, match=r"exceeds 1/100; first losing decision, number 1 with probability 1"):
        assert_within("fixed-value", tail, relative_gap="1/100")
    with pytest.raises(AssertionError, match=r"gap .* exceeds 1"):
        assert_within("fixed-value", tail, gap=1)


@given(instances(max_requests=2))
def test_drawn_instances_are_solvable_and_both_solvers_agree(instance: Instance) -> None:
    solution = solve(instance)
    assert solution.value == solve_plain(instance).value
    assert_within(solution.policy, instance, gap=0)


@given(instances(max_requests=2, max_prompt=2, max_limit=2, max_graphs=1, age=True))
def test_drawn_instances_with_age_agree_too(instance: Instance) -> None:
    for sense in ("max", "min"):
        assert solve(instance, sense=sense).value is not None
    assert solve(instance).value == solve_plain(instance).value


def test_the_plugin_adds_one_test_an_instance(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "fairlane.testing.pytest_plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--fairlane-policy", "goodput-width", "--fairlane-relative-gap", "1"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert f"{len(suite.names())} passed" in done.stdout, done.stdout
    strict = subprocess.run(
        [*command, "--fairlane-policy", "goodput-width"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert strict.returncode == 1
    assert "relative gap" in strict.stdout
    assert "Traceback" not in strict.stdout
