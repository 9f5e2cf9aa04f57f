"""Policies by name and as module:attribute; whatever goes wrong is one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fairlane.policies import load_policy, names
from fairlane.reference.errors import PolicyError
from fairlane.reference.model.policy import FunctionPolicy


def test_names_are_listed_without_importing_any_policy() -> None:
    code = (
        "import sys, fairlane.policies as p; p.names();"
        "ours = {'fairlane.policies.' + m for m in p.MODULES.values()};"
        "print([m for m in sys.modules if m in ours or m in ('numpy', 'numba', 'scipy')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_name_lists_the_names() -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy("fixed_value")
    assert all(name in str(caught.value) for name in names())


def test_a_users_function_object_and_nested_attribute_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_dispatch.py").write_text(
        "from fairlane.reference import Decision\n"
        "def first(view):\n    return Decision()\n"
        "class Box:\n    inner = staticmethod(first)\n"
        "number = 3\n"
        "class Whole:\n"
        "    def initial(self, catalog):\n        return None\n"
        "    def decide(self, view, memory):\n        return Decision()\n"
        "    def observe(self, memory, completion):\n        return None\n"
        "whole = Whole()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert isinstance(load_policy("my_dispatch:first"), FunctionPolicy)
    assert isinstance(load_policy("my_dispatch:Box.inner"), FunctionPolicy)
    assert type(load_policy("my_dispatch:whole")).__name__ == "Whole"
    with pytest.raises(PolicyError, match="is a int; need initial, decide and observe"):
        load_policy("my_dispatch:number")
    with pytest.raises(PolicyError, match="need an object of it"):
        load_policy("my_dispatch:Whole")
    with pytest.raises(PolicyError, match="has no 'second'"):
        load_policy("my_dispatch:second")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_of_this_name", "nothing_of_this_name"),
        ("def broken(:", "invalid syntax"),
        ("1 / 0", "division by zero"),
        ("undefined", "undefined"),
        ("raise RuntimeError('two\\nlines')", "two lines"),
        ("import sys; sys.exit(4)", "4"),
        ("x = '\x00'", "null bytes"),
    ],
)
def test_a_module_that_cannot_be_imported_gives_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    (tmp_path / "broken_dispatch.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("broken_dispatch", None)
    with pytest.raises(PolicyError, match="'broken_dispatch' cannot be imported") as caught:
        load_policy("broken_dispatch:policy")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name", [":", "fairlane:", ":policy", ".relative:policy", "fairlane.policies:", "a b:c", "\n:x"]
)
def test_a_malformed_reference_gives_one_line(name: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy(name)
    assert "\n" not in str(caught.value)


def test_loading_leaves_the_import_path_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here_dispatch.py").write_text("def first(view):\n    return None\n")
    (tmp_path / "here_broken.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(tmp_path))])
    before = list(sys.path)
    assert isinstance(load_policy("here_dispatch:first"), FunctionPolicy)
    assert sys.path == before
    with pytest.raises(PolicyError, match="division by zero"):
        load_policy("here_broken:first")
    assert sys.path == before


def test_a_folder_that_was_on_the_import_path_stays_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept_dispatch.py").write_text("def first(view):\n    return None\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    load_policy("kept_dispatch:first")
    assert sys.path[-1] == str(tmp_path)
