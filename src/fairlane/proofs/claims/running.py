"""Running claims: one at a time or over a few processes, with the same outcomes either way.

Each claim has a limit of wall-clock time, after which it is undecided. The limit comes in two steps: an alarm that
ends whatever Python code is running, and in a worker process, where a single long operation of a library would not
hear the alarm, the end of the process a little later.
"""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.kinds import Context, runner
from fairlane.proofs.claims.status import Outcome, Status
from fairlane.reference.errors import FairlaneError, Unsupported

OnDone = Callable[[Claim, Outcome], None]

# The longest claim of fairlane's own notes takes some seconds.
TIME_LIMIT_S = 300.0
# After the alarm the claim's code may still tidy up, and a library's long operation may still come to an end.
_GRACE_S = 1.0


class _OutOfTime(BaseException):
    """The alarm; no ``except Exception`` of a note's own code takes it for one of its errors."""


def run_claim(claim: Claim, context: Context, *, limit_s: float | None = None) -> Outcome:
    """A claim's outcome; whatever its code raises becomes part of it, and what it prints goes to standard error.

    Parameters
    ----------
    claim : Claim
        Well formed.
    context : Context
        The date and the rotation.
    limit_s : float or None
        Seconds, > 0, after which the outcome is UNKNOWN; None sets no limit. Heard in the main thread only, and on
        systems that have alarms.

    Returns
    -------
    Outcome
        Always.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr), _alarm(limit_s):
            return runner(claim.kind)(claim, context)
    except _OutOfTime:
        return _late(claim, limit_s)
    except Unsupported as error:
        return Outcome(status=Status.UNKNOWN, strength=None, summary=_placed(claim, str(error)))
    except FairlaneError as error:
        return Outcome(status=Status.FAILED, strength=None, summary=_placed(claim, str(error)))
    except (Exception, SystemExit) as error:  # the note's own code may raise anything; one claim must not stop the rest
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} (at {last.name}, line {last.lineno})"
        return Outcome(status=Status.FAILED, strength=None, summary=_placed(claim, text))


@contextlib.contextmanager
def _alarm(limit_s: float | None) -> Iterator[None]:
    if limit_s is None or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: object) -> None:
        raise _OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    # Rings again every second: code that swallows one alarm, a destructor for instance, hears the next.
    signal.setitimer(signal.ITIMER_REAL, limit_s, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _late(claim: Claim, limit_s: float | None) -> Outcome:
    # Where the machine's speed decides, nothing is kept.
    message = _placed(claim, f"no end within the time limit of {limit_s:g} s")
    return Outcome(status=Status.UNKNOWN, strength=None, summary=message, settled=False)


def _run_in_worker(claim: Claim, context: Context, limit_s: float) -> Outcome:
    """A claim's outcome; the process ends where the alarm is not heard."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        faulthandler.dump_traceback_later(limit_s + _GRACE_S, exit=True, file=nowhere)
        try:
            return run_claim(claim, context, limit_s=limit_s)
        finally:
            faulthandler.cancel_dump_traceback_later()


def _placed(claim: Claim, message: str) -> str:
    line = " ".join(message.split())
    return line if line.startswith(f"{claim.path}:") else f"{claim.where()}: {line}"


def run_claims(
    claims: Sequence[Claim],
    context: Context,
    *,
    n_processes: int,
    on_done: OnDone,
    limit_s: float = TIME_LIMIT_S,
) -> None:
    """Run claims and report each as it ends.

    Parameters
    ----------
    claims : sequence of Claim
        Independent of each other: evidence never reads another claim's outcome.
    context : Context
        The date and the rotation.
    n_processes : int
        1 runs here; more use that many processes, started fresh.
    on_done : callable
        Called with each claim and its outcome, in no fixed order.
    limit_s : float
        Seconds a claim, > 0.
    """
    if n_processes == 1 or len(claims) < 2:
        for claim in claims:
            on_done(claim, run_claim(claim, context, limit_s=limit_s))
        return
    n_processes = min(n_processes, len(claims))
    left = _run_in_pool(claims, context, n_processes=n_processes, on_done=on_done, limit_s=limit_s)
    # A process died, and nobody knows over which claim: each of the rest gets a process of its own.
    for claim in left:
        begun = time.monotonic()
        if _run_in_pool([claim], context, n_processes=1, on_done=on_done, limit_s=limit_s):
            outcome = _late(claim, limit_s)
            if time.monotonic() - begun < limit_s:
                message = _placed(claim, "the process that ran it died")
                outcome = Outcome(status=Status.FAILED, strength=None, summary=message, settled=False)
            on_done(claim, outcome)


def _run_in_pool(
    claims: Sequence[Claim], context: Context, *, n_processes: int, on_done: OnDone, limit_s: float
) -> list[Claim]:
    """Run claims in fresh processes; those without an outcome, because a process died, come back."""
    # A fork would copy whatever state this process has, solvers and random numbers included.
    pool = ProcessPoolExecutor(
        max_workers=n_processes, mp_context=multiprocessing.get_context("spawn"), initializer=_die_quietly
    )
    left = {claim.id: claim for claim in claims}
    try:
        waiting = {pool.submit(_run_in_worker, claim, context, limit_s): claim for claim in claims}
        for future in as_completed(waiting):
            with contextlib.suppress(BrokenProcessPool):
                outcome = future.result()
                del left[waiting[future].id]
                on_done(waiting[future], outcome)
    except BrokenProcessPool:
        pass  # raised by submit; what was not submitted is left over too
    except BaseException:
        # An interrupt: nobody waits for what is still running.
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return list(left.values())


def _die_quietly() -> None:
    """In a worker: end on Ctrl-C without a word; the parent says what there is to say."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
