"""Running claims: one at a time or over a few processes, with the same outcomes either way."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.kinds import Context, runner
from fairlane.proofs.claims.status import Outcome, Status
from fairlane.reference.errors import FairlaneError, Unsupported

OnDone = Callable[[Claim, Outcome], None]


def run_claim(claim: Claim, context: Context) -> Outcome:
    """A claim's outcome; whatever its code raises becomes part of it, and what it prints goes to standard error."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return runner(claim.kind)(claim, context)
    except Unsupported as error:
        return Outcome(status=Status.UNKNOWN, strength=None, summary=_placed(claim, str(error)))
    except FairlaneError as error:
        return Outcome(status=Status.FAILED, strength=None, summary=_placed(claim, str(error)))
    except (Exception, SystemExit) as error:  # the note's own code may raise anything; one claim must not stop the rest
        last = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} (at {last.name}, line {last.lineno})"
        return Outcome(status=Status.FAILED, strength=None, summary=_placed(claim, text))


def _placed(claim: Claim, message: str) -> str:
    line = " ".join(message.split())
    return line if line.startswith(f"{claim.path}:") else f"{claim.where()}: {line}"


def run_claims(claims: Sequence[Claim], context: Context, *, n_processes: int, on_done: OnDone) -> None:
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
    """
    if n_processes == 1 or len(claims) < 2:
        for claim in claims:
            on_done(claim, run_claim(claim, context))
        return
    left = _run_in_pool(claims, context, n_processes=min(n_processes, len(claims)), on_done=on_done)
    # A process died, and nobody knows over which claim: each of the rest gets a process of its own.
    for claim in left:
        if _run_in_pool([claim], context, n_processes=1, on_done=on_done):
            message = _placed(claim, "the process that ran it died")
            on_done(claim, Outcome(status=Status.FAILED, strength=None, summary=message, settled=False))


def _run_in_pool(claims: Sequence[Claim], context: Context, *, n_processes: int, on_done: OnDone) -> list[Claim]:
    """Run claims in fresh processes; those without an outcome, because a process died, come back."""
    # A fork would copy whatever state this process has, solvers and random numbers included.
    pool = ProcessPoolExecutor(
        max_workers=n_processes, mp_context=multiprocessing.get_context("spawn"), initializer=_die_quietly
    )
    left = {claim.id: claim for claim in claims}
    try:
        waiting = {pool.submit(run_claim, claim, context): claim for claim in claims}
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
