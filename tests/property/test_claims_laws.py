"""Laws of the claim engine over random claims: never green where a point refutes, the same answer from every method."""

from __future__ import annotations

import re
from fractions import Fraction

import flint
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlane.proofs.claims import term as t
from fairlane.proofs.claims.ball import ball_of, mpmath_of
from fairlane.proofs.claims.domain import Domain, Variable
from fairlane.proofs.claims.expression import Reader
from fairlane.proofs.claims.proving import Obligation, prove
from fairlane.proofs.claims.rational import Undefined, value_of
from fairlane.proofs.claims.rational_function import residue_is_zero_flint, residue_is_zero_sympy
from fairlane.proofs.claims.rendering import show_value
from fairlane.proofs.claims.status import Status
from fairlane.proofs.claims.term import Op, Term
from fairlane.proofs.claims.witness import points, truth_at
from fairlane.reference.errors import FairlaneError
from tests.counts import count

NAMES = ("x", "y")
READER = Reader(path="n.md", variables=frozenset(NAMES))
VARIABLES = tuple(Variable(name, Domain.REAL) for name in NAMES)

numbers = st.integers(-4, 4).map(str) | st.sampled_from(["1/2", "3/4", "0.25"])


def arithmetic(divide: bool) -> st.SearchStrategy[str]:
    """Texts of arithmetic expressions in x and y."""
    operators = ["+", "-", "*"] + (["/"] if divide else [])
    return st.recursive(
        numbers | st.sampled_from(NAMES),
        lambda inner: (
            st.tuples(inner, st.sampled_from(operators), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})")
            | st.tuples(inner, st.integers(0, 3)).map(lambda p: f"({p[0]})**{p[1]}")
        ),
        max_leaves=6,
    )


def read(text: str) -> Term:
    ((found, _),) = READER.statements(text, 1)
    return found


@given(
    text=arithmetic(divide=False), x=st.fractions(-3, 3, max_denominator=9), y=st.fractions(-3, 3, max_denominator=9)
)
def test_a_term_means_what_python_computes_in_fractions(text: str, x: Fraction, y: Fraction) -> None:
    # the text with every literal made a Fraction, evaluated by Python itself
    exact = re.sub(r"(?<![\w*])(?<!\*\*)(\d+\.\d+|\d+)", r"Fraction('\1')", text)
    exact = re.sub(r"\*\*Fraction\('(\d+)'\)", r"**\1", exact)
    expected = eval(exact, {"Fraction": Fraction, "x": x, "y": y})
    assert value_of(read(text), {"x": x, "y": y}) == expected


@given(left=arithmetic(divide=True), right=arithmetic(divide=True))
def test_normal_forms_agree_with_each_other_and_with_points(left: str, right: str) -> None:
    try:
        one, other = read(left), read(right)
        by_flint, _ = residue_is_zero_flint(one, other)
        by_sympy = residue_is_zero_sympy(one, other)
    except FairlaneError as error:
        only_zero_divisors(error)
        return
    assert by_flint == by_sympy
    if by_flint:
        assert truth_at_no_point_is_false(Term(Op.EQ, (one, other)))


@given(inner=arithmetic(divide=True), factor=arithmetic(divide=False))
def test_what_is_equal_by_algebra_has_no_residue(inner: str, factor: str) -> None:
    try:
        one = read(f"({inner}) * ({factor})")
        other = read(f"({factor}) * ({inner}) + ({factor}) - ({factor})")
        assert residue_is_zero_flint(one, other)[0]
        assert not residue_is_zero_flint(one, t.add(other, t.number(1)))[0]
    except FairlaneError as error:
        only_zero_divisors(error)


def only_zero_divisors(error: FairlaneError) -> None:
    """A divisor that is zero, at once or after cancellation, may be refused; nothing else may."""
    if "zero" not in str(error):
        raise error


def truth_at_no_point_is_false(statement: Term) -> bool:
    return all(truth_at(statement, point) is not False for point in points(VARIABLES))


@given(left=arithmetic(divide=True), right=arithmetic(divide=False), sign=st.sampled_from(["<=", "<", "==", "!="]))
@settings(max_examples=count(100))
def test_no_statement_is_green_that_a_point_refutes(left: str, right: str, sign: str) -> None:
    try:
        statement = read(f"{left} {sign} {right}")
    except FairlaneError as error:
        only_zero_divisors(error)
        return
    found = prove(Obligation(hypotheses=(), statement=statement, variables=VARIABLES), limit=200_000)
    if found.status is Status.HOLDS:
        assert truth_at_no_point_is_false(statement)
    if found.status is Status.FAILED and "contradict" not in found.summary:
        assert "false at" in found.summary


@given(text=arithmetic(divide=True), x=st.fractions(-3, 3, max_denominator=9))
def test_enclosures_hold_the_exact_value(text: str, x: Fraction) -> None:
    at = {"x": x, "y": Fraction(2, 3)}
    try:
        term = read(text)
        exact = value_of(term, at)
        ball = ball_of(term, at, bits=64)
    except (Undefined, ValueError):
        return
    assert ball.overlaps(flint.arb(flint.fmpq(exact.numerator, exact.denominator)))
    closed = t.substitute(term, {name: t.number(value) for name, value in at.items()})
    again = mpmath_of(closed, digits=40)
    assert abs(again - exact) <= Fraction(1, 10**30) * max(Fraction(1), abs(exact))


@given(value=st.fractions(-1000, 1000, max_denominator=997), decimals=st.integers(0, 6))
def test_rounded_values_are_within_half_a_unit(value: Fraction, decimals: int) -> None:
    shown = show_value(str(value), decimals)
    assert abs(Fraction(shown) - value) <= Fraction(1, 2 * 10**decimals)
    assert len(shown.partition(".")[2]) == decimals
