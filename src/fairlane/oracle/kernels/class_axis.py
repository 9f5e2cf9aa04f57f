"""The innermost axis of a merged sweep. Arrays in, arrays out; no checks.

A place of an axis is a multiset of local states. To serve k of its members is to split it into the served ones U
and the rest R, and the expectation over serving U beside R is one operator applied to the expectations over
serving U without its least member: e(U + x, R) = sum_y p(x -> y) e(U, R + y), with e(nobody, R) the values. So every
pair (U, R) costs one short sum, and pairs are shared by all places they belong to.

Loops index whole arrays: slices would cost reference counts.
"""

from __future__ import annotations

import numpy as np

from fairlane.oracle.kernels.compile_flags import kernel


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
def sweep_axis(
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
