"""The backward sweep of one axis of many exchangeable requests, level by level. Arrays in, arrays out; no checks.

A state is a multiset of local states. To serve k of its members is to split it into the served ones U and the rest
R. All widths are lanes of one vector, because the outcomes of a narrow row are among those of a wide one. Sets of
rows come from those without their least member: e(U + x, R) = sum_y p(x -> y) e(U, R + y), with e(nobody, R) the
values. Multisets are numbered by level, so that the pairs of one U within a level are neighbours.
"""

from __future__ import annotations

import numpy as np

from fairlane.oracle.kernels.compile_flags import kernel

ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@kernel
def serve_rows(
    level,
    part,
    parts,
    k,
    group,
    n_groups,
    values,
    room,
    best,
    rate,
    leaf,
    leaf_at,
    n_rest,
    n_below,
    up,
    level_start,
    parent_at,
    out_at,
    least,
    parent,
    sub_level,
    joint,
    law_at,
    law_count,
    law_to,
    law_p,
    row_t,
):
    """Serve k rows: one group of four widths, all pairs of one level whose U falls to this part.

    ``n_rest`` multisets R of the size left, ``n_below`` of one more; ``leaf`` pairs are kept nowhere.
    """
    lanes = 4 * n_groups
    lane = 4 * group
    t0, t1, t2, t3 = row_t[lane], row_t[lane + 1], row_t[lane + 2], row_t[lane + 3]
    most_level = level_start.size - 2
    for i in range(least.size):
        v = level - sub_level[i]
        # neighbours share a parent, and with it what is in the cache
        if v < 0 or v > most_level or (i >> 5) % parts != part:
            continue
        x = least[i]
        first, last = law_at[x], law_at[x] + law_count[x]
        from_at = parent_at + parent[i] * n_below * lanes + lane
        for r in range(level_start[v], level_start[v + 1]):
            e0 = e1 = e2 = e3 = 0.0
            if k == 1:
                for o in range(first, last):
                    e = values[np.uint64(up[np.uint64(law_to[o] * n_rest + r)])]
                    p = np.uint64(o * lanes + lane)
                    e0 += law_p[p] * e
                    e1 += law_p[p + ONE] * e
                    e2 += law_p[p + TWO] * e
                    e3 += law_p[p + THREE] * e
            else:
                for o in range(first, last):
                    f = np.uint64(from_at + up[np.uint64(law_to[o] * n_rest + r)] * lanes)
                    p = np.uint64(o * lanes + lane)
                    e0 += law_p[p] * room[f]
                    e1 += law_p[p + ONE] * room[f + ONE]
                    e2 += law_p[p + TWO] * room[f + TWO]
                    e3 += law_p[p + THREE] * room[f + THREE]
            if not leaf:
                f = np.uint64(out_at + (i * n_rest + r) * lanes + lane)
                room[f] = e0
                room[f + ONE] = e1
                room[f + TWO] = e2
                room[f + THREE] = e3
            h = np.uint64(joint[np.uint64(i * n_rest + r)])
            paid = rate[h]
            found = best[h]
            if t0 != 0.0:
                found = min(found, t0 * paid + e0)
            if t1 != 0.0:
                found = min(found, t1 * paid + e1)
            if t2 != 0.0:
                found = min(found, t2 * paid + e2)
            if t3 != 0.0:
                found = min(found, t3 * paid + e3)
            best[h] = found


@kernel
def serve_prompt(
    level,
    part,
    parts,
    k,
    lanes,
    values,
    room,
    best,
    rate,
    n_rest,
    n_below,
    up,
    level_start,
    rows_at,
    sub_level,
    joint,
    first_prompt,
    end_prompt,
    fill_at,
    fill_count,
    fill_to,
    fill_p,
    fill_t,
):
    """Fill one prompt beside k rows: all pairs of one level whose U falls to this part.

    ``n_rest`` counts what is left beside rows and prompt, ``n_below`` what is left beside the rows.
    """
    most_level = level_start.size - 2
    for i in range(sub_level.size):
        for y in range(first_prompt, end_prompt):
            v = level - sub_level[i] - y
            if v < 0 or v > most_level or (i + y) % parts != part:
                continue
            first, last = fill_at[y], fill_at[y] + fill_count[y]
            for r in range(level_start[v], level_start[v + 1]):
                h = np.uint64(joint[i * n_below + up[y * n_rest + r]])
                found = best[h]
                for w in range(lanes if k > 0 else 1):
                    t = fill_t[w]
                    if t == 0.0:
                        continue
                    e = t * rate[h]
                    for o in range(first, last):
                        rest = up[fill_to[o] * n_rest + r]
                        e += fill_p[o] * (values[rest] if k == 0 else room[rows_at + (i * n_below + rest) * lanes + w])
                    found = min(found, e)
                best[h] = found


@kernel
def take_level(values, best, low, high, big):
    """Values of one level from the parts' bests, given as rows."""
    for h in range(low, high):
        found = best[0, h]
        for i in range(1, best.shape[0]):
            found = min(found, best[i, h])
        # only the final state has no action
        values[h] = found if found < big else 0.0 * found
