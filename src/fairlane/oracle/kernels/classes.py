"""The backward sweep where exchangeable requests share an axis. Arrays in, arrays out; no checks.

Sets over the outer axes are listed for the current places, each with the vector of its expectations over the axes
further in; the innermost axis is swept as a whole by `_kernel_class_axis`. A change there needs one here too:
numba's cache looks at this file's time alone.
"""

from __future__ import annotations

import numpy as np

from fairlane.oracle.kernels.class_axis import serve_axis, sweep_axis
from fairlane.oracle.kernels.compile_flags import kernel


@kernel
def _joint_law(
    axis,
    k,
    u,
    y,
    r,
    w,
    o,
    members,
    n_rest,
    up_at,
    up,
    sub_least,
    sub_parent,
    counts,
    law_at,
    law_to,
    law_p,
    chance,
    to,
    p,
):
    """Places that serving U (operator w) and the prompt y (operator o) leads to; their number. ``chance`` stays 0."""
    count = 1
    size = members[axis] - k
    if y >= 0:
        size -= 1
        law = law_at[axis, o, y]
        count = counts[axis, o, y]
        for j in range(count):
            to[j] = up[up_at[axis, size] + law_to[law + j] * n_rest[axis, size] + r]
            p[j] = law_p[law + j]
        size += 1
    else:
        to[0] = r
        p[0] = 1.0
    for _ in range(k):
        x = sub_least[u]
        u = sub_parent[u]
        law = law_at[axis, w, x]
        grown = count
        # new places behind the old ones, then moved to the front
        for i in range(count):
            for j in range(law, law + counts[axis, w, x]):
                at = up[up_at[axis, size] + law_to[j] * n_rest[axis, size] + to[i]]
                if chance[at] == 0.0:
                    to[grown] = at
                    grown += 1
                chance[at] += p[i] * law_p[j]
        for i in range(count, grown):
            to[i - count] = to[i]
            p[i - count] = chance[to[i]]
            chance[to[i]] = 0.0
        count = grown - count
        size += 1
    return count


@kernel
def _blend(out, out_at, given, given_at, step, count, to, p):
    """out = sum of p[i] * given[at + to[i] * step :] over one step."""
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


@kernel
def sweep_outer(
    first_places,
    values,
    room,
    nodes_from,
    nodes_at,
    nodes_w,
    nodes_k,
    nodes_c,
    list_end,
    room_top,
    places,
    chance,
    to,
    p,
    best,
    rate,
    strides,
    place_rate,
    place_rate_at,
    time_price,
    big,
    e_at,
    e_step,
    scratch_at,
    members,
    most,
    n_rest,
    up_at,
    up,
    sub_at,
    sub_count,
    sub_least,
    sub_parent,
    joint_at,
    joint,
    pair_at,
    counts,
    law_at,
    law_to,
    law_p,
    reach,
    is_prompt,
    table,
    entry_at,
    entry_start,
    entry_k,
    entry_u,
    entry_y,
    entry_r,
):
    """All states with some places of the outermost axis; states of its greater levels are done."""
    n_axes = members.size
    inner = n_axes - 1
    n_inner = n_rest[inner, members[inner]]
    n_operators = is_prompt.size
    for first in first_places:
        # list_end[a + 1] closes the sets over axes up to a; entry 0 of each list is the empty set
        nodes_from[0], nodes_at[0], nodes_w[0], nodes_k[0], nodes_c[0] = 0, 0, -1, 0, -1
        list_end[0], room_top[0] = 1, 0
        places[0] = first
        for a in range(1, inner):
            places[a] = n_rest[a, members[a]] - 1
        changed = 0
        while True:
            for a in range(changed, inner):
                begun = 0 if a == 0 else list_end[a - 1]
                end = list_end[a]
                top = room_top[a]
                at = end
                step = strides[a]
                for e in range(begun, end):
                    nodes_from[at] = nodes_from[e]
                    nodes_at[at] = nodes_at[e] + places[a] * step
                    nodes_w[at], nodes_k[at], nodes_c[at] = nodes_w[e], nodes_k[e], nodes_c[e]
                    at += 1
                first_entry = entry_start[entry_at[a] + places[a]]
                last_entry = entry_start[entry_at[a] + places[a] + 1]
                for entry in range(first_entry, last_entry):
                    k, u, y, r = entry_k[entry], entry_u[entry], entry_y[entry], entry_r[entry]
                    for w in range(-1, n_operators):
                        if (k == 0) != (w < 0) or (w >= 0 and is_prompt[w]):
                            continue
                        for o in range(-1, n_operators):
                            if (y < 0) != (o < 0) or (o >= 0 and not is_prompt[o]):
                                continue
                            count = -1
                            for e in range(begun, end):
                                we, ke, ce = nodes_w[e], nodes_k[e], nodes_c[e]
                                if (we >= 0 and w >= 0 and we != w) or (ce >= 0 and o >= 0):
                                    continue
                                w_all, c_all = max(we, w), max(ce, o)
                                if ke + k >= table.shape[2] or table[c_all + 1, w_all + 1, ke + k] == 0.0:
                                    continue
                                if count < 0:
                                    count = _joint_law(
                                        a,
                                        k,
                                        u,
                                        y,
                                        r,
                                        w,
                                        o,
                                        members,
                                        n_rest,
                                        up_at,
                                        up,
                                        sub_least,
                                        sub_parent,
                                        counts,
                                        law_at,
                                        law_to,
                                        law_p,
                                        chance,
                                        to,
                                        p,
                                    )
                                if nodes_from[e] == 0:
                                    _blend(room, top, values, nodes_at[e], step, count, to, p)
                                else:
                                    _blend(room, top, room, nodes_at[e], step, count, to, p)
                                nodes_from[at], nodes_at[at] = 1, top
                                nodes_w[at], nodes_k[at], nodes_c[at] = w_all, ke + k, c_all
                                top += step
                                at += 1
                list_end[a + 1] = at
                room_top[a + 1] = top

            begun = 0 if inner == 0 else list_end[inner - 1]
            values_at = nodes_at[begun]
            outer = time_price
            for a in range(inner):
                outer += place_rate[place_rate_at[a] + places[a]]
            for h in range(n_inner):
                rate[h] = outer + place_rate[place_rate_at[inner] + h]
                best[h] = big
            for e in range(begun + 1, list_end[inner]):
                w, k, c = nodes_w[e], nodes_k[e], nodes_c[e]
                t = table[c + 1, w + 1, k]
                from_j = np.uint64(nodes_at[e])
                for j in range(np.uint64(n_inner)):
                    best[j] = min(best[j], t * rate[j] + room[from_j + j])
                # a set without rows may still get rows of any width
                for width in range(-1, n_operators):
                    if (width >= 0 and is_prompt[width]) or (w >= 0 and width != w):
                        continue
                    serve_axis(
                        width,
                        k,
                        c,
                        room,
                        nodes_at[e],
                        room,
                        scratch_at,
                        best,
                        rate,
                        inner,
                        members,
                        most,
                        n_rest,
                        up_at,
                        up,
                        sub_at,
                        sub_count,
                        sub_least,
                        sub_parent,
                        joint_at,
                        joint,
                        pair_at,
                        counts,
                        law_at,
                        law_to,
                        law_p,
                        reach,
                        is_prompt,
                        table,
                    )
            sweep_axis(
                values,
                values_at,
                room,
                e_at,
                e_step,
                best,
                rate,
                big,
                inner,
                members,
                n_rest,
                up_at,
                up,
                sub_at,
                sub_least,
                sub_parent,
                joint_at,
                joint,
                pair_at,
                counts,
                law_at,
                law_to,
                law_p,
                is_prompt,
                table,
                entry_at,
                entry_start,
                entry_k,
                entry_u,
                entry_y,
                entry_r,
            )
            a = inner - 1
            while a >= 1 and places[a] == 0:
                places[a] = n_rest[a, members[a]] - 1
                a -= 1
            if a < 1:
                break
            places[a] -= 1
            changed = a
