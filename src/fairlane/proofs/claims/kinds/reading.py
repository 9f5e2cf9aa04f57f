"""Reading the symbolic kinds' common options: variables, hypotheses and the body's statements."""

from __future__ import annotations

from fairlane.proofs.claims.ball import CONSTANTS, FUNCTIONS
from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.domain import Variable
from fairlane.proofs.claims.expression import Reader
from fairlane.proofs.claims.term import Op, Term
from fairlane.reference.errors import InvalidInstance


def reader_of(claim: Claim, variables: tuple[Variable, ...], *, more: frozenset[str] = frozenset()) -> Reader:
    """A reader that knows a claim's variables, its ``:functions:`` and the elementary ones."""
    declared = frozenset(claim.text("functions", "").replace(",", " ").split())
    return Reader(
        path=claim.path,
        variables=frozenset(variable.name for variable in variables),
        functions=declared | FUNCTIONS | more,
        constants=CONSTANTS - {variable.name for variable in variables},
    )


def read_given(claim: Claim, reader: Reader, name: str = "given") -> tuple[Term, ...]:
    """Hypotheses of a claim; none without the option."""
    option = claim.find(name)
    return reader.conditions(option.value, option.line) if option is not None else ()


def read_statement(claim: Claim, reader: Reader) -> Term:
    """The body as one condition: all of its lines together.

    Raises
    ------
    InvalidInstance
        A line that is a number, or no statement at all.
    """
    lines = reader.statements(claim.body, claim.body_line)
    for term, line in lines:
        if not term.logical:
            raise InvalidInstance(f"{claim.path}:{line}: {term}: is a number; need a statement that is true or false")
    if not lines:
        raise InvalidInstance(f"{claim.path}:{claim.body_line}: claim {claim.id!r} states nothing; need a statement")
    return lines[0][0] if len(lines) == 1 else Term(Op.AND, tuple(term for term, _ in lines))


def read_limit(claim: Claim) -> int | None:
    """``:rlimit:`` as a whole number of the solver's units, or None.

    Raises
    ------
    InvalidInstance
        Not a positive whole number.
    """
    option = claim.find("rlimit")
    if option is None:
        return None
    text = option.value.replace("_", "")
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise InvalidInstance(f"{claim.where('rlimit')}: rlimit is {option.value!r}; need a whole number >= 1")
    return int(text)
