"""Count, mean and variance of a stream of numbers, one number at a time.

References
----------
B. P. Welford, "Note on a method for calculating corrected sums of squares and products", Technometrics 4 (1962),
doi:10.1080/00401706.1962.10490022.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


def plain_mean(values: Sequence[float]) -> float:
    """Arithmetic mean with a sum from left to right, as compiled code adds; ``sum`` corrects it from Python 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


@dataclass(frozen=True, slots=True)
class Moments:
    """Running moments of what was seen so far.

    Attributes
    ----------
    count : int
        How many numbers.
    mean : float
        Their arithmetic mean; 0 while there are none.
    squares : float
        Sum of squared deviations from the mean.
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @property
    def variance(self) -> float:
        """Sample variance, with n - 1; nan below two numbers."""
        return self.squares / (self.count - 1) if self.count > 1 else math.nan

    def add(self, value: float) -> Moments:
        """Moments with one more number.

        Examples
        --------
        >>> Moments().add(2.0).add(4.0)
        Moments(count=2, mean=3.0, squares=2.0)
        """
        count = self.count + 1
        step = value - self.mean
        mean = self.mean + step / count
        return Moments(count, mean, self.squares + step * (value - mean))


@dataclass(frozen=True, slots=True)
class LagMoments:
    """Running mean, variance and lag-one correlation of a stream of numbers.

    Sums are taken of the differences from the first number, so that a common level costs no digits.

    Attributes
    ----------
    count : int
        How many numbers.
    first, last : float
        The first number, and the last one's difference from it.
    total, squares, products : float
        Sums of the differences, of their squares, and of the products of neighbours.
    """

    count: int = 0
    first: float = 0.0
    last: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    products: float = 0.0

    def add(self, value: float) -> LagMoments:
        """Moments with one more number."""
        if self.count == 0:
            return LagMoments(1, value)
        away = value - self.first
        return LagMoments(
            self.count + 1,
            self.first,
            away,
            self.total + away,
            self.squares + away * away,
            self.products + self.last * away,
        )

    @property
    def mean(self) -> float:
        """Arithmetic mean; nan without numbers."""
        return self.first + self.total / self.count if self.count else math.nan

    @property
    def spread(self) -> float:
        """Sum of squared deviations from the mean, at least 0."""
        return max(0.0, self.squares - self.total * self.total / self.count) if self.count else 0.0

    @property
    def variance(self) -> float:
        """Sample variance, with n - 1; nan below two numbers."""
        return self.spread / (self.count - 1) if self.count > 1 else math.nan

    @property
    def lag_one(self) -> float:
        """Biased lag-one autocorrelation, as in a correlogram; 0 for numbers that are all the same.

        Examples
        --------
        >>> LagMoments().add(1.0).add(2.0).add(3.0).lag_one
        0.0
        """
        spread = self.spread
        if spread == 0.0:
            return 0.0
        mean = self.total / self.count
        # sum of (d_t - mean)(d_t+1 - mean); the first difference is 0
        neighbours = (
            self.products - mean * (self.total - self.last) - mean * self.total + (self.count - 1) * mean * mean
        )
        return neighbours / spread
