"""The backward sweep where exchangeable requests share an axis. Arrays in, arrays out; no checks.

Sets over the outer axes are listed for the current places, each with the vector of its expectations over the axes
further in; the innermost axis is swept as a whole by `class_axis`.
"""

from __future__ import annotations

import numpy as np

from fairlane.compiling.flags import callee, kernel
from fairlane.oracle.kernels.charging import charge
from fairlane.oracle.kernels.class_axis import serve_axis, sweep_axis


@callee
def _joint_law(axis, k, u, y, r, w, o, room, axes, laws):
    """Places that serving U (operator w) and the prompt y (operator o) leads to; their number. ``chance`` stays 0."""
    chance, to, p, up = room.chance, room.to, room.p, axes.up
    count = 1
    size = axes.members[axis] - k
    if y >= 0:
        size -= 1
        law = laws.at[axis, o, y]
        count = laws.counts[axis, o, y]
        for j in range(count):
            to[j] = up[axes.up_at[axis, size] + laws.to[law + j] * axes.n_rest[axis, size] + r]
            p[j] = laws.p[law + j]
        size += 1
    else:
        to[0] = r
        p[0] = 1.0
    for _ in range(k):
        x = axes.sub_least[u]
        u = axes.sub_parent[u]
        law = laws.at[axis, w, x]
        grown = count
        # new places behind the old ones, then moved to the front
        for i in range(count):
            for j in range(law, law + laws.counts[axis, w, x]):
                at = up[axes.up_at[axis, size] + laws.to[j] * axes.n_rest[axis, size] + to[i]]
                if chance[at] == 0.0:
                    to[grown] = at
                    grown += 1
                chance[at] += p[i] * laws.p[j]
        for i in range(count, grown):
            to[i - count] = to[i]
            p[i - count] = chance[to[i]]
            chance[to[i]] = 0.0
        count = grown - count
        size += 1
    return count


@callee
def _blend(room, out_at, given, given_at, step, count):
    """Expectations over one step from ``out_at`` on: sum of p[i] * given[at + to[i] * step :]."""
    out, to, p = room.room, room.to, room.p
    n, o = np.uint64(step), np.uint64(out_at)
    for i in range(0, count, 2):
        p0, g0 = p[i], np.uint64(given_at + to[i] * step)
        if i + 1 == count:
            if i == 0:
                for j in range(n):
                    out[o + j] = p0 * given[g0 + j]
            else:
                for j in range(n):
                    out[o + j] += p0 * given[g0 + j]
            return
        p1, g1 = p[i + 1], np.uint64(given_at + to[i + 1] * step)
        if i == 0:
            for j in range(n):
                out[o + j] = p0 * given[g0 + j] + p1 * given[g1 + j]
        else:
            for j in range(n):
                out[o + j] += p0 * given[g0 + j] + p1 * given[g1 + j]


@callee
def _list_sets(a, values, strides, nodes, room, axes, laws, durations, entries):
    """Sets over the axes up to a, for the current places, from those over the axes before."""
    is_prompt, table, place = durations.is_prompt, durations.table, room.places[a]
    n_operators = is_prompt.size
    begun = 0 if a == 0 else nodes.end[a - 1]
    end = nodes.end[a]
    top = nodes.top[a]
    at = end
    step = strides[a]
    for e in range(begun, end):
        nodes.in_room[at] = nodes.in_room[e]
        nodes.at[at] = nodes.at[e] + place * step
        nodes.w[at], nodes.k[at], nodes.c[at] = nodes.w[e], nodes.k[e], nodes.c[e]
        at += 1
    for entry in range(entries.start[entries.at[a] + place], entries.start[entries.at[a] + place + 1]):
        k, u, y, r = entries.k[entry], entries.u[entry], entries.y[entry], entries.rest[entry]
        for w in range(-1, n_operators):
            if (k == 0) != (w < 0) or (w >= 0 and is_prompt[w]):
                continue
            for o in range(-1, n_operators):
                if (y < 0) != (o < 0) or (o >= 0 and not is_prompt[o]):
                    continue
                count = -1
                for e in range(begun, end):
                    we, ke, ce = nodes.w[e], nodes.k[e], nodes.c[e]
                    if (we >= 0 and w >= 0 and we != w) or (ce >= 0 and o >= 0):
                        continue
                    w_all, c_all = max(we, w), max(ce, o)
                    if ke + k >= table.shape[2] or table[c_all + 1, w_all + 1, ke + k] == 0.0:
                        continue
                    if count < 0:
                        count = _joint_law(a, k, u, y, r, w, o, room, axes, laws)
                    if nodes.in_room[e] == 0:
                        _blend(room, top, values, nodes.at[e], step, count)
                    else:
                        _blend(room, top, room.room, nodes.at[e], step, count)
                    nodes.in_room[at], nodes.at[at] = 1, top
                    nodes.w[at], nodes.k[at], nodes.c[at] = w_all, ke + k, c_all
                    top += step
                    at += 1
    nodes.end[a + 1] = at
    nodes.top[a + 1] = top


@kernel
def sweep_outer(first_places, values, strides, nodes, room, axes, laws, durations, entries, rates, charges):
    """All states with some places of the outermost axis; states of its greater levels are done."""
    places, best, rate, out = room.places, room.best, room.rate, room.room
    is_prompt = durations.is_prompt
    members, n_rest = axes.members, axes.n_rest
    n_axes = members.size
    innermost = n_axes - 1
    n_inner = n_rest[innermost, members[innermost]]
    for i in range(first_places.size):
        # end[a + 1] closes the sets over axes up to a; entry 0 of each list is the empty set
        nodes.in_room[0], nodes.at[0], nodes.w[0], nodes.k[0], nodes.c[0] = 0, 0, -1, 0, -1
        nodes.end[0], nodes.top[0] = 1, 0
        places[0] = first_places[i]
        for a in range(1, innermost):
            places[a] = n_rest[a, members[a]] - 1
        changed = 0
        while True:
            for a in range(changed, innermost):
                _list_sets(a, values, strides, nodes, room, axes, laws, durations, entries)
            begun = 0 if innermost == 0 else nodes.end[innermost - 1]
            values_at = nodes.at[begun]
            outer = rates.time
            for a in range(innermost):
                outer += rates.place[rates.at[a] + places[a]]
            for h in range(n_inner):
                rate[h] = outer + rates.place[rates.at[innermost] + h]
                best[h] = rates.big
            charge(rate, n_inner, charges)
            for e in range(begun + 1, nodes.end[innermost]):
                w, k, c = nodes.w[e], nodes.k[e], nodes.c[e]
                t, paid = durations.table[c + 1, w + 1, k], np.uint64(durations.row[c + 1, w + 1, k] * n_inner)
                from_j = np.uint64(nodes.at[e])
                for j in range(np.uint64(n_inner)):
                    best[j] = min(best[j], t * rate[paid + j] + out[from_j + j])
                # a set without rows may still get rows of any width
                for width in range(-1, is_prompt.size):
                    if (width >= 0 and is_prompt[width]) or (w >= 0 and width != w):
                        continue
                    serve_axis(width, k, c, nodes.at[e], innermost, room, axes, laws, durations)
            sweep_axis(values, values_at, innermost, room, axes, laws, durations, entries, rates.big)
            a = innermost - 1
            while a >= 1 and places[a] == 0:
                places[a] = n_rest[a, members[a]] - 1
                a -= 1
            if a < 1:
                break
            places[a] -= 1
            changed = a
