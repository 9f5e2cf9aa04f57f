"""States with their ages: found forwards, valued backwards. Arrays in, arrays out; no checks.

A state is one number, the mixed radix of (place, age) pairs. Numbers that were met stand in a hash table with open
addressing, ``keys`` and ``slots``, and in ``codes`` in the order of their finding.
"""

from __future__ import annotations

import numpy as np

from fairlane.oracle.kernels.compile_flags import kernel


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
def levels(codes, n, strides, sizes, ages, out):
    """Progress of each state: the sum of its places."""
    for k in range(n):
        total = 0
        for i in range(strides.size):
            total += ((codes[k] // strides[i]) % sizes[i]) // ages
        out[k] = total


@kernel
def visit(
    first,
    last,
    order,
    valuing,
    worst,
    codes,
    n_known,
    most_known,
    keys,
    slots,
    mask,
    values,
    final,
    strides,
    sizes,
    ages,
    phase,
    rates,
    age_prices,
    time_price,
    counts,
    law_at,
    law_to,
    law_p,
    n_widths,
    n_capacities,
    option_start,
    option_t,
    place,
    age,
    rows,
    member,
    operator,
    at,
    served,
):
    """Find the states that follow states first to last, or value the states order[first : last].

    Returns the first state that was not done and the number of known ones; finding stops at ``most_known``. The
    durations ``option_t[option_start[c, w, k] : option_start[c, w, k + 1]]``, ascending, are those of the graphs that
    hold k rows of width w beside a prompt of capacity c; c and w count from 1, and 0 stands for none.
    """
    n = strides.size
    most_rows = option_start.shape[2] - 2
    for position in range(first, last):
        if not valuing and n_known > most_known:
            return position, n_known
        index = order[position] if valuing else position
        code = codes[index]
        rate, linear, square = time_price, 0.0, 0.0
        n_rows = 0
        for i in range(n):
            digit = (code // strides[i]) % sizes[i]
            place[i] = digit // ages
            age[i] = digit % ages
            rate += rates[i, place[i]]
            if phase[i, place[i]] == 1:
                rows[n_rows] = i
                n_rows += 1
                linear += age_prices[i] * age[i]
                square += age_prices[i]
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
                # what stays: places, and ages that grow with the duration
                still, growing = 0, 0
                for i in range(n):
                    if served[i] == 0:
                        still += (place[i] * ages + age[i]) * strides[i]
                        if phase[i, place[i]] == 1:
                            growing += strides[i]
                for w in range(n_widths + 1):
                    if (w == 0) != (k == 0):
                        continue
                    for c in range(n_capacities + 1):
                        if (c == 0) != (prompt < 0):
                            continue
                        begin, end = option_start[c, w, k], option_start[c, w, k + 1]
                        if begin == end:
                            continue
                        if valuing:
                            # costs grow with every duration
                            if worst:
                                begin = end - 1
                            else:
                                end = begin + 1
                        for j in range(size):
                            operator[j] = w - 1 if j < k else n_widths + c - 1
                        for option in range(begin, end):
                            t = option_t[option]
                            base = still + t * growing
                            for j in range(size):
                                at[j] = 0
                            expected = 0.0
                            while True:
                                p = 1.0
                                after = base
                                for j in range(size):
                                    m = member[j]
                                    law = law_at[m, operator[j], place[m]] + at[j]
                                    p *= law_p[law]
                                    after += law_to[law] * ages * strides[m]
                                if after != final:
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
                                    if at[j] < counts[m, operator[j], place[m]]:
                                        break
                                    at[j] = 0
                                    j -= 1
                                if j < 0:
                                    break
                            if valuing:
                                total = t * (rate + linear) + 0.5 * t * t * square + expected
                                best = max(best, total) if worst else min(best, total)
        if valuing:
            values[index] = best
    return last, n_known
