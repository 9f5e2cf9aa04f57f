"""A command whose extra is missing says so in one line; the commands of the main job need none."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from fairlane.reference.extras import EXTRA_OF, unsupported_without

ROOT = Path(__file__).parents[2]
INSTANCE = """{"graphs": [{"name": "d", "duration_ms": 1, "decode_capacity": 1}],
 "requests": [{"id": "a", "prompt": 0, "limit": 1}], "objective": {"decode_value": 1}}"""
PROBLEM = """{"requests": [{"id": "a"}, {"id": "b"}], "actions": [{"name": "x", "rates": {"a": 1, "b": 1}}]}"""


def _without(packages: list[str], words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command where packages cannot be imported."""
    (folder / "instance.json").write_text(INSTANCE)
    (folder / "problem.json").write_text(PROBLEM)
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({packages!r}))\n"
        f"from fairlane.cli import run; sys.exit(run({words!r}))"
    )
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "package", "extra"),
    [
        (["graph", "instance.json", "--output", "g.svg"], "matplotlib", "pictures"),
        (["allocate", "problem.json", "--plot", "p.svg"], "matplotlib", "pictures"),
        (["allocate", "problem.json", "--method", "cvxpy"], "cvxpy", "cvxpy"),
        (["notes", "check", "."], "markdown_it", "notes"),
        (["verify", "instance.json", "--cluster", "tcp://127.0.0.1:1"], "distributed", "cluster"),
    ],
)
def test_a_missing_extra_is_one_line_with_its_name(words: list[str], package: str, extra: str, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("# A note\n")
    done = _without([package], words, tmp_path)
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert f"pip install 'fairlane[{extra}]'" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["verify", "instance.json", "--html", "r.html"],
        ["solve", "instance.json", "--certificate", "c"],
        ["evaluate", "instance.json", "--policy", "fixed-value"],
        ["export", "instance.json", "--format", "drn", "--output", "m.drn"],
        ["allocate", "problem.json"],
        ["simulate", "--decode-values", "1", "--workload", "solo_prefill", "--output", "run"],
    ],
)
def test_the_main_job_needs_no_extra(words: list[str], tmp_path: Path) -> None:
    done = _without(sorted(EXTRA_OF), words, tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_package_of_no_extra_is_a_fault_of_ours() -> None:
    told = unsupported_without(ModuleNotFoundError("No module named 'sympy.polys'", name="sympy.polys"))
    assert told is not None
    assert "'fairlane[notes]'" in str(told)
    assert unsupported_without(ModuleNotFoundError("No module named 'x'", name="x")) is None


def test_every_extra_named_in_a_message_brings_its_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    homes = packages_distributions()
    for package, extra in EXTRA_OF.items():
        listed = {name.partition(">")[0].lower() for name in extras[extra]}
        # mpmath is what sympy itself stands on
        if package != "mpmath":
            assert listed & {name.lower() for name in homes[package]}, package
