"""Doubles that enclose rationals."""

from __future__ import annotations

import math
import sys
from fractions import Fraction


def enclose(value: Fraction) -> tuple[float, float]:
    """The doubles around a rational, equal where it is one."""
    most = sys.float_info.max
    try:
        near = float(value)
    except OverflowError:
        return (-math.inf, -most) if value < 0 else (most, math.inf)
    exact = Fraction(near)
    if exact == value:
        return near, near
    return (near, math.nextafter(near, math.inf)) if exact < value else (math.nextafter(near, -math.inf), near)


def outward(lower: Fraction, upper: Fraction) -> tuple[float, float]:
    """Doubles that enclose an interval of rationals."""
    return enclose(lower)[0], enclose(upper)[1]
