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
from fairlane.oracle.kernels.arguments import ClassNodes, ClassRates, ClassRoom, Durations
from fairlane.oracle.sweeps.class_tables import class_axes, class_entries, count_pairs, laws_of, most_served, split

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
    rates = len(rules.rows) * packed.axes[-1].n_places
    per_thread = 8 * (floats + inner + pairs[-1] + rates) + 40 * nodes
    return ClassMemory(
        pairs=inner + n_widths,
        entries=entries,
        nodes=nodes,
        node_floats=floats,
        n_bytes=8 * packed.n_states + 130 * entries + threads * per_thread,
    )


def _node_bound(packed: Packed, rules: Rules, most: list[int]) -> tuple[int, int]:
    """Most sets over the outer axes at a time, and the floats that hold their expectations."""
    table, _ = rules.tables(rules.most_rows())
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
    # compiled code: loading numba takes longer than a small instance
    from fairlane.oracle.kernels.classes import sweep_outer

    rules = Rules(packed.instance, packed.operators, worst=worst)
    splits = tuple(split(axis, most_served(axis, rules, packed)) for axis in packed.axes)
    memory = memory_of(packed, rules, threads)
    axes = class_axes(packed, splits)
    table, row = rules.tables(rules.most_rows())
    durations = Durations(
        is_prompt=np.array([op.capacity > 0 for op in packed.operators]),
        table=table,
        row=row,
        charged=len(rules.rows) > 1,
    )
    n_axes = len(packed.axes)
    sizes = [axis.n_places for axis in packed.axes]
    strides = np.array([prod(sizes[a + 1 :]) for a in range(n_axes)], dtype=np.int64)
    place_rates = [
        np.array([float(r) for r in axis.rates])[s.sets[axis.members].digits].sum(axis=1)
        for axis, s in zip(packed.axes, splits, strict=True)
    ]
    rates = ClassRates(
        place=np.concatenate(place_rates),
        at=np.cumsum([0, *sizes])[:-1].astype(np.int64),
        time=float(packed.instance.objective.time_price),
        big=BIG,
    )
    fixed = (axes, laws_of(packed), durations, class_entries(packed, splits, axes), rates, rules.charges_of_rows())
    values = np.zeros(packed.n_states)
    n_widths = sum(1 for op in packed.operators if op.width)
    innermost = int(axes.pairs[-1])
    outer_most = max(sizes[:-1], default=1)

    def fresh() -> tuple[ClassNodes, ClassRoom]:
        listed = 2 * outer_most + 64
        in_room, at, w, k, c = (np.zeros(memory.nodes, dtype=np.int64) for _ in range(5))
        end, top = (np.zeros(n_axes + 1, dtype=np.int64) for _ in range(2))
        nodes = ClassNodes(in_room, at, w, k, c, end, top)
        room = ClassRoom(
            room=np.zeros(memory.node_floats + (n_widths + 1) * innermost),
            pairs_at=memory.node_floats,
            scratch_at=memory.node_floats + n_widths * innermost,
            places=np.zeros(n_axes + 1, dtype=np.int64),
            chance=np.zeros(outer_most + 1),
            to=np.zeros(listed, dtype=np.int64),
            p=np.zeros(listed),
            best=np.zeros(sizes[-1]),
            rate=np.zeros(sizes[-1] * len(rules.rows)),
        )
        return nodes, room

    spare = [fresh() for _ in range(threads)]

    def serve(first_places: Ints) -> None:
        mine = spare.pop()
        try:
            sweep_outer(first_places, values, strides, *mine, *fixed)
        finally:
            spare.append(mine)

    if n_axes == 1:
        serve(np.zeros(1, dtype=np.int64))
        return values
    starts = splits[0].sets[packed.axes[0].members].level_start
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
