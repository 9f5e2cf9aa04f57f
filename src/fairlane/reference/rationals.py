"""Rationals of Python, which the public functions take and return, and of FLINT, which computes faster, both ways."""

from __future__ import annotations

from fractions import Fraction

from flint import fmpq


def to_fmpq(value: Fraction) -> fmpq:
    """A FLINT rational of the same value."""
    return fmpq(value.numerator, value.denominator)


def to_fraction(value: fmpq) -> Fraction:
    """A Python rational of the same value."""
    return Fraction(int(value.p), int(value.q))
