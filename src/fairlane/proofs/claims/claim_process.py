"""A process for every claim: none can touch another's, however it ends, and what it read is known when it has ended.

The processes are forked from one that has imported the libraries and nothing else, so a start takes milliseconds and
every claim begins in the same state. Where there is no such server each claim has a fresh interpreter.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from fairlane.proofs.claims import tracing
from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.running import raised, run_claim, unsettled
from fairlane.proofs.claims.status import Outcome

# What most claims import; the server imports them once.
PRELOADED = ("fairlane.proofs.claims.preloaded",)


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a claim's process, and what it read.

    An outcome that is not settled is that of a process that ended without one, or was stopped for its time.
    """

    claim: Claim
    outcome: Outcome
    reads: tracing.Reads


@dataclass(slots=True)
class _Running:
    claim: Claim
    process: Any
    receiver: Connection
    until: float


def run_apart(
    claims: Sequence[Claim],
    context: Context,
    *,
    n_processes: int,
    limit_s: float,
    roots: Sequence[str],
) -> Generator[Ended, None, None]:
    """Run every claim in a process of its own, some at a time.

    Parameters
    ----------
    claims : sequence of Claim
        Started in this order; they come back as they end.
    context : Context
        The date and the rotation.
    n_processes : int
        >= 1, at a time.
    limit_s : float
        Seconds after which a process is stopped, > 0.
    roots : sequence of str
        Folders of the user's own code.

    Yields
    ------
    Ended
        One a claim.
    """
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    starter: Any = multiprocessing.get_context(method)
    if method == "forkserver":
        starter.set_forkserver_preload(list(PRELOADED))
    waiting = list(reversed(claims))
    running: list[_Running] = []
    try:
        while waiting or running:
            while waiting and len(running) < n_processes:
                running.append(_start(starter, waiting.pop(), context, limit_s, roots))
            late = min(item.until for item in running) - time.monotonic()
            ready = wait([item.receiver for item in running], timeout=max(late, 0.0))
            for item in tuple(running):
                if item.receiver in ready:
                    running.remove(item)
                    yield _ended(item)
                elif time.monotonic() >= item.until:
                    running.remove(item)
                    _stop(item)
                    message = f"no end within the time limit of {limit_s:g} s"
                    yield Ended(item.claim, unsettled(item.claim, message), tracing.Reads())
    finally:
        for item in running:
            _stop(item)


def _start(starter: Any, claim: Claim, context: Context, limit_s: float, roots: Sequence[str]) -> _Running:
    receiver, sender = starter.Pipe(duplex=False)
    process = starter.Process(
        target=_child, args=(sender, claim, context, tuple(roots), dict(os.environ)), daemon=False
    )
    process.start()
    sender.close()
    return _Running(claim, process, receiver, time.monotonic() + limit_s)


def _ended(item: _Running) -> Ended:
    try:
        outcome, reads = item.receiver.recv()
    except (EOFError, OSError):  # the process ended without a word
        item.process.join(1.0)
        message = f"the process that ran it ended with status {item.process.exitcode} before it had an outcome"
        outcome, reads = unsettled(item.claim, message), tracing.Reads()
    _stop(item, grace_s=1.0)
    return Ended(item.claim, outcome, reads)


def _stop(item: _Running, *, grace_s: float = 0.0) -> None:
    """End a claim's process and whatever it has started."""
    if grace_s:
        item.process.join(grace_s)
    pid = item.process.pid
    if pid is not None and hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    if item.process.is_alive():
        item.process.kill()
    item.process.join()
    item.process.close()
    with contextlib.suppress(OSError):
        item.receiver.close()


def _child(
    sender: Connection, claim: Claim, context: Context, roots: tuple[str, ...], environment: dict[str, str]
) -> None:
    # The server's environment is that of its own start, which may be long ago.
    os.environ.clear()
    os.environ.update(environment)
    if hasattr(os, "setsid"):
        # A group of its own: what the claim starts ends with it, and an interrupt is the parent's to deal with.
        os.setsid()
    tracing.begin(roots)
    try:
        outcome = run_claim(claim, context)
    except BaseException as error:  # whatever the claim's code raises is the claim's end and nobody else's
        outcome = raised(claim, error)
    sender.send((outcome, tracing.finish()))
    sender.close()
    # No tidying up: a claim's exit handlers and threads have no say in how its process ends.
    os._exit(0)
