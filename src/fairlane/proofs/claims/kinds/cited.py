"""``cited``: somebody else's result, with where it stands, when it was read, and when it must be read again."""

from __future__ import annotations

from datetime import date

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.kinds.exact import check_line, value_option
from fairlane.proofs.claims.program import Numbers, compile_program, run_bindings
from fairlane.proofs.claims.status import Outcome, Status, Strength
from fairlane.reference.errors import InvalidInstance


def run(claim: Claim, context: Context) -> Outcome:
    """CITED until it expires; a spot check that is false makes it FAILED."""
    read, expires = read_date(claim, "read"), read_date(claim, "expires")
    if expires <= read:
        raise InvalidInstance(f"{claim.where('expires')}: expires is {expires}; need a day after {read}")
    if read > context.today:
        raise InvalidInstance(f"{claim.where('read')}: read is {read}; need a day that is not in the future")
    evidence = [f"{claim.text('reference')}, {claim.text('locator')}; read {read}, expires {expires}"]
    value = None
    option = claim.find("check")
    program = compile_program(
        option.value if option is not None else "",
        path=claim.path,
        first_line=option.line if option is not None else claim.line,
        numbers=Numbers.RATIONAL,
    )
    scope = run_bindings(program, {}, path=claim.path)
    for line in program.statements:
        holds, shown, _ = check_line(line, scope, path=claim.path)
        evidence.append(f"spot check {shown}")
        if not holds:
            return Outcome(
                status=Status.FAILED, strength=None, summary=f"spot check fails: {shown}", evidence=tuple(evidence)
            )
    value = value_option(claim, scope)
    return Outcome(
        status=Status.CITED,
        strength=Strength.CITED,
        summary=f"{claim.text('reference')}, {claim.text('locator')}",
        evidence=tuple(evidence),
        value=str(value) if value is not None else None,
    )


def read_date(claim: Claim, name: str) -> date:
    """A date option, in the form 2026-01-31.

    Raises
    ------
    InvalidInstance
        Another form.
    """
    text = claim.text(name)
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidInstance(f"{claim.where(name)}: {name} is {text!r}; need a date such as 2026-01-31") from None
