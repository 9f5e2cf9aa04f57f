"""The backward sweep of one axis of many exchangeable requests, level by level. Arrays in, arrays out; no checks.

A state is a multiset of local states. To serve k of its members is to split it into the served ones U and the rest
R. All widths are lanes of one vector, because the outcomes of a narrow row are among those of a wide one. Sets of
rows come from those without their least member: e(U + x, R) = sum_y p(x -> y) e(U, R + y), with e(nobody, R) the
values. Multisets are numbered by level, so that the pairs of one U within a level are neighbours.
"""

from __future__ import annotations

import numpy as np

from fairlane.compiling.flags import kernel

ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@kernel
def serve_rows(
    level, part, parts, k, group, n_groups, leaf, values, room, best, rate, rests, sets, laws, row_t, paid_at
):
    """Serve k rows: one group of four widths, all pairs of one level whose U falls to this part.

    ``rests`` are beside the k rows; ``leaf`` pairs are kept nowhere.
    """
    n_rest, up, level_start, least, law_to, law_p = rests.n, rests.up, rests.level_start, sets.least, laws.to, laws.p
    lanes = 4 * n_groups
    lane = 4 * group
    t0, t1, t2, t3 = row_t[lane], row_t[lane + 1], row_t[lane + 2], row_t[lane + 3]
    r0, r1 = np.uint64(paid_at[lane]), np.uint64(paid_at[lane + 1])
    r2, r3 = np.uint64(paid_at[lane + 2]), np.uint64(paid_at[lane + 3])
    charged = rate.size > best.size
    most_level = level_start.size - 2
    for i in range(least.size):
        v = level - sets.level[i]
        # neighbours share a parent, and with it what is in the cache
        if v < 0 or v > most_level or (i >> 5) % parts != part:
            continue
        x = least[i]
        first, last = laws.at[x], laws.at[x] + laws.counts[x]
        from_at = sets.parent_at + sets.parent[i] * rests.n_more * lanes + lane
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
                f = np.uint64(sets.at + (i * n_rest + r) * lanes + lane)
                room[f] = e0
                room[f + ONE] = e1
                room[f + TWO] = e2
                room[f + THREE] = e3
            h = np.uint64(sets.joint[np.uint64(i * n_rest + r)])
            found = best[h]
            if charged:
                if t0 != 0.0:
                    found = min(found, t0 * rate[r0 + h] + e0)
                if t1 != 0.0:
                    found = min(found, t1 * rate[r1 + h] + e1)
                if t2 != 0.0:
                    found = min(found, t2 * rate[r2 + h] + e2)
                if t3 != 0.0:
                    found = min(found, t3 * rate[r3 + h] + e3)
            else:
                paid = rate[h]
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
def serve_prompt(level, part, parts, k, lanes, values, room, best, rate, rests, sets, fills, fill_t, paid_at):
    """Fill one prompt beside k rows: all pairs of one level whose U falls to this part.

    ``rests`` are beside rows and prompt.
    """
    n_rest, n_more, up, level_start = rests.n, rests.n_more, rests.up, rests.level_start
    most_level = level_start.size - 2
    for i in range(sets.level.size):
        for y in range(fills.low, fills.high):
            v = level - sets.level[i] - y
            if v < 0 or v > most_level or (i + y) % parts != part:
                continue
            first, last = fills.at[y], fills.at[y] + fills.counts[y]
            for r in range(level_start[v], level_start[v + 1]):
                h = np.uint64(sets.joint[i * n_more + up[y * n_rest + r]])
                found = best[h]
                for w in range(lanes if k > 0 else 1):
                    t = fill_t[w]
                    if t == 0.0:
                        continue
                    e = t * rate[np.uint64(paid_at[w]) + h]
                    for o in range(first, last):
                        rest = up[fills.to[o] * n_rest + r]
                        e += fills.p[o] * (values[rest] if k == 0 else room[sets.at + (i * n_more + rest) * lanes + w])
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
