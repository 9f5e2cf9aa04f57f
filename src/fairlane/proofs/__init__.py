"""Identities proved for all parameters, one module each, and the research notes' claims.

Nothing is imported here: a proof's module loads its solvers when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fairlane.proofs.evidence import Proof

__all__ = ["PROOFS", "ProofEntry", "load"]


class ProofEntry(NamedTuple):
    """A registered proof: its label and the module that exposes it as ``PROOF``."""

    name: str
    module: str


_HERE = "fairlane.proofs"

PROOFS: tuple[ProofEntry, ...] = (ProofEntry("age-area", f"{_HERE}.age_area"),)


def load(name: str) -> Proof:
    """The proof of a name; its module is imported now.

    Raises
    ------
    KeyError
        No such proof.
    """
    for entry in PROOFS:
        if entry.name == name:
            proof: Proof = importlib.import_module(entry.module).PROOF
            return proof
    raise KeyError(name)
