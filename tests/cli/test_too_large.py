"""Sizes that are refused: by number and with what makes them fit; in a verification the rest goes on."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

import pytest

from fairlane.cli import run
from fairlane.reference.model.codec import dump_instance
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Streams on one graph of 2 ms: one of 2 outputs, 2 states; two of 4, 5² - 1 = 24 states; one of 3, 3 states."""
    out = []
    for name, outputs in (("small", (2,)), ("large", (4, 4)), ("last", (3,))):
        instance = Instance(
            name=name,
            graphs=[Graph(name="d", duration_ms=2, decode_capacity=1)],
            requests=[Request(id=f"r{i}", prompt=0, limit=n, weight=i + 1) for i, n in enumerate(outputs)],
            objective=Objective(decode_value=5, time_price=1),
        )
        dump_instance(instance, tmp_path / f"{name}.json")
        out.append(str(tmp_path / f"{name}.json"))
    return out


@pytest.mark.parametrize("workers", ["1", "2"])
def test_one_instance_too_large_is_its_rows_answer_and_the_rest_goes_on(
    files: list[str], workers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["verify", *files, "--policy", "decode-first", "--policy", "age-only", "--workers", workers]
    assert run([*words, "--max-states", "10", "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["instance"], row["optimum"]) for row in rows[::2]] == [("small", "6"), ("large", None), ("last", "9")]
    for row in rows[2:4]:
        assert row["failure"].startswith("too large: instance 'large' has 24 states; ")
        assert "takes at most 10; a greater max_states (--max-states)" in row["failure"]
        assert row["value"] is None
    assert run([*words, "--max-states", "24", "--json"]) == 0
    # 2 outputs a ms pay 5 and 10 each: 4 * 5 + 4 * 10 - 8 * 2
    assert json.loads(capsys.readouterr().out)["rows"][2]["optimum"] == "44"


def test_people_read_it_in_the_table_and_the_page(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    words = ["verify", *files, "--policy", "age-only", "--max-states", "10", "--workers", "1", "--html", str(page)]
    assert run(words) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "large: not solved" in text
    assert "2 of 3 (1 too large)" in text
    assert "too large: instance 'large' has 24 states" in unescape(page.read_text())


def test_what_was_too_large_is_tried_again_with_a_journal(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["verify", *files, "--policy", "age-only", "--journal", str(tmp_path / "j"), "--json", "--workers", "1"]
    assert run([*words, "--max-states", "10"]) == 1
    capsys.readouterr()
    assert run(words) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["optimum"] for row in rows] == ["6", "44", "9"]


@pytest.mark.parametrize(
    "words",
    [["solve"], ["evaluate", "--policy", "age-only"], ["long-run"], ["long-run", "--policy", "fixed-value"]],
)
def test_commands_that_solve_take_a_limit(
    words: list[str], files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([words[0], files[1], *words[1:], "--max-states", "3"]) == 1
    error = capsys.readouterr().err.strip()
    assert "\n" not in error
    assert "at most 3; a greater max_states (--max-states)" in error or "limit is 3; a greater max_states" in error
    assert run([words[0], files[1], *words[1:], "--max-states", "100"]) == 0
