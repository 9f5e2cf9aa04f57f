"""What the folders promise about imports: no circle, few in functions and each with its reason, a checker apart."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import networkx
import pytest

from tests.import_graph import circles, import_graph, imports

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


# loading one of these costs more than answering a small question, or it is an extra
HEAVY = [
    "numpy",
    "scipy",
    "numba",
    "networkx",
    "flint",
    "sympy",
    "z3",
    "cvxpy",
    "matplotlib",
    "distributed",
    "markdown_it",
    "mdit_py_plugins",
]
# import statements inside functions; a change that needs more says here why
LIBRARY_BUDGET = 50
COMMAND_BUDGET = 165


def _is_heavy(target: str, graph: networkx.DiGraph[str], third: dict[str, set[str]]) -> bool:
    """Whether loading a target loads one of the heavy packages."""
    if target not in graph:
        return target.partition(".")[0] in HEAVY
    return any(third.get(module, set()) & set(HEAVY) for module in {target, *networkx.descendants(graph, target)})


def test_few_imports_stand_in_functions_and_each_has_its_reason() -> None:
    every = list(imports(SOURCE))
    inner = [found for found in every if found.in_function]
    library = [found for found in inner if not found.module.startswith("fairlane.cli")]
    assert [found for found in library if not found.explained] == []
    third: dict[str, set[str]] = {}
    for found in every:
        third.setdefault(found.module, set()).update(target.partition(".")[0] for target in found.targets)
    graph = import_graph(SOURCE)
    light = [found for found in library if not any(_is_heavy(target, graph, third) for target in found.targets)]
    assert light == []
    # the commands import where they work so that --help is quick; what is light, they import at the top
    standard = [
        found
        for found in inner
        if found not in library
        and not found.explained
        and all(target.partition(".")[0] in sys.stdlib_module_names for target in found.targets)
    ]
    assert standard == []
    assert len(library) <= LIBRARY_BUDGET
    assert len(inner) - len(library) <= COMMAND_BUDGET


def test_an_import_without_a_reason_is_seen(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        "def f():\n    # slow\n    import numpy\n    import scipy\n\n    import json\n    import flint  # slow\n"
    )
    assert [found.explained for found in imports(tmp_path)] == [True, True, False, True]
