"""Backward sweeps over thousands of tiny instances, one after another. Arrays only.

Costs as in the other sweeps: the value of all tokens is the same under every policy, so what is swept is the least
(or greatest) expected cost of time and waiting. A state is a number in mixed radix over the requests' local states,
and falling numbers are an order in which every outcome comes first.
"""

from __future__ import annotations

import numpy as np

from fairlane.compiling.flags import inner, kernel
from fairlane.oracle.kernels.tiny_record import (
    ALL_REQUESTS,
    ALL_STEPS,
    MOST_JOINT,
    MOST_LENGTHS,
    MOST_SERVED,
    MOST_WIDTH,
    N_COUNTS,
    TIME_PRICE,
)
from fairlane.oracle.kernels.tiny_tables import (
    CAPACITIES,
    CHOSEN,
    DIGIT,
    JOINT,
    JOINT_N,
    LENGTHS,
    LIVE,
    PROMPTS,
    REQUESTS,
    ROW,
    SERVED,
    SIZE,
    STATES,
    STEPS,
    STUCK,
    SWEPT,
    WAITING,
    WIDEST,
    WIDTHS,
    Floats,
    Ints,
    build,
)


@inner
def _better(cost, best, worst):
    return best < 0 or (cost > best if worst else cost < best)


@inner
def _last_row(values, chance, shift, first, n, joint, joint_shift, size):
    """Expected cost after ``size`` outcomes, and those of one more row."""
    total = 0.0
    for a in range(size):
        at = joint_shift[a]
        expected = 0.0
        for k in range(first, first + n):
            expected += chance[k] * values[at + shift[k]]
        total += joint[a] * expected
    return total


@inner
def _add_row(chance, shift, first, n, joint, joint_shift, size, next_joint, next_shift):
    """Those outcomes joined with the row's."""
    out = 0
    for a in range(size):
        for k in range(first, first + n):
            next_joint[out] = joint[a] * chance[k]
            next_shift[out] = joint_shift[a] + shift[k]
            out += 1
    return out


@inner
def _worth(durations, c, w, s, most, n_capacities, worst):
    """Whether sets of s rows are to be tried: without a price on age, serving more at one duration never hurts.

    ``n_capacities`` is 0 where no prompt waits or one is being filled.
    """
    if worst:
        return True
    if s < most and durations[c, w, s] == durations[c, w, s + 1]:
        return False
    covered = False
    for other in range(1, n_capacities + 1):
        covered = covered or durations[other, w, s] == durations[0, w, s]
    return not covered


@inner
def _by_rows(t, n_live, c, w, n_capacities, rate, best, worst):
    """The best cost of sets of rows of one width, beside the prompt (capacity number c) whose outcomes are level 0."""
    n, each, laws, durations = t.n, t.each, t.laws, t.durations
    live, joint_n, chosen = each[LIVE], each[JOINT_N], each[CHOSEN]
    most = min(n_live, t.most_rows[c, w])
    fewest = 1
    while fewest < most and not _worth(durations, c, w, fewest, most, n_capacities, worst):
        fewest += 1
    level = k = 0
    while True:
        while level < most and k < n_live and level + n_live - k >= fewest:
            i = live[k]
            row = each[ROW, i] + w * each[SIZE, i] + each[DIGIT, i]
            first, outcomes = laws[row, 0], laws[row, 1]
            size = joint_n[level]
            joint, joint_shift = t.joint[level], t.joint_shift[level]
            if level + 1 >= fewest and _worth(durations, c, w, level + 1, most, n_capacities, worst):
                n[JOINT] = max(n[JOINT], size * outcomes)
                cost = rate * durations[c, w, level + 1]
                cost += _last_row(t.values, t.chance, t.shift, first, outcomes, joint, joint_shift, size)
                if _better(cost, best, worst):
                    best = cost
            if level + 1 < most:
                joint_n[level + 1] = _add_row(
                    t.chance,
                    t.shift,
                    first,
                    outcomes,
                    joint,
                    joint_shift,
                    size,
                    t.joint[level + 1],
                    t.joint_shift[level + 1],
                )
                chosen[level] = k
                level += 1
            k += 1
        if level == 0:
            return best
        level -= 1
        k = chosen[level] + 1


@inner
def _sweep(t, time_price, worst):
    """Cost of the first state, or -1 where some state has no action."""
    n, each, laws, values, chance, shift, rates = t.n, t.each, t.laws, t.values, t.chance, t.shift, t.rates
    sizes, digits, prompts, live, waiting = each[SIZE], each[DIGIT], each[PROMPTS], each[LIVE], each[WAITING]
    joint, joint_shift = t.joint[0], t.joint_shift[0]
    states, requests, n_widths, n_capacities = n[STATES], n[REQUESTS], n[WIDTHS], n[CAPACITIES]
    values[states - 1] = 0.0
    for i in range(requests):
        digits[i] = sizes[i] - 1
    for number in range(states - 2, -1, -1):
        i = 0
        while digits[i] == 0:
            digits[i] = sizes[i] - 1
            i += 1
        digits[i] -= 1
        rate = time_price
        n_live = n_waiting = 0
        for i in range(requests):
            if digits[i] < prompts[i]:
                rate += rates[i, 0]
                waiting[n_waiting] = i
                n_waiting += 1
            elif digits[i] < sizes[i] - 1:
                rate += rates[i, 1]
                live[n_live] = i
                n_live += 1
        best = -1.0
        if n_live:
            each[JOINT_N, 0] = 1
            joint[0] = 1.0
            joint_shift[0] = number
            for w in range(n_widths):
                best = _by_rows(t, n_live, 0, w, n_capacities if n_waiting else 0, rate, best, worst)
        for j in range(n_waiting):
            i = waiting[j]
            for c in range(1, n_capacities + 1):
                row = each[ROW, i] + (n_widths + c - 1) * sizes[i] + digits[i]
                expected = 0.0
                for k in range(laws[row, 1]):
                    law = laws[row, 0] + k
                    joint[k] = chance[law]
                    joint_shift[k] = number + shift[law]
                    expected += chance[law] * values[number + shift[law]]
                each[JOINT_N, 0] = laws[row, 1]
                n[JOINT] = max(n[JOINT], laws[row, 1])
                cost = rate * t.durations[c, 0, 0] + expected
                if _better(cost, best, worst):
                    best = cost
                for w in range(n_widths if n_live else 0):
                    best = _by_rows(t, n_live, c, w, 0, rate, best, worst)
        if best < 0:
            return -1.0
        values[number] = best
    return values[0]


@kernel
def sweep_all(words, at, worst, t, earned, costs, states, counts, status):
    """One instance a record words[at[r] : at[r + 1]]; ``counts`` are what `tiny_batch` bounds the rounding by."""
    n = t.n
    for r in range(at.size - 1):
        states[r] = 0
        costs[r] = 0.0
        counts[r] = 0
        status[r], earned[r] = build(words, at[r], at[r + 1], worst, t)
        if status[r] != SWEPT:
            continue
        cost = _sweep(t, words[at[r] + TIME_PRICE], worst)
        if cost < 0:
            status[r] = STUCK
            continue
        costs[r] = cost
        states[r] = n[STATES] - 1
        counts[r, ALL_STEPS] = n[STEPS]
        counts[r, MOST_SERVED] = n[SERVED]
        counts[r, MOST_LENGTHS] = n[LENGTHS]
        counts[r, MOST_WIDTH] = n[WIDEST]
        counts[r, MOST_JOINT] = n[JOINT]
        counts[r, ALL_REQUESTS] = n[REQUESTS]


def empty_results(n: int) -> tuple[Floats, Floats, Ints, Ints, Ints]:
    """Arrays for n instances: value of tokens, cost, states, counts, status."""
    return np.empty(n), np.empty(n), np.empty(n, np.int64), np.empty((n, N_COUNTS), np.int64), np.empty(n, np.int64)
