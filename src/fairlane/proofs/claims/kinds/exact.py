"""``exact``: equations between rationals, evaluated in rationals; a float anywhere is an error."""

from __future__ import annotations

from fractions import Fraction

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.program import (
    Numbers,
    Statement,
    as_rational,
    compile_program,
    evaluate,
    imported,
    run_bindings,
)
from fairlane.proofs.claims.status import Outcome, Status, Strength
from fairlane.reference.errors import InvalidInstance


def run(claim: Claim, context: Context) -> Outcome:
    """Every line of the body, evaluated; the value is ``:value:``, or the last equation's right side."""
    program = compile_program(claim.body, path=claim.path, first_line=claim.body_line, numbers=Numbers.RATIONAL)
    scope = run_bindings(program, imported(claim), path=claim.path)
    lines = program.statements
    if not lines:
        raise InvalidInstance(f"{claim.path}:{claim.body_line}: claim {claim.id!r} states nothing; need an equation")
    evidence: list[str] = []
    last: Fraction | None = None
    for line in lines:
        holds, shown, last = check_line(line, scope, path=claim.path)
        evidence.append(shown)
        if not holds:
            return Outcome(
                status=Status.FAILED, strength=None, summary=f"line {line.line}: {shown}", evidence=tuple(evidence)
            )
    value = value_option(claim, scope)
    chosen = value if value is not None else last
    return Outcome(
        status=Status.HOLDS,
        strength=Strength.EXACT,
        summary=f"{len(lines)} line{'s' if len(lines) > 1 else ''} in rationals",
        evidence=tuple(evidence),
        value=str(chosen) if chosen is not None else None,
    )


def check_line(line: Statement, scope: dict[str, object], *, path: str) -> tuple[bool, str, Fraction | None]:
    """Whether a line is true, a text that shows both sides, and the right side where it is a rational.

    Raises
    ------
    InvalidInstance
        The line is no statement, or cannot be evaluated.
    """
    truth = evaluate(line.code, scope, path=path, line=line.line)
    if not isinstance(truth, bool):
        raise InvalidInstance(f"{path}:{line.line}: {line.text!r} is {truth!r}; need a statement that is true or false")
    if line.left is None or line.right is None:
        return truth, f"{line.text}: {str(truth).lower()}", None
    left = evaluate(line.left, scope, path=path, line=line.line)
    right = evaluate(line.right, scope, path=path, line=line.line)
    sign = "==" if truth else "!="
    return truth, f"{line.text}: {_short(left)} {sign} {_short(right)}", as_rational(right)


def value_option(claim: Claim, scope: dict[str, object]) -> Fraction | None:
    """``:value:`` as a rational, or None without one.

    Raises
    ------
    InvalidInstance
        It is no rational.
    """
    option = claim.find("value")
    if option is None:
        return None
    program = compile_program(option.value, path=claim.path, first_line=option.line)
    found = program.statements
    value = evaluate(found[0].code, scope, path=claim.path, line=option.line) if len(found) == 1 else None
    rational = as_rational(value)
    if rational is None:
        raise InvalidInstance(f"{claim.where('value')}: value {option.value!r} is {value!r}; need a rational")
    return rational


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."
