"""What commands share when they write: JSON documents, numbers for people, progress, policies and instances."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fairlane.cli.targets import folder_target
from fairlane.compiling.notice import Compiling, told
from fairlane.reference.atomic_write import write_text
from fairlane.reference.errors import DataError
from fairlane.reference.shown_numbers import brief, column, percent

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.table import Table

    from fairlane.reference.model.policy import Policy

# with the formats of numbers, which every command writes
__all__ = [
    "Progress",
    "brief",
    "column",
    "command_line",
    "console",
    "new_directory",
    "percent",
    "plain_table",
    "policies_by_name",
    "print_json",
    "progress",
    "write_json",
]


def print_json(document: Mapping[str, object]) -> None:
    """One document on standard output; numbers that are no finite doubles are refused by construction."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_json(document: Mapping[str, object], path: Path) -> None:
    """The same document as a file, whole or not at all.

    Raises
    ------
    DataError
        The place cannot be written.
    """
    write_text(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n", path)


def command_line(command: str, options: Mapping[str, object]) -> str:
    """The words that run a command again; options that are None are left out, flags stand alone."""
    given = [
        word
        for name, value in options.items()
        if value is not None
        for word in ((name,) if value is True else (name, str(value)))
    ]
    return shlex.join(["fairlane", *command.split(), *given])


def console(*, stderr: bool = False) -> Console:
    """A terminal to print tables on; 120 columns or more where the output is no terminal.

    Names come from files, so that square brackets in them are text and no markup.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else max(120, shutil.get_terminal_size((120, 24)).columns)
    return Console(stderr=stderr, width=width, highlight=False, markup=False, soft_wrap=False)


def plain_table(title: str, headings: Sequence[str], *, words: Sequence[str] = (), padding: int = 2) -> Table:
    """A table without lines; columns of words stand left, the others right, and no cell is ever broken."""
    from rich.table import Table

    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, padding, 0, 0),
        pad_edge=False,
    )
    for heading in headings:
        table.add_column(heading, justify="left" if heading in words else "right", no_wrap=True)
    return table


class Progress:
    """A line on standard error with time left, shown only on a terminal and only after two seconds.

    That kernels are being compiled is said wherever standard error goes, once; that time is no part of what is left.
    """

    def __init__(self, what: str, unit: str = "") -> None:
        self._what = what
        self._unit = f" {unit}" if unit else ""
        self._compiling_since = 0.0
        self._said = False
        # the whole as it was told before, and whether it has grown since
        self._known = 0
        self._growing = False
        self._begun = time.monotonic()
        self._shown = 0.0
        self._bar: Bar | None = None
        self._count = (0, 0)
        self._step = ""
        self._step_begun = self._begun

    def __call__(self, done: int, total: int, note: str = "") -> None:
        if self._step:
            self._step, self._known = "", self._count[1]
        self._notice(total)
        self._count = (done, total)
        self._draw(self._begun, done, total, note)

    def step(self, what: str, done: int, total: int) -> None:
        """Tell how far a step inside the piece at work has come, in states."""
        if what != self._step:
            self._step, self._step_begun, self._known = what, time.monotonic(), 0
        self._notice(total)
        so_far = " found so far" if self._growing else ""
        self._draw(self._step_begun, done, total, f"{what}: {done:,} of {total:,} states{so_far}")

    def _notice(self, total: int) -> None:
        """Where the whole is still being found, nothing can be said about the time left."""
        self._growing = 0 < self._known < total
        self._known = total

    def compiling(self, what: Compiling) -> None:
        """Say that compiling begins; when it has ended, leave its time out of every estimate."""
        now = time.monotonic()
        if what.begins:
            self._compiling_since = now
            if not self._said:
                self._said = True
                # the kernels of one call are compiled one after another, so the first of them speaks for all
                self.close()
                about = "" if what.seconds is None else f", about {what.seconds} s"
                sys.stderr.write(f"compiling kernels, once per installation{about}\n")
                sys.stderr.flush()
            return
        self._begun += now - self._compiling_since
        self._step_begun = min(now, self._step_begun + now - self._compiling_since)

    def _draw(self, begun: float, done: int, total: int, step: str) -> None:
        now = time.monotonic()
        if now - self._begun < 2 or now - self._shown < 0.25 or not sys.stderr.isatty():
            return
        self._shown = now
        pieces, whole = self._count
        if pieces:
            # finished pieces say more about the time left than the step at work
            begun, done, total = self._begun, pieces, whole
        left = f", {(now - begun) * (total - done) / done:.0f} s left" if done and not self._growing else ""
        outer = f"{self._what}: {pieces:,} of {whole:,}{self._unit}" if whole else ""
        if whole and self._growing and not self._step:
            outer += " found so far"
        text = "; ".join(part for part in (outer, step) if part) + left
        if self._bar is None:
            self._bar = _bar()
            self._bar.add_task(text)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=text, completed=done, total=total, refresh=True)

    def close(self) -> None:
        """Wipe the line; it comes back with the next call."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _bar() -> Bar:
    """A line of words and a bar, drawn when told to: a thread of its own would not survive the fork of workers."""
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    words = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
    return Progress(words, BarColumn(bar_width=20), console=console(stderr=True), transient=True, auto_refresh=False)


@contextmanager
def progress(what: str, *, unit: str = "") -> Iterator[Progress]:
    """A progress line for the length of a block; ``unit`` says what is counted."""
    line = Progress(what, unit)
    try:
        with told(line.compiling):
            yield line
    finally:
        line.close()


@contextmanager
def new_directory(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A directory that appears under its name only when the block has ended well.

    Raises
    ------
    DataError
        The name is taken, or the place cannot be written.
    """
    target = Path(path)
    folder_target(target)
    temporary = target.with_name(f".{os.urandom(8).hex()}.part")
    try:
        temporary.mkdir(parents=True)
    except (OSError, ValueError) as error:
        raise DataError(f"{str(path)!r} cannot be made: {getattr(error, 'strerror', None) or error}") from None
    try:
        yield temporary
        os.rename(temporary, target)
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def policies_by_name(names: list[str] | None) -> dict[str, Policy]:
    """Policies from names or ``module:attribute``, in order; every built-in one without names.

    Raises
    ------
    PolicyError
        An unknown name, or something that is no policy.
    """
    from fairlane import policies

    return {name: policies.load_policy(name) for name in (names or policies.names())}
