"""``assumed`` and ``definition``: no evidence, and shown as such.

An assumption is the weakest thing a claim can rest on. A definition asserts nothing; with ``:import:`` it names the
code that it is about, so that its dependents are run again when that code changes.
"""

from __future__ import annotations

from fairlane.proofs.claims.claim import Claim, Kind
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.program import imported
from fairlane.proofs.claims.status import Outcome, Status, Strength


def run(claim: Claim, context: Context) -> Outcome:
    """Grey, without a look at the body; what a definition imports must exist."""
    if claim.kind is Kind.DEFINITION:
        names = tuple(imported(claim))
        evidence = (f"names {', '.join(names)}",) if names else ()
        return Outcome(status=Status.DEFINED, strength=None, summary="a definition", evidence=evidence)
    return Outcome(status=Status.ASSUMED, strength=Strength.ASSUMED, summary="assumed, with no evidence")
