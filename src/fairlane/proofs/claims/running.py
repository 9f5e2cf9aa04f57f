"""Running claims: one at a time or over a few processes, with the same outcomes either way."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.kinds import Context, runner
from fairlane.proofs.claims.status import Outcome, Status
from fairlane.reference.errors import FairlaneError, Unsupported

OnDone = Callable[[Claim, Outcome], None]


def run_claim(claim: Claim, context: Context) -> Outcome:
    """A claim's outcome; whatever its code raises becomes part of it."""
    try:
        return runner(claim.kind)(claim, context)
    except Unsupported as error:
        return Outcome(status=Status.UNKNOWN, strength=None, summary=_placed(claim, str(error)))
    except FairlaneError as error:
        return Outcome(status=Status.FAILED, strength=None, summary=_placed(claim, str(error)))
    except Exception as error:  # the note's own code may raise anything, and one claim must not stop the others
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
    # Fresh processes: a fork would copy whatever state this one has, solvers and random numbers included.
    pool = ProcessPoolExecutor(
        max_workers=min(n_processes, len(claims)), mp_context=multiprocessing.get_context("spawn")
    )
    try:
        waiting = {pool.submit(run_claim, claim, context): claim for claim in claims}
        for future in as_completed(waiting):
            on_done(waiting[future], future.result())
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
