"""Multisets of local states in an order of progress: the places of an axis that exchangeable requests share.

Sizes below the full one describe what is left when some members are served. Adding a member is one look-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from fairlane.oracle.encoding.packing import Ints, SmallInts
from fairlane.reference.errors import TooLarge


@dataclass(frozen=True, slots=True, kw_only=True)
class Multisets:
    """All multisets of one size, by level (the sum of their members) and then colexicographically.

    ``digits`` has one sorted multiset a row, ``place[rank]`` is the row of a colexicographic rank, and the rows of
    level v are ``level_start[v]`` to ``level_start[v + 1]``. ``up[y, r]`` is the row, among multisets with one more
    member, of row r with y added; it is empty for the full size.
    """

    size: int
    digits: Ints
    place: Ints
    level_start: Ints
    up: SmallInts

    @property
    def count(self) -> int:
        """Number of multisets."""
        return len(self.place)

    def number_of(self, digits: Sequence[int]) -> int:
        """The row of a sorted multiset."""
        return int(self.place[sum(comb(d + i, i + 1) for i, d in enumerate(digits))])


def binomials(n: int, k: int) -> Ints:
    """binomial[a, b] = C(a, b) for a < n and b < k."""
    # what does not fit is never looked up: ranks are below the number of multisets
    return np.array([[min(comb(a, b), 2**62) for b in range(k)] for a in range(n)], dtype=np.int64)


def multisets(n_values: int, members: int, *, least: int) -> dict[int, Multisets]:
    """Multisets of the values below ``n_values``, of every size from ``least`` to ``members``.

    Parameters
    ----------
    n_values : int
        Local states of one request.
    members : int
        Requests that share the axis.
    least : int
        Smallest size.

    Returns
    -------
    dict of int to Multisets
        By size.
    """
    # compiled code: loading numba takes longer than a small instance
    from fairlane.oracle.kernels.multisets import fill_up, list_colex

    if comb(n_values + members - 1, members) >= 2**31:
        raise TooLarge(f"{members} equal requests of {n_values} local states have 2^31 multisets or more")
    binomial = binomials(n_values + members + 1, members + 2)
    out: dict[int, Multisets] = {}
    above: Ints | None = None
    for size in range(members, least - 1, -1):
        count = comb(n_values + size - 1, size)
        rows = np.zeros((count, size), dtype=np.int64)
        list_colex(n_values, size, rows)
        levels = rows.sum(axis=1)
        order = np.argsort(levels, kind="stable")
        place = np.empty(count, dtype=np.int64)
        place[order] = np.arange(count)
        digits = rows[order]
        start = np.searchsorted(levels[order], np.arange(size * (n_values - 1) + 2)).astype(np.int64)
        up = np.zeros((n_values if above is not None else 0, count), dtype=np.int32)
        if above is not None:
            fill_up(n_values, size, digits, above, binomial, up)
        out[size] = Multisets(size=size, digits=digits, place=place, level_start=start, up=up)
        above = place
    return out
