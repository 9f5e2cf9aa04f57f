"""The innermost axis of a merged sweep. Arrays in, arrays out; no checks.

A place of an axis is a multiset of local states. To serve k of its members is to split it into the served ones U
and the rest R, and the expectation over serving U beside R is one operator applied to the expectations over
serving U without its least member: e(U + x, R) = sum_y p(x -> y) e(U, R + y), with e(nobody, R) the values. So every
pair (U, R) costs one short sum, and pairs are shared by all places they belong to.

Loops index whole arrays: slices would cost reference counts.
"""

from __future__ import annotations

import numpy as np

from fairlane.compiling.flags import callee


@callee
def _row(room, out_at, given, given_at, axes, up_at, n_rest, count, laws, law_at, joint_at, t, paid_at):
    """Pairs of one U with all rests, and their part in the best of the places they make up."""
    out, best, rate = room.room, room.best, room.rate
    up, joint, law_to, law_p = axes.up, axes.joint, laws.to, laws.p
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
                best[h] = min(best[h], t * rate[paid_at + h] + e)


@callee
def serve_axis(w, k_outer, c_outer, base_at, axis, room, axes, laws, durations):
    """Serve members of the innermost axis beside what an outer set already serves (k_outer rows, prompt c_outer).

    The expectations before stand in the room from ``base_at`` on.
    """
    out, best, rate, e_at = room.room, room.best, room.rate, room.scratch_at
    up, law_to, law_p, is_prompt, table = axes.up, laws.to, laws.p, durations.is_prompt, durations.table
    m = axes.members[axis]
    k_most = min(axes.most[axis], table.shape[2] - 1 - k_outer) if w >= 0 else 0
    for k in range(1, k_most + 1):
        t = table[c_outer + 1, w + 1, k_outer + k]
        if t == 0.0:
            break
        paid_at = durations.row[c_outer + 1, w + 1, k_outer + k] * axes.n_rest[axis, m]
        n = axes.n_rest[axis, m - k]
        for i in range(axes.sub_count[axis, k]):
            u = axes.sub_at[axis, k] + i
            x = axes.sub_least[u]
            out_at = e_at + axes.pair_at[axis, k] + i * n
            if k == 1:
                from_at = base_at
            else:
                before = axes.sub_parent[u] - axes.sub_at[axis, k - 1]
                from_at = e_at + axes.pair_at[axis, k - 1] + before * axes.n_rest[axis, m - k + 1]
            c, law = laws.counts[axis, w, x], laws.at[axis, w, x]
            j_at = axes.joint_at[axis, k] + i * n
            _row(room, out_at, out, from_at, axes, axes.up_at[axis, m - k], n, c, laws, law, j_at, t, paid_at)
    if c_outer >= 0:
        return
    for o in range(is_prompt.size):
        if not is_prompt[o]:
            continue
        for k in range(0 if w < 0 or k_outer > 0 else 1, min(k_most, m - 1) + 1):
            t = table[o + 1, w + 1, k_outer + k]
            if t == 0.0:
                break
            paid_at = durations.row[o + 1, w + 1, k_outer + k] * axes.n_rest[axis, m]
            n, n_full = axes.n_rest[axis, m - k - 1], axes.n_rest[axis, m - k]
            u_at = axes.up_at[axis, m - k - 1]
            for i in range(axes.sub_count[axis, k]):
                from_at = base_at if k == 0 else e_at + axes.pair_at[axis, k] + i * n_full
                j_at = axes.joint_at[axis, k] + i * n_full
                for y in range(laws.reach[axis, o, 0], laws.reach[axis, o, 1]):
                    c, law = laws.counts[axis, o, y], laws.at[axis, o, y]
                    for r in range(n):
                        h = axes.joint[j_at + up[u_at + y * n + r]]
                        e = t * rate[paid_at + h]
                        for j in range(law, law + c):
                            e += law_p[j] * out[from_at + up[u_at + law_to[j] * n + r]]
                        best[h] = min(best[h], e)


@callee
def sweep_axis(values, values_at, axis, room, axes, laws, durations, entries, big):
    """Values of all places of the innermost axis, from the last to the first; only its own members are served."""
    out, best, rate, e_at = room.room, room.best, room.rate, room.pairs_at
    up, law_to, law_p, is_prompt, table = axes.up, laws.to, laws.p, durations.is_prompt, durations.table
    m = axes.members[axis]
    step = axes.pairs[axis]
    n_operators, n_places, charged = is_prompt.size, axes.n_rest[axis, m], durations.charged
    for h in range(n_places - 1, -1, -1):
        least = best[h]
        # what a launch costs a unit of its factor: the plain rate, unless launches have fees
        paid = rate[h]
        for entry in range(entries.start[entries.at[axis] + h], entries.start[entries.at[axis] + h + 1]):
            k, u, y, r = entries.k[entry], entries.u[entry], entries.y[entry], entries.rest[entry]
            i = u - axes.sub_at[axis, k]
            if y < 0:
                n = axes.n_rest[axis, m - k]
                x = axes.sub_least[u]
                for w in range(n_operators):
                    t = table[0, w + 1, k]
                    if is_prompt[w] or t == 0.0:
                        continue
                    e = 0.0
                    law = laws.at[axis, w, x]
                    u_at = axes.up_at[axis, m - k] + r
                    if k == 1:
                        for j in range(law, law + laws.counts[axis, w, x]):
                            e += law_p[j] * values[values_at + up[u_at + law_to[j] * n]]
                    else:
                        before = axes.sub_parent[u] - axes.sub_at[axis, k - 1]
                        from_at = e_at + w * step + axes.pair_at[axis, k - 1] + before * axes.n_rest[axis, m - k + 1]
                        for j in range(law, law + laws.counts[axis, w, x]):
                            e += law_p[j] * out[from_at + up[u_at + law_to[j] * n]]
                    out[e_at + w * step + axes.pair_at[axis, k] + i * n + r] = e
                    if charged:
                        paid = rate[durations.row[0, w + 1, k] * n_places + h]
                    least = min(least, t * paid + e)
                continue
            n, n_full = axes.n_rest[axis, m - k - 1], axes.n_rest[axis, m - k]
            u_at = axes.up_at[axis, m - k - 1] + r
            for o in range(n_operators):
                if not is_prompt[o]:
                    continue
                law = laws.at[axis, o, y]
                if k == 0:
                    t = table[o + 1, 0, 0]
                    if charged:
                        paid = rate[durations.row[o + 1, 0, 0] * n_places + h]
                    e = t * paid
                    for j in range(law, law + laws.counts[axis, o, y]):
                        e += law_p[j] * values[values_at + up[u_at + law_to[j] * n]]
                    least = min(least, e)
                    continue
                for w in range(n_operators):
                    t = table[o + 1, w + 1, k]
                    if is_prompt[w] or t == 0.0:
                        continue
                    if charged:
                        paid = rate[durations.row[o + 1, w + 1, k] * n_places + h]
                    e = t * paid
                    at = e_at + w * step + axes.pair_at[axis, k] + i * n_full
                    for j in range(law, law + laws.counts[axis, o, y]):
                        e += law_p[j] * out[at + up[u_at + law_to[j] * n]]
                    least = min(least, e)
        # only the final state has no action
        values[values_at + h] = least if least < big else 0.0 * least
