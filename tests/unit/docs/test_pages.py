"""Every block on a page is run as a reader would: files are saved, Python and commands executed, output compared.

A block below "Save as `name`:" is written to that file. Other Python blocks are run in the page's folder. A console
block's commands must succeed, and the lines below a command must come in its output in that order.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest

from fairlane import suite

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
# the page on notes has a test of its own, which runs its examples as notes
PAGES = [
    "index.md",
    "tutorial/verify-your-policy.md",
    *sorted(f"how-to/{file.name}" for file in (DOCS / "how-to").glob("*.md") if file.name != "write-a-note.md"),
]


class Block(NamedTuple):
    """A fenced block, and the file it is to be saved as."""

    language: str
    text: str
    file: str | None


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    end = 0
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        above = text[end : match.start()].rstrip().rpartition("\n\n")[2]
        saved = re.search(r"Save as `([\w.-]+)`", " ".join(above.split())) if above.endswith(":") else None
        end = match.end()
        yield Block(match[1], match[2], saved[1] if saved else None)


def run(command: list[str], folder: Path) -> str:
    """Standard output of a command that must succeed."""
    environment = {**os.environ, "COLUMNS": "110", "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "src")])}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def squeezed(text: str) -> str:
    """A line without alignment."""
    return " ".join(text.split())


def run_console(text: str, folder: Path) -> None:
    """Every command of a console block, with the output below it."""
    assert text.startswith("$ ")
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        program, *arguments = command.split()
        assert program in ("fairlane", "pytest"), command
        printed = [squeezed(line) for line in run([sys.executable, "-m", program, *arguments], folder).splitlines()]
        for line in filter(None, map(squeezed, shown.splitlines())):
            found = next((i for i, have in enumerate(printed) if line in have), None)
            assert found is not None, f"{command}: {line!r} is not in what is left of the output: {printed}"
            printed = printed[found + 1 :]


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page: str, tmp_path: Path) -> None:
    for name in suite.names():
        if name in (DOCS / page).read_text(encoding="utf-8"):
            shutil.copy(ROOT / "src" / "fairlane" / "suite" / f"{name}.json", tmp_path)
    ran = 0
    for block in blocks(page):
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            run([sys.executable, "-c", block.text], tmp_path)
            ran += 1
        elif block.language == "console":
            run_console(block.text, tmp_path)
            ran += 1
    assert ran > 0, "a page whose blocks are not found would pass"


def test_summary_on_the_start_page_is_the_recorded_table() -> None:
    # the table beside the notes is computed again, row by row, by the claims that read it
    shown = next(block.text for block in blocks("index.md") if block.language == "text").splitlines()[1:]
    with (DOCS / "notes" / "suite-gaps.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for line in shown:
        name, optimal, _, size, mean, _, worst, _, where = line.split()
        gaps = {row["instance"]: Fraction(row["relative_gap"]) for row in rows if row["policy"] == name}
        assert len(gaps) == int(size) == len(suite.names())
        assert sum(gap == 0 for gap in gaps.values()) == int(optimal)
        assert f"{float(100 * sum(gaps.values()) / len(gaps)):.2f}" == mean
        assert f"{float(100 * max(gaps.values())):.2f}" == worst
        assert gaps[where] == max(gaps.values())
    assert len(shown) == len({row["policy"] for row in rows})


def test_pages_are_in_a_contents_list() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for file in DOCS.rglob("*.md"):
        page = file.relative_to(DOCS).with_suffix("").as_posix()
        if page != "index" and not page.startswith("_build"):
            assert re.search(rf"^{re.escape(page)}$", index, re.M), page


def test_the_readme_shows_what_the_start_page_shows() -> None:
    # the start page's command is run and its summary compared, so the README is held to both
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [block.text for block in blocks("index.md")]
    found = re.findall(r"^```text\n(.*?)^```$", readme, re.M | re.S)
    assert len(found) == 2
    for text in found:
        assert text.removeprefix("Summary\n") in [part.partition("\n")[2] if "$ " in part else part for part in shown]
    tutorial = [block.text for block in blocks("tutorial/verify-your-policy.md")]
    for language in ("json", "python"):
        (text,) = re.findall(rf"^```{language}\n(.*?)^```$", readme, re.M | re.S)
        assert text.removeprefix("# my_policy.py\n") in tutorial
