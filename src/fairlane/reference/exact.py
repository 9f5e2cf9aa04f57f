"""Exact numbers: reading them, writing them, and the one comparison every evaluator uses.

A number in a file is a JSON number or a string that holds an integer, a decimal or a ratio. It is read by
its decimal text, so ``0.1`` is 1/10 and never the nearest double.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from fairlane.reference.errors import InvalidInstance

TYPE_NAMES = {bool: "a boolean", str: "a string", list: "a list", dict: "an object", type(None): "null"}

Real = int | Fraction | float

MAX_DIGITS = 60
MAX_EXPONENT = 60
RELATIVE_TIE = 1e-12


class JsonNumber(NamedTuple):
    """A number of a JSON file as the text it was written with."""

    text: str


def found(value: object) -> str:
    """How an error names what stands where something else was needed."""
    if isinstance(value, JsonNumber):
        return value.text if len(value.text) <= 40 else value.text[:37] + "..."
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:37] + "...")
    if isinstance(value, bool):
        return str(value).lower()
    return TYPE_NAMES.get(type(value), f"a {type(value).__name__}")


_DECIMAL = re.compile(r"[+-]?(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d+))?")
_SHOWN = re.compile(r"0|-?[1-9][0-9]*(?:/[1-9][0-9]*)?")
_RATIO = re.compile(r"([+-]?\d+)\s*/\s*(\d+)")


def parse_number(text: str, where: str) -> Fraction:
    """Exact value of a number's text.

    Parameters
    ----------
    text : str
        An integer, a decimal (an exponent is allowed) or a ratio: ``"7"``, ``"0.1"``, ``"3e9"``, ``"7/2"``.
    where : str
        Path named in the error, such as ``graphs[0].duration_ms``.

    Returns
    -------
    Fraction
        The value, digit for digit.

    Raises
    ------
    InvalidInstance
        The text is no number, has more than 60 digits, or an exponent beyond 60 in size.

    Examples
    --------
    >>> parse_number("0.1", "x"), parse_number("7/2", "x")
    (Fraction(1, 10), Fraction(7, 2))
    """
    body = text.strip()
    shown = body if len(body) <= 40 else body[:37] + "..."
    # a ratio's numerator and denominator count apart
    digits = max(sum(c.isdigit() for c in part) for part in body.split("/"))
    if not body.isascii():
        raise InvalidInstance(f"{where} is {shown!r}; need a number in plain ASCII digits")
    ratio = _RATIO.fullmatch(body)
    decimal = _DECIMAL.fullmatch(body)
    if ratio is None and decimal is None:
        raise InvalidInstance(f'{where} is {shown!r}; need a finite number (integer, decimal or ratio such as "7/2")')
    if digits > MAX_DIGITS:
        raise InvalidInstance(f"{where} has {digits} digits; need at most {MAX_DIGITS}")
    if ratio is not None:
        denominator = int(ratio[2])
        if denominator == 0:
            raise InvalidInstance(f"{where} is {shown!r}; need a nonzero denominator")
        return Fraction(int(ratio[1]), denominator)
    assert decimal is not None
    if decimal[4] is not None and abs(int(decimal[4])) > MAX_EXPONENT:
        raise InvalidInstance(f"{where} is {shown!r}; need an exponent between -{MAX_EXPONENT} and {MAX_EXPONENT}")
    return Fraction(body)


def as_fraction(value: object, where: str) -> Fraction:
    """Exact value of a Python number or number string.

    A float is read by its shortest decimal text (``0.1`` is 1/10), as a number in a file is.

    Raises
    ------
    InvalidInstance
        Not a number, or not finite.
    """
    if type(value) is Fraction:
        return value
    if isinstance(value, JsonNumber):
        return parse_number(value.text, where)
    if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInstance(f"{where} is {value}; need a finite number")
        return Fraction(repr(float(value)))
    if isinstance(value, str):
        return parse_number(value, where)
    if isinstance(value, Decimal):
        return parse_number(str(value), where)
    raise InvalidInstance(f"{where} is {found(value)}; need a number")


def as_integer(value: object, where: str, *, minimum: int) -> int:
    """A whole number not below ``minimum``.

    Raises
    ------
    InvalidInstance
        Not a whole number, or too small.
    """
    if type(value) is int and value >= minimum:
        # the usual case of a trace with tens of thousands of rows
        return value
    exact = as_fraction(value, where)
    if exact.denominator != 1:
        raise InvalidInstance(f"{where} is {show(exact)}; need a whole number")
    if exact < minimum:
        raise InvalidInstance(f"{where} is {show(exact)}; need >= {minimum}")
    return int(exact)


def show(value: Fraction | int) -> str:
    """The canonical text of a rational: ``"-374/7"``, ``"5"``, of any length."""
    exact = Fraction(value)
    try:
        return str(exact)
    except ValueError:
        # Python refuses to write integers of more than 4300 digits; values of long episodes have more
        from flint import fmpq

        return str(fmpq(exact.numerator, exact.denominator))


def parse_long(text: str) -> Fraction | None:
    """The rational that :func:`show` wrote, of any length; None where the text is none.

    Numbers a person writes go through :func:`parse_number`, which limits their size.

    Examples
    --------
    >>> parse_long("-374/7"), parse_long("6/4"), parse_long("1e3")
    (Fraction(-374, 7), None, None)
    """
    if _SHOWN.fullmatch(text) is None:
        return None
    # short numbers, and the help of the command, do without flint
    from flint import fmpz

    numerator, _, denominator = text.partition("/")
    over, under = int(fmpz(numerator)), int(fmpz(denominator or "1"))
    exact = Fraction(over, under)
    return exact if exact.denominator == under else None


def decimal_of(value: Fraction) -> float | None:
    """Nearest double, or None where the value is beyond the range of doubles."""
    try:
        return float(value)
    except OverflowError:
        return None


def compare(a: Real, b: Real) -> int:
    """Sign of ``a - b`` as every evaluator decides it.

    Exact when both sides are rational, otherwise equal within 1e-12 relative.

    Returns
    -------
    int
        -1, 0 or 1.

    Examples
    --------
    >>> compare(Fraction(1, 3), Fraction(1, 3)), compare(1.0, 1.0 + 1e-15), compare(2, 1)
    (0, 0, 1)
    """
    if isinstance(a, float) or isinstance(b, float):
        x, y = float(a), float(b)
        if abs(x - y) <= RELATIVE_TIE * max(abs(x), abs(y)):
            return 0
        return 1 if x > y else -1
    return (a > b) - (a < b)
