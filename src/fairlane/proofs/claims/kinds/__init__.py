"""The kinds of claims: what each asks its author for, and where its evidence is made.

A kind is one module with a function ``run(claim, context) -> Outcome`` and one row here. The modules are imported
when a claim of their kind is run, so that a check in which nothing changed loads no solver.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from fairlane.proofs.claims.claim import Claim, Kind, Problem
from fairlane.proofs.claims.status import Outcome


class Body(StrEnum):
    """What stands below a claim's options."""

    NEEDED = "needed"
    ALLOWED = "allowed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What evidence may depend on besides the claim.

    Parameters
    ----------
    today : date
        Expiry dates are compared with it.
    rotation : str or None
        A word that gives statistical and recorded claims other draws; None keeps those of the claim's id.
    """

    today: date
    rotation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KindSpec:
    """One kind: its module, its options, and its body."""

    kind: Kind
    module: str
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    body: Body = Body.NEEDED


# Every claim may say what it rests on, how it is headed, and which further sources or files its evidence reads.
COMMON = ("uses", "title", "depends")

_HERE = "fairlane.proofs.claims.kinds"

KINDS: tuple[KindSpec, ...] = (
    KindSpec(kind=Kind.NUMERIC, module=f"{_HERE}.numeric", required=("value", "tolerance"), optional=("import",)),
    KindSpec(kind=Kind.EXACT, module=f"{_HERE}.exact", optional=("import", "value")),
    KindSpec(kind=Kind.IDENTITY, module=f"{_HERE}.identity", required=("vars",), optional=("given", "functions")),
    KindSpec(kind=Kind.FORALL, module=f"{_HERE}.forall", required=("vars",), optional=("given", "rlimit", "functions")),
    KindSpec(
        kind=Kind.INDUCTION,
        module=f"{_HERE}.induction",
        required=("over", "base", "step"),
        optional=("vars", "from", "given", "rlimit", "functions"),
    ),
    KindSpec(
        kind=Kind.ENUMERATE, module=f"{_HERE}.enumerated", required=("space", "count"), optional=("import", "value")
    ),
    KindSpec(kind=Kind.NOT_FORALL, module=f"{_HERE}.not_forall", required=("vars", "witness"), optional=("given",)),
    KindSpec(
        kind=Kind.STATISTICAL,
        module=f"{_HERE}.statistical",
        required=("sampler", "n", "delta", "method"),
        optional=("range",),
    ),
    KindSpec(
        kind=Kind.RECORDED,
        module=f"{_HERE}.recorded",
        required=("table", "inputs", "outputs"),
        optional=("callable", "command", "rows", "rerun", "tolerance", "import", "value"),
    ),
    KindSpec(
        kind=Kind.ORACLE,
        module=f"{_HERE}.oracle",
        required=("instance", "quantity"),
        optional=("policy", "sense", "value"),
        body=Body.ALLOWED,
    ),
    KindSpec(kind=Kind.PROOF, module=f"{_HERE}.proof", required=("module",), body=Body.ALLOWED),
    KindSpec(
        kind=Kind.CITED,
        module=f"{_HERE}.cited",
        required=("reference", "locator", "read", "expires"),
        optional=("check", "value"),
    ),
    KindSpec(kind=Kind.ASSUMED, module=f"{_HERE}.assumed"),
    KindSpec(kind=Kind.DEFINITION, module=f"{_HERE}.assumed", optional=("import",)),
)

_BY_KIND = {spec.kind: spec for spec in KINDS}


def spec_of(kind: Kind) -> KindSpec:
    """A kind's row."""
    return _BY_KIND[kind]


def form_problems(claim: Claim) -> tuple[Problem, ...]:
    """What a claim lacks, or has too much, for its kind."""
    spec = spec_of(claim.kind)
    allowed = (*spec.required, *spec.optional, *COMMON)
    found: list[Problem] = []

    def bad(line: int, message: str) -> None:
        found.append(Problem(path=claim.path, line=line, message=f"claim {claim.id!r} of kind {claim.kind} {message}"))

    for name in spec.required:
        option = claim.find(name)
        if option is None:
            bad(claim.line, f"has no :{name}:; need one")
        elif not option.value.strip():
            bad(option.line, f"has an empty :{name}:; need a value")
    for option in claim.options:
        if option.name not in allowed:
            bad(option.line, f"has :{option.name}:; need one of {', '.join(f':{name}:' for name in allowed)}")
    if spec.body is Body.NEEDED and not claim.body.strip():
        bad(claim.line, "has no body; need its statement below the options")
    return tuple(found)


def runner(kind: Kind) -> Callable[[Claim, Context], Outcome]:
    """The function that makes a kind's evidence; its module is imported now."""
    run: Callable[[Claim, Context], Outcome] = importlib.import_module(spec_of(kind).module).run
    return run
