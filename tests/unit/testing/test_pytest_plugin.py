"""The pytest plugin, run as its users run it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairlane import suite

POLICY = """
from fairlane.reference import Decision

def small(view):
    graph = min((g for g in view.catalog if g.decode_capacity), key=lambda g: g.decode_capacity)
    return Decision(graph=graph.name, decode=(view.requests[0].id,))
"""


def pytest_run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Pytest with the plugin in a folder that holds a policy and nothing else."""
    (folder / "mine.py").write_text(POLICY)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "fairlane.testing.pytest_plugin", "-p", "no:cacheprovider"]
    environment = {**os.environ, "COLUMNS": "200", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([*words, *options], capture_output=True, text=True, check=False, cwd=folder, env=environment)


def test_one_test_an_instance_of_the_suite(tmp_path: Path) -> None:
    done = pytest_run(tmp_path, "--fairlane-policy", "goodput-width", "--fairlane-max-gap", "100%")
    assert f"{len(suite.names())} passed" in done.stdout, done.stdout


def test_a_failure_is_told_as_the_command_tells_it(tmp_path: Path) -> None:
    done = pytest_run(
        tmp_path,
        *("--fairlane-policy", "fixed-value", "--fairlane-policy", "mine:small"),
        *("--fairlane-max-gap", "1/100", "--fairlane-instances", "h100-prompt-tail"),
    )
    assert done.returncode == 1
    out = done.stdout
    file = suite.file("h100-prompt-tail")
    assert f"run again: fairlane evaluate {file} --policy fixed-value" in out
    assert "first wrong decision #1 at 0 ms: " in out
    # the short summary has the gap, or what else was wrong
    summary = [line for line in out.splitlines() if line.startswith("FAILED")]
    assert len(summary) == 2
    assert " % of the optimum, more than 1.00 %" in summary[0]
    assert "mine:small on h100-prompt-tail: " in summary[1]
    for word in ("Traceback", "src/fairlane/", "def evaluate", "raise "):
        assert word not in out.replace(file, ""), out


def test_files_are_found_by_pattern(tmp_path: Path) -> None:
    for name in suite.names()[:2]:
        shutil.copy(suite.file(name), tmp_path / f"own-{name}.json")
    done = pytest_run(
        tmp_path,
        *("--fairlane-policy", "fixed-value", "--fairlane-max-gap", "1000%", "--fairlane-instances", "own-*.json"),
    )
    assert "2 passed" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--fairlane-policy", "fixed-valu"], "policy is 'fixed-valu'; need"),
        (["--fairlane-policy", "mine:smal"], "'mine' has no 'smal'"),
        (["--fairlane-policy", "fixed-value", "--fairlane-max-gap", "5percent"], "--fairlane-max-gap is '5percent'"),
        (["--fairlane-policy", "fixed-value", "--fairlane-instances", "n*.json"], "--fairlane-instances is 'n*.json'"),
        (["--fairlane-policy", "fixed-value", "--fairlane-instances", "mine.py"], "mine.py"),
        (["--fairlane-max-gap", "5%"], "--fairlane-policy is missing"),
    ],
)
def test_what_is_mistyped_is_one_usage_error(tmp_path: Path, options: list[str], said: str) -> None:
    done = pytest_run(tmp_path, *options)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stdout.strip() == ""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, done.stderr
    assert said in lines[0]
    assert lines[0].startswith("ERROR: ")
