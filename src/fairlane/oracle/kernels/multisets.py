"""Numbering of multisets of local states by level and colexicographic rank. Arrays in, arrays out."""

from __future__ import annotations

from fairlane.compiling.flags import kernel


@kernel
def list_colex(n_values, size, out):
    """All sorted multisets of `size` of the values 0 .. n_values - 1, in colexicographic order."""
    for i in range(size):
        out[0, i] = 0
    for row in range(1, out.shape[0]):
        before = row - 1
        # the last of the least members grows, those before it start again
        grown = 0
        while grown + 1 < size and out[before, grown] == out[before, grown + 1]:
            grown += 1
        for i in range(size):
            out[row, i] = 0 if i < grown else out[before, i]
        out[row, grown] += 1


@kernel
def fill_up(n_values, size, digits, place_above, binomial, up):
    """up[y, r] is the number of multiset r with one more y, among multisets of size + 1.

    Multisets are numbered by ``place_above[rank]`` of their rank, the sum over i of C(member i + i, i + 1).
    """
    for r in range(digits.shape[0]):
        for y in range(n_values):
            rank = 0
            # members behind the new one stand one further
            behind = 0
            for i in range(size):
                d = digits[r, i]
                if behind == 0 and d > y:
                    rank += binomial[y + i, i + 1]
                    behind = 1
                rank += binomial[d + i + behind, i + behind + 1]
            if behind == 0:
                rank += binomial[y + size, size + 1]
            up[y, r] = place_above[rank]
