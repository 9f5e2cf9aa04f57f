"""States with their ages: found forwards, valued backwards. Arrays in, arrays out; no checks.

A state is one number, the mixed radix of (place, age) pairs. Numbers that were met stand in a hash table with open
addressing, ``keys`` and ``slots``, and in ``codes`` in the order of their finding.
"""

from __future__ import annotations

import numpy as np

from fairlane.compiling.flags import kernel


@kernel
def find(keys, code, mask):
    """Where a number stands in the table, or the free place it would take."""
    # Fibonacci hashing: the golden ratio of 64 bits spreads neighbouring numbers over the upper half of the product
    folded = np.uint64(code ^ (code >> 31))
    h = np.int64((folded * np.uint64(11400714819323198485)) >> np.uint64(33)) & mask
    while keys[h] != -1 and keys[h] != code:
        h = (h + 1) & mask
    return h


@kernel
def rehash(codes, n, keys, slots, mask):
    """Put n numbers into an empty table."""
    for i in range(n):
        h = find(keys, codes[i], mask)
        keys[h] = codes[i]
        slots[h] = i


@kernel
def levels(n, table, space, out):
    """Progress of each of n states: the sum of its places."""
    for k in range(n):
        total = 0
        for i in range(space.strides.size):
            total += ((table.codes[k] // space.strides[i]) % space.sizes[i]) // space.ages
        out[k] = total


@kernel
def visit(first, last, order, valuing, worst, n_known, most_known, table, space, prices, laws, actions, room):
    """Find the states that follow states first to last, or value the states order[first : last].

    Returns the first state that was not done and the number of known ones; finding stops at ``most_known``.
    """
    keys, slots, mask, codes, values = table.keys, table.slots, table.mask, table.codes, table.values
    strides, sizes, ages, phase = space.strides, space.sizes, space.ages, space.phase
    place, age, rows, member, operator, at, served = (
        room.place,
        room.age,
        room.rows,
        room.member,
        room.operator,
        room.at,
        room.served,
    )
    n_widths, option_start, option_t = actions.n_widths, actions.start, actions.durations
    n = strides.size
    most_rows = option_start.shape[2] - 2
    for position in range(first, last):
        if not valuing and n_known > most_known:
            return position, n_known
        index = order[position] if valuing else position
        code = codes[index]
        rate, linear, square = prices.time, 0.0, 0.0
        n_rows = 0
        for i in range(n):
            digit = (code // strides[i]) % sizes[i]
            place[i] = digit // ages
            age[i] = digit % ages
            rate += prices.rates[i, place[i]]
            if phase[i, place[i]] == 1:
                rows[n_rows] = i
                n_rows += 1
                linear += prices.ages[i] * space.age[age[i]]
                square += prices.ages[i]
        best = -1.0 if worst else np.inf
        for prompt in range(-1, n):
            if prompt >= 0 and phase[prompt, place[prompt]] != 0:
                continue
            for chosen in range(1 << n_rows):
                size = 0
                for i in range(n):
                    served[i] = 0
                for j in range(n_rows):
                    if chosen >> j & 1:
                        member[size] = rows[j]
                        served[rows[j]] = 1
                        size += 1
                k = size
                if k > most_rows or (k == 0 and prompt < 0):
                    continue
                if prompt >= 0:
                    member[size] = prompt
                    served[prompt] = 1
                    size += 1
                # places that stay
                still = 0
                for i in range(n):
                    if served[i] == 0:
                        still += place[i] * ages * strides[i]
                for w in range(n_widths + 1):
                    if (w == 0) != (k == 0):
                        continue
                    for c in range(actions.n_capacities + 1):
                        if (c == 0) != (prompt < 0):
                            continue
                        begin, end = option_start[c, w, k], option_start[c, w, k + 1]
                        if begin == end:
                            continue
                        if valuing and not actions.charged:
                            # costs grow with every duration
                            if worst:
                                begin = end - 1
                            else:
                                end = begin + 1
                        for j in range(size):
                            operator[j] = w - 1 if j < k else n_widths + c - 1
                        for option in range(begin, end):
                            t = option_t[option]
                            base = still
                            for j in range(n_rows):
                                i = rows[j]
                                if served[i] == 0:
                                    base += space.later[age[i], actions.which[option]] * strides[i]
                            for j in range(size):
                                at[j] = 0
                            expected = 0.0
                            while True:
                                p = 1.0
                                after = base
                                for j in range(size):
                                    m = member[j]
                                    law = laws.at[m, operator[j], place[m]] + at[j]
                                    p *= laws.p[law]
                                    after += laws.to[law] * ages * strides[m]
                                if after != space.final:
                                    h = find(keys, after, mask)
                                    if valuing:
                                        expected += p * values[slots[h]]
                                    elif keys[h] == -1:
                                        keys[h] = after
                                        slots[h] = n_known
                                        codes[n_known] = after
                                        n_known += 1
                                j = size - 1
                                while j >= 0:
                                    m = member[j]
                                    at[j] += 1
                                    if at[j] < laws.counts[m, operator[j], place[m]]:
                                        break
                                    at[j] = 0
                                    j -= 1
                                if j < 0:
                                    break
                            if valuing:
                                paid = t * (rate + linear) + 0.5 * t * t * square + actions.fees[option]
                                total = paid + expected
                                best = max(best, total) if worst else min(best, total)
        if valuing:
            values[index] = best
    return last, n_known
