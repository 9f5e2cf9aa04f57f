"""Expected costs of every canonical state where all requests are exchangeable: one axis, swept by levels.

States of one level (equal sums of local states) do not depend on each other, so they are shared out over threads,
and no number depends on how.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import comb

import numpy as np

from fairlane.oracle.encoding.packing import Axis, Floats, Ints, Packed
from fairlane.oracle.encoding.signatures import Rules, Signature
from fairlane.oracle.sweeps.class_tables import split

BIG = 1e300
LANES = 4
# a thread is not worth its start for fewer states of a level
LEAST_STATES = 256


class PlacePlan:
    """Sizes and tables of the sweep of one axis.

    Parameters
    ----------
    packed : Packed
        Merged into one axis.
    rules : Rules
        Its durations.
    """

    def __init__(self, packed: Packed, rules: Rules) -> None:
        axis: Axis = packed.axes[0]
        self.axis = axis
        self.widths = [o for o, op in enumerate(packed.operators) if op.width and axis.reach[o][1]]
        self.fills = [o for o, op in enumerate(packed.operators) if op.capacity and axis.reach[o][1]]
        self.n_groups = max(1, -(-len(self.widths) // LANES))
        self.lanes = LANES * self.n_groups
        self.first, self.end = axis.reach[self.widths[0]] if self.widths else (0, 0)
        m, n = axis.members, len(axis.chain)
        self.most = min(m, rules.most_rows()) if self.widths else 0
        self.n_rest = np.array([comb(n + s - 1, s) if s else 1 for s in range(m + 1)], dtype=np.int64)
        self.row_t = np.zeros((self.most + 1, self.lanes))
        self.fill_t = np.zeros((max(1, len(self.fills)), self.most + 1, self.lanes))
        for k in range(self.most + 1):
            for w in range(self.lanes if k else 1):
                if k and w >= len(self.widths):
                    continue
                width = packed.operators[self.widths[w]].width if k else 0
                if k:
                    self.row_t[k, w] = rules.duration(Signature(width, k, 0))
                for c, o in enumerate(self.fills):
                    self.fill_t[c, k, w] = rules.duration(Signature(width, k, packed.operators[o].capacity))
        # the largest sets are kept only where a prompt may join them
        self.keep = np.array([0 < k < self.most or bool(self.fill_t[:, k].any()) for k in range(self.most + 1)])
        self.pair_at = np.zeros(self.most + 2, dtype=np.int64)
        rows = self.end - self.first
        for k in range(1, self.most + 1):
            pairs = comb(rows + k - 1, k) * int(self.n_rest[m - k]) if self.keep[k] else 0
            self.pair_at[k + 1] = self.pair_at[k] + pairs * self.lanes

    def bytes_needed(self, threads: int) -> int:
        """Memory of the sweep: kept pairs, where pairs lead, values and their parts, multisets."""
        n, m = self.axis.n_places, self.axis.members
        rows = self.end - self.first
        joint = sum(comb(rows + k - 1, k) * int(self.n_rest[m - k]) for k in range(1, self.most + 1))
        return 8 * int(self.pair_at[-1]) + 4 * joint + n * (8 * (threads + 4) + 16 * m + 4 * len(self.axis.chain))

    def laws(self) -> tuple[Ints, Ints, Ints, Floats]:
        """By local state: where its outcomes begin, how many, their targets, one vector of lanes each."""
        at: list[int] = []
        count: list[int] = []
        to: list[int] = []
        p: list[list[float]] = []
        for x in range(len(self.axis.chain)):
            union = sorted({shift for o in self.widths for shift, _ in self.axis.laws[o][x]})
            at.append(len(to))
            count.append(len(union))
            for shift in union:
                to.append(x + shift)
                lanes = [float(dict(self.axis.laws[o][x]).get(shift, 0)) for o in self.widths]
                p.append(lanes + [0.0] * (self.lanes - len(lanes)))
        return _ints(at), _ints(count), _ints(to), np.array(p).ravel()

    def fill_laws(self) -> tuple[Ints, Ints, Ints, Floats]:
        """By capacity and local state: where the outcomes of a fill begin, how many, their targets and chances."""
        n = len(self.axis.chain)
        at = np.zeros((max(1, len(self.fills)), n), dtype=np.int64)
        count = np.zeros_like(at)
        to: list[int] = []
        p: list[float] = []
        for c, o in enumerate(self.fills):
            for x, law in enumerate(self.axis.laws[o]):
                at[c, x], count[c, x] = len(to), len(law)
                to += [x + shift for shift, _ in law]
                p += [float(chance) for _, chance in law]
        return at, count, _ints(to or [0]), np.array(p or [0.0])


def sweep_one_axis(
    packed: Packed, *, worst: bool, threads: int, on_progress: Callable[[int, int], None] | None
) -> Floats:
    """Signed expected costs by colexicographic rank.

    Parameters
    ----------
    packed : Packed
        Merged into one axis.
    worst : bool
        Negative greatest costs instead of least costs.
    threads : int
        Threads.
    on_progress : callable or None
        Called with (states done, states).

    Returns
    -------
    ndarray of float64, shape (n_states,)
        By canonical state number; the final state has 0.
    """
    from fairlane.oracle.kernels.places import serve_prompt, serve_rows, take_level

    plan = PlacePlan(packed, Rules(packed.instance, packed.operators, worst=worst))
    axis, n = plan.axis, plan.axis.n_places
    m = axis.members
    splits = split(axis, plan.most)
    starts = splits.sets[m].level_start
    values = np.zeros(n)
    room = np.zeros(int(plan.pair_at[-1]))
    best = np.full((threads, n), BIG)
    laws, fills = plan.laws(), plan.fill_laws()
    rates = np.array([float(r) for r in axis.rates])
    rate = rates[splits.sets[m].digits].sum(axis=1) + float(packed.instance.objective.time_price)
    low, high = axis.reach[plan.fills[0]] if plan.fills else (0, 0)

    def serve(level: int, part: int, parts: int) -> None:
        for k in range(1, plan.most + 1):
            rest = splits.sets[m - k]
            for group in range(plan.n_groups):
                serve_rows(
                    level,
                    part,
                    parts,
                    k,
                    group,
                    plan.n_groups,
                    values,
                    room,
                    best[part],
                    rate,
                    not plan.keep[k],
                    0,
                    rest.count,
                    splits.sets[m - k + 1].count,
                    rest.up.ravel(),
                    rest.level_start,
                    plan.pair_at[k - 1],
                    plan.pair_at[k],
                    splits.least[k],
                    splits.parent[k],
                    splits.level[k],
                    splits.joint[k].ravel(),
                    *laws,
                    plan.row_t[k],
                )
        for c in range(len(plan.fills)):
            for k in range(min(plan.most, m - 1) + 1):
                if not plan.fill_t[c, k].any():
                    continue
                rest = splits.sets[m - k - 1]
                serve_prompt(
                    level,
                    part,
                    parts,
                    k,
                    plan.lanes,
                    values,
                    room,
                    best[part],
                    rate,
                    rest.count,
                    splits.sets[m - k].count,
                    rest.up.ravel(),
                    rest.level_start,
                    plan.pair_at[k],
                    splits.level[k],
                    splits.joint[k].ravel(),
                    low,
                    high,
                    fills[0][c],
                    fills[1][c],
                    fills[2],
                    fills[3],
                    plan.fill_t[c, k],
                )

    with ThreadPoolExecutor(max_workers=threads) as pool:
        for level in range(len(starts) - 2, -1, -1):
            parts = threads if starts[level + 1] - starts[level] >= LEAST_STATES else 1
            if parts == 1:
                serve(level, 0, 1)
            else:
                list(pool.map(serve, [level] * parts, range(parts), [parts] * parts))
            take_level(values, best, starts[level], starts[level + 1], BIG)
            if on_progress is not None:
                on_progress(n - int(starts[level]), n)
    return values


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)
