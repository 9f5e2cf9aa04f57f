"""Means and percentiles that name their method and their sample count."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

LEVELS = (50, 90, 95, 99)


class PercentileMethod(StrEnum):
    """How a percentile is read off a sorted sample of n.

    ``linear`` interpolates at position (n − 1) p / 100, as numpy does by default; ``nearest-rank`` takes the
    smallest sample with at least p % of the samples at or below it.
    """

    LINEAR = "linear"
    NEAREST_RANK = "nearest-rank"


_NUMPY_NAMES = {PercentileMethod.LINEAR: "linear", PercentileMethod.NEAREST_RANK: "inverted_cdf"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """A sample in few figures, each None without samples.

    ``percentiles`` holds (level, value) pairs for the levels 50, 90, 95 and 99.
    """

    samples: int
    mean: float | None
    percentiles: tuple[tuple[int, float | None], ...]
    largest: float | None
    method: PercentileMethod

    def at(self, level: int) -> float | None:
        """The percentile of one of the levels."""
        return dict(self.percentiles)[level]


def percentile(
    values: npt.NDArray[np.float64], level: float, *, method: PercentileMethod = PercentileMethod.LINEAR
) -> float | None:
    """One percentile, or None without samples.

    Parameters
    ----------
    values : float64, shape (n,)
        The sample, in any order.
    level : float
        0 to 100.
    method : PercentileMethod
        ``linear`` or ``nearest-rank``.

    Returns
    -------
    float or None
        In the unit of the values.

    Examples
    --------
    >>> percentile(np.array([1.0, 2.0, 3.0, 4.0]), 90)
    3.7
    >>> percentile(np.array([1.0, 2.0, 3.0, 4.0]), 90, method=PercentileMethod.NEAREST_RANK)
    4.0
    """
    if len(values) == 0:
        return None
    # numpy types the method as a closed set of literals
    return float(np.percentile(values, level, method=_NUMPY_NAMES[method]))  # type: ignore[call-overload]


def weighted_distribution(
    values: npt.NDArray[np.float64],
    weights: npt.NDArray[np.int64],
    *,
    method: PercentileMethod = PercentileMethod.LINEAR,
) -> Distribution:
    """The distribution of a sample in which each value stands as often as its weight says.

    Parameters
    ----------
    values : float64, shape (n,)
        Without NaN.
    weights : int64, shape (n,)
        >= 1; their sum is the number of samples. Nothing is repeated in memory.
    method : PercentileMethod
        For the percentiles.

    Examples
    --------
    >>> found = weighted_distribution(np.array([2.0, 10.0]), np.array([1, 3]))
    >>> found.samples, found.mean, found.at(50)
    (4, 8.0, 10.0)
    """
    if len(values) == 0:
        return distribution(values, method=method)
    order = np.argsort(values, kind="stable")
    ordered, ends = values[order], np.cumsum(weights[order])
    total = int(ends[-1])

    def rank(i: int) -> float:
        """The i-th smallest of the repeated sample, from 0."""
        return float(ordered[np.searchsorted(ends, i, side="right")])

    def at(level: int) -> float:
        if method is PercentileMethod.NEAREST_RANK:
            return rank(max(-(-level * total // 100), 1) - 1)
        below, rest = divmod((total - 1) * level, 100)
        low = rank(below)
        return low if not rest else low + (rank(below + 1) - low) * rest / 100

    return Distribution(
        samples=total,
        mean=float((values * (weights / total)).sum()),
        percentiles=tuple((level, at(level)) for level in LEVELS),
        largest=float(ordered[-1]),
        method=method,
    )


def distribution(
    values: npt.NDArray[np.float64], *, method: PercentileMethod = PercentileMethod.LINEAR
) -> Distribution:
    """Mean, percentiles and maximum of a sample.

    Parameters
    ----------
    values : float64, shape (n,)
        NaN is not left out: remove undefined entries first.
    method : PercentileMethod
        For the percentiles.

    Returns
    -------
    Distribution
        Figures in the unit of the values.
    """
    some = len(values) > 0
    return Distribution(
        samples=len(values),
        mean=float(values.mean()) if some else None,
        percentiles=tuple((level, percentile(values, level, method=method)) for level in LEVELS),
        largest=float(values.max()) if some else None,
        method=method,
    )
