"""The compiled backward sweep: certified bounds on the optimum of instances with millions of states.

Cells of the two outermost axes are swept in order of their antidiagonals; cells of one antidiagonal do not
depend on each other and go to a thread pool, so the result does not depend on the number of threads.

Rounding. In cost form every number is >= 0 and every value is a sum of products of values of later states. With unit
roundoff u, a combination of k nonnegative terms with rounded coefficients has relative error at most
(1 + u)^(k + 2) - 1 (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 3.1), and minima keep
the largest relative error of what they compare. Let k be the most outcomes of one operator. A step of the sweep
applies at most B operators one after the other, k + 2 roundings each, except that two operators on the two
outermost axes are applied at once, as k² terms with a product of two coefficients; it then adds the waiting cost,
a product with the sum of r rates. So a step costs at most k² + 3 + B (k + 2) + r + 6 roundings, and the root, after
the D steps that the requests can take one at a time, is wrong by at most (1 + u)^(D times that) - 1, relatively.
That holds while nothing underflows; `fits_doubles` refuses instances in which a product could.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fairlane.oracle.packing import Floats, Ints, Packed
from fairlane.oracle.subset_trie import Trie, build_trie, graphs_of

UNIT_ROUNDOFF = Fraction(1, 2**53)
# well inside the range of normal doubles
SMALLEST, LARGEST = Fraction(1, 10**290), Fraction(10**290)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepArrays:
    """What the kernels were given, kept for questions about single states."""

    strides: Ints
    counts: Ints
    shifts: Ints
    probabilities: Floats
    rates: Floats
    option_start: Ints
    option_node: Ints
    option_t: Floats
    member_start: Ints
    member_axis: Ints
    member_operator: Ints
    time_price: float

    def action_costs(
        self, digits: Ints, number: int, values: Floats, nodes: Ints, times: Floats, rate: float, out: Floats
    ) -> None:
        """Costs of serving each of some nodes in one state."""
        from fairlane.oracle._kernel_actions import action_costs

        action_costs(
            digits,
            number,
            values,
            self.strides,
            self.member_start,
            self.member_axis,
            self.member_operator,
            self.counts,
            self.shifts,
            self.probabilities,
            nodes,
            times,
            rate,
            out,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """Expected costs of every state, and the relative bound on their error."""

    packed: Packed
    trie: Trie
    costs: Floats
    relative_error: Fraction
    worst: bool
    arrays: SweepArrays


def bytes_needed(packed: Packed, threads: int) -> int:
    """Memory of a sweep: values, and each thread's node expectations."""
    trie = build_trie(packed)
    return 8 * (packed.n_states + threads * _buffer_layout(packed, trie)[1])


def most_rows(packed: Packed) -> int:
    """Most operators applied in one step: decode rows and a prompt."""
    rows = max((g.decode_capacity + (g.prefill_capacity > 0) for g in packed.instance.graphs), default=1)
    return min(rows, len(packed.instance.requests))


def most_outcomes(packed: Packed) -> int:
    """Most outcomes of one operator at one local state."""
    return max((len(law) for axes in packed.laws for chain in axes for law in chain), default=1)


def step_roundings(packed: Packed) -> int:
    """Roundings on the longest chain of one step of the sweep; see the module docstring."""
    k = most_outcomes(packed)
    return k * k + 3 + most_rows(packed) * (k + 2) + len(packed.instance.requests) + 6


def action_roundings(packed: Packed) -> int:
    """Roundings of one action's cost found as one plain sum over the outcomes of all its rows."""
    rows = most_rows(packed)
    return int(most_outcomes(packed) ** rows) + 2 * rows + len(packed.instance.requests) + 8


def relative_error(roundings: int) -> Fraction:
    """An upper bound on (1 + u)^m - 1, which is m u / (1 - m u)."""
    growth = roundings * UNIT_ROUNDOFF
    return growth / (1 - growth)


def relative_error_bound(packed: Packed) -> Fraction:
    """The a-priori bound of the module docstring, rounded up."""
    depth = sum(size - 1 for size in packed.sizes)
    return relative_error(depth * step_roundings(packed))


def fits_doubles(packed: Packed) -> bool:
    """Whether no product of the sweep can leave the range in which doubles round relatively."""
    chances = [p for axes in packed.laws for chain in axes for law in chain for _, p in law]
    durations = [g.duration_ms for g in packed.instance.graphs]
    price = packed.instance.objective.time_price
    rates = [r for row in (*packed.rates, (price,)) for r in row if r]
    if not rates:
        return True
    depth = sum(size - 1 for size in packed.sizes)
    least = min(chances, default=Fraction(1)) ** most_rows(packed) * min(durations) * min(rates)
    most = depth * max(durations) * (price + sum((max(row) for row in packed.rates), Fraction(0)))
    return least >= SMALLEST and most <= LARGEST


def _buffer_layout(packed: Packed, trie: Trie) -> tuple[list[int], int]:
    inner = len(packed.sizes) - 1
    places, total = [], 0
    for axis in trie.last_axis.tolist():
        places.append(total)
        if axis < 2:
            total += packed.strides[1]
        elif axis == inner:
            total += packed.sizes[inner]
        else:
            total += packed.strides[axis]
    return places, total


def sweep(
    packed: Packed,
    *,
    worst: bool = False,
    threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Swept:
    """Expected cost of every state.

    Parameters
    ----------
    packed : Packed
        The instance.
    worst : bool
        The greatest cost over all policies instead of the least.
    threads : int or None
        Threads; all processors without it. The result is the same for any number.
    on_progress : callable or None
        Called with (cells done, cells).

    Returns
    -------
    Swept
        Costs as float64, one number a state, with the bound on their error.
    """
    from fairlane.oracle._kernel_options import count_or_fill
    from fairlane.oracle._kernel_sweep import sweep_cell

    trie, graphs = build_trie(packed), graphs_of(packed)
    n = len(packed.sizes)
    sizes, strides = np.array(packed.sizes), np.array(packed.strides)
    most = max((len(law) for o in packed.laws for axis in o for law in axis), default=1)
    longest = max(packed.sizes)
    shape = (len(packed.operators), n, longest)
    counts = np.zeros(shape, dtype=np.int64)
    shifts = np.zeros((*shape, most), dtype=np.int64)
    probabilities = np.zeros((*shape, most))
    rates, phases = np.zeros((n, longest)), np.full((n, longest), 2, dtype=np.int64)
    for o, axes in enumerate(packed.laws):
        for a, chain in enumerate(axes):
            for x, law in enumerate(chain):
                counts[o, a, x] = len(law)
                for k, (shift, p) in enumerate(law):
                    shifts[o, a, x, k], probabilities[o, a, x, k] = shift, float(p)
    for a in range(n):
        rates[a, : sizes[a]] = [float(r) for r in packed.rates[a]]
        phases[a, : sizes[a]] = packed.phases[a]
    set_sizes = np.array([bin(m).count("1") for m in trie.decode_mask.tolist()], dtype=np.int64)
    option_start = np.zeros(3**n + 1, dtype=np.int64)
    option_input = (
        n,
        trie.decode_mask,
        set_sizes,
        trie.prompt_axis,
        trie.width,
        trie.capacity,
        graphs.duration,
        graphs.prefill,
        graphs.rows,
        graphs.width,
        worst,
        option_start,
    )
    total = count_or_fill(*option_input, np.zeros(0, dtype=np.int64), np.zeros(0))
    option_node, option_t = np.zeros(total, dtype=np.int64), np.zeros(total)
    count_or_fill(*option_input, option_node, option_t)
    _order_options(option_start, option_node, option_t, trie)
    dia = _diagonals(packed, longest)
    places, buffer_size = _buffer_layout(packed, trie)
    buffer_at = np.array(places, dtype=np.int64)
    node_start = np.searchsorted(trie.last_axis, np.arange(n + 1)).astype(np.int64)
    powers = np.array([3**a for a in range(n)], dtype=np.int64)
    values = np.zeros(packed.n_states)
    workers = threads if threads is not None else (os.cpu_count() or 1)
    spare = [(np.zeros(buffer_size), np.zeros(max(1, len(places)), dtype=np.bool_)) for _ in range(workers)]
    price = float(packed.instance.objective.time_price)

    def cell(x0: int, x1: int) -> None:
        room = spare.pop()
        try:
            sweep_cell(
                x0,
                x1,
                values,
                sizes,
                strides,
                trie.parent,
                trie.last_axis,
                trie.operator,
                node_start,
                counts,
                shifts,
                probabilities,
                *dia,
                rates,
                phases,
                powers,
                option_start,
                option_node,
                option_t,
                room[0],
                buffer_at,
                room[1],
                price,
                worst,
            )
        finally:
            spare.append(room)

    done, cells = 0, packed.sizes[0] * packed.sizes[1]
    with ThreadPoolExecutor(max_workers=workers) as pool:
        for diagonal in range(packed.sizes[0] + packed.sizes[1] - 2, -1, -1):
            front = [(x0, diagonal - x0) for x0 in range(packed.sizes[0]) if 0 <= diagonal - x0 < packed.sizes[1]]
            list(pool.map(lambda pair: cell(*pair), front))
            done += len(front)
            if on_progress is not None:
                on_progress(done, cells)
    values.flags.writeable = False
    members = [pair for node in trie.members for pair in node]
    arrays = SweepArrays(
        strides=strides,
        counts=counts,
        shifts=shifts,
        probabilities=probabilities,
        rates=rates,
        option_start=option_start,
        option_node=option_node,
        option_t=option_t,
        member_start=np.cumsum([0, *(len(node) for node in trie.members)]),
        member_axis=np.array([a for a, _ in members], dtype=np.int64),
        member_operator=np.array([o for _, o in members], dtype=np.int64),
        time_price=price,
    )
    return Swept(
        packed=packed,
        trie=trie,
        costs=values,
        relative_error=relative_error_bound(packed),
        worst=worst,
        arrays=arrays,
    )


def _order_options(start: Ints, node: Ints, t: Floats, trie: Trie) -> None:
    """Within each pattern options by duration; sets of the innermost axis alone last, their durations negated."""
    inner = int(trie.last_axis.max()) if trie.last_axis.size else 0
    alone = (trie.last_axis[node] == inner) & (trie.parent[node] < 0)
    pattern = np.repeat(np.arange(start.size - 1), np.diff(start))
    order = np.lexsort((node, t, alone, pattern))
    node[:] = node[order]
    t[:] = np.where(alone, -t, t)[order]


def _diagonals(packed: Packed, longest: int) -> tuple[Ints, Ints, Floats, Floats, Ints]:
    """Operators on the innermost axis: diagonals with coefficients, the chance to finish, where they apply."""
    inner = len(packed.sizes) - 1
    last = packed.sizes[inner] - 1
    found: list[dict[int, Floats]] = []
    final = np.zeros((len(packed.operators), longest))
    for o in range(len(packed.operators)):
        diagonals: dict[int, Floats] = {}
        for x, law in enumerate(packed.laws[o][inner]):
            for shift, p in law:
                if x + shift == last:
                    final[o, x] = float(p)
                else:
                    diagonals.setdefault(shift, np.zeros(longest))[x] = float(p)
        found.append(diagonals)
    most = max((len(d) for d in found), default=0)
    count = np.array([len(d) for d in found], dtype=np.int64)
    shift_of = np.zeros((len(found), max(1, most)), dtype=np.int64)
    coefficient = np.zeros((len(found), max(1, most), longest))
    for o, diagonals in enumerate(found):
        for k, shift in enumerate(sorted(diagonals)):
            shift_of[o, k] = shift
            coefficient[o, k] = diagonals[shift]
    # an operator applies to one phase, and a phase is a run of the chain
    applies = np.zeros((len(found), 2), dtype=np.int64)
    for o in range(len(found)):
        used = [x for x, law in enumerate(packed.laws[o][inner]) if law]
        applies[o] = (used[0], used[-1] + 1) if used else (0, 0)
    return count, shift_of, coefficient, final, applies


def bounds(swept: Swept, number: int) -> tuple[Fraction, Fraction]:
    """Rigorous bounds on the expected cost of a state."""
    cost = Fraction(float(swept.costs[number]))
    return cost / (1 + swept.relative_error), cost * (1 + swept.relative_error) / (1 - swept.relative_error)


def outward(lower: Fraction, upper: Fraction) -> tuple[float, float]:
    """Doubles that enclose an interval of rationals."""
    low, high = float(lower), float(upper)
    if Fraction(low) > lower:
        low = math.nextafter(low, -math.inf)
    if Fraction(high) < upper:
        high = math.nextafter(high, math.inf)
    return low, high
