"""Expected costs of every canonical state where all requests are exchangeable: one axis, swept by levels.

States of one level (equal sums of local states) do not depend on each other, so they are shared out over threads,
and no number depends on how.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import comb

import numpy as np

from fairlane.oracle.encoding.packing import Axis, Floats, Ints, Packed
from fairlane.oracle.encoding.signatures import Rules, Signature
from fairlane.oracle.kernels.arguments import FillLaws, Rests, RowLaws, RowSets
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
        # where the rates begin that these are to be multiplied by
        self.row_paid = np.zeros(self.row_t.shape, dtype=np.int64)
        self.fill_paid = np.zeros(self.fill_t.shape, dtype=np.int64)
        places = axis.n_places
        for k in range(self.most + 1):
            for w in range(self.lanes if k else 1):
                if k and w >= len(self.widths):
                    continue
                width = packed.operators[self.widths[w]].width if k else 0
                if k:
                    alone = Signature(width, k, 0)
                    self.row_t[k, w], self.row_paid[k, w] = rules.factor(alone), rules.row(alone) * places
                for c, o in enumerate(self.fills):
                    beside = Signature(width, k, packed.operators[o].capacity)
                    self.fill_t[c, k, w], self.fill_paid[c, k, w] = rules.factor(beside), rules.row(beside) * places
        self.charges = rules.charges_of_rows()
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
        return (
            8 * int(self.pair_at[-1])
            + 4 * joint
            + n * (8 * (threads + 3 + len(self.charges.start) - 1) + 16 * m + 4 * len(self.axis.chain))
        )

    def rates(self, plain: Floats) -> Floats:
        """The plain rates of all places, and behind them the rows that launches with fees are priced by."""
        charges = self.charges
        rows = [plain]
        for first, last in pairwise(charges.start[1:].tolist()):
            of_row = [charges.duration[i] * plain + charges.fee[i] for i in range(first, last)]
            rows.append(np.minimum.reduce(of_row))
        return np.concatenate(rows)

    def row_laws(self) -> RowLaws:
        """Outcomes of every width, a lane each."""
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
        return RowLaws(at=_ints(at), counts=_ints(count), to=_ints(to), p=np.array(p).ravel())

    def fill_laws(self) -> tuple[FillLaws, ...]:
        """Outcomes of every capacity that fills a prompt."""
        n = len(self.axis.chain)
        at = np.zeros((len(self.fills), n), dtype=np.int64)
        count = np.zeros_like(at)
        to: list[int] = []
        p: list[float] = []
        for c, o in enumerate(self.fills):
            for x, law in enumerate(self.axis.laws[o]):
                at[c, x], count[c, x] = len(to), len(law)
                to += [x + shift for shift, _ in law]
                p += [float(chance) for _, chance in law]
        low, high = self.axis.reach[self.fills[0]] if self.fills else (0, 0)
        return tuple(
            FillLaws(at=at[c], counts=count[c], to=_ints(to), p=np.array(p), low=low, high=high)
            for c in range(len(self.fills))
        )


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
    # compiled code: loading numba takes longer than a small instance
    from fairlane.oracle.kernels.places import serve_prompt, serve_rows, take_level

    plan = PlacePlan(packed, Rules(packed.instance, packed.operators, worst=worst))
    axis, n = plan.axis, plan.axis.n_places
    m = axis.members
    splits = split(axis, plan.most)
    starts = splits.sets[m].level_start
    values = np.zeros(n)
    room = np.zeros(int(plan.pair_at[-1]))
    best = np.full((threads, n), BIG)
    laws, fills = plan.row_laws(), plan.fill_laws()
    rates = np.array([float(r) for r in axis.rates])
    rate = plan.rates(rates[splits.sets[m].digits].sum(axis=1) + float(packed.instance.objective.time_price))
    # what is left beside s served ones, and the sets of k rows
    rests = {
        s: Rests(
            n=splits.sets[m - s].count,
            n_more=splits.sets[m - s + 1].count,
            up=splits.sets[m - s].up.ravel(),
            level_start=splits.sets[m - s].level_start,
        )
        for s in range(1, min(plan.most + 1, m) + 1)
    }
    sets = [
        RowSets(
            least=splits.least[k],
            parent=splits.parent[k],
            level=splits.level[k],
            joint=splits.joint[k].ravel(),
            parent_at=int(plan.pair_at[max(0, k - 1)]),
            at=int(plan.pair_at[k]),
        )
        for k in range(plan.most + 1)
    ]

    def serve(level: int, part: int, parts: int) -> None:
        mine = best[part]
        for k in range(1, plan.most + 1):
            given = (
                not plan.keep[k],
                values,
                room,
                mine,
                rate,
                rests[k],
                sets[k],
                laws,
                plan.row_t[k],
                plan.row_paid[k],
            )
            for group in range(plan.n_groups):
                serve_rows(level, part, parts, k, group, plan.n_groups, *given)
        for c, fill in enumerate(fills):
            for k in range(min(plan.most, m - 1) + 1):
                fill_t = plan.fill_t[c, k]
                if fill_t.any():
                    given_k = (values, room, mine, rate, rests[k + 1], sets[k], fill, fill_t, plan.fill_paid[c, k])
                    serve_prompt(level, part, parts, k, plan.lanes, *given_k)

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
