"""What a claim's code reads while it runs: files, folders, modules imported by name, environment variables.

Import statements are found in source texts without running anything (:mod:`fairlane.proofs.claims.sources`); what code
opens, lists, imports by a computed name or looks up in the environment is only seen while it runs. Python reports
the first two to audit hooks; the other two are watched where they happen. A hook cannot be taken away again, so this
is for processes that run one claim and end.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

# How a process that a claim starts is told where to write down what it read.
VARIABLE = "FAIRLANE_CLAIM_READS"
_ENGINE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_PASSED_THROUGH = ("os.py", "_collections_abc.py", "<frozen os>", "<frozen _collections_abc>")


@dataclass(frozen=True, slots=True)
class Reads:
    """What a claim's code read, as names; ``environment`` holds the values it saw, None of an unset variable."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    environment: tuple[tuple[str, str | None], ...] = ()


@dataclass(slots=True)
class _Record:
    files: dict[str, None] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    folders: dict[str, None] = field(default_factory=dict)
    modules: dict[str, None] = field(default_factory=dict)
    environment: dict[str, str | None] = field(default_factory=dict)


_record: _Record | None = None
_present: frozenset[str] = frozenset()
_import_by_name = importlib.import_module


def watch_imports() -> None:
    """Have ``importlib.import_module`` noted from now on; to be called before the modules that take it by name."""

    def import_module(name: str, package: str | None = None) -> ModuleType:
        module = _import_by_name(name, package)
        if _record is not None:
            _record.modules[module.__name__] = None
        return module

    importlib.import_module = import_module


def begin(roots: Sequence[str]) -> None:
    """Note from now on what this process reads.

    Parameters
    ----------
    roots : sequence of str
        Folders whose code counts when it looks up environment variables.
    """
    global _record, _present  # noqa: PLW0603  # an audit hook belongs to the process
    _record = _Record()
    _present = frozenset(sys.modules)
    sys.addaudithook(_hook)
    _watch_environment(tuple(os.path.join(root, "") for root in roots))


def finish() -> Reads:
    """What was read since :func:`begin`, by this process and by those it started through :func:`command`."""
    global _record
    record, _record = _record, None
    if record is None:
        return Reads()
    modules = dict(record.modules)
    for name in sorted(set(sys.modules) - _present):
        modules[name] = None
    return Reads(
        files=tuple(sorted(set(record.files) - record.written)),
        folders=tuple(sorted(record.folders)),
        modules=tuple(sorted(modules)),
        environment=tuple(sorted(record.environment.items())),
    )


def add(more: Reads) -> None:
    """Count what a process that the claim started has read."""
    if _record is not None:
        _record.files.update(dict.fromkeys(more.files))
        _record.folders.update(dict.fromkeys(more.folders))
        _record.modules.update(dict.fromkeys(more.modules))
        _record.environment.update(dict(more.environment))


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _record is None:
        return
    if event == "open":
        path, mode, flags = arguments
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        name = os.path.abspath(os.fsdecode(path))
        writes = any(letter in mode for letter in "wxa") if isinstance(mode, str) else bool(flags & os.O_CREAT)
        if writes and name not in _record.files:
            _record.written.add(name)
        else:
            _record.files[name] = None
    elif event in ("os.listdir", "os.scandir"):
        (path,) = arguments
        if "importlib._bootstrap" in sys._getframe(1).f_code.co_filename:
            return  # the search for a module; the module found is what counts
        if path is None or isinstance(path, (str, bytes, os.PathLike)):
            _record.folders[os.path.abspath(os.fsdecode(path or "."))] = None


def _watch_environment(roots: tuple[str, ...]) -> None:
    kind: Any = type(os.environ)
    plain = kind.__getitem__

    def look_up(environment: Any, name: str) -> str:
        if _record is not None and isinstance(name, str) and _asked_by(sys._getframe(1), roots):
            try:
                _record.environment[name] = plain(environment, name)
            except KeyError:
                _record.environment[name] = None
        value: str = plain(environment, name)
        return value

    kind.__getitem__ = look_up


def _asked_by(frame: Any, roots: tuple[str, ...]) -> bool:
    """Whether the code that asks is in one of the folders; libraries ask for much that changes nothing."""
    while frame is not None and frame.f_code.co_filename.endswith(_PASSED_THROUGH):
        frame = frame.f_back
    asker = "" if frame is None else frame.f_code.co_filename
    # This package hands the whole environment on to the processes it starts, which is no question about any variable.
    return asker.startswith(roots) and not asker.startswith(_ENGINE)


def to_json(reads: Reads) -> str:
    """One line of JSON."""
    return json.dumps(
        [list(reads.files), list(reads.folders), list(reads.modules), [list(item) for item in reads.environment]]
    )


def from_json(text: str) -> Reads:
    """What :func:`to_json` wrote."""
    files, folders, modules, environment = json.loads(text)
    return Reads(tuple(files), tuple(folders), tuple(modules), tuple((name, value) for name, value in environment))


_START = "from fairlane.proofs.claims.tracing import run_started; run_started()"


def command(words: Sequence[str]) -> tuple[str, ...]:
    """A command line as a claim gives it, started so that what it reads is noted where this machine can do so."""
    if words and (words[0] == "fairlane" or tuple(words[:2]) == ("python", "-m")):
        return (sys.executable, "-c", _START, *words)
    if words and words[0] == "python":
        return (sys.executable, *words[1:])
    return tuple(words)


def run_started() -> None:
    """In a process that a claim started: run its command, and write down what it read before it ends."""
    words = sys.argv[1:]
    target = os.environ.get(VARIABLE)
    if target is not None:
        watch_imports()
        begin(list(_own_folders()))
    try:
        if words[0] == "fairlane":
            sys.argv = words
            _import_by_name("fairlane.cli").main()
        else:
            sys.argv = words[2:]
            runpy.run_module(words[2], run_name="__main__", alter_sys=True)
    finally:
        if target is not None:
            text = to_json(finish())
            Path(target).write_text(text, encoding="utf-8")


def _own_folders() -> Iterator[str]:
    yield str(Path(__file__).parents[3])
    yield os.getcwd()
