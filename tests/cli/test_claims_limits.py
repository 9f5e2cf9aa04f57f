"""What a claim may not do to the others: run for ever, or take their outcomes along when nothing can be written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairlane.cli.notes import TIME_LIMIT_S
from fairlane.proofs.claims import running
from fairlane.proofs.claims.cache import FOLDER
from tests.claim_texts import claim_text

GOOD = claim_text("exact", "1/2 == 2/4", claim_id="good")
# a sum over a range is one operation of the interpreter, which hears nothing until it ends
ENDLESS = "import time\n\n\ndef sleep():\n    time.sleep(1000)\n\n\ndef count():\n    return sum(range(10**15))\n"


def check(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "endless.py").write_text(ENDLESS, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "fairlane", "notes", "check", ".", *words],
        cwd=folder,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(("function", "jobs"), [("sleep", "1"), ("count", "1"), ("count", "2")])
def test_a_claim_without_end_fails_and_the_others_come_out(tmp_path: Path, function: str, jobs: str) -> None:
    endless = claim_text("exact", f"{function}() == 1", claim_id="endless", import_=f"endless:{function}")
    (tmp_path / "note.md").write_text(f"# N\n\n{endless}\n{GOOD}", encoding="utf-8")
    done = check(tmp_path, "--time-limit", "1", "--jobs", jobs)
    assert (done.returncode, done.stderr) == (1, "")
    first, second, summary = done.stdout.splitlines()
    assert first.split()[:2] == ["red", "failed"]
    assert first.endswith("note.md:3: no end within the time limit of 1 s")
    assert second.split()[:2] == ["green", "holds"]
    assert summary.endswith("2 run")
    # the machine's speed decided, so the outcome was not kept: it is run again, the other one is not
    (tmp_path / "endless.py").unlink()
    assert "good" in (tmp_path / FOLDER / "claims.json").read_text(encoding="utf-8")
    assert '"endless"' not in (tmp_path / FOLDER / "claims.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf"])
def test_a_time_limit_is_a_positive_number(tmp_path: Path, limit: str) -> None:
    (tmp_path / "note.md").write_text(f"# N\n\n{GOOD}", encoding="utf-8")
    done = check(tmp_path, "--time-limit", limit)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"fairlane: --time-limit is {limit}; need seconds > 0\n"


def test_the_help_shows_the_engines_own_limit() -> None:
    assert TIME_LIMIT_S == running.TIME_LIMIT_S


def test_outcomes_that_cannot_be_kept_are_reported_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text(f"# N\n\n{GOOD}", encoding="utf-8")
    (tmp_path / FOLDER).write_text("a file where the folder should be", encoding="utf-8")
    done = check(tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "1 claims: 1 green, 0 grey, 0 amber, 0 red; 1 run"
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"fairlane: {FOLDER}/claims.json cannot be written")
    assert line.endswith("outcomes of this run are not kept")


def test_a_claim_that_is_not_closed_is_named(tmp_path: Path) -> None:
    # Markdown closes it at the end of the file: whatever follows would silently be a part of the claim
    (tmp_path / "note.md").write_text("# N\n\n:::{claim} a\n:kind: assumed\n\nOne.\n\nTwo.\n", encoding="utf-8")
    done = check(tmp_path)
    assert done.returncode == 1
    assert "note.md:3: claim 'a' is not closed; need a line ':::' at its end" in done.stdout
