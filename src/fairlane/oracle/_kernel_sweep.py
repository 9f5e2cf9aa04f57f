"""The backward sweep over one cell of the two outermost axes. Arrays in, arrays out; no checks.

Within a cell the middle axes run down like an odometer. When the digit of an axis changes, the expectations of
all nodes ending on that axis are rebuilt as combinations of slices of their parents' expectations, so a cohort
costs one short combination a state however many rows it has. The innermost axis stays a vector.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, inline="always")
def _combine(out, out_at, source, source_at, stride, size, count, shifts, probabilities):
    """out[out_at : +size] = sum of p * source[source_at + shift * stride : +size]."""
    # views, because an index that may be negative keeps the loops from being vectorised
    target = out[out_at : out_at + size]
    base = source_at + shifts[0] * stride
    given = source[base : base + size]
    p = probabilities[0]
    for j in range(size):
        target[j] = p * given[j]
    for k in range(1, count):
        p = probabilities[k]
        base = source_at + shifts[k] * stride
        given = source[base : base + size]
        for j in range(size):
            target[j] += p * given[j]


@njit(cache=True, nogil=True)
def sweep_cell(
    x0,
    x1,
    values,
    sizes,
    strides,
    parent,
    last_axis,
    operator,
    node_start,
    counts,
    shifts,
    probabilities,
    dia_count,
    dia_shift,
    dia_coefficient,
    dia_final,
    dia_range,
    rates,
    phases,
    powers,
    option_start,
    option_node,
    option_t,
    buffer,
    buffer_at,
    valid,
    time_price,
    worst,
):
    """Values of all states whose two outermost digits are x0 and x1; all greater cells are done."""
    n = sizes.size
    inner = n - 1
    length = sizes[inner]
    cell = x0 * strides[0] + x1 * strides[1]
    suffix = strides[1]
    digits = np.zeros(n, dtype=np.int64)
    digits[0] = x0
    digits[1] = x1

    # nodes within the two outermost axes, straight from the values
    for node in range(node_start[0], node_start[2]):
        axis = last_axis[node]
        x = digits[axis]
        o = operator[node]
        c = counts[o, axis, x]
        up = parent[node]
        if up < 0:
            valid[node] = c > 0
            if c > 0:
                _combine(
                    buffer,
                    buffer_at[node],
                    values,
                    cell,
                    strides[axis],
                    suffix,
                    c,
                    shifts[o, axis, x],
                    probabilities[o, axis, x],
                )
        else:
            o_up = operator[up]
            c_up = counts[o_up, 0, x0]
            valid[node] = c > 0 and c_up > 0
            if valid[node]:
                target = buffer[buffer_at[node] : buffer_at[node] + suffix]
                for j in range(suffix):
                    target[j] = 0.0
                for k in range(c_up):
                    for m in range(c):
                        p = probabilities[o_up, 0, x0, k] * probabilities[o, axis, x, m]
                        base = cell + shifts[o_up, 0, x0, k] * strides[0] + shifts[o, axis, x, m] * strides[1]
                        given = values[base : base + suffix]
                        for j in range(suffix):
                            target[j] += p * given[j]

    best = np.empty(length)
    group = np.empty(length)
    row_rate = np.empty(length)
    # offset of the current digits of the middle axes from an axis on, within an array over those axes
    inside = np.zeros(n + 1, dtype=np.int64)
    for axis in range(2, inner):
        digits[axis] = sizes[axis] - 1
    changed = 2
    while True:
        inside[inner] = 0
        for axis in range(inner - 1, 1, -1):
            inside[axis] = inside[axis + 1] + digits[axis] * strides[axis]

        # rebuild nodes that end on a changed middle axis
        for node in range(node_start[changed], node_start[inner]):
            axis = last_axis[node]
            x = digits[axis]
            o = operator[node]
            c = counts[o, axis, x]
            up = parent[node]
            ok = c > 0 and (up < 0 or valid[up])
            valid[node] = ok
            if not ok:
                continue
            size = strides[axis]
            if up < 0:
                at = cell + inside[2] - inside[axis + 1]
                _combine(
                    buffer, buffer_at[node], values, at, size, size, c, shifts[o, axis, x], probabilities[o, axis, x]
                )
            else:
                first = max(2, last_axis[up] + 1)
                at = buffer_at[up] + inside[first] - inside[axis + 1]
                _combine(
                    buffer, buffer_at[node], buffer, at, size, size, c, shifts[o, axis, x], probabilities[o, axis, x]
                )

        base = cell + inside[2]
        rate = time_price
        pattern = 0
        for axis in range(inner):
            x = digits[axis]
            rate += rates[axis, x]
            pattern += phases[axis, x] * powers[axis]
        for x in range(length):
            row_rate[x] = rate + rates[inner, x]

        # nodes that end on the innermost axis and have a parent, as vectors: a few diagonals, and finishing
        for node in range(node_start[inner], node_start[n]):
            up = parent[node]
            if up < 0 or not valid[up]:
                continue
            o = operator[node]
            source = buffer_at[up] + inside[max(2, last_axis[up] + 1)]
            at = buffer_at[node]
            final = buffer[source + length - 1]
            first_x = dia_range[o, 0]
            size = dia_range[o, 1] - first_x
            target = buffer[at + first_x : at + first_x + size]
            chance = dia_final[o, first_x : first_x + size]
            for x in range(size):
                target[x] = chance[x] * final
            for k in range(dia_count[o]):
                start = first_x + dia_shift[o, k]
                reach = min(size, length - start)
                chance = dia_coefficient[o, k, first_x : first_x + size]
                given = buffer[source + start : source + start + reach]
                for x in range(reach):
                    target[x] += chance[x] * given[x]

        high = length
        while high > 0:
            phase = phases[inner, high - 1]
            low = high - 1
            while low > 0 and phases[inner, low - 1] == phase:
                low -= 1
            here = pattern + phase * powers[inner]
            option = option_start[here]
            stop = option_start[here + 1]
            width = high - low
            for x in range(width):
                best[x] = -1.0 if worst else np.inf
            # options of one duration are compared first; singles of the innermost axis come last, marked t < 0
            while option < stop and option_t[option] > 0.0:
                t = option_t[option]
                for x in range(width):
                    group[x] = -1.0 if worst else np.inf
                while option < stop and option_t[option] == t:
                    node = option_node[option]
                    at = buffer_at[node] + low
                    if last_axis[node] < inner:
                        at += inside[max(2, last_axis[node] + 1)]
                    given = buffer[at : at + width]
                    if worst:
                        for x in range(width):
                            group[x] = max(group[x], given[x])
                    else:
                        for x in range(width):
                            group[x] = min(group[x], given[x])
                    option += 1
                paid = row_rate[low:high]
                if worst:
                    for x in range(width):
                        best[x] = max(best[x], t * paid[x] + group[x])
                else:
                    for x in range(width):
                        best[x] = min(best[x], t * paid[x] + group[x])
            # sets of the innermost axis alone depend on the value just found beside
            for x in range(high - 1, low - 1, -1):
                value = best[x - low]
                for single in range(option, stop):
                    o = operator[option_node[single]]
                    cost = -option_t[single] * row_rate[x]
                    for k in range(counts[o, inner, x]):
                        cost += probabilities[o, inner, x, k] * values[base + x + shifts[o, inner, x, k]]
                    if cost > value if worst else cost < value:
                        value = cost
                # only the final state has no action
                values[base + x] = value if 0.0 <= value < np.inf else 0.0
            high = low

        axis = inner - 1
        while axis >= 2 and digits[axis] == 0:
            digits[axis] = sizes[axis] - 1
            axis -= 1
        if axis < 2:
            return
        digits[axis] -= 1
        changed = axis
