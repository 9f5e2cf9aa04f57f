"""Numbering of multisets of local states by level and colexicographic rank. Arrays in, arrays out."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def colex_rank(digits, size, binomial):
    """Rank of a sorted multiset: sum over i of C(digits[i] + i, i + 1)."""
    rank = 0
    for i in range(size):
        rank += binomial[digits[i] + i, i + 1]
    return rank


@njit(cache=True, nogil=True)
def list_colex(n_values, size, out):
    """All sorted multisets of `size` of the values 0 .. n_values - 1, in colexicographic order."""
    digits = np.zeros(size, dtype=np.int64)
    for row in range(out.shape[0]):
        for i in range(size):
            out[row, i] = digits[i]
        i = 0
        while i + 1 < size and digits[i] == digits[i + 1]:
            i += 1
        if i < size:
            digits[i] += 1
        for j in range(i):
            digits[j] = 0


@njit(cache=True, nogil=True)
def fill_up(n_values, size, digits, place_above, binomial, up):
    """up[y, r] is the number of multiset r with one more y, among multisets of size + 1."""
    n = digits.shape[0]
    work = np.zeros(size + 1, dtype=np.int64)
    for r in range(n):
        for y in range(n_values):
            at = 0
            while at < size and digits[r, at] <= y:
                work[at] = digits[r, at]
                at += 1
            work[at] = y
            for j in range(at, size):
                work[j + 1] = digits[r, j]
            up[y, r] = place_above[colex_rank(work, size + 1, binomial)]
