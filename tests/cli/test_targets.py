"""What a command is to write is checked before it computes; a bad place is one line and exit status 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlane.cli import run

# the input is missing: whoever names the target has checked it before anything was read
WRITERS = [
    ("solve", "missing.json", "--certificate"),
    ("verify", "missing.json", "--html"),
    ("export", "missing.json", "--format", "drn", "--output"),
    ("export", "missing.json", "--format", "umb", "--output"),
    ("graph", "missing.json", "--output"),
    ("allocate", "missing.json", "--plot"),
    ("experiment", "regret", "--decode-value", "1", "--trace", "missing.csv", "--output"),
    ("experiment", "regret", "--decode-value", "1", "--trace", "missing.csv", "--gaps"),
    ("experiment", "ongoing", "--systems", "missing", "--output"),
    ("notes", "build", "missing", "--output"),
    ("simulate", "--decode-values", "1", "--requests", "missing.csv", "--output"),
]
PICTURES = ("graph", "allocate")
FOLDERS = ("notes", "simulate")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("x")
    Path("folder").mkdir()


def _told(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    assert run(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize("target", ["file/below", "n" * 300, "", ".", "/", "folder"])
@pytest.mark.parametrize("words", WRITERS, ids=lambda words: f"{words[0]}{words[-1]}")
def test_a_bad_target_is_one_line_before_anything_else(
    words: tuple[str, ...], target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if words[0] in PICTURES and target not in ("", ".", "/"):
        target += ".svg" if target != "folder" else ""
    line = _told((*words, target), capsys)
    assert "missing" not in line
    assert "cannot be" in line or "directory" in line or "ending" in line or "no name" in line
    assert sorted(path.name for path in Path().iterdir()) == ["file", "folder"]


@pytest.mark.parametrize("option", ["--html", "--perfetto"])
@pytest.mark.parametrize("target", ["file/below", "n" * 300, "", "/", "folder"])
def test_simulate_checks_its_other_files_first(option: str, target: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("simulate", "--decode-values", "1", "--workload", "no-such", "--output", "run", option, target)
    assert "no-such" not in _told(words, capsys)
    assert not Path("run").exists()


def test_a_folder_below_folders_that_are_missing_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "--decode-values", "1", "--workload", "solo_prefill", "--output", "new/run"]
    assert run([*words, "--html", "new/run/page.html"]) == 0, capsys.readouterr().err
    assert Path("new/run/summary.csv").is_file()


def test_the_four_files_of_a_model_appear_together_or_not_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    Path("instance.json").write_text(
        '{"graphs": [{"name": "d", "duration_ms": 1, "decode_capacity": 1}],'
        ' "requests": [{"id": "a", "prompt": 0, "limit": 1}], "objective": {"decode_value": 1}}'
    )
    Path("model.lab").mkdir()
    assert "'model.lab' is a directory" in _told(
        ("export", "instance.json", "--format", "prism", "--output", "model"), capsys
    )
    assert not list(Path().glob("model.[st]*"))
    Path("model.lab").rmdir()
    assert run(["export", "instance.json", "--format", "prism", "--output", "model"]) == 0
    assert {path.suffix for path in Path().glob("model.*")} == {".sta", ".tra", ".lab", ".trew"}
