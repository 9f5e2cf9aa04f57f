"""Rows of rates where launches have fees. Arrays in, arrays out; no checks."""

from __future__ import annotations

import numpy as np

from fairlane.compiling.flags import callee


@callee
def charge(rate, n, charges):
    """Rows behind the plain rates: the least of duration times rate plus fee, over the charges of each row."""
    for row in range(1, charges.start.size - 1):
        first, last = charges.start[row], charges.start[row + 1]
        at = np.uint64(row * n)
        for i in range(first, last):
            t, fee = charges.duration[i], charges.fee[i]
            for j in range(np.uint64(n)):
                paid = t * rate[j] + fee
                rate[at + j] = paid if i == first else min(rate[at + j], paid)
