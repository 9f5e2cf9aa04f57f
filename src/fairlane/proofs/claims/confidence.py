"""Confidence bounds for a mean that hold exactly as stated, for every sample size.

References
----------
Clopper and Pearson (1934), doi 10.1093/biomet/26.4.404; Hoeffding (1963), Theorem 2, doi
10.1080/01621459.1963.10500830; Maurer and Pontil (2009), Theorem 4 (empirical Bernstein).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

import flint

from fairlane.reference.rationals import to_fmpq

BITS = 30


class Method(StrEnum):
    """Which bound."""

    CLOPPER_PEARSON = "clopper-pearson"
    HOEFFDING = "hoeffding"
    EMPIRICAL_BERNSTEIN = "empirical-bernstein"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A two-sided interval that misses the true mean with probability at most ``delta``."""

    mean: Fraction
    low: Fraction
    high: Fraction
    delta: Fraction
    n_samples: int
    method: Method


def clopper_pearson(successes: int, n_samples: int, *, delta: Fraction) -> Interval:
    """Bounds for a probability from independent yes-or-no draws.

    Each end is a dyadic rational on the safe side of the exact bound, checked by ball arithmetic.

    Parameters
    ----------
    successes, n_samples : int
        0 <= successes <= n_samples, n_samples >= 1.
    delta : Fraction
        Total miss probability, in (0, 1).

    Examples
    --------
    >>> interval = clopper_pearson(0, 10, delta=Fraction(1, 20))
    >>> round(float(interval.high), 4)  # 1 - 0.025**(1/10)
    0.3085
    """
    low = Fraction(0) if successes == 0 else _end(successes, n_samples, delta / 2, lower=True)
    high = Fraction(1) if successes == n_samples else _end(successes, n_samples, delta / 2, lower=False)
    return Interval(
        mean=Fraction(successes, n_samples),
        low=low,
        high=high,
        delta=delta,
        n_samples=n_samples,
        method=Method.CLOPPER_PEARSON,
    )


def _end(successes: int, n_samples: int, tail: Fraction, *, lower: bool) -> Fraction:
    """A dyadic p next to the exact bound at which the observed tail is certainly no more likely than ``tail``.

    SciPy's quantile says where to look; the ball arithmetic decides, and moves outwards until it agrees.
    """
    # scipy loads slowly, and most calls come by without it
    from scipy.stats import beta

    scale = 1 << BITS
    if lower:
        guess = math.floor(scale * float(beta.ppf(float(tail), successes, n_samples - successes + 1)))
    else:
        guess = math.ceil(scale * float(beta.isf(float(tail), successes + 1, n_samples - successes)))
    step = 1
    while not _tail_at_most(successes, n_samples, Fraction(min(max(guess, 0), scale), scale), tail, lower=lower):
        guess += -step if lower else step
        step *= 2
    return Fraction(min(max(guess, 0), scale), scale)


def _tail_at_most(successes: int, n_samples: int, p: Fraction, tail: Fraction, *, lower: bool) -> bool:
    """Whether P(X >= successes), or P(X <= successes) for the upper end, is certainly at most ``tail`` under p."""
    before = flint.ctx.prec
    flint.ctx.prec = 160
    try:
        if lower:
            a, b, x = successes, n_samples - successes + 1, p
        else:
            a, b, x = n_samples - successes, successes + 1, 1 - p
        ball = flint.arb(to_fmpq(x))
        probability = ball.beta_lower(a, b, 1)
        return bool(probability <= flint.arb(to_fmpq(tail)))
    finally:
        flint.ctx.prec = before


def hoeffding(values: Sequence[Fraction], *, span: tuple[Fraction, Fraction], delta: Fraction) -> Interval:
    """Bounds for the mean of independent draws that lie in ``span``."""
    mean = _mean(values, span)
    width = (span[1] - span[0]) * _root_up(_log_up(2 / delta) / (2 * len(values)))
    return _around(mean, width, span, delta, len(values), Method.HOEFFDING)


def empirical_bernstein(values: Sequence[Fraction], *, span: tuple[Fraction, Fraction], delta: Fraction) -> Interval:
    """Bounds for the mean of independent draws in ``span`` that profit from a small sample variance.

    Needs at least two draws. Each side has miss probability ``delta / 2``.
    """
    n = len(values)
    mean = _mean(values, span)
    variance = sum(((value - mean) ** 2 for value in values), Fraction(0)) / (n - 1)
    log = _log_up(4 / delta)
    width = _root_up(2 * variance * log / n) + 7 * (span[1] - span[0]) * log / (3 * (n - 1))
    return _around(mean, width, span, delta, n, Method.EMPIRICAL_BERNSTEIN)


def _mean(values: Sequence[Fraction], span: tuple[Fraction, Fraction]) -> Fraction:
    for value in values:
        if not span[0] <= value <= span[1]:
            raise ValueError(f"a draw is {float(value):g}; need draws in [{span[0]}, {span[1]}]")
    return sum(values, Fraction(0)) / len(values)


def _around(
    mean: Fraction, width: Fraction, span: tuple[Fraction, Fraction], delta: Fraction, n: int, method: Method
) -> Interval:
    low, high = max(span[0], mean - width), min(span[1], mean + width)
    return Interval(mean=mean, low=low, high=high, delta=delta, n_samples=n, method=method)


def _log_up(value: Fraction) -> Fraction:
    """A rational just above the natural logarithm."""
    return _upper(_arb(value).log())


def _root_up(value: Fraction) -> Fraction:
    """A rational just above the square root; exact squares stay exact."""
    n, d = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if n * n == value.numerator and d * d == value.denominator:
        return Fraction(n, d)
    return _upper(_arb(value).sqrt())


def _arb(value: Fraction) -> Any:
    return flint.arb(to_fmpq(value))


def _upper(ball: Any) -> Fraction:
    mantissa, exponent = ball.upper().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
