"""The backward sweep over cells of the two outermost axes, block by block. Arrays in, arrays out; no checks.

A block is a run of innermost axes. What serves a request outside the block has its future wholly in finished
blocks, so the expectation over each such set is one long vector; sets grow from the axis of stride one outwards,
which leaves most of the work on the longest vectors. Sets inside a block follow axis by axis, as its values come.

With durations negated the same code finds the greatest cost: it minimises the negative cost.

Loops index whole arrays with unsigned numbers. Slices would cost reference counts, more than a short loop itself,
and signed indices, which may be negative, keep loops from being vectorised.
"""

from __future__ import annotations

import numpy as np

from fairlane.oracle._compile import kernel


@kernel
def _serve(out, out_at, best, rate, best_at, t, given, given_at, step, size, count, shifts, probabilities, law_at):
    """out = sum of p[k] * given[at + shifts[k] * step :], and best = min(best, t * rate + out)."""
    n, o, b = np.uint64(size), np.uint64(out_at), np.uint64(best_at)
    g0, p0 = np.uint64(given_at + shifts[law_at] * step), probabilities[law_at]
    if count == 1:
        for j in range(n):
            e = p0 * given[g0 + j]
            out[o + j] = e
            best[b + j] = min(best[b + j], t * rate[b + j] + e)
        return
    g1, p1 = np.uint64(given_at + shifts[law_at + 1] * step), probabilities[law_at + 1]
    if count == 2:
        for j in range(n):
            e = p0 * given[g0 + j] + p1 * given[g1 + j]
            out[o + j] = e
            best[b + j] = min(best[b + j], t * rate[b + j] + e)
        return
    g2, p2 = np.uint64(given_at + shifts[law_at + 2] * step), probabilities[law_at + 2]
    if count == 3:
        for j in range(n):
            e = p0 * given[g0 + j] + p1 * given[g1 + j] + p2 * given[g2 + j]
            out[o + j] = e
            best[b + j] = min(best[b + j], t * rate[b + j] + e)
        return
    g3, p3 = np.uint64(given_at + shifts[law_at + 3] * step), probabilities[law_at + 3]
    if count == 4:
        for j in range(n):
            e = p0 * given[g0 + j] + p1 * given[g1 + j] + p2 * given[g2 + j] + p3 * given[g3 + j]
            out[o + j] = e
            best[b + j] = min(best[b + j], t * rate[b + j] + e)
        return
    # three terms, then two at a time: loops over more arrays are not vectorised
    for j in range(n):
        out[o + j] = p0 * given[g0 + j] + p1 * given[g1 + j] + p2 * given[g2 + j]
    for k in range(3, count, 2):
        g0, p0 = np.uint64(given_at + shifts[law_at + k] * step), probabilities[law_at + k]
        if k + 1 == count:
            for j in range(n):
                e = out[o + j] + p0 * given[g0 + j]
                out[o + j] = e
                best[b + j] = min(best[b + j], t * rate[b + j] + e)
            return
        g1, p1 = np.uint64(given_at + shifts[law_at + k + 1] * step), probabilities[law_at + k + 1]
        if k + 2 < count:
            for j in range(n):
                out[o + j] += p0 * given[g0 + j] + p1 * given[g1 + j]
        else:
            for j in range(n):
                e = out[o + j] + (p0 * given[g0 + j] + p1 * given[g1 + j])
                out[o + j] = e
                best[b + j] = min(best[b + j], t * rate[b + j] + e)


@kernel
def _gather(out, out_at, given, given_at, step, size, count, shifts, probabilities, law_at):
    """out = sum of p[k] * given[at + shifts[k] * step :]."""
    n, o = np.uint64(size), np.uint64(out_at)
    g0, p0 = np.uint64(given_at + shifts[law_at] * step), probabilities[law_at]
    if count == 1:
        for j in range(n):
            out[o + j] = p0 * given[g0 + j]
        return
    g1, p1 = np.uint64(given_at + shifts[law_at + 1] * step), probabilities[law_at + 1]
    for j in range(n):
        out[o + j] = p0 * given[g0 + j] + p1 * given[g1 + j]
    for k in range(2, count):
        g0, p0 = np.uint64(given_at + shifts[law_at + k] * step), probabilities[law_at + k]
        for j in range(n):
            out[o + j] += p0 * given[g0 + j]


@kernel
def _serve_rows(
    out, out_at, best, rate, best_at, t, given, given_at, length, total, low, high, count, shifts, dia_at, dia
):
    """The same on the axis of stride one: diagonals with a coefficient a place, and the chance to finish."""
    n = np.uint64(high - low)
    f = np.uint64(dia_at * length + low)
    stride = np.uint64(length)
    for base in range(low, total, length):
        done = given[given_at + base - low + length - 1]
        o, b = np.uint64(out_at + base), np.uint64(best_at + base)
        for k in range(0, count, 2):
            # diagonals come in pairs, the last one padded with zeros
            c0 = np.uint64((dia_at + k + 1) * length + low)
            c1 = c0 + stride
            g0 = np.uint64(given_at + base + shifts[dia_at + k])
            g1 = np.uint64(given_at + base + shifts[dia_at + k + 1])
            if k == 0:
                for x in range(n):
                    out[o + x] = dia[f + x] * done + (dia[c0 + x] * given[g0 + x] + dia[c1 + x] * given[g1 + x])
            else:
                for x in range(n):
                    out[o + x] += dia[c0 + x] * given[g0 + x] + dia[c1 + x] * given[g1 + x]
        for x in range(n):
            best[b + x] = min(best[b + x], t * rate[b + x] + out[o + x])


@kernel
def _run(
    first,
    last,
    source_at,
    total,
    room,
    stack_at,
    stack_step,
    best,
    rate,
    best_at,
    big,
    sizes,
    strides,
    counts,
    law_at,
    shifts,
    probabilities,
    applies,
    dia_count,
    dia_at,
    dia_shift,
    dia,
    ins_axis,
    ins_operator,
    ins_depth,
    ins_t,
    ins_low,
    ins_high,
    ins_keep,
):
    """Instructions first to last: grow sets by one axis each, depth first, on vectors of `total` states."""
    inner = sizes.size - 1
    for i in range(first, last):
        z, o, t = ins_axis[i], ins_operator[i], ins_t[i]
        low, high = applies[o, z, 0], applies[o, z, 1]
        s, length = strides[z], sizes[z]
        out_at = stack_at + ins_depth[i] * stack_step
        given_at = source_at if ins_depth[i] == 0 else out_at - stack_step
        if z == inner:
            _serve_rows(
                room,
                out_at,
                best,
                rate,
                best_at,
                t,
                room,
                given_at,
                length,
                total,
                low,
                high,
                dia_count[o],
                dia_shift,
                dia_at[o],
                dia,
            )
        else:
            size = ins_high[i] - ins_low[i]
            for base in range(ins_low[i], total, s * length):
                for x in range(low, high):
                    at = base + x * s
                    _serve(
                        room,
                        out_at + at,
                        best,
                        rate,
                        best_at + at,
                        t,
                        room,
                        given_at + at,
                        s,
                        size,
                        counts[o, z, x],
                        shifts,
                        probabilities,
                        law_at[o, z, x],
                    )
        if ins_keep[i]:
            for base in range(out_at, out_at + total, s * length):
                for j in range(np.uint64(base), np.uint64(base + low * s)):
                    room[j] = big
                for j in range(np.uint64(base + high * s), np.uint64(base + length * s)):
                    room[j] = big


@kernel
def _cell_nodes(
    x0,
    x1,
    values,
    strides,
    parent,
    last_axis,
    operator,
    node_start,
    counts,
    law_at,
    shifts,
    probabilities,
    room,
    buffer_at,
    valid,
):
    """Expectations over sets within the two outermost axes, straight from the values."""
    suffix = strides[1]
    cell = x0 * strides[0] + x1 * strides[1]
    n = np.uint64(suffix)
    for node in range(node_start[0], node_start[2]):
        axis, o, up = last_axis[node], operator[node], parent[node]
        x = x0 if axis == 0 else x1
        c, law = counts[o, axis, x], law_at[o, axis, x]
        valid[node] = c > 0 and (up < 0 or counts[operator[up], 0, x0] > 0)
        if not valid[node]:
            continue
        if up < 0:
            _gather(room, buffer_at[node], values, cell, strides[axis], suffix, c, shifts, probabilities, law)
            continue
        to = np.uint64(buffer_at[node])
        for j in range(n):
            room[to + j] = 0.0
        law_up = law_at[operator[up], 0, x0]
        for k in range(counts[operator[up], 0, x0]):
            for m in range(c):
                p = probabilities[law_up + k] * probabilities[law + m]
                a = np.uint64(cell + shifts[law_up + k] * strides[0] + shifts[law + m] * strides[1])
                for j in range(n):
                    room[to + j] += p * values[a + j]


@kernel
def sweep_cells(
    first_x0,
    first_x1,
    values,
    room,
    valid,
    digits,
    inside,
    best,
    rate,
    sizes,
    strides,
    cut,
    parent,
    last_axis,
    operator,
    signature,
    own_t,
    node_start,
    buffer_at,
    head_at,
    stack_at,
    stack_step,
    counts,
    law_at,
    shifts,
    probabilities,
    applies,
    dia_count,
    dia_at,
    dia_shift,
    dia,
    rates,
    inner_rate,
    operator_t,
    operator_signature,
    program_start,
    ins_axis,
    ins_operator,
    ins_depth,
    ins_t,
    ins_low,
    ins_high,
    ins_keep,
    time_price,
    big,
):
    """Values of all states of some cells (their two outermost digits); all greater cells are done."""
    n = sizes.size
    inner = n - 1
    length = sizes[inner]
    block = strides[cut - 1]
    n_operators = counts.shape[0]
    for i_cell in range(first_x0.size):
        x0, x1 = first_x0[i_cell], first_x1[i_cell]
        cell = x0 * strides[0] + x1 * strides[1]
        digits[0], digits[1] = x0, x1
        _cell_nodes(
            x0,
            x1,
            values,
            strides,
            parent,
            last_axis,
            operator,
            node_start,
            counts,
            law_at,
            shifts,
            probabilities,
            room,
            buffer_at,
            valid,
        )
        for axis in range(2, cut):
            digits[axis] = sizes[axis] - 1
        changed = 2
        while True:
            inside[cut] = 0
            for axis in range(cut - 1, 1, -1):
                inside[axis] = inside[axis + 1] + digits[axis] * strides[axis]
            # sets that end on an axis whose digit changed
            for node in range(node_start[changed], node_start[cut]):
                axis, o, up = last_axis[node], operator[node], parent[node]
                c = counts[o, axis, digits[axis]]
                valid[node] = c > 0 and (up < 0 or valid[up])
                if not valid[node]:
                    continue
                size, law = strides[axis], law_at[o, axis, digits[axis]]
                to = buffer_at[node]
                if up < 0:
                    at = cell + inside[2] - inside[axis + 1]
                    _gather(room, to, values, at, size, size, c, shifts, probabilities, law)
                else:
                    at = buffer_at[up] + inside[max(2, last_axis[up] + 1)] - inside[axis + 1]
                    _gather(room, to, room, at, size, size, c, shifts, probabilities, law)

            base = cell + inside[2]
            outer = time_price
            for axis in range(cut):
                outer += rates[axis, digits[axis]]
            for j in range(block):
                rate[j] = outer + inner_rate[j]
                best[j] = big
            # sets that reach outside the block
            for node in range(node_start[cut]):
                if not valid[node]:
                    continue
                at = buffer_at[node] + inside[max(2, last_axis[node] + 1)]
                from_j = np.uint64(at)
                t = own_t[node]
                for j in range(np.uint64(block)):
                    best[j] = min(best[j], t * rate[j] + room[from_j + j])
                g = signature[node]
                _run(
                    program_start[g, cut, 0],
                    program_start[g, cut, 1],
                    at,
                    block,
                    room,
                    stack_at,
                    stack_step,
                    best,
                    rate,
                    0,
                    big,
                    sizes,
                    strides,
                    counts,
                    law_at,
                    shifts,
                    probabilities,
                    applies,
                    dia_count,
                    dia_at,
                    dia_shift,
                    dia,
                    ins_axis,
                    ins_operator,
                    ins_depth,
                    ins_t,
                    ins_low,
                    ins_high,
                    ins_keep,
                )
            # sets within the block, by their outermost axis
            for axis in range(cut, inner):
                digits[axis] = sizes[axis] - 1
            moved = cut
            place = block - length
            while True:
                for axis in range(moved, inner):
                    size = strides[axis]
                    x = digits[axis]
                    # where the slab of this axis and its outer digits begins within the block
                    start = (place // size) * size
                    for o in range(n_operators):
                        c = counts[o, axis, x]
                        if c == 0:
                            continue
                        _serve(
                            room,
                            head_at,
                            best,
                            rate,
                            start,
                            operator_t[o],
                            values,
                            base + start,
                            size,
                            size,
                            c,
                            shifts,
                            probabilities,
                            law_at[o, axis, x],
                        )
                        g = operator_signature[o]
                        _run(
                            program_start[g, axis + 1, 0],
                            program_start[g, axis + 1, 1],
                            head_at,
                            size,
                            room,
                            stack_at,
                            stack_step,
                            best,
                            rate,
                            start,
                            big,
                            sizes,
                            strides,
                            counts,
                            law_at,
                            shifts,
                            probabilities,
                            applies,
                            dia_count,
                            dia_at,
                            dia_shift,
                            dia,
                            ins_axis,
                            ins_operator,
                            ins_depth,
                            ins_t,
                            ins_low,
                            ins_high,
                            ins_keep,
                        )
                # the innermost request alone depends on the value just found beside
                for x in range(length - 1, -1, -1):
                    found = best[place + x]
                    here = base + place + x
                    for o in range(n_operators):
                        c, law = counts[o, inner, x], law_at[o, inner, x]
                        if c > 0:
                            cost = operator_t[o] * rate[place + x]
                            for k in range(law, law + c):
                                cost += probabilities[k] * values[here + shifts[k]]
                            found = min(found, cost)
                    # only the final state has no action
                    values[here] = found if found < big else 0.0 * found
                place -= length
                if place < 0:
                    break
                axis = inner - 1
                while digits[axis] == 0:
                    digits[axis] = sizes[axis] - 1
                    axis -= 1
                digits[axis] -= 1
                moved = axis

            axis = cut - 1
            while axis >= 2 and digits[axis] == 0:
                digits[axis] = sizes[axis] - 1
                axis -= 1
            if axis < 2:
                break
            digits[axis] -= 1
            changed = axis
