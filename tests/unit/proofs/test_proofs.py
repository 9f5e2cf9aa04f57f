"""Every registered proof comes through, and refuses each deliberately false variant of itself."""

from __future__ import annotations

import pytest

from fairlane.proofs import PROOFS, load
from fairlane.proofs.evidence import Evidence, Refuted

NAMES = [entry.name for entry in PROOFS]
BROKEN = [(name, what) for name in NAMES for what in load(name).broken]


@pytest.mark.parametrize("name", NAMES)
def test_proof_returns_evidence(name: str) -> None:
    evidence = load(name).prove()
    assert evidence
    assert all(isinstance(piece, Evidence) and piece.lines for piece in evidence)


@pytest.mark.parametrize(("name", "what"), BROKEN)
def test_false_variant_is_refuted(name: str, what: str) -> None:
    with pytest.raises(Refuted):
        load(name).broken[what]()


@pytest.mark.parametrize("name", NAMES)
def test_proof_is_named_after_its_entry_and_can_fail(name: str) -> None:
    proof = load(name)
    assert proof.name == name
    assert proof.broken
