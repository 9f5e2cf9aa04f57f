"""Sparse linear systems x = b + P x over the rationals, by eliminating one state after another.

Each state is replaced by what it leads to, the one with the fewest ways through it first, as in Gaussian elimination
with Markowitz' choice of pivots (Markowitz 1957, doi:10.1287/mnsc.3.3.255). A ring, a birth-death chain or anything
else that is nearly a tree stays sparse, so thousands of states are solved exactly in a second; a dense system fills
up, which is noticed by the work it takes.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from flint import fmpq

# products of numbers of up to 128 bits; a few seconds
MAX_WORK = 1_000_000


def solve_sparse(
    rows: Sequence[Sequence[tuple[int, fmpq]]], right: Sequence[Sequence[fmpq]], *, max_work: int = MAX_WORK
) -> list[list[fmpq]] | None:
    """x of x = b + P x for several b at once.

    Parameters
    ----------
    rows : sequence of sequences of (int, fmpq)
        Row s of P: columns and values, each column once; 1 - P is regular.
    right : sequence of sequences of fmpq
        ``right[s]`` holds the entry of each b in row s.
    max_work : int
        Products after which it gives up, long numbers counting more.

    Returns
    -------
    list of list of fmpq, or None
        ``x[s]`` of each b; None where the system fills up.
    """
    left = [dict(row) for row in rows]
    value = [list(b) for b in right]
    sources: list[set[int]] = [set() for _ in rows]
    for s, row in enumerate(left):
        for t in row:
            sources[t].add(s)
    heap = [(len(sources[s]) * len(left[s]), s) for s in range(len(left))]
    heapq.heapify(heap)
    done = [False] * len(left)
    order: list[int] = []
    work = 0
    while heap:
        cost, s = heapq.heappop(heap)
        if done[s]:
            continue
        now = len(sources[s]) * len(left[s])
        if now > cost:
            heapq.heappush(heap, (now, s))
            continue
        done[s] = True
        order.append(s)
        row = left[s]
        loop = row.pop(s, None)
        sources[s].discard(s)
        if loop is not None:
            scale = 1 / (1 - loop)
            for t in row:
                row[t] *= scale
            value[s] = [scale * x for x in value[s]]
        longest = max([x.height_bits() for x in (*value[s], *row.values())], default=0)
        work += (len(sources[s]) + 1) * (len(row) + 1) * (1 + longest // 128)
        if work > max_work:
            return None
        for i in sources[s]:
            weight = left[i].pop(s)
            for t, p in row.items():
                before = left[i].get(t)
                if before is None:
                    left[i][t] = weight * p
                    sources[t].add(i)
                else:
                    left[i][t] = before + weight * p
            value[i] = [x + weight * y for x, y in zip(value[i], value[s], strict=True)]
            heapq.heappush(heap, (len(sources[i]) * len(left[i]), i))
        for t in row:
            sources[t].discard(s)
    for s in reversed(order):
        for t, p in left[s].items():
            value[s] = [x + p * y for x, y in zip(value[s], value[t], strict=True)]
    return value
