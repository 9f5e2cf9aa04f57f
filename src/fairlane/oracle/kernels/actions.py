"""Expected values after serving given requests in one state, by plain products of outcomes. Arrays only."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def _place(digits, first, size, binomial, place, place_at, work):
    """Number of the multiset digits[first : first + size]; a single one numbers itself."""
    if size == 1:
        return digits[first]
    for i in range(size):
        d = digits[first + i]
        j = i
        while j > 0 and work[j - 1] > d:
            work[j] = work[j - 1]
            j -= 1
        work[j] = d
    rank = 0
    for i in range(size):
        rank += binomial[work[i] + i, i + 1]
    return place[place_at + rank]


@njit(cache=True, nogil=True, error_model="numpy")
def expectations(
    digits,
    axis_of,
    axis_start,
    strides,
    binomial,
    place,
    place_at,
    values,
    member_start,
    member,
    operator,
    counts,
    law_at,
    law_to,
    law_p,
    out,
):
    """out[i] = expected value after serving members member[member_start[i] : member_start[i + 1]]."""
    n_axes = strides.size
    widest = digits.size
    work = np.zeros(widest, dtype=np.int64)
    after = digits.copy()
    at = np.zeros(widest, dtype=np.int64)
    touched = np.zeros(n_axes, dtype=np.bool_)
    base = np.zeros(n_axes, dtype=np.int64)
    for a in range(n_axes):
        size = axis_start[a + 1] - axis_start[a]
        base[a] = strides[a] * _place(digits, axis_start[a], size, binomial, place, place_at[a], work)
    for i in range(member_start.size - 1):
        first = member_start[i]
        size = member_start[i + 1] - first
        touched[:] = False
        for j in range(size):
            touched[axis_of[member[first + j]]] = True
            at[j] = 0
        fixed = 0
        for a in range(n_axes):
            if not touched[a]:
                fixed += base[a]
        total = 0.0
        while True:
            p = 1.0
            for j in range(size):
                m = member[first + j]
                law = law_at[axis_of[m], operator[first + j], digits[m]] + at[j]
                p *= law_p[law]
                after[m] = law_to[law]
            number = fixed
            for a in range(n_axes):
                if touched[a]:
                    members = axis_start[a + 1] - axis_start[a]
                    number += strides[a] * _place(after, axis_start[a], members, binomial, place, place_at[a], work)
            total += p * values[number]
            j = size - 1
            while j >= 0:
                m = member[first + j]
                at[j] += 1
                if at[j] < counts[axis_of[m], operator[first + j], digits[m]]:
                    break
                at[j] = 0
                j -= 1
            if j < 0:
                break
        for j in range(size):
            after[member[first + j]] = digits[member[first + j]]
        out[i] = total


@njit(cache=True, nogil=True, error_model="numpy")
def followers(
    digits,
    axis_of,
    axis_start,
    strides,
    binomial,
    place,
    place_at,
    member,
    operator,
    counts,
    law_at,
    law_to,
    out,
):
    """Numbers of the states after serving some members, one a joint outcome; the last member's outcomes run fastest."""
    n_axes = strides.size
    work = np.zeros(digits.size, dtype=np.int64)
    after = digits.copy()
    at = np.zeros(digits.size, dtype=np.int64)
    for i in range(out.size):
        for j in range(member.size):
            m = member[j]
            after[m] = law_to[law_at[axis_of[m], operator[j], digits[m]] + at[j]]
        number = 0
        for a in range(n_axes):
            size = axis_start[a + 1] - axis_start[a]
            number += strides[a] * _place(after, axis_start[a], size, binomial, place, place_at[a], work)
        out[i] = number
        j = member.size - 1
        while j >= 0:
            m = member[j]
            at[j] += 1
            if at[j] < counts[axis_of[m], operator[j], digits[m]]:
                break
            at[j] = 0
            j -= 1
