"""Backward sweeps over thousands of tiny instances, one after another. Arrays only.

Costs as in the other sweeps: the value of all tokens is the same under every policy, so what is swept is the least
(or greatest) expected cost of time and waiting. A state is a number in mixed radix over the requests' local states,
and falling numbers are an order in which every outcome comes first.
"""

from __future__ import annotations

import numpy as np

from fairlane.oracle._compile import kernel
from fairlane.oracle._kernel_tiny_tables import (
    CAPACITIES,
    JOINT,
    LENGTHS,
    REQUESTS,
    SERVED,
    STATES,
    STEPS,
    STUCK,
    SWEPT,
    WIDEST,
    WIDTHS,
    build,
)


@kernel
def _better(cost, best, worst):
    return best < 0 or (cost > best if worst else cost < best)


@kernel
def _last_row(t, number, level, row):
    """Expected cost after the outcomes of a level and of one more row."""
    first, n = t.law_at[row], t.law_n[row]
    total = 0.0
    for a in range(t.joint_n[level]):
        at = number + t.joint_shift[level, a]
        expected = 0.0
        for k in range(first, first + n):
            expected += t.chance[k] * t.values[at + t.shift[k]]
        total += t.joint[level, a] * expected
    t.n[JOINT] = max(t.n[JOINT], t.joint_n[level] * n)
    return total


@kernel
def _add_row(t, level, row):
    """Outcomes of a level and of one more row, as the next level."""
    first, n = t.law_at[row], t.law_n[row]
    out = 0
    for a in range(t.joint_n[level]):
        for k in range(first, first + n):
            t.joint[level + 1, out] = t.joint[level, a] * t.chance[k]
            t.joint_shift[level + 1, out] = t.joint_shift[level, a] + t.shift[k]
            out += 1
    t.joint_n[level + 1] = out


@kernel
def _by_rows(t, number, n_live, c, w, covered, rate, best, worst):
    """The best cost of sets of rows of one width, beside the prompt whose outcomes are level 0."""
    durations = t.durations
    most = min(n_live, t.most_rows[c, w])
    # sizes worth their cost: without a price on age one more row of the same duration never hurts
    fewest = most
    if worst:
        fewest = 1
    else:
        for s in range(most - 1, 0, -1):
            if durations[c, w, s] != durations[c, w, s + 1]:
                fewest = s
    level = 0
    k = 0
    while True:
        while level < most and k < n_live and level + n_live - k >= fewest:
            i = t.live[k]
            row = t.row_at[i] + w * t.size[i] + t.digits[i]
            size = level + 1
            if size >= fewest and (worst or size == most or durations[c, w, size] != durations[c, w, size + 1]):
                # filling a prompt at the same duration never hurts either
                tried = True
                if covered:
                    for o in range(1, t.n[CAPACITIES] + 1):
                        if durations[o, w, size] == durations[0, w, size]:
                            tried = False
                            break
                if tried:
                    cost = rate * durations[c, w, size] + _last_row(t, number, level, row)
                    if _better(cost, best, worst):
                        best = cost
            if size < most:
                _add_row(t, level, row)
                t.chosen[level] = k
                level += 1
            k += 1
        if level == 0:
            return best
        level -= 1
        k = t.chosen[level] + 1


@kernel
def _sweep(t, time_price, worst):
    """Cost of the first state, or -1 where some state has no action."""
    states, requests = t.n[STATES], t.n[REQUESTS]
    n_widths = t.n[WIDTHS]
    t.values[states - 1] = 0.0
    for i in range(requests):
        t.digits[i] = t.size[i] - 1
    for number in range(states - 2, -1, -1):
        i = 0
        while t.digits[i] == 0:
            t.digits[i] = t.size[i] - 1
            i += 1
        t.digits[i] -= 1
        rate = time_price
        n_live = n_waiting = 0
        for i in range(requests):
            x = t.digits[i]
            if x < t.prompts[i]:
                rate += t.rates[i, 0]
                t.waiting[n_waiting] = i
                n_waiting += 1
            elif x < t.size[i] - 1:
                rate += t.rates[i, 1]
                t.live[n_live] = i
                n_live += 1
        best = -1.0
        t.joint_n[0] = 1
        t.joint[0, 0] = 1.0
        t.joint_shift[0, 0] = 0
        for w in range(n_widths if n_live else 0):
            best = _by_rows(t, number, n_live, 0, w, n_waiting > 0 and not worst, rate, best, worst)
        for j in range(n_waiting):
            i = t.waiting[j]
            for c in range(1, t.n[CAPACITIES] + 1):
                row = t.row_at[i] + (n_widths + c - 1) * t.size[i] + t.digits[i]
                first, n = t.law_at[row], t.law_n[row]
                expected = 0.0
                for k in range(n):
                    t.joint[0, k] = t.chance[first + k]
                    t.joint_shift[0, k] = t.shift[first + k]
                    expected += t.chance[first + k] * t.values[number + t.shift[first + k]]
                t.joint_n[0] = n
                t.n[JOINT] = max(t.n[JOINT], n)
                cost = rate * t.durations[c, 0, 0] + expected
                if _better(cost, best, worst):
                    best = cost
                for w in range(n_widths if n_live else 0):
                    best = _by_rows(t, number, n_live, c, w, False, rate, best, worst)
        if best < 0:
            return -1.0
        t.values[number] = best
    return t.values[0]


@kernel
def sweep_all(words, at, worst, t, earned, costs, states, counts, status):
    """One instance a record words[at[r] : at[r + 1]]; ``counts`` hold what `tiny_rounding` counts roundings from."""
    for r in range(at.size - 1):
        states[r] = 0
        earned[r] = costs[r] = 0.0
        counts[r] = 0
        status[r] = build(words, at[r], at[r + 1], worst, t)
        if status[r] != SWEPT:
            continue
        cost = _sweep(t, words[at[r] + 4], worst)
        if cost < 0:
            status[r] = STUCK
            continue
        earned[r], costs[r] = t.totals[0], cost
        states[r] = t.n[STATES] - 1
        counts[r, 0] = t.n[STEPS]
        counts[r, 1] = t.n[SERVED]
        counts[r, 2] = t.n[LENGTHS]
        counts[r, 3] = t.n[WIDEST]
        counts[r, 4] = t.n[JOINT]
        counts[r, 5] = t.n[REQUESTS]


def empty_results(n):
    """Arrays for n instances: value of tokens, cost, states, counts, status."""
    return np.empty(n), np.empty(n), np.empty(n, np.int64), np.empty((n, 6), np.int64), np.empty(n, np.int64)
