"""Expected costs of every state where each request has its own axis.

Cells of the two outermost axes are swept in order of their antidiagonals; cells of one antidiagonal do not depend
on each other and go to a thread pool, so that no number depends on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod

import numpy as np

from fairlane.oracle.encoding.packing import Floats, Ints, Packed
from fairlane.oracle.encoding.signatures import Rules
from fairlane.oracle.kernels.arguments import BlockRates, BlockRoom, Charges, Grid, GridLaws, Layout, Reals
from fairlane.oracle.sweeps.block_programs import GridAxes, Plan, build_plan

# three levels of vectors of this many doubles stay in a core's second cache
BLOCK_STATES = 4096
BIG = {8: 1e300, 4: 1e30}


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A thread's room: its layout, its size, and how far vectors may be read beyond their end."""

    layout: Layout
    size: int
    pad: int


def room_of(axes: GridAxes, plan: Plan) -> Room:
    """Sizes of a thread's room."""
    pad = max(axes.sizes) + 16
    places, total = [], 0
    for axis in plan.nodes.last_axis.tolist():
        places.append(total)
        total += axes.strides[max(axis, 1)]
    step = axes.strides[plan.cut - 1] + pad
    head = total + pad
    stack = head + step
    layout = Layout(node_at=np.array(places, dtype=np.int64), head_at=head, stack_at=stack, step=step)
    return Room(layout=layout, size=stack + plan.depths * step, pad=pad)


def bytes_of_blocks(packed: Packed, threads: int, itemsize: int) -> int:
    """Memory of a sweep: values, and each thread's room."""
    grid = GridAxes(packed.axes, packed.operators)
    rules = Rules(packed.instance, packed.operators, worst=False)
    plan = build_plan(grid, rules, block_states=BLOCK_STATES)
    room = room_of(grid, plan)
    # best costs, and every row of rates
    rows = 1 + len(rules.rows)
    return itemsize * (packed.n_states + threads * (room.size + rows * room.layout.step))


def grid_laws(grid: GridAxes) -> GridLaws:
    """The laws of every axis, and the innermost one's diagonals."""
    shape = (grid.n_operators, len(grid.axes), max(grid.sizes))
    counts, at = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    reach = np.zeros((*shape[:2], 2), dtype=np.int64)
    shifts: list[int] = []
    p: list[float] = []
    for a, axis in enumerate(grid.axes):
        for o, chain in enumerate(axis.laws):
            reach[o, a] = axis.reach[o]
            for x, law in enumerate(chain):
                counts[o, a, x], at[o, a, x] = len(law), len(shifts)
                shifts += [shift for shift, _ in law]
                p += [float(chance) for _, chance in law]
    size = grid.sizes[-1]
    rows: list[Floats] = []
    dia_shift: list[int] = []
    dia_at, dia_count = [], []
    for chain in grid.axes[-1].laws:
        final = np.zeros(size)
        diagonals: dict[int, Floats] = {}
        for x, law in enumerate(chain):
            for shift, chance in law:
                if x + shift == size - 1:
                    final[x] = float(chance)
                else:
                    diagonals.setdefault(shift, np.zeros(size))[x] = float(chance)
        ordered = sorted(diagonals)
        padding = 2 if not ordered else len(ordered) % 2
        dia_at.append(len(rows))
        dia_count.append(len(ordered) + padding)
        rows += [final, *(diagonals[k] for k in ordered), *([np.zeros(size)] * padding)]
        dia_shift += [*ordered, *([0] * (padding + 1))]
    return GridLaws(
        counts=counts,
        at=at,
        shifts=_ints([*shifts, 0]),
        p=np.array([*p, 0.0]),
        reach=reach,
        dia_count=_ints(dia_count),
        dia_at=_ints(dia_at),
        dia_shift=_ints(dia_shift),
        dia=np.concatenate(rows) if rows else np.zeros(1),
    )


def sweep_blocks(
    packed: Packed,
    *,
    worst: bool,
    threads: int,
    on_progress: Callable[[int, int], None] | None,
    itemsize: int = 8,
    block_states: int = BLOCK_STATES,
) -> Reals:
    """Signed expected costs by state number.

    Parameters
    ----------
    packed : Packed
        Not merged.
    worst : bool
        Negative greatest costs instead of least costs.
    threads : int
        Threads.
    on_progress : callable or None
        Called with (states done, states).
    itemsize : int
        8 for doubles, 4 for single precision.
    block_states : int
        Most states of a block.

    Returns
    -------
    ndarray of float64 or float32, shape (n_states,)
        By state number; the final state has 0.
    """
    # compiled code: loading numba takes longer than a small instance
    from fairlane.oracle.kernels.blocks import sweep_cells

    axes = GridAxes(packed.axes, packed.operators)
    rules = Rules(packed.instance, packed.operators, worst=worst)
    plan = build_plan(axes, rules, block_states=block_states)
    charges = rules.charges_of_rows()
    room = room_of(axes, plan)
    kind = np.dtype(np.float64 if itemsize == 8 else np.float32)
    n, cut = len(axes.axes), plan.cut
    rates = np.zeros((n, max(axes.sizes)))
    for a, axis in enumerate(axes.axes):
        rates[a, : axes.sizes[a]] = [float(r) for r in axis.rates]
    inner = np.zeros(1)
    for a in range(cut, n):
        inner = (inner[:, None] + rates[a, : axes.sizes[a]][None, :]).ravel()
    values = np.zeros(packed.n_states + room.pad, dtype=kind)
    block = prod(axes.sizes[cut:])
    laws = grid_laws(axes)
    fixed = (
        Grid(_ints(list(axes.sizes)), _ints(list(axes.strides)), cut),
        plan.nodes._replace(factor=plan.nodes.factor.astype(kind)),
        room.layout,
        laws._replace(p=laws.p.astype(kind), dia=laws.dia.astype(kind)),
        BlockRates(
            axis=rates.astype(kind),
            inner=inner.astype(kind),
            time=kind.type(float(packed.instance.objective.time_price)),
            big=kind.type(BIG[itemsize]),
        ),
        Charges(charges.start, charges.duration.astype(kind), charges.fee.astype(kind)),
        plan.alone._replace(factor=plan.alone.factor.astype(kind)),
        plan.programs._replace(factor=plan.programs.factor.astype(kind)),
    )
    spare = [
        BlockRoom(
            room=np.zeros(room.size, dtype=kind),
            valid=np.zeros(max(1, len(plan.nodes.parent)), dtype=np.bool_),
            digits=np.zeros(n, dtype=np.int64),
            inside=np.zeros(n + 1, dtype=np.int64),
            best=np.zeros(block, dtype=kind),
            rate=np.zeros(block * len(rules.rows), dtype=kind),
        )
        for _ in range(threads)
    ]

    def serve(cells: Ints) -> None:
        mine = spare.pop()
        try:
            sweep_cells(cells[0], cells[1], values, mine, *fixed)
        finally:
            spare.append(mine)

    done = 0
    rows, columns = axes.sizes[:2]
    with ThreadPoolExecutor(max_workers=threads) as pool:
        for diagonal in range(rows + columns - 2, -1, -1):
            first = max(0, diagonal - columns + 1)
            x0 = np.arange(first, min(rows, diagonal + 1), dtype=np.int64)
            front = np.stack([x0, diagonal - x0])
            # several cells a call where there are many, few enough that threads end together
            parts = min(len(x0), max(4 * threads, len(x0) // 8))
            if threads == 1:
                serve(front)
            else:
                list(pool.map(serve, [np.ascontiguousarray(p) for p in np.array_split(front, parts, axis=1)]))
            done += len(x0)
            if on_progress is not None:
                on_progress(done * axes.strides[1], packed.n_states)
    return values[: packed.n_states]


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)
