"""Expected costs of every canonical state where exchangeable requests are merged.

States are swept by places of the outermost axis. Places of one level do not depend on each other, so they are shared
out over threads, and no number depends on how.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import comb, prod

import numpy as np

from fairlane.oracle.encoding.packing import Floats, Ints, Packed
from fairlane.oracle.encoding.signatures import Rules
from fairlane.oracle.sweeps.class_tables import Entries, Splits, count_pairs, laws_of, list_entries, most_served, split

BIG = 1e300


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassMemory:
    """Sizes of a merged sweep, known beforehand."""

    pairs: int
    entries: int
    nodes: int
    node_floats: int
    n_bytes: int


def memory_of(packed: Packed, rules: Rules, threads: int) -> ClassMemory:
    """What a merged sweep will take."""
    n_widths = sum(1 for op in packed.operators if op.width)
    most = [most_served(axis, rules, packed) for axis in packed.axes]
    pairs = [count_pairs(axis, k) for axis, k in zip(packed.axes, most, strict=True)]
    inner = pairs[-1] * n_widths
    nodes, floats = _node_bound(packed, rules, most)
    entries = sum(
        n * (1 + sum(1 for x in axis.chain if x.prompt)) + axis.n_places
        for axis, n in zip(packed.axes, pairs, strict=True)
    )
    per_thread = 8 * (floats + inner + pairs[-1]) + 40 * nodes
    return ClassMemory(
        pairs=inner + n_widths,
        entries=entries,
        nodes=nodes,
        node_floats=floats,
        n_bytes=8 * packed.n_states + 130 * entries + threads * per_thread,
    )


def _node_bound(packed: Packed, rules: Rules, most: list[int]) -> tuple[int, int]:
    """Most sets over the outer axes at a time, and the floats that hold their expectations."""
    table = rules.table(rules.most_rows())
    operators = packed.operators
    # (operator of the rows, rows, operator of the prompt), -1 for none
    sets: dict[tuple[int, int, int], int] = {(-1, 0, -1): 1}
    nodes, floats = 1, 0
    strides = [prod(axis.n_places for axis in packed.axes[a + 1 :]) for a in range(len(packed.axes))]
    for a, axis in enumerate(packed.axes[:-1]):
        rows = sum(1 for x in axis.chain if not x.prompt and not x.finished)
        prompts = min(axis.members, sum(1 for x in axis.chain if x.prompt))
        grown = dict(sets)
        new = 0
        for (w, k, c), count in sets.items():
            for k_more in range(most[a] + 1):
                ways = _most_submultisets(axis.members, rows, k_more)
                for w_more in range(-1, len(operators)):
                    if (k_more == 0) != (w_more < 0) or (w >= 0 and w_more >= 0 and w != w_more):
                        continue
                    for c_more in range(-1, len(operators)):
                        if (c >= 0 and c_more >= 0) or (c_more < 0 and k_more == 0) or k + k_more >= table.shape[2]:
                            continue
                        key = (max(w, w_more), k + k_more, max(c, c_more))
                        if table[key[2] + 1, key[0] + 1, key[1]] == 0:
                            continue
                        more = count * ways * (prompts if c_more >= 0 else 1)
                        grown[key] = grown.get(key, 0) + more
                        new += more
        sets = grown
        nodes += sum(sets.values())
        floats += new * strides[a]
    return nodes, floats


def _most_submultisets(members: int, values: int, k: int) -> int:
    """At most this many multisets of size k within one place: as many as if its members differed."""
    return 1 if k == 0 else min(comb(members, k), comb(values + k - 1, k) if values else 0)


def sweep_classes(
    packed: Packed, *, worst: bool, threads: int, on_progress: Callable[[int, int], None] | None
) -> Floats:
    """Signed expected costs of every canonical state.

    Parameters
    ----------
    packed : Packed
        A merged instance.
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
    rules = Rules(packed.instance, packed.operators, worst=worst)
    most = [most_served(axis, rules, packed) for axis in packed.axes]
    splits = tuple(split(axis, k) for axis, k in zip(packed.axes, most, strict=True))
    tables = _Tables(packed, rules, splits)
    return _sweep_outer(packed, rules, tables, threads, on_progress)


class _Tables:
    """Arrays that every call of the kernel is given."""

    def __init__(self, packed: Packed, rules: Rules, splits: tuple[Splits, ...]) -> None:
        n = len(packed.axes)
        widest = max(axis.members for axis in packed.axes)
        self.members = np.array([axis.members for axis in packed.axes], dtype=np.int64)
        self.most = np.array([s.most for s in splits], dtype=np.int64)
        self.n_rest = np.zeros((n, widest + 1), dtype=np.int64)
        self.up_at = np.zeros((n, widest + 1), dtype=np.int64)
        most = max(s.most for s in splits)
        self.sub_at = np.zeros((n, most + 1), dtype=np.int64)
        self.sub_count = np.zeros((n, most + 1), dtype=np.int64)
        self.joint_at = np.zeros((n, most + 1), dtype=np.int64)
        self.pair_at = np.zeros((n, most + 1), dtype=np.int64)
        ups, least, parent, joints = [], [], [], []
        up_total = sub_total = joint_total = 0
        for a, s in enumerate(splits):
            for size in range(widest + 1):
                if size not in s.sets:
                    continue
                found = s.sets[size]
                self.n_rest[a, size] = found.count
                self.up_at[a, size] = up_total
                ups.append(found.up.ravel())
                up_total += found.up.size
            pairs = 0
            for k in range(s.most + 1):
                self.sub_at[a, k], self.sub_count[a, k] = sub_total, len(s.least[k])
                least.append(s.least[k])
                parent.append(s.parent[k] + (self.sub_at[a, k - 1] if k else sub_total))
                sub_total += len(s.least[k])
                self.joint_at[a, k], self.pair_at[a, k] = joint_total, pairs
                joints.append(s.joint[k].ravel())
                joint_total += s.joint[k].size
                pairs += s.joint[k].size if k else 0
            self.e_step = pairs
        self.up, self.joint = np.concatenate(ups), np.concatenate(joints)
        self.sub_least, self.sub_parent = np.concatenate(least), np.concatenate(parent)
        self.laws = laws_of(packed)
        self.n_widths = sum(1 for op in packed.operators if op.width)
        self.is_prompt = np.array([op.capacity > 0 for op in packed.operators])
        self.table = rules.table(rules.most_rows())
        self.place_rates = [
            np.array([float(r) for r in axis.rates])[s.sets[axis.members].digits].sum(axis=1)
            for axis, s in zip(packed.axes, splits, strict=True)
        ]
        self.time_price = float(packed.instance.objective.time_price)
        self.splits = splits

    def of_axis(self) -> tuple[object, ...]:
        """Arguments of ``serve_axis`` from ``members`` on."""
        laws = self.laws
        return (
            self.members,
            self.most,
            self.n_rest,
            self.up_at,
            self.up,
            self.sub_at,
            self.sub_count,
            self.sub_least,
            self.sub_parent,
            self.joint_at,
            self.joint,
            self.pair_at,
            laws.counts,
            laws.at,
            laws.to,
            laws.p,
            laws.reach,
            self.is_prompt,
            self.table,
        )


def _sweep_outer(
    packed: Packed, rules: Rules, tables: _Tables, threads: int, on_progress: Callable[[int, int], None] | None
) -> Floats:
    from fairlane.oracle.kernels.classes import sweep_outer

    memory = memory_of(packed, rules, threads)
    n_axes = len(packed.axes)
    entries: list[Entries] = [list_entries(axis, s, packed) for axis, s in zip(packed.axes, tables.splits, strict=True)]
    entry_at = np.cumsum([0, *(e.start.size for e in entries)])[:-1].astype(np.int64)
    before = np.cumsum([0, *(e.k.size for e in entries)])
    sub_before = tables.sub_at[:, 0]
    entry_start = np.concatenate([e.start + before[a] for a, e in enumerate(entries)])
    entry_k = np.concatenate([e.k for e in entries])
    entry_u = np.concatenate([e.u + np.int32(sub_before[a]) for a, e in enumerate(entries)])
    entry_y = np.concatenate([e.y for e in entries])
    entry_r = np.concatenate([e.rest for e in entries])
    sizes = [axis.n_places for axis in packed.axes]
    strides = np.array([prod(sizes[a + 1 :]) for a in range(n_axes)], dtype=np.int64)
    place_rate = np.concatenate(tables.place_rates)
    place_rate_at = np.cumsum([0, *sizes])[:-1].astype(np.int64)
    values = np.zeros(packed.n_states)
    e_at = memory.node_floats
    room_size = e_at + (tables.n_widths + 1) * tables.e_step
    outer_most = max(sizes[:-1], default=1)

    def fresh() -> tuple[object, ...]:
        ints = [np.zeros(memory.nodes, dtype=np.int64) for _ in range(5)]
        marks: list[Ints] = [np.zeros(n_axes + 1, dtype=np.int64) for _ in range(3)]
        listed = np.zeros(2 * outer_most + 64, dtype=np.int64)
        return (
            np.zeros(room_size),
            *ints,
            *marks,
            np.zeros(outer_most + 1),
            listed,
            np.zeros(listed.size),
            np.zeros(sizes[-1]),
            np.zeros(sizes[-1]),
        )

    spare = [fresh() for _ in range(threads)]

    def serve(first_places: Ints) -> None:
        mine = spare.pop()
        try:
            sweep_outer(
                first_places,
                values,
                *mine,
                strides,
                place_rate,
                place_rate_at,
                tables.time_price,
                BIG,
                e_at,
                tables.e_step,
                e_at + tables.n_widths * tables.e_step,
                *tables.of_axis(),
                entry_at,
                entry_start,
                entry_k,
                entry_u,
                entry_y,
                entry_r,
            )
        finally:
            spare.append(mine)

    if n_axes == 1:
        serve(np.zeros(1, dtype=np.int64))
        return values
    starts = tables.splits[0].sets[packed.axes[0].members].level_start
    done = 0
    with ThreadPoolExecutor(max_workers=threads) as pool:
        for level in range(len(starts) - 2, -1, -1):
            front = np.arange(starts[level], starts[level + 1], dtype=np.int64)
            # small pieces, so that threads end together
            list(pool.map(serve, np.array_split(front, min(len(front), 4 * threads)) if len(front) else []))
            done += len(front)
            if on_progress is not None:
                on_progress(done * int(strides[0]), packed.n_states)
    return values
