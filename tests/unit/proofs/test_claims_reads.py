"""What a claim's code reads while it runs makes its outcome stale when it changes, each kind of it in turn."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairlane.proofs.claims.checking import Run
from fairlane.proofs.claims.status import Colour, Status
from tests.claim_texts import checked, claim_text, entry

SIDE = """
import importlib
import json
import os
from pathlib import Path

HERE = Path(__file__).parent


def data():
    return json.loads((HERE / "claim_data" / "numbers.json").read_text())[0]


def table():
    with open(HERE / "claim_data" / "rows.csv") as file:
        return len(file.readlines())


def members():
    return sum(1 for path in (HERE / "claim_data").glob("*.json"))


def by_name():
    return importlib.import_module("claim_plugins." + "one").VALUE


def deeper():
    return importlib.import_module("claim_plugins." + "two").VALUE


def variable():
    return int(os.environ.get("CLAIM_TEST_VALUE", "1"))


def absent():
    return 2 if (HERE / "claim_data" / "switch").is_file() or opens("switch") else 1


def opens(name):
    try:
        return bool(open(HERE / "claim_data" / name).read())
    except OSError:
        return False


def scratch():
    path = HERE / "claim_data" / "scratch.txt"
    path.write_text("1")
    return int(path.read_text())
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("CLAIM_TEST_VALUE", raising=False)
    (tmp_path / "claim_side.py").write_text(SIDE)
    (tmp_path / "claim_data").mkdir()
    (tmp_path / "claim_data" / "numbers.json").write_text("[1]")
    (tmp_path / "claim_data" / "rows.csv").write_text("a\n")
    (tmp_path / "claim_plugins").mkdir()
    (tmp_path / "claim_plugins" / "__init__.py").write_text("")
    (tmp_path / "claim_plugins" / "one.py").write_text("VALUE = 1\n")
    (tmp_path / "claim_plugins" / "two.py").write_text("from claim_plugins.three import VALUE\n")
    (tmp_path / "claim_plugins" / "three.py").write_text("VALUE = 1\n")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith(("claim_side", "claim_plugins"))]:
        del sys.modules[name]


def edit(path: str, text: str) -> Callable[[Path, pytest.MonkeyPatch], None]:
    def change(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / path).write_text(text)

    return change


def set_variable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAIM_TEST_VALUE", "2")


CHANGES = {
    "data": edit("claim_data/numbers.json", "[2]"),
    "table": edit("claim_data/rows.csv", "a\nb\n"),
    "members": edit("claim_data/more.json", "[]"),
    "by_name": edit("claim_plugins/one.py", "VALUE = 2\n"),
    "deeper": edit("claim_plugins/three.py", "VALUE = 2\n"),
    "variable": set_variable,
    "absent": edit("claim_data/switch", "on"),
}


@pytest.mark.parametrize("function", CHANGES)
def test_what_a_claim_read_makes_it_stale_when_it_changes(
    function: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = [
        claim_text("exact", f"{name}() == 1", claim_id=name.replace("_", "-"), import_=f"claim_side:{name}")
        for name in CHANGES
    ]
    (folder / "note.md").write_text("# Note\n\n" + "\n".join(claims), encoding="utf-8")
    report = checked(folder)
    assert {entry.colour for entry in report.entries} == {Colour.GREEN}, [entry.summary for entry in report.entries]
    assert checked(folder).n_executed == 0
    CHANGES[function](folder, monkeypatch)
    seen = checked(folder, run=Run.NONE)
    stale = {found.claim.id for found in seen.entries if found.status is Status.STALE}
    mine = function.replace("_", "-")
    assert mine in stale
    assert stale <= {mine, "members"} if function == "absent" else stale == {mine}
    assert "has changed since it was last run" in entry(seen, mine).summary
    report = checked(folder)
    assert entry(report, mine).colour is Colour.RED
    assert report.n_executed == len(stale)


def test_what_a_claim_writes_itself_is_no_dependency(folder: Path) -> None:
    text = claim_text("exact", "scratch() == 1", import_="claim_side:scratch")
    (folder / "note.md").write_text("# Note\n\n" + text, encoding="utf-8")
    checked(folder)
    (folder / "claim_data" / "scratch.txt").write_text("7")
    assert checked(folder).n_executed == 0


def test_a_started_command_counts_with_what_it_read(folder: Path) -> None:
    (folder / "claim_plugins" / "show.py").write_text(
        "import json\nfrom pathlib import Path\n"
        "print(json.dumps({'x': json.loads(Path('claim_data/numbers.json').read_text())[0]}))\n"
    )
    (folder / "kept.csv").write_text("n,x\n1,1\n")
    text = claim_text(
        "recorded",
        "all(row.x == 1 for row in rows)",
        table="kept.csv",
        command="python -m claim_plugins.show",
        inputs="n",
        outputs="x",
    )
    (folder / "note.md").write_text("# Note\n\n" + text, encoding="utf-8")
    assert entry(checked(folder), "it").colour is Colour.GREEN
    (folder / "claim_data" / "numbers.json").write_text("[2]")
    assert entry(checked(folder, run=Run.NONE), "it").status is Status.STALE
