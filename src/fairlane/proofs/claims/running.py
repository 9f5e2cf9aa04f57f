"""Running one claim: whatever its code raises becomes part of the outcome."""

from __future__ import annotations

import contextlib
import sys
import traceback

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.kinds import Context, runner
from fairlane.proofs.claims.status import Outcome, Status
from fairlane.reference.errors import FairlaneError, Unsupported

# The longest claim of fairlane's own notes takes some seconds.
TIME_LIMIT_S = 300.0


def run_claim(claim: Claim, context: Context) -> Outcome:
    """A claim's outcome; what it prints goes to standard error.

    Parameters
    ----------
    claim : Claim
        Well formed.
    context : Context
        The date and the rotation.

    Returns
    -------
    Outcome
        For everything but an interrupt.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return runner(claim.kind)(claim, context)
    except Unsupported as error:
        return Outcome(status=Status.UNKNOWN, strength=None, summary=_placed(claim, str(error)))
    except FairlaneError as error:
        return Outcome(status=Status.FAILED, strength=None, summary=_placed(claim, str(error)))
    except (Exception, SystemExit) as error:  # the note's own code may raise anything; one claim must not stop the rest
        return raised(claim, error)


def raised(claim: Claim, error: BaseException) -> Outcome:
    """The outcome of a claim whose code raised what nobody expected."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__}: {error} (at {last.name}, line {last.lineno})"
    return Outcome(status=Status.FAILED, strength=None, summary=_placed(claim, text))


def unsettled(claim: Claim, message: str) -> Outcome:
    """A failure that another run may not repeat, so that it is not kept."""
    return Outcome(status=Status.FAILED, strength=None, summary=_placed(claim, message), settled=False)


def _placed(claim: Claim, message: str) -> str:
    line = " ".join(message.split())
    return line if line.startswith(f"{claim.path}:") else f"{claim.where()}: {line}"
