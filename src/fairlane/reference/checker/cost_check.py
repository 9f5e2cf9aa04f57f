"""An independent check of a table of costs: certified bounds on the optimum of instances too large for rationals.

Every request finishes, so the expected value of all tokens is the same under every policy, and the optimum is that
constant less the least expected cost of time and waiting. A table lists the least cost of every state in doubles.
The checker recomputes, from the instance alone, the right-hand side of the optimality equation at every state,

    m(s) = min over actions a of  duration(a) * rate(s) + fee(a) + sum over s' of p(s' | s, a) * cost(s'),

and measures how far the table is from it: |cost(s) - m(s)| <= delta * m(s) everywhere. All numbers are >= 0, so m
itself is computed with a relative error of at most eta, from the number of roundings that a term passes through.
If the costs of all later states are within a factor (1 ± alpha) of the truth, the cost of s is within
(1 ± alpha)(1 ± eta)(1 ± delta). After the D steps that the requests can take one at a time the root is within
((1 + eta)(1 + delta))^D. The bounds that follow are the checker's own: it believes no error bound of a solver.

The table. Requests stand in groups of equal ones (or each alone). A request's local states are those that serving it
can reach, prompts first (most left first), then outputs (fewest first), finished last. A group's place is the
colexicographic rank of the sorted local states of its members; a state's number is the mixed radix of the places,
the last group fastest. It shares no code with the solvers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import comb, prod

import numpy as np

from fairlane.reference.checker.certificate_check import fingerprint
from fairlane.reference.checker.cost_groups import Group, Local, read_groups
from fairlane.reference.checker.kernels.arguments import Actions, Costs, Groups, Ints, Laws, Room, Stack
from fairlane.reference.errors import CertificateRejected, Unsupported
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.request import Request

UNIT_ROUNDOFF = Fraction(1, 2**53)
RANGE = Fraction(10) ** 250
# a correct sweep in doubles is wrong by less; a table beyond it is no solution
TOLERANCE = Fraction(1, 10**5)
CHUNKS = 64
# every subset of the decoding requests is looked at where some are merged
MAX_MERGED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CostTable:
    """Costs of every canonical state, as a solver claims them.

    ``groups`` are indices of equal requests, ``costs`` float64 of shape (n_states,) in the order of the module
    docstring, ``worst`` whether they are greatest rather than least costs, ``instance`` the instance's fingerprint.
    """

    instance: str
    worst: bool
    groups: tuple[tuple[int, ...], ...]
    costs: Costs

    def digest(self) -> str:
        """SHA-256 of everything in the table."""
        head = f"{self.instance} {self.worst} {self.groups} "
        return hashlib.sha256(head.encode() + self.costs.astype("<f8").tobytes()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCosts:
    """What an accepted table proves: ``lower`` <= value <= ``upper``, in rationals.

    ``deviation`` is the largest relative distance of the table from its own right-hand side.
    """

    lower: Fraction
    upper: Fraction
    worst: bool
    states: int
    actions: int
    outcomes: int
    deviation: float


def check_costs(
    table: CostTable, instance: Instance, *, on_progress: Callable[[int, int], None] | None = None
) -> CheckedCosts:
    """Accept a table and say what it proves.

    Parameters
    ----------
    table : CostTable
        Any table.
    instance : Instance
        Without a price on age, and without graphs that could hold two of its prompts.
    on_progress : callable or None
        Called with (states done, states).

    Returns
    -------
    CheckedCosts
        Rigorous bounds on the optimum (the worst value).

    Raises
    ------
    CertificateRejected
        Another instance's table, a wrong shape or order, or a cost that is not a solution.
    Unsupported
        An age price, coupled prompts, or numbers beyond the range in which doubles round relatively.
    """
    if table.instance != fingerprint(instance):
        raise CertificateRejected("the table is of another instance")
    if instance.objective.age_price:
        raise Unsupported("a table of costs has no ages; need an instance without a price on age")
    prompts = sum(r.prompt > 0 for r in instance.requests)
    if prompts > 1 and any(g.prefill_lanes > 1 for g in instance.graphs if g.prefill_capacity):
        raise Unsupported("a table of costs takes one prompt a graph; this catalog has graphs for several")
    widths = sorted({g.width for g in instance.graphs if g.decode_capacity})
    capacities = sorted({g.prefill_capacity for g in instance.graphs if g.prefill_capacity})
    groups = read_groups(table.groups, instance, widths, capacities)
    n_states = prod(group.places for group in groups)
    if table.costs.shape != (n_states,):
        raise CertificateRejected(f"the table has shape {table.costs.shape}; the instance has {n_states:,} states")
    if len(groups) < len(instance.requests) and len(instance.requests) > MAX_MERGED:
        raise Unsupported(f"a table with merged requests takes at most {MAX_MERGED} of them")
    eta = _relative_rounding(groups, instance)
    _check_range(groups, instance)
    deviation, n_actions, n_outcomes = _measure(table, groups, instance, widths, capacities, on_progress)
    if not deviation <= float(TOLERANCE):
        raise CertificateRejected(
            f"some cost is off its right-hand side by {deviation:.3g} of it; "
            f"a solution is within {float(TOLERANCE):.0g}"
        )
    # the quotient itself was rounded three times
    delta = Fraction(deviation) * (1 + 4 * UNIT_ROUNDOFF) + 4 * UNIT_ROUNDOFF
    steps = sum(len(group.members) * (len(group.chain) - 1) for group in groups)
    # (1 + x)^D <= 1 / (1 - D x), and (1 - x)^D >= 1 - D x
    each = (1 + eta) * (1 + delta) - 1
    if steps * each >= Fraction(1, 2):
        raise CertificateRejected("the table's deviation over all steps could exceed half of the value")
    cost = Fraction(float(table.costs[_number_of_initial(groups, instance)]))
    least, most = cost * (1 - steps * each), cost / (1 - steps * each)
    earned = _earned(instance)
    return CheckedCosts(
        lower=earned - most,
        upper=earned - least,
        worst=table.worst,
        states=n_states - 1,
        actions=n_actions,
        outcomes=n_outcomes,
        deviation=deviation,
    )


def _most_served(instance: Instance) -> int:
    rows = max(g.decode_capacity + (g.prefill_capacity > 0) for g in instance.graphs)
    return min(len(instance.requests), rows)


def _most_outcomes(groups: Sequence[Group]) -> int:
    return max(len(law) for group in groups for chain in group.laws for law in chain)


def roundings(groups: Sequence[Group], instance: Instance) -> int:
    """Roundings that a term of one right-hand side can pass through.

    An expectation is one plain sum of at most w^B products: a coefficient and a product for each of B requests, the
    product with the cost, a sum for every term, and the sum with the waiting. The waiting cost has r + 1 rounded
    rates in r sums, a rounded duration, a product and that same sum; a fee of the launch is one sum more.
    """
    served, requests = _most_served(instance), len(instance.requests)
    charged = any(_fee(instance, graph) for graph in instance.graphs)
    return int(_most_outcomes(groups) ** served + 2 * served + 1 + requests + 4 + charged)


def _relative_rounding(groups: Sequence[Group], instance: Instance) -> Fraction:
    growth = roundings(groups, instance) * UNIT_ROUNDOFF
    if growth >= Fraction(1, 3):
        raise Unsupported("an action has too many joint outcomes to add them up in doubles")
    return growth / (1 - growth)


def _rate(request: Request, local: Local, instance: Instance) -> Fraction:
    if local is None:
        return Fraction(0)
    prices = instance.objective
    return request.weight * (prices.completion_price + (prices.first_output_price if local[0] else 0))


def _check_range(groups: Sequence[Group], instance: Instance) -> None:
    durations = [g.duration_ms for g in instance.graphs]
    rates = [_rate(instance.requests[group.members[0]], x, instance) for group in groups for x in group.chain]
    priced = [r for r in (instance.objective.time_price, *rates) if r]
    chance = min(p for group in groups for chain in group.laws for law in chain for _, p in law)
    joint = chance ** _most_served(instance)
    steps = sum(len(group.members) * (len(group.chain) - 1) for group in groups)
    most = max(durations) * steps * sum(priced, Fraction(1)) * len(instance.requests)
    # rates fall as requests progress, so a cost is 0 or at least a duration times some rate
    least = min(durations) * min(priced, default=Fraction(1)) * joint
    fees = [fee for g in instance.graphs if (fee := _fee(instance, g))]
    if fees:
        # one may be paid in the last of all steps alone
        most += max(fees) * steps
        least = min(least, min(fees) * joint**steps)
    if max(most, *durations, *priced) > RANGE or min(least, joint, *durations, *priced) < 1 / RANGE:
        raise Unsupported("costs or probabilities leave the range of floating-point numbers")


def _measure(
    table: CostTable,
    groups: Sequence[Group],
    instance: Instance,
    widths: Sequence[int],
    capacities: Sequence[int],
    on_progress: Callable[[int, int], None] | None,
) -> tuple[float, int, int]:
    # compiled code: loading numba takes longer than a small instance
    from fairlane.reference.checker.kernels.deviations import deviations
    from fairlane.reference.checker.kernels.deviations_alone import deviations_alone

    numbers, laws = _groups_of(groups), _laws_of(groups, instance, len(widths) + len(capacities))
    actions = _actions(instance, widths, capacities, worst=table.worst)
    total = table.costs.size
    workers = os.cpu_count() or 1
    edges = np.linspace(0, total, CHUNKS * workers + 1).astype(np.int64).tolist()
    # states with much ahead of them come first and cost most, so pieces are small
    pieces = [(a, b) for a, b in pairwise(edges) if b > a]
    worst, n_actions, n_outcomes, done = 0.0, 0, 0, 0
    costs = np.ascontiguousarray(table.costs, dtype=np.float64)
    n = len(instance.requests)
    served = _most_served(instance)
    alone = all(len(group.members) == 1 for group in groups)
    # sets on the way to a set of B have w, w^2, ... joint outcomes
    room = 1 + sum(_most_outcomes(groups) ** size for size in range(1, served + 1)) if alone else 0

    def measure(piece: tuple[int, int]) -> tuple[float, int, int]:
        def ints(size: int = n + 2) -> Ints:
            return np.zeros(size, dtype=np.int64)

        found: tuple[float, int, int]
        if alone:
            stack = Stack(ints(), ints(), ints(), ints(), ints(room), np.zeros(room))
            found = deviations_alone(*piece, costs, numbers, laws, actions, stack)
        else:
            touched = np.zeros(n + 2, dtype=np.bool_)
            own = Room(ints(), ints(), ints(), ints(), ints(), ints(), ints(), touched, ints())
            found = deviations(*piece, costs, numbers, laws, actions, own)
        return found

    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            results = pool.map(measure, pieces)
            for (first, last), (deviation, acted, met) in zip(pieces, results, strict=True):
                worst = max(worst, float(deviation))
                n_actions += int(acted)
                n_outcomes += int(met)
                done += last - first
                if on_progress is not None:
                    on_progress(done, total)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return worst, n_actions, n_outcomes


def _groups_of(groups: Sequence[Group]) -> Groups:
    sizes = [group.places for group in groups]
    members = [len(group.members) for group in groups]
    longest = max(len(group.chain) for group in groups)
    most_members = max(members)
    places = [_colexicographic(len(group.chain), len(group.members)) for group in groups]
    # what does not fit is never looked up: ranks are below the number of places
    binomial = [[min(comb(a, b), 2**62) for b in range(most_members + 2)] for a in range(longest + most_members + 1)]
    return Groups(
        of=np.repeat(np.arange(len(groups)), members),
        start=np.cumsum([0, *members]),
        strides=np.array([prod(sizes[g + 1 :]) for g in range(len(groups))]),
        sizes=np.array(sizes),
        table_at=np.cumsum([0, *(rows.size for rows in places)])[:-1],
        table=np.concatenate([rows.ravel() for rows in places]),
        binomial=np.array(binomial, dtype=np.int64),
    )


def _laws_of(groups: Sequence[Group], instance: Instance, n_operators: int) -> Laws:
    longest = max(len(group.chain) for group in groups)
    shape = (len(groups), max(1, n_operators), longest)
    counts, at = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    phase = np.full((len(groups), longest), 2, dtype=np.int64)
    rates = np.zeros((len(groups), longest))
    to: list[int] = []
    p: list[float] = []
    for g, group in enumerate(groups):
        for x, local in enumerate(group.chain):
            phase[g, x] = 2 if local is None else 0 if local[0] else 1
            rates[g, x] = float(_rate(instance.requests[group.members[0]], local, instance))
            for o in range(n_operators):
                counts[g, o, x], at[g, o, x] = len(group.laws[o][x]), len(to)
                to += [after for after, _ in group.laws[o][x]]
                p += [float(chance) for _, chance in group.laws[o][x]]
    return Laws(phase=phase, rates=rates, counts=counts, at=at, to=np.array(to, dtype=np.int64), p=np.array(p))


def _actions(instance: Instance, widths: Sequence[int], capacities: Sequence[int], *, worst: bool) -> Actions:
    """Every graph that holds k rows of a width beside a prompt; without fees the fastest (slowest) alone."""
    most = max(g.decode_capacity for g in instance.graphs)
    shape = (len(capacities) + 1, len(widths) + 1, most + 1)
    graphs, at = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    launches: list[tuple[Fraction, Fraction]] = []
    for c, capacity in enumerate((0, *capacities)):
        for w, width in enumerate((0, *widths)):
            for k in range(1 if w else 0, (most if w else 0) + 1):
                fits = {
                    (g.duration_ms, _fee(instance, g))
                    for g in instance.graphs
                    if (not c or g.prefill_capacity == capacity)
                    and (not w or (g.decode_capacity >= k and g.width == width))
                }
                if not fits or not (c or w):
                    continue
                if not any(fee for _, fee in fits):
                    fits = {max(fits) if worst else min(fits)}
                graphs[c, w, k], at[c, w, k] = len(fits), len(launches)
                launches += sorted(fits)
    return Actions(
        n_widths=len(widths),
        n_capacities=len(capacities),
        graphs=graphs,
        at=at,
        duration=np.array([float(duration) for duration, _ in launches]),
        fee=np.array([float(fee) for _, fee in launches]),
        time_price=float(instance.objective.time_price),
        worst=worst,
    )


def _fee(instance: Instance, graph: Graph) -> Fraction:
    """What a launch is paid for beyond its time."""
    return instance.objective.energy_price * graph.energy_j


def _colexicographic(n: int, size: int) -> Ints:
    """Sorted multisets of ``size`` of the values below n, by their largest member, then the next."""
    rows = sorted(combinations_with_replacement(range(n), size), key=lambda row: row[::-1])
    return np.array(rows, dtype=np.int64).reshape(-1, size)


def _number_of_initial(groups: Sequence[Group], instance: Instance) -> int:
    number = 0
    for group in groups:
        request = instance.requests[group.members[0]]
        x = group.chain.index((request.prompt, request.generated))
        number = number * group.places + sum(comb(x + i, i + 1) for i in range(len(group.members)))
    return number


def _earned(instance: Instance) -> Fraction:
    """Expected value of all tokens of an episode."""
    prices = instance.objective
    total = Fraction(0)
    for request in instance.requests:
        mass = [(n, p) for n, p in request.length_prior] if request.length_prior else [(request.limit, Fraction(1))]
        left = [(min(n, request.limit) - request.generated, p) for n, p in mass if n > request.generated]
        alive = sum((p for _, p in left), Fraction(0))
        output = sum((n * p for n, p in left), Fraction(0)) / alive
        total += request.weight * (prices.prefill_value * request.prompt + prices.decode_value * output)
    return total
