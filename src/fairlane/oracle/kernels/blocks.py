"""The backward sweep over cells of the two outermost axes, block by block. Arrays in, arrays out; no checks.

A block is a run of innermost axes. What serves a request outside the block has its future wholly in finished
blocks, so the expectation over each such set is one long vector; sets grow from the axis of stride one outwards,
which leaves most of the work on the longest vectors. Sets inside a block follow axis by axis, as its values come.

With durations negated the same code finds the greatest cost: it minimises the negative cost.

A change of `_kernel_block_rows` needs one here too: numba's cache looks at this file's time alone.
"""

from __future__ import annotations

import numpy as np

from fairlane.oracle.kernels.block_rows import gather, serve, serve_rows
from fairlane.oracle.kernels.compile_flags import kernel


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
            serve_rows(
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
                    serve(
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
            gather(room, buffer_at[node], values, cell, strides[axis], suffix, c, shifts, probabilities, law)
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
                    gather(room, to, values, at, size, size, c, shifts, probabilities, law)
                else:
                    at = buffer_at[up] + inside[max(2, last_axis[up] + 1)] - inside[axis + 1]
                    gather(room, to, room, at, size, size, c, shifts, probabilities, law)

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
                        serve(
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
