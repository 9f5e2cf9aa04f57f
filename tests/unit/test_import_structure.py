"""What the folders promise about imports: no circle, few in functions and each with its reason, a checker apart."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.import_graph import circles, import_graph

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


def test_no_module_imports_itself_by_a_detour() -> None:
    assert circles(SOURCE) == []


def test_a_circle_hidden_in_a_function_is_seen(tmp_path: Path) -> None:
    package = tmp_path / "sample"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "first.py").write_text("from sample.second import go\n")
    (package / "second.py").write_text("def go():\n    from sample import first\n    return first\n")
    assert import_graph(tmp_path).has_edge("sample.second", "sample.first")
    assert circles(tmp_path) == [["sample.first", "sample.second"]]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The sources and their import contracts, to be spoiled."""
    shutil.copytree(SOURCE / "fairlane", tmp_path / "fairlane", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def _broken_contracts(folder: Path) -> str:
    """What import-linter prints about a folder; empty where every contract is kept."""
    code = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    done = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return "" if done.returncode == 0 else done.stdout


@pytest.mark.parametrize(
    "line",
    [
        "from fairlane.reference.model.step import Outcome",
        "from fairlane.reference.model import yields",
        "def late():\n    from fairlane.oracle.solve import solve\n    return solve",
    ],
)
def test_a_checker_that_imports_what_it_checks_is_refused(copied: Path, line: str) -> None:
    assert _broken_contracts(copied) == ""
    checker = copied / "fairlane" / "reference" / "checker" / "cost_groups.py"
    checker.write_text(f"{checker.read_text()}\n\n{line}\n")
    assert "the checker shares no code with what it checks BROKEN" in " ".join(_broken_contracts(copied).split())
