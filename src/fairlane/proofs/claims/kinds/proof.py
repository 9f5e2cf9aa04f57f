"""``proof``: one of fairlane's own proofs, run; the note names it and cannot restate it wrongly.

    :module: age_area

runs ``fairlane.proofs.age_area``; its label ``age-area`` does as well. The statement shown is the proof's own.
"""

from __future__ import annotations

import re

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.program import load_object
from fairlane.proofs.claims.program_names import proof_module
from fairlane.proofs.claims.status import Outcome, Status, Strength
from fairlane.proofs.evidence import Proof, ProofFailed, Refuted, weakest
from fairlane.reference.errors import InvalidInstance


def run(claim: Claim, context: Context) -> Outcome:
    """What the proof's run gives: its weakest piece of evidence decides the strength."""
    name = claim.text("module").strip()
    if re.fullmatch(r"[a-z][a-z0-9_-]*", name) is None:
        raise InvalidInstance(f"{claim.where('module')}: module is {name!r}; need a module of fairlane.proofs")
    module = proof_module(name)
    proof = load_object(f"{module}:PROOF", claim.where("module"))
    if not isinstance(proof, Proof):
        raise InvalidInstance(f"{claim.where('module')}: {module}.PROOF is no proof")
    return outcome_of(proof)


def outcome_of(proof: Proof) -> Outcome:
    """A proof's outcome as a claim's."""
    stated = f"statement: {proof.statement}"
    try:
        pieces = tuple(proof.prove())
    except Refuted as error:
        return Outcome(status=Status.FAILED, strength=None, summary=str(error), evidence=(stated,))
    except ProofFailed as error:
        return Outcome(status=Status.UNKNOWN, strength=None, summary=str(error), evidence=(stated,))
    lines = [stated]
    if proof.assumptions:
        lines.append(f"assumptions: {proof.assumptions}")
    for piece in pieces:
        lines += [f"{piece.kind} ({piece.strength}): {piece.detail}", *piece.lines]
    if not pieces:
        return Outcome(
            status=Status.UNKNOWN, strength=None, summary="the proof gave no evidence", evidence=tuple(lines)
        )
    strength: Strength = weakest(pieces)
    return Outcome(
        status=Status.HOLDS,
        strength=strength,
        summary=f"proof {proof.name}: {len(pieces)} obligation{'s' if len(pieces) > 1 else ''} met",
        evidence=tuple(lines),
    )
