"""One operator on one axis of a block of states. Arrays in, arrays out; no checks.

Loops index whole arrays with unsigned numbers. Slices would cost reference counts, more than a short loop itself,
and signed indices, which may be negative, keep loops from being vectorised.
"""

from __future__ import annotations

import numpy as np

from fairlane.compiling.flags import callee


@callee
def serve(room, out_at, best_at, paid_at, t, given, given_at, step, size, count, laws, law_at):
    """out = sum of p[k] * given[at + shifts[k] * step :], and best = min(best, t * rate[paid_at:] + out)."""
    out, best, rate, shifts, probabilities = room.room, room.best, room.rate, laws.shifts, laws.p
    n, o, b, q = np.uint64(size), np.uint64(out_at), np.uint64(best_at), np.uint64(paid_at)
    g0, p0 = np.uint64(given_at + shifts[law_at] * step), probabilities[law_at]
    if count == 1:
        for j in range(n):
            e = p0 * given[g0 + j]
            out[o + j] = e
            best[b + j] = min(best[b + j], t * rate[q + j] + e)
        return
    g1, p1 = np.uint64(given_at + shifts[law_at + 1] * step), probabilities[law_at + 1]
    if count == 2:
        for j in range(n):
            e = p0 * given[g0 + j] + p1 * given[g1 + j]
            out[o + j] = e
            best[b + j] = min(best[b + j], t * rate[q + j] + e)
        return
    g2, p2 = np.uint64(given_at + shifts[law_at + 2] * step), probabilities[law_at + 2]
    if count == 3:
        for j in range(n):
            e = p0 * given[g0 + j] + p1 * given[g1 + j] + p2 * given[g2 + j]
            out[o + j] = e
            best[b + j] = min(best[b + j], t * rate[q + j] + e)
        return
    g3, p3 = np.uint64(given_at + shifts[law_at + 3] * step), probabilities[law_at + 3]
    if count == 4:
        for j in range(n):
            e = p0 * given[g0 + j] + p1 * given[g1 + j] + p2 * given[g2 + j] + p3 * given[g3 + j]
            out[o + j] = e
            best[b + j] = min(best[b + j], t * rate[q + j] + e)
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
                best[b + j] = min(best[b + j], t * rate[q + j] + e)
            return
        g1, p1 = np.uint64(given_at + shifts[law_at + k + 1] * step), probabilities[law_at + k + 1]
        if k + 2 < count:
            for j in range(n):
                out[o + j] += p0 * given[g0 + j] + p1 * given[g1 + j]
        else:
            for j in range(n):
                e = out[o + j] + (p0 * given[g0 + j] + p1 * given[g1 + j])
                out[o + j] = e
                best[b + j] = min(best[b + j], t * rate[q + j] + e)


@callee
def gather(room, out_at, given, given_at, step, size, count, laws, law_at):
    """out = sum of p[k] * given[at + shifts[k] * step :]."""
    out, shifts, probabilities = room.room, laws.shifts, laws.p
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


@callee
def serve_rows(room, out_at, best_at, paid_at, t, given_at, length, total, low, high, laws, o):
    """The same on the axis of stride one: diagonals with a coefficient a place, and the chance to finish."""
    out, given, best, rate = room.room, room.room, room.best, room.rate
    count, dia_at, shifts, dia = laws.dia_count[o], laws.dia_at[o], laws.dia_shift, laws.dia
    n = np.uint64(high - low)
    f = np.uint64(dia_at * length + low)
    stride = np.uint64(length)
    for base in range(low, total, length):
        done = given[given_at + base - low + length - 1]
        o, b, q = np.uint64(out_at + base), np.uint64(best_at + base), np.uint64(paid_at + base)
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
            best[b + x] = min(best[b + x], t * rate[q + x] + out[o + x])
