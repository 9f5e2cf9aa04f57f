"""Exact numbers; every expected value is written out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import as_fraction, as_integer, compare, parse_number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", Fraction(7)),
        ("-3", Fraction(-3)),
        ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("7/2", Fraction(7, 2)),
        ("6/4", Fraction(3, 2)),
        ("3e9", Fraction(3_000_000_000)),
        ("1.5E-3", Fraction(3, 2000)),
        (" 2 ", Fraction(2)),
    ],
)
def test_number_text_is_read_digit_for_digit(text: str, value: Fraction) -> None:
    assert parse_number(text, "x") == value


@pytest.mark.parametrize(
    "text",
    ["", "five", "5 ms", "1/0", "nan", "inf", "-Infinity", "1e61", "1e-61", "1_000", "0x10", "٣", "1/2/3", "1e5/2"],
)
def test_text_that_is_no_number_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InvalidInstance, match=r"^here is "):
        parse_number(text, "here")


def test_sixty_digits_pass_and_sixty_one_do_not() -> None:
    assert parse_number("9" * 60, "x") == 10**60 - 1
    assert parse_number("1/" + "9" * 60, "x") == Fraction(1, 10**60 - 1)
    with pytest.raises(InvalidInstance, match="61 digits"):
        parse_number("9" * 61, "x")


def test_a_python_float_is_read_by_its_shortest_text() -> None:
    assert as_fraction(0.1, "x") == Fraction(1, 10)
    with pytest.raises(InvalidInstance, match="x is nan"):
        as_fraction(float("nan"), "x")
    with pytest.raises(InvalidInstance, match="x is true"):
        as_fraction(True, "x")


def test_whole_numbers_may_be_written_as_text_but_must_be_whole() -> None:
    assert as_integer("4", "x", minimum=0) == 4
    assert as_integer(4.0, "x", minimum=0) == 4
    with pytest.raises(InvalidInstance, match="x is 7/2; need a whole number"):
        as_integer("7/2", "x", minimum=0)
    with pytest.raises(InvalidInstance, match="x is -1; need >= 0"):
        as_integer(-1, "x", minimum=0)


def test_rationals_compare_exactly_and_floats_within_a_relative_tolerance() -> None:
    third = Fraction(1, 3)
    assert compare(third, third + Fraction(1, 10**30)) == -1
    assert compare(1.0, 1.0 + 1e-13) == 0
    assert compare(1.0, 1.0 + 1e-11) == -1
    assert compare(Fraction(2), 1.0) == 1
    assert compare(0.0, 0.0) == 0
