"""The backward sweep where exchangeable requests share an axis. Arrays in, arrays out; no checks.

A place of an axis is a multiset of local states. To serve k of its members is to split it into the served ones U
and the rest R, and the expectation over serving U beside R is one operator applied to the expectations over
serving U without its least member: e(U + x, R) = sum_y p(x -> y) e(U, R + y), with e(nobody, R) the values. So every
pair (U, R) costs one short sum, and pairs are shared by all places they belong to.

Loops index whole arrays: slices would cost reference counts.
"""

from __future__ import annotations

import numpy as np

from fairlane.oracle._compile import kernel


@kernel
def _row(out, out_at, given, given_at, up, up_at, n_rest, count, law_to, law_p, law_at, joint, joint_at, best, rate, t):
    """Pairs of one U with all rests, and their part in the best of the places they make up."""
    for k in range(0, count, 3):
        p0 = law_p[law_at + k]
        u0 = np.uint64(up_at + law_to[law_at + k] * n_rest)
        left = count - k
        p1 = law_p[law_at + k + 1] if left > 1 else p0
        u1 = np.uint64(up_at + law_to[law_at + k + 1] * n_rest) if left > 1 else u0
        p2 = law_p[law_at + k + 2] if left > 2 else p0
        u2 = np.uint64(up_at + law_to[law_at + k + 2] * n_rest) if left > 2 else u0
        first = k == 0
        for r in range(np.uint64(n_rest)):
            e = p0 * given[given_at + up[u0 + r]]
            if left > 1:
                e += p1 * given[given_at + up[u1 + r]]
            if left > 2:
                e += p2 * given[given_at + up[u2 + r]]
            if not first:
                e += out[np.uint64(out_at) + r]
            out[np.uint64(out_at) + r] = e
            if left <= 3:
                h = joint[np.uint64(joint_at) + r]
                best[h] = min(best[h], t * rate[h] + e)


@kernel
def serve_axis(
    w,
    k_outer,
    c_outer,
    base,
    base_at,
    room,
    e_at,
    best,
    rate,
    axis,
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
):
    """Serve members of the innermost axis beside what an outer set already serves (k_outer rows, prompt c_outer).

    ``base`` has the expectations before.
    """
    m = members[axis]
    k_most = min(most[axis], table.shape[2] - 1 - k_outer) if w >= 0 else 0
    for k in range(1, k_most + 1):
        t = table[c_outer + 1, w + 1, k_outer + k]
        if t == 0.0:
            break
        n = n_rest[axis, m - k]
        for i in range(sub_count[axis, k]):
            u = sub_at[axis, k] + i
            x = sub_least[u]
            out_at = e_at + pair_at[axis, k] + i * n
            j_at = joint_at[axis, k] + i * n
            c, law = counts[axis, w, x], law_at[axis, w, x]
            if k == 1:
                _row(
                    room,
                    out_at,
                    base,
                    base_at,
                    up,
                    up_at[axis, m - k],
                    n,
                    c,
                    law_to,
                    law_p,
                    law,
                    joint,
                    j_at,
                    best,
                    rate,
                    t,
                )
            else:
                from_at = e_at + pair_at[axis, k - 1] + (sub_parent[u] - sub_at[axis, k - 1]) * n_rest[axis, m - k + 1]
                _row(
                    room,
                    out_at,
                    room,
                    from_at,
                    up,
                    up_at[axis, m - k],
                    n,
                    c,
                    law_to,
                    law_p,
                    law,
                    joint,
                    j_at,
                    best,
                    rate,
                    t,
                )
    if c_outer >= 0:
        return
    for o in range(is_prompt.size):
        if not is_prompt[o]:
            continue
        for k in range(0 if w < 0 or k_outer > 0 else 1, min(k_most, m - 1) + 1):
            t = table[o + 1, w + 1, k_outer + k]
            if t == 0.0:
                break
            n, n_full = n_rest[axis, m - k - 1], n_rest[axis, m - k]
            for i in range(sub_count[axis, k]):
                for y in range(reach[axis, o, 0], reach[axis, o, 1]):
                    c, law = counts[axis, o, y], law_at[axis, o, y]
                    u_at = up_at[axis, m - k - 1]
                    for r in range(n):
                        h = joint[joint_at[axis, k] + i * n_full + up[u_at + y * n + r]]
                        e = t * rate[h]
                        for j in range(law, law + c):
                            rest = up[u_at + law_to[j] * n + r]
                            if k == 0:
                                e += law_p[j] * base[base_at + rest]
                            else:
                                e += law_p[j] * room[e_at + pair_at[axis, k] + i * n_full + rest]
                        best[h] = min(best[h], e)


@kernel
def _sweep_axis(
    values,
    values_at,
    room,
    e_at,
    e_step,
    best,
    rate,
    big,
    axis,
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
):
    """Values of all places of the innermost axis, from the last to the first; only its own members are served."""
    m = members[axis]
    n_operators = is_prompt.size
    for h in range(n_rest[axis, m] - 1, -1, -1):
        least = best[h]
        paid = rate[h]
        for entry in range(entry_start[entry_at[axis] + h], entry_start[entry_at[axis] + h + 1]):
            k, u, y, r = entry_k[entry], entry_u[entry], entry_y[entry], entry_r[entry]
            i = u - sub_at[axis, k]
            if y < 0:
                n = n_rest[axis, m - k]
                x = sub_least[u]
                for w in range(n_operators):
                    t = table[0, w + 1, k]
                    if is_prompt[w] or t == 0.0:
                        continue
                    e = 0.0
                    law = law_at[axis, w, x]
                    u_at = up_at[axis, m - k] + r
                    if k == 1:
                        for j in range(law, law + counts[axis, w, x]):
                            e += law_p[j] * values[values_at + up[u_at + law_to[j] * n]]
                    else:
                        from_at = (
                            e_at
                            + w * e_step
                            + pair_at[axis, k - 1]
                            + (sub_parent[u] - sub_at[axis, k - 1]) * n_rest[axis, m - k + 1]
                        )
                        for j in range(law, law + counts[axis, w, x]):
                            e += law_p[j] * room[from_at + up[u_at + law_to[j] * n]]
                    room[e_at + w * e_step + pair_at[axis, k] + i * n + r] = e
                    least = min(least, t * paid + e)
                continue
            n, n_full = n_rest[axis, m - k - 1], n_rest[axis, m - k]
            u_at = up_at[axis, m - k - 1] + r
            for o in range(n_operators):
                if not is_prompt[o]:
                    continue
                law = law_at[axis, o, y]
                if k == 0:
                    t = table[o + 1, 0, 0]
                    e = t * paid
                    for j in range(law, law + counts[axis, o, y]):
                        e += law_p[j] * values[values_at + up[u_at + law_to[j] * n]]
                    least = min(least, e)
                    continue
                for w in range(n_operators):
                    t = table[o + 1, w + 1, k]
                    if is_prompt[w] or t == 0.0:
                        continue
                    e = t * paid
                    at = e_at + w * e_step + pair_at[axis, k] + i * n_full
                    for j in range(law, law + counts[axis, o, y]):
                        e += law_p[j] * room[at + up[u_at + law_to[j] * n]]
                    least = min(least, e)
        # only the final state has no action
        values[values_at + h] = least if least < big else 0.0 * least


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
            _sweep_axis(
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
