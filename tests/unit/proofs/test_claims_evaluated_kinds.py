"""Kinds that evaluate their lines, once or at every point of a space: what each accepts and refuses."""

from __future__ import annotations

import pytest

from fairlane.proofs.claims.status import Status, Strength
from tests.claim_texts import outcome

HOLDS, FAILED, UNKNOWN = Status.HOLDS, Status.FAILED, Status.UNKNOWN


def test_exact_compares_rationals() -> None:
    found = outcome("exact", "1/3 + 1/6 == 1/2\n2**-1 < 2/3")
    assert (found.status, found.strength) == (HOLDS, Strength.EXACT)
    assert found.evidence[0] == "1 / 3 + 1 / 6 == 1 / 2: 1/2 == 1/2"


def test_exact_fails_on_a_false_line_and_names_it() -> None:
    found = outcome("exact", "x = 1/3\nx + x == 2/3\nx * x == 1/6")
    assert (found.status, found.summary) == (FAILED, "line 6: x * x == 1 / 6: 1/9 != 1/6")


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("0.1 + 0.2 == 3/10", "note.md:4: '0.1': a float literal"),
        ("1 == 1\n1e0 == 1", "note.md:5: '1.0': a float literal"),
        ("f(x=2.5) == 1", "note.md:4: '2.5': a float literal"),
    ],
)
def test_exact_refuses_float_literals(body: str, where: str) -> None:
    found = outcome("exact", body)
    assert found.status is FAILED
    assert found.summary.startswith(where)


def test_exact_refuses_floats_that_functions_return() -> None:
    found = outcome("exact", "sqrt(4) == 2", import_="math:sqrt")
    assert found.status is FAILED
    assert "a float (2.0) came up" in found.summary


@pytest.mark.parametrize("maker", ["decimal:Decimal", "mpmath:mpf", "numpy:float32", "flint:arb"])
def test_exact_refuses_the_floats_of_other_packages(maker: str) -> None:
    name = maker.partition(":")[2]
    found = outcome("exact", f"({name}(1), 2) == (1, 2)", import_=maker)
    assert found.status is FAILED
    assert "came up; need rationals throughout" in found.summary


def test_exact_reads_fairlane_itself() -> None:
    # by hand: 1 + 1/2 + 1/2*3/5 = 9/5
    text = "expected_yield((Fraction(1, 2), Fraction(3, 5)), 3) == 9/5"
    found = outcome("exact", text, import_="fairlane.reference.model.yields:expected_yield")
    assert (found.status, found.value) == (HOLDS, "9/5")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("1/2 = 1/2", "an equation is written with =="),
        ("1/0 == 1", "ZeroDivisionError"),
        ("y == 1", "name 'y' is not defined"),
        ("1/2", "need a statement that is true or false"),
    ],
)
def test_exact_says_what_is_wrong_and_where(body: str, message: str) -> None:
    found = outcome("exact", body)
    assert found.status is FAILED
    assert found.summary.startswith("note.md:4:")
    assert message in found.summary


def test_enumerate_visits_everything_and_counts() -> None:
    # pairs b < a below 5: 0 + 1 + 2 + 3 + 4 = 10
    found = outcome("enumerate", "a > b", space="a in range(5), b in range(a)", count="10")
    assert (found.status, found.strength, found.value) == (HOLDS, Strength.ENUMERATED, "10")
    assert outcome("enumerate", "a > b", space="a in range(5), b in range(a)", count="11").status is FAILED


def test_enumerate_names_the_first_false_point() -> None:
    found = outcome("enumerate", "a*b < 6", space="a in range(4), b in range(4)", count="16")
    assert (found.status, found.summary) == (FAILED, "a * b < 6 is false at a = 2, b = 3")


def test_enumerate_refuses_an_empty_space() -> None:
    assert outcome("enumerate", "False", space="a in range(0)", count="0").status is FAILED


@pytest.mark.parametrize(
    ("body", "import_", "found"),
    [
        ("approx(1) == 2", "tests.unit.proofs.loose:Loose as approx", "a Loose"),
        ("(approx(1), 3) == (2, 3)", "tests.unit.proofs.loose:Loose as approx", "a Loose"),
        ("arange(3) == 1", "numpy:arange", "a ndarray"),
        ("float64(2) == 2", "numpy:float64", "a float"),
        ("Symbol('x') == Symbol('x')", "sympy:Symbol", "a Symbol"),
    ],
)
def test_exact_compares_rationals_only(body: str, import_: str, found: str) -> None:
    # a type with a comparison of its own can call anything equal
    said = outcome("exact", body, import_=import_)
    assert said.status is FAILED
    assert found in said.summary
    assert "need rationals throughout" in said.summary


def test_exact_compares_whole_numbers_of_other_libraries() -> None:
    assert outcome("exact", "bool(int64(2) == 2)", import_="numpy:int64").status is HOLDS
