"""What a proof is and what it hands back: evidence that was produced by running it, or a refusal.

No status is ever written down by an author. A proof is a function; calling it runs solvers, normal forms and exact
replays, and either returns the evidence or raises :class:`ProofFailed`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from fairlane.proofs.claims.status import STRENGTHS, Strength
from fairlane.reference.errors import FairlaneError


class EvidenceKind(StrEnum):
    """How a piece of evidence was produced."""

    IDENTITY = "identity"  # one normal form on both sides
    FORALL = "forall"  # the negation is unsatisfiable
    INDUCTION = "induction"  # base and step, each a forall
    CALCULUS = "calculus"  # derivative, integral or limit by computer algebra
    ENUMERATION = "enumeration"  # every member of a finite space
    EXACT = "exact"  # numbers compared in rationals
    CERTIFICATE = "certificate"  # a sum of terms that cannot be negative, multiplied out
    COUNTEREXAMPLE = "counterexample"  # a statement shown not to hold for all, by a replayed point


class ProofFailed(FairlaneError):
    """No evidence came out; the message says which obligation fell and how."""


class Refuted(ProofFailed):
    """An obligation is false: a point, a member of a finite space or an exact value shows it."""


class Undecided(ProofFailed):
    """An obligation could be neither proved nor refuted within the limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One established fact and how it was established.

    Parameters
    ----------
    kind : EvidenceKind
        The method.
    strength : Strength
        What the method is worth.
    detail : str
        One line: the fact.
    lines : tuple of str
        What was run and what came back, a line each.
    beside : bool
        True for a spot check that stands beside the proof; the statement does not rest on it.
    """

    kind: EvidenceKind
    strength: Strength
    detail: str
    lines: tuple[str, ...] = ()
    beside: bool = False


Prove = Callable[[], Sequence[Evidence]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """An identity with the run that proves it.

    Parameters
    ----------
    name : str
        Unique label, words joined by hyphens.
    statement, assumptions, source : str
        What is proved, under what, and where it comes from: the paragraphs of the module's docstring.
    prove : callable
        Returns the evidence, at least one piece, or raises ProofFailed.
    broken : mapping
        Deliberately false variants by what is wrong with them; each must raise ProofFailed.
    """

    name: str
    statement: str
    prove: Prove
    assumptions: str = ""
    source: str = ""
    broken: Mapping[str, Prove] = field(default_factory=dict)


def weakest(evidence: Sequence[Evidence]) -> Strength:
    """The least strength among the pieces that a statement rests on; of all where it rests on spot checks alone."""
    needed = [piece for piece in evidence if not piece.beside] or evidence
    return max((piece.strength for piece in needed), key=STRENGTHS.index)


def proof_from(doc: str | None, name: str, prove: Prove, broken: Mapping[str, Prove]) -> Proof:
    """A proof whose texts are its module's docstring.

    Parameters
    ----------
    doc : str or None
        A docstring with the paragraphs ``Statement: ...``, ``Assumptions: ...`` and ``Source: ...``.
    name : str
        The proof's label.
    prove : callable
        The run.
    broken : mapping
        False variants.

    Raises
    ------
    ValueError
        A paragraph is missing: an error of ours, caught by the tests.
    """
    parts: dict[str, str] = {}
    for paragraph in inspect.cleandoc(doc or "").split("\n\n"):
        head, colon, rest = paragraph.partition(":")
        if colon and head in ("Statement", "Assumptions", "Source"):
            parts[head] = " ".join(rest.split())
    for head in ("Statement", "Assumptions", "Source"):
        if not parts.get(head):
            raise ValueError(f"proof {name!r}: the docstring has no paragraph {head!r}")
    return Proof(
        name=name,
        statement=parts["Statement"],
        assumptions=parts["Assumptions"],
        source=parts["Source"],
        prove=prove,
        broken=broken,
    )
