"""Draws, sorting and comparison in whole numbers."""

from __future__ import annotations

import numpy as np

from fairlane.compiling.flags import callee, kernel
from fairlane.simulator.kernels.tables import Integers

# up to so many are sorted by insertion
SHORT = 24


@callee
def absorb(state: np.uint64, word: int) -> np.uint64:
    z = state + np.uint64(0x9E3779B97F4A7C15) * (np.uint64(word) + np.uint64(1))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@callee
def sort(keys: Integers, n: int) -> None:
    """A sort that compiles at once: insertion for few, a heap for many."""
    if n <= SHORT:
        for k in range(1, n):
            key = keys[k]
            j = k - 1
            while j >= 0 and keys[j] > key:
                keys[j + 1] = keys[j]
                j -= 1
            keys[j + 1] = key
        return
    start = n // 2
    end = n
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            last = keys[end]
            keys[end] = keys[0]
            keys[0] = last
        root = start
        moving = keys[root]
        child = 2 * root + 1
        while child < end:
            if child + 1 < end and keys[child + 1] > keys[child]:
                child += 1
            if keys[child] <= moving:
                break
            keys[root] = keys[child]
            root = child
            child = 2 * root + 1
        keys[root] = moving


@kernel
def compare(a: int, b: int, c: int, d: int) -> int:
    """Sign of a b - c d for numbers in [0, 2^62), with products of up to 124 bits."""
    low = (1 << 31) - 1
    a_1, a_0, b_1, b_0 = a >> 31, a & low, b >> 31, b & low
    c_1, c_0, d_1, d_0 = c >> 31, c & low, d >> 31, d & low
    middle_ab, middle_cd = a_1 * b_0, c_1 * d_0
    # a b = high 2^62 + low part, carried so that the low part is below 2^62
    over_ab = (a_0 * b_0 >> 31) + (middle_ab & low) + (a_0 * b_1 & low)
    over_cd = (c_0 * d_0 >> 31) + (middle_cd & low) + (c_0 * d_1 & low)
    high_ab = a_1 * b_1 + (middle_ab >> 31) + (a_0 * b_1 >> 31) + (over_ab >> 31)
    high_cd = c_1 * d_1 + (middle_cd >> 31) + (c_0 * d_1 >> 31) + (over_cd >> 31)
    if high_ab != high_cd:
        return 1 if high_ab > high_cd else -1
    low_ab = ((over_ab & low) << 31) | (a_0 * b_0 & low)
    low_cd = ((over_cd & low) << 31) | (c_0 * d_0 & low)
    if low_ab != low_cd:
        return 1 if low_ab > low_cd else -1
    return 0
