"""The output ages that can be met: sums of graphs' durations, far fewer than the multiples of a common unit.

A stream ages while others are served, and every execution takes another request at least one local step on. So an age
is a sum of at most as many durations as the other requests have steps together. States number their ages by their
place among these sums, which leaves the range of an integer much later than the ages themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairlane.oracle.encoding.packing import Ints
from fairlane.reference.errors import Unsupported

# beyond this many the table of following ages is no small one any more
MAX_AGES = 1 << 20


def attainable_ages(durations: Sequence[int], steps: int) -> Ints:
    """Sums of at most ``steps`` durations, ascending from 0; whole numbers > 0, below 2^53 together.

    Raises
    ------
    Unsupported
        More sums than are worth a table.
    """
    each = np.array(sorted(set(durations)), dtype=np.int64)
    known = fresh = np.zeros(1, dtype=np.int64)
    for _ in range(steps):
        fresh = np.setdiff1d(fresh[:, None] + each, known)
        if not fresh.size:
            break
        known = np.union1d(known, fresh)
        if known.size > MAX_AGES:
            raise Unsupported(f"more than {MAX_AGES:,} different ages can be met")
    return known


def following_ages(ages: Ints, durations: Sequence[int]) -> Ints:
    """Where each age, then each duration later, stands among the ages; -1 for none, which no state meets."""
    later = ages[:, None] + np.array(durations, dtype=np.int64)
    place = np.minimum(np.searchsorted(ages, later), ages.size - 1)
    return np.where(ages[place] == later, place, -1).astype(np.int64)
