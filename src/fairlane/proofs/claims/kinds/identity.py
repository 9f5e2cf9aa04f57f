"""``identity``: both sides of an equation in one normal form; a residue is "unknown" until a point refutes it."""

from __future__ import annotations

from dataclasses import replace

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.domain import Variable, read_variables
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.kinds.reading import read_given, read_statement, reader_of
from fairlane.proofs.claims.powers import split_powers
from fairlane.proofs.claims.proving import prove_defined
from fairlane.proofs.claims.rational_function import residue_is_zero_flint, residue_is_zero_sympy
from fairlane.proofs.claims.smtlib import divisor_guards
from fairlane.proofs.claims.status import Outcome, Status, Strength
from fairlane.proofs.claims.term import Op, Term
from fairlane.proofs.claims.witness import points, refutes, show_point
from fairlane.reference.errors import InvalidInstance, Unsupported


def run(claim: Claim, context: Context) -> Outcome:
    """Every equation of the body, by two computer algebra systems that share no code."""
    variables = read_variables(claim)
    reader = reader_of(claim, variables)
    given, statement = read_given(claim, reader), read_statement(claim, reader)
    equations = statement.args if statement.op is Op.AND else (statement,)
    evidence: list[str] = []
    for equation in equations:
        if equation.op is not Op.EQ:
            raise InvalidInstance(
                f"{claim.path}:{claim.body_line}: {equation}: need an equation; other statements are of kind forall"
            )
        outcome = _one(equation, given, variables, evidence)
        if outcome is not None:
            return outcome
    return Outcome(
        status=Status.HOLDS,
        strength=Strength.TWO_SOLVERS,
        summary="one normal form on both sides (flint, sympy)",
        evidence=tuple(evidence),
    )


def _one(
    equation: Term, given: tuple[Term, ...], variables: tuple[Variable, ...], evidence: list[str]
) -> Outcome | None:
    """None where the equation is proved; what was done goes to the evidence."""
    defined = prove_defined(equation, given, variables)
    if defined.status is not Status.HOLDS:
        summary = f"a divisor may be zero: {defined.summary}; need that in :given: or in a domain"
        return replace(defined, strength=None, summary=summary)
    for guard in divisor_guards(equation):
        evidence.append(f"never divides by zero: {guard}")
    try:
        split = split_powers(equation, {variable.name: variable for variable in variables})
        left, right = split.args
        flint_says, residue = residue_is_zero_flint(left, right)
        sympy_says = residue_is_zero_sympy(left, right)
    except Unsupported as error:
        return _refuted(equation, given, variables, evidence) or Outcome(
            status=Status.UNKNOWN, strength=None, summary=f"no normal form: {error}", evidence=tuple(evidence)
        )
    evidence.append(f"flint: residue of {equation} is {'0' if flint_says else residue}")
    evidence.append(f"sympy: residue is {'0' if sympy_says else 'not 0'}")
    if flint_says and sympy_says:
        return None
    if flint_says != sympy_says:
        summary = "flint and sympy disagree on the normal form"
        return Outcome(status=Status.UNKNOWN, strength=None, summary=summary, evidence=tuple(evidence))
    return _refuted(equation, given, variables, evidence) or Outcome(
        status=Status.UNKNOWN,
        strength=None,
        summary=f"residue {residue} is not zero, and no point refutes the identity",
        evidence=tuple(evidence),
    )


def _refuted(
    equation: Term, given: tuple[Term, ...], variables: tuple[Variable, ...], evidence: list[str]
) -> Outcome | None:
    for point in points(variables):
        if refutes(given, equation, variables, point):
            shown = show_point(point)
            evidence.append(f"sides differ at {shown}, replayed")
            return Outcome(
                status=Status.FAILED, strength=None, summary=f"sides differ at {shown}", evidence=tuple(evidence)
            )
    return None
