"""Every registered proof comes through, and refuses each deliberately false variant of itself."""

from __future__ import annotations

from functools import cache

import pytest

from fairlane.proofs import PROOFS, load
from fairlane.proofs.claims.solving import Solver, installed
from fairlane.proofs.claims.status import Strength
from fairlane.proofs.evidence import Evidence, EvidenceKind, Refuted

# each proof is run once for all that is asked of its evidence
EVIDENCE = cache(lambda name: tuple(load(name).prove()))
NAMES = [entry.name for entry in PROOFS]
BROKEN = [(name, what) for name in NAMES for what in load(name).broken]


@pytest.mark.parametrize("name", NAMES)
def test_proof_returns_evidence(name: str) -> None:
    evidence = EVIDENCE(name)
    assert evidence
    assert all(isinstance(piece, Evidence) and piece.lines for piece in evidence)


@pytest.mark.skipif(not installed(Solver.CVC5), reason="cvc5 is not installed: fairlane[solvers]")
@pytest.mark.parametrize("name", NAMES)
def test_every_obligation_is_met_by_both_solvers(name: str) -> None:
    put_to_solvers = (EvidenceKind.FORALL, EvidenceKind.INDUCTION, EvidenceKind.IDENTITY)
    for piece in EVIDENCE(name):
        if piece.kind in put_to_solvers:
            assert piece.strength is Strength.TWO_SOLVERS, (piece.detail, piece.lines)


@pytest.mark.parametrize("name", NAMES)
def test_proof_covers_all_values_and_stands_beside_exact_numbers(name: str) -> None:
    kinds = {piece.kind for piece in EVIDENCE(name)}
    assert kinds & {EvidenceKind.FORALL, EvidenceKind.INDUCTION, EvidenceKind.IDENTITY}
    assert kinds & {EvidenceKind.EXACT, EvidenceKind.ENUMERATION, EvidenceKind.COUNTEREXAMPLE}


@pytest.mark.parametrize(("name", "what"), BROKEN)
def test_false_variant_is_refuted(name: str, what: str) -> None:
    with pytest.raises(Refuted):
        load(name).broken[what]()


@pytest.mark.parametrize("name", NAMES)
def test_proof_is_named_after_its_entry_and_can_fail(name: str) -> None:
    proof = load(name)
    assert proof.name == name
    assert proof.broken, "a proof without a false variant that it refuses might accept anything"
