"""The backward sweep over cells of the two outermost axes, block by block. Arrays in, arrays out; no checks.

A block is a run of innermost axes. What serves a request outside the block has its future wholly in finished
blocks, so the expectation over each such set is one long vector; sets grow from the axis of stride one outwards,
which leaves most of the work on the longest vectors. Sets inside a block follow axis by axis, as its values come.

With durations negated the same code finds the greatest cost: it minimises the negative cost.
"""

from __future__ import annotations

import numpy as np

from fairlane.compiling.flags import callee, kernel, part
from fairlane.oracle.kernels.block_rows import gather, serve, serve_rows
from fairlane.oracle.kernels.charging import charge


@callee
def _run(first, last, source_at, total, room, best_at, layout, grid, laws, programs, big):
    """Instructions first to last: grow sets by one axis each, depth first, on vectors of `total` states."""
    axes, operators, depths, factors = programs.axis, programs.operator, programs.depth, programs.factor
    block = grid.strides[grid.cut - 1]
    out = room.room
    innermost = grid.sizes.size - 1
    for i in range(first, last):
        z, o, t = axes[i], operators[i], factors[i]
        paid_at = programs.row[i] * block + best_at
        low, high = laws.reach[o, z, 0], laws.reach[o, z, 1]
        s, length = grid.strides[z], grid.sizes[z]
        out_at = layout.stack_at + depths[i] * layout.step
        given_at = source_at if depths[i] == 0 else out_at - layout.step
        if z == innermost:
            serve_rows(room, out_at, best_at, paid_at, t, given_at, length, total, low, high, laws, o)
        else:
            begin = programs.low[i]
            size = programs.high[i] - begin
            for base in range(begin, total, s * length):
                for x in range(low, high):
                    at = base + x * s
                    count, law_at = laws.counts[o, z, x], laws.at[o, z, x]
                    to, best, paid = out_at + at, best_at + at, paid_at + at
                    serve(room, to, best, paid, t, out, given_at + at, s, size, count, laws, law_at)
        if programs.keep[i]:
            for base in range(out_at, out_at + total, s * length):
                for j in range(np.uint64(base), np.uint64(base + low * s)):
                    out[j] = big
                for j in range(np.uint64(base + high * s), np.uint64(base + length * s)):
                    out[j] = big


@callee
def _cell_nodes(x0, x1, values, room, layout, grid, laws, nodes):
    """Expectations over sets within the two outermost axes, straight from the values."""
    out, valid, p, shifts, strides = room.room, room.valid, laws.p, laws.shifts, grid.strides
    suffix = strides[1]
    cell = x0 * strides[0] + x1 * strides[1]
    n = np.uint64(suffix)
    for node in range(nodes.start[0], nodes.start[2]):
        axis, o, up = nodes.last_axis[node], nodes.operator[node], nodes.parent[node]
        x = x0 if axis == 0 else x1
        c, law = laws.counts[o, axis, x], laws.at[o, axis, x]
        valid[node] = c > 0 and (up < 0 or laws.counts[nodes.operator[up], 0, x0] > 0)
        if not valid[node]:
            continue
        if up < 0:
            gather(room, layout.node_at[node], values, cell, strides[axis], suffix, c, laws, law)
            continue
        to = np.uint64(layout.node_at[node])
        for j in range(n):
            out[to + j] = 0.0
        law_up = laws.at[nodes.operator[up], 0, x0]
        for k in range(laws.counts[nodes.operator[up], 0, x0]):
            for m in range(c):
                q = p[law_up + k] * p[law + m]
                a = np.uint64(cell + shifts[law_up + k] * strides[0] + shifts[law + m] * strides[1])
                for j in range(n):
                    out[to + j] += q * values[a + j]


@part
def _outer_nodes(changed, cell, values, room, layout, grid, laws, nodes):
    """Expectations over sets that end on an axis before the block whose digit changed."""
    digits, inside, valid, strides = room.digits, room.inside, room.valid, grid.strides
    for node in range(nodes.start[changed], nodes.start[grid.cut]):
        axis, o, up = nodes.last_axis[node], nodes.operator[node], nodes.parent[node]
        x = digits[axis]
        c, law = laws.counts[o, axis, x], laws.at[o, axis, x]
        valid[node] = c > 0 and (up < 0 or valid[up])
        if not valid[node]:
            continue
        size, to = strides[axis], layout.node_at[node]
        if up < 0:
            gather(room, to, values, cell + inside[2] - inside[axis + 1], size, size, c, laws, law)
        else:
            at = layout.node_at[up] + inside[max(2, nodes.last_axis[up] + 1)] - inside[axis + 1]
            gather(room, to, room.room, at, size, size, c, laws, law)


@part
def _serve_outer(room, layout, grid, laws, nodes, programs, big):
    """Sets that reach outside the block, with all that grow from them inside it."""
    out, best, rate, inside, valid = room.room, room.best, room.rate, room.inside, room.valid
    block = grid.strides[grid.cut - 1]
    for node in range(nodes.start[grid.cut]):
        if not valid[node]:
            continue
        at = layout.node_at[node] + inside[max(2, nodes.last_axis[node] + 1)]
        from_j = np.uint64(at)
        t, paid = nodes.factor[node], np.uint64(nodes.row[node] * block)
        for j in range(np.uint64(block)):
            best[j] = min(best[j], t * rate[paid + j] + out[from_j + j])
        g = nodes.signature[node]
        first, last = programs.start[g, grid.cut, 0], programs.start[g, grid.cut, 1]
        _run(first, last, at, block, room, np.int64(0), layout, grid, laws, programs, big)


@part
def _serve_inside(base, values, room, layout, grid, laws, alone, programs, big):
    """Sets within the block, by their outermost axis, and the values of its states, which begin at ``base``."""
    best, rate, digits, sizes, strides = room.best, room.rate, room.digits, grid.sizes, grid.strides
    innermost = sizes.size - 1
    length = sizes[innermost]
    n_operators = alone.factor.size
    block = strides[grid.cut - 1]
    for axis in range(grid.cut, innermost):
        digits[axis] = sizes[axis] - 1
    moved = grid.cut
    place = strides[grid.cut - 1] - length
    while True:
        for axis in range(moved, innermost):
            size = strides[axis]
            x = digits[axis]
            # where the slab of this axis and its outer digits begins within the block
            start = (place // size) * size
            for o in range(n_operators):
                c, law = laws.counts[o, axis, x], laws.at[o, axis, x]
                if c == 0:
                    continue
                t, paid_at = alone.factor[o], alone.row[o] * block + start
                serve(room, layout.head_at, start, paid_at, t, values, base + start, size, size, c, laws, law)
                g = alone.signature[o]
                first, last = programs.start[g, axis + 1, 0], programs.start[g, axis + 1, 1]
                _run(first, last, layout.head_at, size, room, start, layout, grid, laws, programs, big)
        # the innermost request alone depends on the value just found beside
        for x in range(length - 1, -1, -1):
            found = best[place + x]
            here = base + place + x
            for o in range(n_operators):
                c, law = laws.counts[o, innermost, x], laws.at[o, innermost, x]
                if c > 0:
                    cost = alone.factor[o] * rate[alone.row[o] * block + place + x]
                    for k in range(law, law + c):
                        cost += laws.p[k] * values[here + laws.shifts[k]]
                    found = min(found, cost)
            # only the final state has no action
            values[here] = found if found < big else 0.0 * found
        place -= length
        if place < 0:
            return
        axis = innermost - 1
        while digits[axis] == 0:
            digits[axis] = sizes[axis] - 1
            axis -= 1
        digits[axis] -= 1
        moved = axis


@kernel
def sweep_cells(first_x0, first_x1, values, room, grid, nodes, layout, laws, rates, charges, alone, programs):
    """Values of all states of some cells (their two outermost digits); all greater cells are done."""
    digits, inside, sizes, strides, cut = room.digits, room.inside, grid.sizes, grid.strides, grid.cut
    big = rates.big
    block = strides[cut - 1]
    for i_cell in range(first_x0.size):
        x0, x1 = first_x0[i_cell], first_x1[i_cell]
        cell = x0 * strides[0] + x1 * strides[1]
        digits[0], digits[1] = x0, x1
        _cell_nodes(x0, x1, values, room, layout, grid, laws, nodes)
        for axis in range(2, cut):
            digits[axis] = sizes[axis] - 1
        changed = np.int64(2)
        while True:
            inside[cut] = 0
            for axis in range(cut - 1, 1, -1):
                inside[axis] = inside[axis + 1] + digits[axis] * strides[axis]
            _outer_nodes(changed, cell, values, room, layout, grid, laws, nodes)
            outer = rates.time
            for axis in range(cut):
                outer += rates.axis[axis, digits[axis]]
            for j in range(block):
                room.rate[j] = outer + rates.inner[j]
                room.best[j] = big
            charge(room.rate, block, charges)
            _serve_outer(room, layout, grid, laws, nodes, programs, big)
            _serve_inside(cell + inside[2], values, room, layout, grid, laws, alone, programs, big)
            axis = cut - 1
            while axis >= 2 and digits[axis] == 0:
                digits[axis] = sizes[axis] - 1
                axis -= 1
            if axis < 2:
                break
            digits[axis] -= 1
            changed = axis
