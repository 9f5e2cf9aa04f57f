"""Certificates of nonnegativity: the school's inequalities are certified, and a certificate that is off is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlane.proofs.claims.status import Strength
from fairlane.proofs.evidence import Refuted
from fairlane.proofs.nonnegativity import certify_nonnegative, read_polynomial
from fairlane.reference.errors import InvalidInstance


def test_polynomials_are_multiplied_out() -> None:
    # (x - 1/2)² = x² - x + 1/4
    assert read_polynomial("(x - 1/2)**2") == {
        (("x", 2),): Fraction(1),
        (("x", 1),): Fraction(-1),
        (): Fraction(1, 4),
    }
    assert read_polynomial("(x + y)*(x - y) - x**2 + y*y") == {}


def test_means_are_certified() -> None:
    found = certify_nonnegative("x**2 + y**2 - 2*x*y", [("1", "x-y")])
    assert found.strength is Strength.CERTIFICATE
    assert found.lines[0] == "x**2 + y**2 - 2*x*y = 1*(x-y)**2"
    # a b >= 0 on a quadrant, and q - q² >= 0 on the unit interval
    certify_nonnegative("(a + b)**2 - a**2 - b**2", [("2*a*b", "")], nonnegative=["a", "b"])
    certify_nonnegative("q - q**2", [("q*(1-q)", "")], nonnegative=["q", "(1-q)"])


@pytest.mark.parametrize(
    ("expression", "terms", "message"),
    [
        ("x**2 - 2*x", [("1", "x-1")], "the terms leave -1"),
        ("x", [("x", "")], "factor 'x' is not known to be nonnegative"),
        ("-x**2", [("-1", "x")], "factor '-1' is not known"),
        ("x**2", [], "the terms leave 1\\*x\\*\\*2"),
        ("x**2*y", [("y", "x")], "factor 'y' is not known"),
    ],
)
def test_false_certificates_are_refused(expression: str, terms: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(Refuted, match=message):
        certify_nonnegative(expression, terms, nonnegative=["(1-q)"])


@pytest.mark.parametrize("text", ["x/y", "x**y", "x**-1", "x**99", "0.5*x", "f(x)", "x +", "1/0"])
def test_other_expressions_are_no_polynomials(text: str) -> None:
    with pytest.raises(InvalidInstance, match="need"):
        read_polynomial(text)
