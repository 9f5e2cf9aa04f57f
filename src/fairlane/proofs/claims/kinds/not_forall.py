"""``not-forall``: a statement that does not hold for all values, shown by a witness that is replayed in rationals."""

from __future__ import annotations

import ast
from fractions import Fraction

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.domain import Variable, read_variables
from fairlane.proofs.claims.expression import Reader, parse_python
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.kinds.reading import read_given, read_statement, reader_of
from fairlane.proofs.claims.rational import Undefined, truth_of, value_of
from fairlane.proofs.claims.status import Outcome, Status, Strength
from fairlane.proofs.claims.witness import Point, show_point
from fairlane.reference.errors import InvalidInstance


def run(claim: Claim, context: Context) -> Outcome:
    """HOLDS where the witness meets every hypothesis and the statement is false at it."""
    variables = read_variables(claim)
    reader = reader_of(claim, variables)
    given, statement = read_given(claim, reader), read_statement(claim, reader)
    point = read_witness(claim, variables)
    shown = show_point(point)

    def fails(why: str) -> Outcome:
        return Outcome(status=Status.FAILED, strength=None, summary=f"the witness {shown} {why}")

    for variable in variables:
        if not variable.contains(point[variable.name]):
            return fails(f"leaves {variable.name} in {variable.domain}")
    try:
        for hypothesis in given:
            if not truth_of(hypothesis, point):
                return fails(f"breaks the hypothesis {hypothesis}")
        if truth_of(statement, point):
            return fails(f"does not refute {statement}: it is true there")
    except Undefined as error:
        return fails(f"has no rational value: {error}")
    return Outcome(
        status=Status.HOLDS,
        strength=Strength.EXACT,
        summary=f"false at {shown}",
        evidence=(f"at {shown}: every hypothesis true, {statement} false, in rationals",),
    )


def read_witness(claim: Claim, variables: tuple[Variable, ...]) -> Point:
    """``:witness: x = 1/2, y = 3`` as a point.

    Raises
    ------
    InvalidInstance
        Another form, an undeclared name, or a variable without a value.
    """
    option = claim.find("witness")
    assert option is not None, "the form was checked"
    names = [variable.name for variable in variables]
    reader = Reader(path=claim.path, variables=frozenset())
    call = parse_python(f"witness({option.value})", claim.path, option.line).body[0]
    point: dict[str, Fraction] = {}
    if not isinstance(call, ast.Expr) or not isinstance(call.value, ast.Call) or call.value.args:
        raise InvalidInstance(f"{claim.where('witness')}: witness is {option.value!r}; need `name = value, ...`")
    for keyword in call.value.keywords:
        if keyword.arg not in names:
            raise InvalidInstance(f"{claim.where('witness')}: witness names {keyword.arg!r}; need one of {names}")
        text = ast.unparse(keyword.value)
        term = reader.statements(text, option.line)[0][0]
        try:
            point[keyword.arg] = value_of(term, {})
        except Undefined as error:
            raise InvalidInstance(f"{claim.where('witness')}: {keyword.arg} is {text}: {error}") from None
    missing = [name for name in names if name not in point]
    if missing:
        raise InvalidInstance(f"{claim.where('witness')}: witness lacks {', '.join(missing)}; need every variable")
    return {name: point[name] for name in names}
