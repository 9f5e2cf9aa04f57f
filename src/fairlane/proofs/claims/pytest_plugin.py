"""pytest plugin: every claim of a note is a test item.

    pytest -p fairlane.proofs.claims.pytest_plugin docs/notes

collects the notes below the paths given (or below the ini option ``fairlane_notes``), one item a claim and one a note
for what needs mending in it. Outcomes are kept and shared with ``fairlane notes check``. Notes are code and are run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fairlane.proofs.claims.status import Colour

if TYPE_CHECKING:
    from fairlane.proofs.claims.checking import Entry, Report
    from fairlane.proofs.claims.collection import Collection

_LOADED = pytest.StashKey[dict[Path, "Collection"]]()


class ClaimFailed(Exception):
    """A claim is neither green nor grey, or a note needs mending."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The ini option that names folders of notes."""
    parser.addini("fairlane_notes", "folders of notes whose claims are tests", type="paths", default=[])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> NoteFile | None:
    """Markdown files in the notes' folders; any Markdown file that contains a claim, where no folder is configured."""
    if file_path.suffix != ".md":
        return None
    folders = [Path(folder) for folder in parent.config.getini("fairlane_notes")]
    if folders:
        root = next((folder for folder in folders if file_path.is_relative_to(folder)), None)
        if root is None:
            return None
    else:
        root = file_path.parent
        if "{claim}" not in file_path.read_text(encoding="utf-8", errors="replace"):
            return None
    node: NoteFile = NoteFile.from_parent(parent, path=file_path)
    node.root = root
    return node


class NoteFile(pytest.File):
    """A note."""

    root: Path

    def collect(self) -> Iterator[pytest.Item]:
        """Its claims, then the note itself."""
        collection = self.collection()
        shown = self.path.as_posix()
        for claim in collection.claims:
            if claim.path == shown:
                item: ClaimItem = ClaimItem.from_parent(self, name=claim.id)
                item.line = claim.line
                yield item
        yield ProseItem.from_parent(self, name="prose")

    def collection(self) -> Collection:
        """All notes of the folder, read once a session."""
        # pytest loads this plugin in every run, also where no note is checked
        from fairlane.proofs.claims.collection import load_collection

        loaded = self.config.stash.setdefault(_LOADED, {})
        if self.root not in loaded:
            for folder in (Path.cwd(), self.root):
                if str(folder) not in sys.path:
                    sys.path.insert(0, str(folder))
            loaded[self.root] = load_collection(self.root)
        return loaded[self.root]

    def report(self, claim_ids: frozenset[str]) -> Report:
        """The report over some claims and what they rest on, run in this process."""
        # pytest loads this plugin in every run, also where no note is checked
        from fairlane.proofs.claims.checking import check

        roots = (Path.cwd(), self.root)
        return check(self.collection(), today=date.today(), roots=roots, only=claim_ids, n_processes=1)


class ClaimItem(pytest.Item):
    """A claim."""

    line: int

    def runtest(self) -> None:
        """Fail unless the claim is green or grey, and so is all it rests on.

        Raises
        ------
        ClaimFailed
            Otherwise, with the claim's place and reason.
        """
        # pytest loads this plugin in every run, also where no note is checked
        from fairlane.proofs.claims.rendering import claim_lines

        assert isinstance(self.parent, NoteFile)
        entry: Entry = self.parent.report(frozenset([self.name])).everything[self.name]
        if entry.colour not in (Colour.GREEN, Colour.GREY):
            raise ClaimFailed("\n".join([*claim_lines([entry]), *(f"  {line}" for line in entry.evidence)]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The claim's line instead of a traceback."""
        if isinstance(excinfo.value, ClaimFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the claim stands."""
        return self.path, self.line - 1, f"claim {self.name}"


class ProseItem(pytest.Item):
    """What needs mending in a note: bare numbers, malformed claims, names of no claim."""

    def runtest(self) -> None:
        """Fail where anything does.

        Raises
        ------
        ClaimFailed
            With one line a problem.
        """
        assert isinstance(self.parent, NoteFile)
        shown = self.path.as_posix()
        report = self.parent.report(frozenset())
        problems = [str(problem) for problem in report.problems if problem.path == shown]
        if problems:
            raise ClaimFailed("\n".join(problems))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The problems instead of a traceback."""
        if isinstance(excinfo.value, ClaimFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The note."""
        return self.path, 0, "prose"
