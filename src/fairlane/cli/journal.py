"""The journal of ``fairlane verify``: finished work, line by line, so that a run that was killed can go on.

A line is one policy on one instance, under a hash of everything the result depends on: the instance's content, the
policy's name and the text of its module, and the version of this package. What a kill or a power loss leaves at the
end, half a line, NUL bytes, blanks or a byte order mark, is dropped when the file is read again. One run writes at a
time: the file is locked.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from fairlane.cli.workers import version
from fairlane.oracle.batch.many import Verdict
from fairlane.oracle.policy_value.evaluate import Loss
from fairlane.oracle.policy_value.verify import Comparison, VerifyRow
from fairlane.policies import MODULES
from fairlane.reference.checker.certificate_check import fingerprint
from fairlane.reference.errors import DataError
from fairlane.reference.exact import parse_long, show
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.state import FINISHED, Action, LocalState, State

if sys.platform != "win32":
    import fcntl

# how every line begins, which tells a journal from any other file
HEAD = '{"fairlane_verify": 2, '
# what a file system leaves of a write that was never finished, and what some editors add
BOM = b"\xef\xbb\xbf"
DEBRIS = b"\0 \t\r\n" + BOM
# how long the workers of a run that was killed may hold its lock, seconds
LOCK_S = 3.0
# a killed process loses nothing that was written; a machine that fails loses this much, seconds
SYNC_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A line of the journal: a row, with what its instance's verdict said."""

    row: VerifyRow
    states: int | None
    rejected: str | None


def keys_of(instance: Instance, policies: Sequence[str]) -> dict[str, str]:
    """SHA-256 of what each policy's row depends on, by policy; a user's own modules must have been imported."""
    content, mine = fingerprint(instance), version()
    return {
        policy: hashlib.sha256(json.dumps([mine, content, policy, program_of(policy)]).encode()).hexdigest()
        for policy in policies
    }


def program_of(policy: str) -> str:
    """SHA-256 of the file of a policy's module, which must have been imported; empty where it has none."""
    module = sys.modules.get(policy.partition(":")[0] if ":" in policy else f"fairlane.policies.{MODULES[policy]}")
    file = Path(getattr(module, "__file__", None) or "")
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


class Journal:
    """An open journal.

    Parameters
    ----------
    path : Path
        A file that is made where it does not exist.

    Raises
    ------
    DataError
        No journal, or a place that cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: dict[str, tuple[int, dict[str, object]]] = {}
        self._synced = time.monotonic()
        try:
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise DataError(f"{str(path)!r} is a device or a pipe; need a file, which can be read again")
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except DataError:
            raise
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise DataError(f"{str(path)!r} cannot be written: {reason}") from None
        try:
            self._lock()
            self._read()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        # the lines are there; only a power loss could still take them
        with contextlib.suppress(OSError):
            os.fsync(self._file)
        os.close(self._file)

    def _lock(self) -> None:
        """Keep other runs from writing between our lines; the system lets go of it with the file."""
        if sys.platform == "win32":
            return
        until = time.monotonic() + LOCK_S
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > until:
                    raise DataError(
                        f"{str(self._path)!r} is being written by another run; need a journal of its own for each"
                    ) from None
                time.sleep(0.05)
            except OSError as error:
                raise DataError(f"{str(self._path)!r} cannot be locked: {error.strerror}") from None

    def _read(self) -> None:
        with os.fdopen(os.dup(self._file), "rb") as file:
            content = file.read()
        sound = content.rstrip(DEBRIS)
        if content[len(sound) : len(sound) + 1] == b"\n":
            sound += b"\n"
        *lines, torn = sound.split(b"\n")
        for number, raw in enumerate(lines, 1):
            line = raw.strip(DEBRIS)
            if not line:
                continue
            try:
                document = json.loads(line) if line.startswith(HEAD.encode()) else None
            except (ValueError, RecursionError):
                document = None
            if not isinstance(document, dict) or not isinstance(document.get("key"), str):
                raise self._wrong(number)
            self._lines[document["key"]] = number, document
        start, head = torn.lstrip(DEBRIS), HEAD.encode()
        if not (start.startswith(head) or head.startswith(start)):
            raise self._wrong(len(lines) + 1)
        kept = len(sound) - len(torn)
        if kept < len(content):
            os.ftruncate(self._file, kept)

    def _wrong(self, number: int) -> DataError:
        return DataError(f"{self._path} line {number} is no line of a journal; need a file that --journal wrote")

    def find(self, instance: Instance, policy: str, key: str) -> Finished | None:
        """The finished work under a key.

        Raises
        ------
        DataError
            A line that holds something else.
        """
        if key not in self._lines:
            return None
        number, line = self._lines[key]
        try:
            return _finished(instance, policy, line)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            raise self._wrong(number) from None

    def add(self, verdict: Verdict, keys: Sequence[str]) -> None:
        """Append the rows of a verdict under their keys, in one write."""
        text = "".join(
            HEAD + json.dumps(_line(row, verdict, key), ensure_ascii=False)[1:] + "\n"
            for row, key in zip(verdict.rows, keys, strict=True)
        ).encode()
        try:
            while text:
                text = text[os.write(self._file, text) :]
            if time.monotonic() - self._synced > SYNC_S:
                os.fsync(self._file)
                self._synced = time.monotonic()
        except OSError as error:
            raise DataError(f"{str(self._path)!r} cannot be written: {error.strerror}") from None


def _line(row: VerifyRow, verdict: Verdict, key: str) -> dict[str, object]:
    found = row.evaluation
    assert row.optimum is not None, "what has no optimum is not finished"
    return {
        "key": key,
        "instance": row.instance.name,
        "policy": row.policy,
        "states": verdict.states,
        "rejected": verdict.rejected,
        "optimum": show(row.optimum),
        "worst": None if row.worst is None else show(row.worst),
        "value": None if found is None else show(found.value),
        "first_loss": None if found is None or found.first_loss is None else _loss(found.first_loss),
        "failure": row.failure,
    }


def _finished(instance: Instance, policy: str, line: dict[str, object]) -> Finished:
    optimum = _exact(line["optimum"])
    value, failure, loss = line["value"], line["failure"], line["first_loss"]
    if (value is None) == (failure is None):
        raise ValueError("a row has either a value or a failure")
    compared = None
    if value is not None:
        first = None if loss is None else _loss_from(loss, len(instance.requests))
        compared = Comparison(value=_exact(value), optimum=optimum, first_loss=first)
    states, rejected = line["states"], line["rejected"]
    if not (states is None or isinstance(states, int)):
        raise TypeError("states is a count")
    return Finished(
        row=VerifyRow(
            instance=instance,
            policy=policy,
            optimum=optimum,
            worst=None if line["worst"] is None else _exact(line["worst"]),
            evaluation=compared,
            failure=None if failure is None else _text(failure),
        ),
        states=states,
        rejected=None if rejected is None else _text(rejected),
    )


def _loss(loss: Loss) -> dict[str, object]:
    return {
        "state": [None if x.finished else [x.prompt, x.generated, show(x.age_ms)] for x in loss.state],
        "action": loss.action,
        "better": loss.better,
        "n_better": loss.n_better,
        "probability": show(loss.probability),
        "advantage": show(loss.advantage),
        "decisions_before": loss.decisions_before,
        "now_ms": show(loss.now_ms),
    }


def _loss_from(value: object, requests: int) -> Loss:
    if not isinstance(value, dict):
        raise TypeError("a loss is an object")
    state: State = tuple(
        FINISHED if x is None else LocalState(int(x[0]), int(x[1]), _exact(x[2]), False) for x in value["state"]
    )
    if len(state) != requests:
        raise ValueError("a state has a place for every request")
    return Loss(
        state=state,
        action=_action(value["action"]),
        better=_action(value["better"]),
        n_better=int(value["n_better"]),
        probability=_exact(value["probability"]),
        advantage=_exact(value["advantage"]),
        decisions_before=int(value["decisions_before"]),
        now_ms=_exact(value["now_ms"]),
    )


def _action(value: list[object]) -> Action:
    graph, prefill, decode = value
    if not (isinstance(graph, int) and isinstance(prefill, list) and isinstance(decode, list)):
        raise TypeError("an action is a graph with two lists")
    return Action(graph, tuple(int(i) for i in prefill), tuple(int(i) for i in decode))


def _exact(value: object) -> Fraction:
    exact = parse_long(_text(value))
    if exact is None:
        raise ValueError("exact numbers are ratios in lowest terms")
    return exact


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("exact numbers are strings")
    return value
