"""Count, mean and variance of a stream of numbers, one number at a time.

References
----------
B. P. Welford, "Note on a method for calculating corrected sums of squares and products", Technometrics 4 (1962),
doi:10.1080/00401706.1962.10490022.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


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
