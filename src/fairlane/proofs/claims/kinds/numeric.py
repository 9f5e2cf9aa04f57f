"""``numeric``: a real number within a stated tolerance, enclosed by ball arithmetic and computed again by mpmath.

With ``:import:`` the expression calls Python functions, whose floats have no second precision: the comparison is
then made once, in doubles, and the evidence says so.
"""

from __future__ import annotations

import math
from fractions import Fraction

from fairlane.proofs.claims.ball import ball_of, mpmath_of
from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.expression import Reader
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.kinds.reading import reader_of
from fairlane.proofs.claims.program import Numbers, as_rational, compile_program, evaluate, imported, run_bindings
from fairlane.proofs.claims.rational import Undefined
from fairlane.proofs.claims.status import Outcome, Status, Strength
from fairlane.proofs.claims.term import Term
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import parse_number

BITS = 256
DIGITS = 50
_NEED = "{}:{}: claim {!r} needs one expression that is a number"


def run(claim: Claim, context: Context) -> Outcome:
    """|expression - value| <= tolerance, with both ends of the enclosure inside."""
    value = parse_number(claim.text("value"), f"{claim.where('value')}: value")
    tolerance = parse_number(claim.text("tolerance"), f"{claim.where('tolerance')}: tolerance")
    if tolerance <= 0:
        raise InvalidInstance(f"{claim.where('tolerance')}: tolerance is {tolerance}; need > 0")
    if claim.find("import") is not None:
        return _in_doubles(claim, value, tolerance)
    term = _expression(claim)
    try:
        low, high = _ends(term)
        again = mpmath_of(term, digits=DIGITS)
    except Undefined as error:
        return Outcome(status=Status.UNKNOWN, strength=None, summary=f"no value: {error}")
    evidence = (
        f"flint, {BITS} bits: within [{float(low):.17g}, {float(high):.17g}]",
        f"mpmath, {DIGITS} digits: {float(again):.17g}",
    )
    slack = Fraction(1, 10 ** (DIGITS - 15)) * max(Fraction(1), abs(again))
    if not low - slack <= again <= high + slack:
        return Outcome(status=Status.UNKNOWN, strength=None, summary="the two evaluations disagree", evidence=evidence)
    if value - tolerance <= low and high <= value + tolerance:
        return Outcome(
            status=Status.HOLDS,
            strength=Strength.NUMERIC,
            summary=f"within {float(tolerance):g} of {claim.text('value')}",
            evidence=evidence,
            value=str(value),
        )
    if high < value - tolerance or low > value + tolerance:
        summary = f"is {float(again):.12g}, {float(abs(again - value)):.3g} away from {claim.text('value')}"
        return Outcome(status=Status.FAILED, strength=None, summary=summary, evidence=evidence)
    return Outcome(status=Status.UNKNOWN, strength=None, summary="the enclosure is too wide to tell", evidence=evidence)


def _expression(claim: Claim) -> Term:
    reader: Reader = reader_of(claim, ())
    lines = reader.statements(claim.body, claim.body_line)
    if len(lines) != 1 or lines[0][0].logical:
        raise InvalidInstance(_NEED.format(claim.path, claim.body_line, claim.id))
    return lines[0][0]


def _ends(term: Term) -> tuple[Fraction, Fraction]:
    ball = ball_of(term, {}, bits=BITS)
    ends = []
    for end in (ball.lower(), ball.upper()):
        mantissa, exponent = end.man_exp()
        ends.append(Fraction(int(mantissa)) * Fraction(2) ** int(exponent))
    return ends[0], ends[1]


def _in_doubles(claim: Claim, value: Fraction, tolerance: Fraction) -> Outcome:
    names: dict[str, object] = {name: getattr(math, name) for name in ("log", "exp", "sqrt", "pi", "e")}
    program = compile_program(claim.body, path=claim.path, first_line=claim.body_line, numbers=Numbers.DOUBLE)
    scope = run_bindings(program, {**names, **imported(claim)}, path=claim.path)
    lines = program.statements
    if len(lines) != 1:
        raise InvalidInstance(_NEED.format(claim.path, claim.body_line, claim.id))
    found = evaluate(lines[0].code, scope, path=claim.path, line=lines[0].line)
    exact = as_rational(found)
    if exact is None:
        number = float(found) if isinstance(found, (int, float)) else math.nan
        if not math.isfinite(number):
            raise InvalidInstance(f"{claim.path}:{claim.body_line}: the expression is {found!r}; need a finite number")
        exact = Fraction(number)
    how = "once, in doubles" if not isinstance(found, (int, Fraction)) else "in rationals"
    evidence = (f"computed {how}: {float(exact):.17g}",)
    if abs(exact - value) <= tolerance:
        return Outcome(
            status=Status.HOLDS,
            strength=Strength.NUMERIC,
            summary=f"within {float(tolerance):g} of {claim.text('value')}, computed {how}",
            evidence=evidence,
            value=str(value),
        )
    summary = f"is {float(exact):.12g}, {float(abs(exact - value)):.3g} away from {claim.text('value')}"
    return Outcome(status=Status.FAILED, strength=None, summary=summary, evidence=evidence)
