"""The compiled sweep with output ages in the states: certified costs of instances whose objective prices age.

The reachable states are found forwards, over every graph and every set of lanes, since ages depend on durations; then
they are valued backwards, level by level of progress. Without a product of local states their number is not known
beforehand; the search stops at the limit. Costs and ages are taken in units of the reciprocal of the durations' common
denominator, in which ages are whole numbers; a state has the place of an age among those that can be met.

Rounding. As in `rounding`, by what a term passes through in one step: at most w^B sums, a coefficient and a product
for each of B served requests, and the product with the later cost; the step's own cost t (rate + sum a_i A_i) +
t²/2 sum a_i passes through at most 2 r + 12 (rounded rates, age prices and unit, products with whole numbers below
2^53, sums), and one more where launches have fees.

A longer graph with the same lanes has the same outcomes, later: every later cost grows with every age, so for the least
cost only the fastest graph of each set of lanes is an action, for the greatest only the slowest. Where launches have
fees all of them are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, lcm, prod

import numpy as np

from fairlane.oracle.encoding.attainable_ages import attainable_ages, following_ages
from fairlane.oracle.encoding.packing import Floats, Ints, Packed, earned_from, lanes_couple, merged_axes, operators_of
from fairlane.oracle.encoding.rounding import RANGE, depth, most_outcomes, most_served, relative_error
from fairlane.oracle.kernels.arguments import AgedActions, AgedPrices, AgedRoom, AgedSpace, AgedTable
from fairlane.oracle.refusal import met, table_beyond
from fairlane.oracle.sweeps.class_tables import laws_of
from fairlane.reference.errors import Unsupported
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.pricing import age_rate, charges_launches, launch_cost
from fairlane.reference.model.state import initial_state

FIRST_CAPACITY = 1 << 17
# bytes that a place of the table takes: key and slot, half a code, and what valuing half as many states needs
PLACE_BYTES = 40
# states of a level that are worth handing to other threads
LEAST_STATES = 512
# a search is interrupted and reported after so many states
PIECE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class AgedCosts:
    """Signless expected costs of every reachable unfinished state, and their relative error.

    ``keys``, ``slots`` and ``mask`` find a state's number among ``costs``; ``unit`` is the number of units in a ms.
    """

    packed: Packed
    worst: bool
    unit: int
    age_places: dict[int, int]
    strides: tuple[int, ...]
    keys: Ints
    slots: Ints
    mask: int
    costs: Floats
    relative_error: Fraction

    def code_of(self, places: tuple[int, ...], ages: tuple[int, ...]) -> int:
        """The number of a state: places in the chains, ages in units.

        Raises
        ------
        KeyError
            An age that cannot be met.
        """
        n = len(self.age_places)
        return sum(
            (x * n + self.age_places[a]) * stride for x, a, stride in zip(places, ages, self.strides, strict=True)
        )

    def cost(self, code: int) -> float:
        """Expected cost of a reachable state, 0 of the final one.

        Raises
        ------
        KeyError
            A state that no action reaches.
        """
        # compiled code: loading numba takes longer than a small instance
        from fairlane.oracle.kernels.aged import find

        h = find(self.keys, code, self.mask)
        if self.keys[h] == code:
            return float(self.costs[self.slots[h]])
        if code == self.code_of(tuple(len(axis.chain) - 1 for axis in self.packed.axes), (0,) * len(self.strides)):
            return 0.0
        raise KeyError(code)

    def bounds(self, code: int | None = None) -> tuple[Fraction, Fraction]:
        """Rigorous bounds on the expected cost of a reachable state, the initial one without its number."""
        cost = Fraction(float(self.costs[0]) if code is None else self.cost(code))
        return cost / (1 + self.relative_error), cost / (1 - self.relative_error)


def pack_aged(instance: Instance) -> Packed:
    """One axis a request, in the order of the requests.

    Raises
    ------
    Unsupported
        Graphs that put several prompts together.
    """
    if lanes_couple(instance):
        raise Unsupported("the compiled sweep takes one prompt a graph")
    axes = [replace(axis, requests=(i,)) for axis in merged_axes(instance) for i in axis.requests]
    axes.sort(key=lambda axis: axis.requests)
    return Packed(
        instance=instance,
        axes=tuple(axes),
        operators=operators_of(instance),
        earned=earned_from(instance, initial_state(instance)),
    )


def aged_step_roundings(packed: Packed) -> int:
    """Roundings that a term of one step can pass through; see the module docstring."""
    served, requests = most_served(packed), len(packed.axes)
    waiting = 2 * requests + 12 + charges_launches(packed.instance)
    return int(most_outcomes(packed) ** served + 2 * served + 1 + waiting)


def _actions_of(packed: Packed, unit: int, *, worst: bool) -> AgedActions:
    widths = [op.width for op in packed.operators if op.width]
    capacities = [op.capacity for op in packed.operators if op.capacity]
    graphs = packed.instance.graphs.graphs
    most = max((g.decode_capacity for g in graphs), default=0)
    start = np.zeros((len(capacities) + 1, len(widths) + 1, most + 2), dtype=np.int64)
    different = _durations_of(packed.instance, unit)
    # of graphs of one duration the cheapest launch, or the dearest where the greatest cost is sought
    options: list[tuple[int, Fraction]] = []
    for c, capacity in enumerate((0, *capacities)):
        for w, width in enumerate((0, *widths)):
            for k in range(most + 1):
                start[c, w, k] = len(options)
                if (w == 0) != (k == 0) or (c == 0 and w == 0):
                    continue
                fees: dict[int, Fraction] = {}
                for g in graphs:
                    if (c and g.prefill_capacity != capacity) or (w and (g.decode_capacity < k or g.width != width)):
                        continue
                    duration, fee = int(g.duration_ms * unit), launch_cost(packed.instance.objective, g)
                    known = fees.setdefault(duration, fee)
                    fees[duration] = max(known, fee) if worst else min(known, fee)
                options += sorted(fees.items())
            start[c, w, most + 1] = len(options)
    return AgedActions(
        n_widths=len(widths),
        n_capacities=len(capacities),
        start=start,
        durations=np.array([duration for duration, _ in options], dtype=np.int64),
        which=np.array([different.index(duration) for duration, _ in options], dtype=np.int64),
        fees=np.array([float(fee) for _, fee in options]),
        charged=charges_launches(packed.instance),
    )


def _durations_of(instance: Instance, unit: int) -> list[int]:
    """Different durations in units, ascending."""
    return sorted({int(g.duration_ms * unit) for g in instance.graphs})


def sweep_aged(
    instance: Instance,
    *,
    worst: bool = False,
    max_bytes: int = 8 * 2**30,
    max_states: int | None = None,
    threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> AgedCosts:
    """Expected cost of every reachable state of an instance that prices age.

    Parameters
    ----------
    instance : Instance
        Without graphs that could put two of its prompts together.
    worst : bool
        The greatest cost over all policies instead of the least.
    max_bytes : int
        The search for states stops beyond this much memory.
    max_states : int or None
        The search stops beyond this many states.
    threads : int or None
        Threads; all processors without it. The result is the same for any number.
    on_progress : callable or None
        Called with (states done, states known).

    Returns
    -------
    AgedCosts
        Costs as float64, one a reachable unfinished state, with the bound on their error.

    Raises
    ------
    TooLarge
        More states than fit into the memory.
    Unsupported
        Coupled prompts, or numbers that 64 bits do not hold.
    """
    # compiled code: loading numba takes longer than a small instance
    from fairlane.oracle.kernels.aged import find, levels, rehash, visit

    packed = pack_aged(instance)
    unit = lcm(*(g.duration_ms.denominator for g in instance.graphs))
    different = _durations_of(instance, unit)
    steps = depth(packed) - min(len(axis.chain) - 1 for axis in packed.axes)
    _check_range(packed, unit, steps * different[-1])
    age = attainable_ages(different, steps)
    sizes = [len(axis.chain) * age.size for axis in packed.axes]
    if prod(sizes) >= 2**62:
        raise Unsupported("states with their ages have numbers beyond 64 bits")
    strides = tuple(prod(sizes[a + 1 :]) for a in range(len(sizes)))
    laws, actions = laws_of(packed), _actions_of(packed, unit, worst=worst)
    error = relative_error(depth(packed) * aged_step_roundings(packed))
    prices = _prices_of(packed, unit)
    space = _space_of(packed, strides, sizes, age, different)
    root = sum(packed.axes[a].places[local] * age.size * strides[a] for a, local in enumerate(initial_state(instance)))

    def refuse(capacity: int) -> None:
        if capacity * PLACE_BYTES > max_bytes:
            raise table_beyond(instance, capacity // 4, capacity * PLACE_BYTES, max_bytes)

    n = len(sizes)
    # most states that one state leads to
    sets = sum(comb(n, k) for k in range(min(n, actions.start.shape[2] - 2) + 1)) * (n + 1)
    outcomes = most_outcomes(packed) ** most_served(packed)
    # a set of rows beside a prompt or none fixes the width and the capacity that a graph serves it with
    burst = sets * len(instance.graphs) * outcomes
    capacity = FIRST_CAPACITY
    while capacity < 4 * burst:
        capacity *= 2
    refuse(capacity)
    table = _Table(capacity, root, find)
    nothing = np.zeros(1)
    done = 0
    while done < table.known:
        if table.known + burst > table.capacity // 2:
            refuse(2 * table.capacity)
            table.grow(rehash)
        last = min(table.known, done + PIECE)
        reached = table.arrays(nothing)
        most = table.capacity // 2 - burst
        done, table.known = visit(
            done, last, table.codes, False, worst, table.known, most, reached, space, prices, laws, actions, _room(n)
        )
        if max_states is not None and table.known > max_states:
            raise met(instance, max_states, "states with their ages")
        if on_progress is not None:
            on_progress(done, 2 * table.known)

    level = np.zeros(table.known, dtype=np.int64)
    levels(table.known, table.arrays(nothing), space, level)
    order = np.argsort(-level, kind="stable").astype(np.int64)
    edges = np.searchsorted(-level[order], np.arange(-int(level.max(initial=0)), 2))
    costs = np.zeros(table.known)
    valued = table.arrays(costs)
    workers = threads if threads is not None else (os.cpu_count() or 1)

    def value(first: int, last: int) -> None:
        visit(first, last, order, True, worst, table.known, 0, valued, space, prices, laws, actions, _room(n))

    with ThreadPoolExecutor(max_workers=workers) as pool:
        for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            parts = workers if last - first >= LEAST_STATES else 1
            if parts == 1:
                value(first, last)
            else:
                cuts = np.linspace(first, last, parts + 1).astype(np.int64).tolist()
                list(pool.map(value, cuts[:-1], cuts[1:]))
            if on_progress is not None:
                on_progress(table.known + last, 2 * table.known)
    costs.flags.writeable = False
    return AgedCosts(
        packed=packed,
        worst=worst,
        unit=unit,
        age_places={int(units): place for place, units in enumerate(age)},
        strides=strides,
        keys=table.keys,
        slots=table.slots,
        mask=table.capacity - 1,
        costs=costs,
        relative_error=error,
    )


class _Table:
    """Known states, with room for as many again."""

    def __init__(self, capacity: int, root: int, find: Callable[[Ints, int, int], int]) -> None:
        self.capacity = capacity
        self.codes = np.zeros(capacity // 2 + 1, dtype=np.int64)
        self.known = 1
        self.codes[0] = root
        self.keys = np.full(capacity, -1, dtype=np.int64)
        self.slots = np.zeros(capacity, dtype=np.int64)
        self.keys[find(self.keys, root, capacity - 1)] = root

    def arrays(self, values: Floats) -> AgedTable:
        """What the kernels are given."""
        return AgedTable(self.keys, self.slots, self.capacity - 1, self.codes, values)

    def grow(self, rehash: Callable[..., None]) -> None:
        """Twice the room."""
        self.capacity *= 2
        codes = np.zeros(self.capacity // 2 + 1, dtype=np.int64)
        codes[: self.known] = self.codes[: self.known]
        self.codes = codes
        self.keys = np.full(self.capacity, -1, dtype=np.int64)
        self.slots = np.zeros(self.capacity, dtype=np.int64)
        rehash(self.codes, self.known, self.keys, self.slots, self.capacity - 1)


def _prices_of(packed: Packed, unit: int) -> AgedPrices:
    longest = max(len(axis.chain) for axis in packed.axes)
    rates = np.zeros((len(packed.axes), longest))
    for a, axis in enumerate(packed.axes):
        rates[a, : len(axis.chain)] = [float(r / unit) for r in axis.rates]
    aged = np.array([float(r) for r in _age_prices(packed, unit)])
    return AgedPrices(rates, aged, float(packed.instance.objective.time_price / unit))


def _age_prices(packed: Packed, unit: int) -> list[Fraction]:
    """Prices a squared unit of age, by request."""
    return [age_rate(packed.instance.objective, r.weight) / unit**2 for r in packed.instance.requests]


def _check_range(packed: Packed, unit: int, oldest: int) -> None:
    """Refuse what doubles do not hold with a relative error, or ages that they do not hold exactly.

    A state's cost is 0, or it pays for its next step, at least half of the least price, or it has only prompts
    that cost nothing yet. Of these the first to publish that can go on as a stream does so with at least the least
    chance, and pays then. The smallest number met is such a cost times the chances of one joint outcome.
    """
    time_price = packed.instance.objective.time_price
    exact = [time_price / unit, *(r / unit for axis in packed.axes for r in axis.rates), *_age_prices(packed, unit)]
    priced = [r for r in exact if r]
    chance = min(p for axis in packed.axes for chain in axis.laws for law in chain for _, p in law)
    least = min(priced, default=Fraction(1)) * chance ** (most_served(packed) + 1) / 2
    longest = int(max(g.duration_ms for g in packed.instance.graphs) * unit)
    most = max(priced, default=Fraction(1)) * (oldest + longest) ** 2 * (len(packed.axes) + 1) * depth(packed)
    fees = [fee for g in packed.instance.graphs if (fee := launch_cost(packed.instance.objective, g))]
    if fees:
        # one may be paid in the last of all steps alone
        least = min(least, min(fees) * chance ** (most_served(packed) * depth(packed)))
        most += max(fees) * depth(packed)
    if most > RANGE[8] or least < 1 / RANGE[8] or oldest + longest >= 2**53:
        raise Unsupported("costs or ages leave the range of floating-point numbers")


def _space_of(
    packed: Packed, strides: tuple[int, ...], sizes: list[int], age: Ints, different: Sequence[int]
) -> AgedSpace:
    longest = max(len(axis.chain) for axis in packed.axes)
    phase = np.full((len(packed.axes), longest), 2, dtype=np.int64)
    for a, axis in enumerate(packed.axes):
        phase[a, : len(axis.chain)] = [2 if x.finished else 0 if x.prompt else 1 for x in axis.chain]
    return AgedSpace(
        strides=np.array(strides, dtype=np.int64),
        sizes=np.array(sizes, dtype=np.int64),
        ages=age.size,
        age=age,
        later=following_ages(age, different),
        phase=phase,
        final=sum((size - age.size) * stride for size, stride in zip(sizes, strides, strict=True)),
    )


def _room(n: int) -> AgedRoom:
    return AgedRoom(*(np.zeros(n + 1, dtype=np.int64) for _ in range(7)))
