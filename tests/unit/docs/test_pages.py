"""Every block on a page is run as a reader would: files are saved, Python and commands executed, output compared.

A block below "Save as `name`:" is written to that file. Other Python blocks are run in the page's folder. A console
block's commands must succeed, and the lines below a command must come in its output in that order.
"""

from __future__ import annotations

import csv
import os
import re
import shlex
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
    "reference/publications-and-traces.md",
    "reference/proofs.md",
    "reference/learning.md",
]


class Block(NamedTuple):
    """A fenced block, and the file it is to be saved as."""

    language: str
    text: str
    file: str | None


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page in order."""
    return blocks_of((DOCS / page).read_text(encoding="utf-8"))


def blocks_of(text: str) -> Iterator[Block]:
    """The blocks of a page's text in order."""
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
        program, *arguments = shlex.split(command, comments=True)
        assert program in ("fairlane", "pytest"), command
        printed = [squeezed(line) for line in run([sys.executable, "-m", program, *arguments], folder).splitlines()]
        for line in filter(None, map(squeezed, shown.splitlines())):
            found = next((i for i, have in enumerate(printed) if line in have), None)
            assert found is not None, f"{command}: {line!r} is not in what is left of the output: {printed}"
            printed = printed[found + 1 :]


def run_page(text: str, folder: Path) -> int:
    """How many blocks of a page were executed; all of them came through."""
    for name in suite.names():
        if name in text:
            shutil.copy(ROOT / "src" / "fairlane" / "suite" / f"{name}.json", folder)
    ran = 0
    for block in blocks_of(text):
        if block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            run([sys.executable, "-c", block.text], folder)
            ran += 1
        elif block.language == "console":
            run_console(block.text, folder)
            ran += 1
    return ran


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run(page: str, tmp_path: Path) -> None:
    ran = run_page((DOCS / page).read_text(encoding="utf-8"), tmp_path)
    assert ran > 0, "a page whose blocks are not found would pass"


@pytest.mark.parametrize(
    "block",
    [
        "```python\nassert 1 + 1 == 3\n```",
        "```python\nfrom fairlane.reference import no_such_name\n```",
        "```console\n$ fairlane solve nowhere.json\n```",
        "```console\n$ fairlane --help\na line that is not printed\n```",
        "```console\n$ rm -r everything\n```",
        'Save as `broken.json`:\n\n```json\n{"graphs": []}\n```\n\n```console\n$ fairlane solve broken.json\n```',
    ],
)
def test_a_broken_block_fails(block: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        run_page(f"# Page\n\n{block}\n", tmp_path)


def test_every_page_with_code_is_run() -> None:
    for file in DOCS.rglob("*.md"):
        page = file.relative_to(DOCS).as_posix()
        if page in PAGES or page == "how-to/write-a-note.md" or page.startswith(("_build", "gallery/")):
            continue  # the pages of the gallery are built from what runs, and their tests are run there
        assert [block.language for block in blocks(page)] == [], page


def test_the_commands_on_writing_notes_run(tmp_path: Path) -> None:
    # its claims have a test of their own
    page = (DOCS / "how-to" / "write-a-note.md").read_text(encoding="utf-8")
    first = re.search(r"^````markdown\n(.*?)^````$", page, re.M | re.S)
    assert first is not None
    (tmp_path / "docs" / "notes").mkdir(parents=True)
    (tmp_path / "docs" / "notes" / "first.md").write_text(first[1], encoding="utf-8")
    consoles = [block.text for block in blocks("how-to/write-a-note.md") if block.language == "console"]
    assert len(consoles) == 2
    for text in consoles:
        run_console(text, tmp_path)
    for block in blocks("how-to/write-a-note.md"):
        if block.language == "python":
            run([sys.executable, "-c", block.text], tmp_path)


def test_summary_on_the_start_page_is_the_recorded_table() -> None:
    # the table beside the notes is computed again, row by row, by the claims that read it
    shown = next(block.text for block in blocks("index.md") if block.language == "text").splitlines()[1:]
    with (DOCS / "notes" / "data" / "suite-gaps.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for line in shown:
        name, optimal, _, size, mean, _, worst, _, where = line.split()
        gaps = {row["instance"]: _place(row) for row in rows if row["policy"] == name}
        assert len(gaps) == int(size) == len(suite.names())
        assert sum(gap == 0 for gap in gaps.values()) == int(optimal)
        assert f"{float(100 * sum(gaps.values()) / len(gaps)):.2f}" == mean
        assert f"{float(100 * max(gaps.values())):.2f}" == worst
        assert gaps[where] == max(gaps.values())
    assert len(shown) == len({row["policy"] for row in rows})


def _place(row: dict[str, str]) -> Fraction:
    """Where a policy stands between the best, 0, and the worst, 1."""
    return Fraction(row["gap"]) / (Fraction(row["optimum"]) - Fraction(row["worst"]))


def test_pages_are_in_a_contents_list() -> None:
    for file in DOCS.rglob("*.md"):
        page = file.relative_to(DOCS).with_suffix("").as_posix()
        if page == "index" or page.startswith("_build"):
            continue
        folder = DOCS / "gallery" if page.startswith("gallery/") and page != "gallery/index" else DOCS
        index = (folder / "index.md").read_text(encoding="utf-8")
        assert re.search(rf"^{re.escape(file.relative_to(folder).with_suffix('').as_posix())}$", index, re.M), page


def test_the_readme_shows_what_the_start_page_shows() -> None:
    # the start page's command is run and its summary compared, so the README is held to both
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [block.text for block in blocks("index.md")]
    found = re.findall(r"^```text\n(.*?)^```$", readme, re.M | re.S)
    assert len(found) == 2
    for text in found:
        assert re.sub(r"^Summary: .*\n", "", text) in [
            part.partition("\n")[2] if "$ " in part else part for part in shown
        ]
    tutorial = [block.text for block in blocks("tutorial/verify-your-policy.md")]
    for language in ("json", "python"):
        (text,) = re.findall(rf"^```{language}\n(.*?)^```$", readme, re.M | re.S)
        assert text.removeprefix("# my_policy.py\n") in tutorial
