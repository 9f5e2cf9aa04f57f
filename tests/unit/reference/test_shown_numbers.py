"""Numbers of one column share their places, and what is not zero is never shown as zero."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlane.reference.shown_numbers import column, percent


def test_a_column_has_one_format() -> None:
    values = [Fraction(915), Fraction(3793, 4), Fraction(1402, 10), None]
    assert column(values) == ["915.000", "948.250", "140.200", "-"]


def test_whole_numbers_stay_whole_and_thousands_are_marked() -> None:
    assert column([Fraction(1234567), Fraction(-3)]) == ["1,234,567", "-3"]


def test_the_largest_number_sets_the_places() -> None:
    assert column([Fraction(1, 3), Fraction(123456, 7)], digits=6) == ["0.3", "17,636.6"]


@pytest.mark.parametrize("small", [Fraction(1, 10**9), Fraction(-1, 10**9)])
def test_a_small_number_is_not_shown_as_zero(small: Fraction) -> None:
    sign = "-" if small < 0 else ""
    assert column([small, Fraction(1000), Fraction(0), Fraction(1, 2)]) == [f"{sign}1e-09", "1,000.00", "0.00", "0.50"]


def test_halves_are_rounded_to_even_on_the_exact_value() -> None:
    assert column([Fraction(25, 1000), Fraction(35, 1000), Fraction(10)], digits=4)[:2] == ["0.02", "0.04"]


def test_shares() -> None:
    shown = [percent(value) for value in (Fraction(0), Fraction(1, 7), Fraction(1, 10**6), Fraction(1), None)]
    assert shown == ["0 %", "14.29 %", "< 0.01 %", "100.00 %", "n/a"]
