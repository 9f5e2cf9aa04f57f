"""Rationals keep their value both ways, whatever their sign and length."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import fmpq

from fairlane.reference.rationals import to_fmpq, to_fraction


@pytest.mark.parametrize(("over", "under"), [(0, 1), (-6, 4), (1, 3), (10**400 + 1, 7**300)])
def test_a_rational_keeps_its_value(over: int, under: int) -> None:
    assert to_fmpq(Fraction(over, under)) == fmpq(over, under)
    assert to_fraction(fmpq(over, under)) == Fraction(over, under)
