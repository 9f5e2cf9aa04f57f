"""The pytest plugin: each claim is an item that passes, fails, and says where."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.claim_texts import claim_text


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "fairlane.proofs.claims.pytest_plugin",
            "-q",
            "-p",
            "no:cacheprovider",
            *words,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def write(folder: Path, text: str) -> None:
    (folder / "pytest.ini").write_text("[pytest]\nfairlane_notes = notes\n")
    (folder / "notes").mkdir()
    (folder / "notes" / "a.md").write_text(text, encoding="utf-8")
    (folder / "README.md").write_text("No note, and 17 is a number.\n")


def test_each_claim_is_an_item(tmp_path: Path) -> None:
    write(tmp_path, claim_text("exact", "1 == 1", claim_id="one") + claim_text("exact", "2 == 2", claim_id="two"))
    done = run(tmp_path, "--collect-only")
    assert [line for line in done.stdout.splitlines() if "::" in line] == [
        "notes/a.md::one",
        "notes/a.md::two",
        "notes/a.md::prose",
    ]
    assert run(tmp_path).returncode == 0


def test_a_failing_claim_fails_its_dependents_and_shows_its_line(tmp_path: Path) -> None:
    text = claim_text("exact", "1 == 2", claim_id="one") + "\n"
    text += claim_text("exact", "2 == 2", claim_id="two", uses="one") + claim_text("exact", "3 == 3", claim_id="three")
    write(tmp_path, text + "\nIt took 17 tries.\n")
    done = run(tmp_path)
    assert done.returncode == 1
    assert "3 failed, 1 passed" in done.stdout
    assert "notes/a.md:1  line 4: 1 == 2: 1 != 2" in done.stdout
    assert "bare number 17 in prose" in done.stdout
    assert "Traceback" not in done.stdout


def test_one_claim_runs_alone_with_what_it_rests_on(tmp_path: Path) -> None:
    text = claim_text("exact", "1 == 1", claim_id="one") + claim_text("exact", "2 == 2", claim_id="two", uses="one")
    write(tmp_path, text + claim_text("exact", "1 == 2", claim_id="three"))
    done = run(tmp_path, "notes/a.md::two")
    assert (done.returncode, "1 passed" in done.stdout) == (0, True)
