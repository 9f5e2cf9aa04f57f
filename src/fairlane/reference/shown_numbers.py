"""Exact numbers as people read them: decimals of one format a column, short ratios, shares in percent."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from fairlane.reference.exact import decimal_of, show


def brief(value: Fraction, *, digits: int = 6) -> str:
    """A rational for a table cell: its ratio where that is short, otherwise a decimal, marked where rounded."""
    text = show(value)
    if len(text) <= 7:
        return text
    decimal = decimal_of(value)
    if decimal is None:
        return text
    shown = f"{decimal:.{digits}g}"
    return shown if Fraction(shown) == value else f"≈{shown}"


def column(values: Sequence[Fraction | None], *, digits: int = 6) -> list[str]:
    """Exact numbers as the cells of one column: decimals, all with the same number of places.

    The places follow from the largest number, which is shown with ``digits`` significant digits. What is not zero is
    never shown as zero.
    """
    sizes = [abs(value) for value in values if value]
    if not sizes:
        return ["-" if value is None else "0" for value in values]
    before = len(str(int(max(sizes))))
    places = 0 if all(value is None or value.denominator == 1 for value in values) else max(0, digits - before)
    least = Fraction(1, 2 * 10**places)
    cells = []
    for value in values:
        if value is None:
            cells.append("-")
        elif value and abs(value) < least:
            cells.append(f"{float(value):.0e}")
        else:
            cells.append(f"{_rounded(value, places):,.{places}f}")
    return cells


def _rounded(value: Fraction, places: int) -> Decimal:
    scaled = round(value * 10**places)
    return Decimal(scaled).scaleb(-places)


def percent(value: Fraction | None) -> str:
    """A share for a table cell; what is not zero is never shown as zero."""
    if value is None:
        return "n/a"
    if value == 0:
        return "0 %"
    shown = float(100 * value)
    return f"{shown:,.2f} %" if shown >= 0.005 else "< 0.01 %"
