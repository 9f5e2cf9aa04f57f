"""Costs of every action of one state, by plain products of outcomes. Arrays only."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def action_costs(
    digits,
    number,
    values,
    strides,
    member_start,
    member_axis,
    member_operator,
    counts,
    shifts,
    probabilities,
    nodes,
    ts,
    rate,
    out,
):
    """out[i] = ts[i] * rate + expected value after serving nodes[i]."""
    at = np.zeros(16, dtype=np.int64)
    for i in range(nodes.size):
        first = member_start[nodes[i]]
        size = member_start[nodes[i] + 1] - first
        for j in range(size):
            at[j] = 0
        total = 0.0
        while True:
            p = 1.0
            place = number
            for j in range(size):
                axis = member_axis[first + j]
                o = member_operator[first + j]
                x = digits[axis]
                p *= probabilities[o, axis, x, at[j]]
                place += shifts[o, axis, x, at[j]] * strides[axis]
            total += p * values[place]
            j = size - 1
            while j >= 0:
                axis = member_axis[first + j]
                at[j] += 1
                if at[j] < counts[member_operator[first + j], axis, digits[axis]]:
                    break
                at[j] = 0
                j -= 1
            if j < 0:
                break
        out[i] = ts[i] * rate + total
