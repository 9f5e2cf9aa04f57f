"""Confidence bounds against SciPy's and against their own definitions."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from scipy.stats import binom, binomtest

from fairlane.proofs.claims.confidence import clopper_pearson, empirical_bernstein, hoeffding
from tests.counts import count


@pytest.mark.parametrize("delta", [Fraction(1, 20), Fraction(1, 10**6)])
def test_clopper_pearson_agrees_with_scipy(delta: Fraction) -> None:
    draw = random.Random(1)
    for _ in range(count(100)):
        n = draw.randint(1, 400)
        successes = draw.randint(0, n)
        ours = clopper_pearson(successes, n, delta=delta)
        theirs = binomtest(successes, n).proportion_ci(float(1 - delta))
        # ours is rounded outwards to a multiple of 2**-30
        assert ours.low == pytest.approx(theirs.low, abs=2e-9)
        assert ours.high == pytest.approx(theirs.high, abs=2e-9)


def test_clopper_pearson_covers_every_probability() -> None:
    # exact coverage by summing the binomial law: the miss probability never exceeds delta
    n, delta = 12, Fraction(1, 10)
    intervals = [clopper_pearson(k, n, delta=delta) for k in range(n + 1)]
    for i in range(101):
        p = i / 100
        missed = sum(binom.pmf(k, n, p) for k in range(n + 1) if not intervals[k].low <= p <= intervals[k].high)
        assert missed <= delta + Fraction(1, 10**12)


def test_clopper_pearson_has_its_closed_form_at_the_ends() -> None:
    # P(X = 0) = (1 - p)**n = delta/2 at the upper end for no success, and mirrored for all successes
    n, delta = 37, Fraction(1, 50)
    none, every = clopper_pearson(0, n, delta=delta), clopper_pearson(n, n, delta=delta)
    assert none.low == 0
    assert every.high == 1
    assert float(none.high) == pytest.approx(1 - 0.01 ** (1 / n), abs=2e-9)
    assert none.high == 1 - every.low
    assert (1 - none.high) ** n <= Fraction(1, 100)


def test_hoeffding_is_its_formula_rounded_outwards() -> None:
    values = [Fraction(i % 5) for i in range(200)]
    interval = hoeffding(values, span=(Fraction(0), Fraction(4)), delta=Fraction(1, 100))
    assert interval.mean == 2
    # (4 - 0) sqrt(ln(2 / 0.01) / (2 * 200))
    width = 4 * math.sqrt(math.log(200) / 400)
    assert float(interval.high - 2) == pytest.approx(width, rel=1e-12)
    assert interval.high - 2 == 2 - interval.low


def test_empirical_bernstein_is_its_formula_and_beats_hoeffding_at_small_variance() -> None:
    values = [Fraction(1, 2)] * 999 + [Fraction(1)]
    span, delta = (Fraction(0), Fraction(1)), Fraction(1, 100)
    interval = empirical_bernstein(values, span=span, delta=delta)
    n = 1000
    mean = (999 * 0.5 + 1) / n
    variance = (999 * (0.5 - mean) ** 2 + (1 - mean) ** 2) / (n - 1)
    log = math.log(4 / 0.01)
    width = math.sqrt(2 * variance * log / n) + 7 * log / (3 * (n - 1))
    assert float(interval.high - interval.mean) == pytest.approx(width, rel=1e-12)
    wide = hoeffding(values, span=span, delta=delta)
    assert interval.high - interval.low < wide.high - wide.low


def test_draws_outside_their_range_are_refused() -> None:
    with pytest.raises(ValueError, match="a draw is 2"):
        hoeffding([Fraction(2)], span=(Fraction(0), Fraction(1)), delta=Fraction(1, 100))
