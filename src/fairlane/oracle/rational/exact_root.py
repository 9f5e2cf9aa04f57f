"""Exact values from a certified sweep: whole numbers only on what its bounds leave.

Bounds on the cost of every set that can be served exclude nearly all of them. The exact value of a state needs the
exact values of what its remaining sets lead to, and no others. States are canonical: requests that share an axis are
interchangeable.

Rationals are avoided by a scale for every local state, from the finished one back: d(x) is the least number that
makes p(x -> y) d(x) / d(y) whole for every outcome of every operator. A state's cost times the product of its local
scales (and of the prices' common denominator) is then whole, and so is every weight in its recursion.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import lcm, prod
from operator import mul
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fairlane.oracle.encoding.enclosure import outward
from fairlane.oracle.encoding.multisets import binomials
from fairlane.oracle.encoding.packing import Axis, Floats, Ints, earned_from, pack
from fairlane.oracle.encoding.rounding import action_roundings, relative_error
from fairlane.oracle.encoding.signatures import EMPTY, Rules, Signature
from fairlane.oracle.kernels.arguments import Numbering, Odometer, ServedSets
from fairlane.oracle.sweeps.class_tables import laws_of
from fairlane.oracle.sweeps.compiled import Swept
from fairlane.reference.errors import TooLarge, Unsupported
from fairlane.reference.model.state import Action, State, actions

MAX_EXACT_STATES = 50_000
# a front of this many states that still grows by this factor is not followed to its end
MANY_STATES = 4_000
STEEP_GROWTH = 1.8
# joint outcomes that are added up exactly; about ten seconds
MAX_EXACT_TERMS = 20_000_000
MAX_LISTED_STATES = 2_000_000

Digits = tuple[tuple[int, ...], ...]


class Served(NamedTuple):
    """Requests that are served together: (position among all requests, axis by axis; operator), and their signature."""

    members: tuple[tuple[int, int], ...]
    signature: Signature


class Plan(NamedTuple):
    """What is left of a state: by graph, the joint outcomes of a set as state numbers and whole weights."""

    scale: int
    sets: list[tuple[int, Ints, list[int]]]


def scales_of(axis: Axis) -> list[int]:
    """The scale d(x) of each local state; see the module docstring."""
    out = [1] * len(axis.chain)
    for x in range(len(axis.chain) - 2, -1, -1):
        # p d(x) / d(y) is whole where the denominator of p / d(y) divides d(x)
        needed = [(p / out[x + shift]).denominator for chain in axis.laws for shift, p in chain[x]]
        out[x] = lcm(*needed)
    return out


class ExactRoot:
    """Exact values of a swept instance, found as they are asked for.

    Parameters
    ----------
    swept : Swept
        A sweep with its relative error bound.
    on_progress : callable or None
        Called with (states valued, states known).
    """

    def __init__(self, swept: Swept, *, on_progress: Callable[[int, int], None] | None = None) -> None:
        packed = swept.packed
        self.swept, self.packed = swept, packed
        self.on_progress = on_progress
        # scaled costs by number
        self.costs: dict[int, int] = {packed.n_states - 1: 0}
        self.rules = Rules(packed.instance, packed.operators, worst=swept.worst)
        graphs = packed.instance.graphs.graphs
        time_price = packed.instance.objective.time_price
        prices = [time_price, *(r for axis in packed.axes for r in axis.rates), *self.rules.fees]
        common = lcm(*(r.denominator for r in prices))
        time_unit = lcm(*(g.duration_ms.denominator for g in graphs))
        self.unit = common * time_unit
        self.time_unit = time_unit
        self.durations = [int(g.duration_ms * time_unit) for g in graphs]
        self.fees = [int(fee * self.unit) for fee in self.rules.fees]
        self.time_price = int(time_price * common)
        self.rates = [[int(r * common) for r in axis.rates] for axis in packed.axes]
        self.common = common
        starts = np.cumsum([0, *(axis.members for axis in packed.axes)])
        self.axis_of = [a for a, axis in enumerate(packed.axes) for _ in range(axis.members)]
        self.first = starts.tolist()
        laws = laws_of(packed)
        places = [np.zeros(0, dtype=np.int64) if n is None else n.place for n in swept.numbering]
        most_members = max(axis.members for axis in packed.axes)
        longest = max(len(axis.chain) for axis in packed.axes)
        self.numbering = Numbering(
            np.array(self.axis_of, dtype=np.int64),
            starts.astype(np.int64),
            np.array(swept.strides, dtype=np.int64),
            binomials(longest + most_members + 1, most_members + 2),
            np.concatenate(places),
            np.cumsum([0, *(p.size for p in places)])[:-1].astype(np.int64),
        )
        self.laws = laws
        n = len(self.axis_of)
        after, at, work = (np.zeros(n, dtype=np.int64) for _ in range(3))
        n_axes = len(packed.axes)
        self.room = Odometer(after, at, work, np.zeros(n_axes, dtype=np.bool_), np.zeros(n_axes, dtype=np.int64))
        # Computed costs carry the sweep's error and that of their own sum. Twice their total also covers the product
        # of the two, and the roundings of the comparison itself.
        try:
            own = relative_error(action_roundings(packed))
        except Unsupported:
            # too many joint outcomes to tell actions apart in doubles: none is excluded
            self.slack = math.inf
        else:
            self.slack = math.nextafter(float(2 * (swept.relative_error + own)), math.inf)

    @cached_property
    def scales(self) -> list[list[int]]:
        """The scales of each axis's local states; bounds alone do without them."""
        return [scales_of(axis) for axis in self.packed.axes]

    @cached_property
    def weights(self) -> list[list[list[list[int]]]]:
        """By axis, operator and local state: the whole weights of its outcomes."""
        return [
            [
                [[int(p * scales[x] / scales[x + shift]) for shift, p in law] for x, law in enumerate(chain)]
                for chain in axis.laws
            ]
            for axis, scales in zip(self.packed.axes, self.scales, strict=True)
        ]

    def sets_of(self, digits: Digits) -> list[Served]:
        """Every set that can be served in a state; of equal members of an axis the first ones."""
        flat = [x for places in digits for x in places]
        out: list[Served] = []
        level = [Served((), EMPTY)]
        for position, x in enumerate(flat):
            a = self.axis_of[position]
            follows = position > self.first[a] and flat[position - 1] == x
            grown = []
            for served in level:
                for o in range(len(self.packed.operators)):
                    if not self.packed.axes[a].laws[o][x]:
                        continue
                    # equal members: the one before must be served the same way first
                    if follows and (not served.members or served.members[-1] != (position - 1, o)):
                        continue
                    joined = self.rules.joined(served.signature, o)
                    if joined is not None:
                        grown.append(Served((*served.members, (position, o)), joined))
            out += grown
            level += grown
        return out

    def expectations(self, digits: Digits, sets: list[Served]) -> Floats:
        """Expected signed costs after serving each set, in doubles."""
        # compiled code: loading numba takes longer than a small instance
        from fairlane.oracle.kernels.actions import expectations

        out = np.empty(len(sets))
        members = [pair for served in sets for pair in served.members]
        expectations(
            np.array([x for places in digits for x in places], dtype=np.int64),
            self.numbering,
            self.swept.costs,
            ServedSets(
                start=np.cumsum([0, *(len(served.members) for served in sets)]).astype(np.int64),
                member=np.array([m for m, _ in members], dtype=np.int64),
                operator=np.array([o for _, o in members], dtype=np.int64),
            ),
            self.laws,
            self.room,
            out,
        )
        return out

    def rate(self, digits: Digits) -> int:
        """Cost per ms of a state's waiting, times the prices' common denominator."""
        return self.time_price + sum(rates[x] for rates, places in zip(self.rates, digits, strict=True) for x in places)

    def waited(self, served: Served, rate: int) -> int:
        """Cost of the best launch that serves a set, times the prices' unit."""
        charges = self.rules.charges(served.signature)
        costs = [int(c.duration_ms * self.time_unit) * rate + int(c.fee * self.unit) for c in charges]
        return max(costs) if self.swept.worst else min(costs)

    def scale(self, digits: Digits) -> int:
        """The product of a state's local scales."""
        return prod(scales[x] for scales, places in zip(self.scales, digits, strict=True) for x in places)

    def left(self, digits: Digits, rate: int) -> list[Served]:
        """Sets that the bounds cannot exclude."""
        sets = self.sets_of(digits)
        paid = float(Fraction(rate, self.common))
        waits = np.array([self.rules.paid(served.signature, paid) for served in sets])
        costs = np.abs(waits + self.expectations(digits, sets))
        keep = self.near(costs, float(costs.max() if self.swept.worst else costs.min()))
        return [served for served, kept in zip(sets, keep, strict=True) if kept]

    def near(self, costs: Floats, best: float) -> npt.NDArray[np.bool_]:
        """Which costs cannot be told from the best, or are better."""
        near: npt.NDArray[np.bool_]
        if math.isinf(self.slack):
            near = np.ones(costs.shape, dtype=np.bool_)
        elif self.swept.worst:
            near = costs * (1 + self.slack) >= best * (1 - self.slack)
        else:
            near = costs * (1 - self.slack) <= best * (1 + self.slack)
        return near

    def law(self, digits: Digits, served: Served) -> tuple[Ints, list[int]]:
        """Numbers of the states after serving a set, one a joint outcome, and the whole weights of their costs."""
        # compiled code: loading numba takes longer than a small instance
        from fairlane.oracle.kernels.actions import followers

        flat = [x for places in digits for x in places]
        weights = [1]
        for position, o in served.members:
            of_member = self.weights[self.axis_of[position]][o][flat[position]]
            weights = [w * n for w in weights for n in of_member]
        # members that are not served keep their scales
        out = np.empty(len(weights), dtype=np.int64)
        followers(
            np.array(flat, dtype=np.int64),
            self.numbering,
            ServedSets(
                start=np.array([0, len(served.members)], dtype=np.int64),
                member=np.array([m for m, _ in served.members], dtype=np.int64),
                operator=np.array([o for _, o in served.members], dtype=np.int64),
            ),
            self.laws,
            self.room,
            out,
        )
        return out, weights

    def cost(self, root: int) -> int:
        """Exact expected cost of a state, times its scale and the prices' unit.

        Raises
        ------
        TooLarge
            More states or joint outcomes than the limits.
        """
        plans = self._explore(root)
        known = self.costs
        for done, number in enumerate(sorted(plans, reverse=True)):
            plan = plans.pop(number)
            candidates = [
                waited * plan.scale + sum(map(mul, weights, map(known.__getitem__, to.tolist())))
                for waited, to, weights in plan.sets
            ]
            known[number] = max(candidates) if self.swept.worst else min(candidates)
            if self.on_progress is not None and done % 256 == 0:
                self.on_progress(done, done + len(plans))
        return known[root]

    def _explore(self, root: int) -> dict[int, Plan]:
        """What is left of every state whose exact cost is still to be found."""
        plans: dict[int, Plan] = {}
        queue = [] if root in self.costs else [root]
        seen = set(queue)
        terms = 0
        for explored, number in enumerate(queue):
            if self.swept.costs[number] == 0.0:
                # a relative error leaves a zero certain
                self.costs[number] = 0
                continue
            digits = self.swept.digits_of(number)
            rate = self.rate(digits)
            sets = []
            for served in self.left(digits, rate):
                to, weights = self.law(digits, served)
                sets.append((self.waited(served, rate), to, weights))
                terms += len(weights)
                for following in np.unique(to).tolist():
                    if following not in seen and following not in self.costs:
                        seen.add(following)
                        queue.append(following)
            plans[number] = Plan(self.scale(digits), sets)
            # what is queued already needs about as many outcomes each as what was explored
            steep = len(queue) > MANY_STATES and len(queue) > STEEP_GROWTH * (explored + 1)
            if steep or len(queue) > MAX_EXACT_STATES or terms * len(queue) > MAX_EXACT_TERMS * (explored + 1):
                raise TooLarge(
                    f"the exact value needs far more than {len(queue):,} states and "
                    f"{terms * len(queue) // (explored + 1):,} outcomes; the limits are {MAX_EXACT_STATES:,} and "
                    f"{MAX_EXACT_TERMS:,}"
                )
            if self.on_progress is not None and explored % 256 == 0:
                self.on_progress(explored, len(queue))
        return plans

    def exact_cost(self, state: State) -> Fraction:
        """Exact expected cost of a state."""
        digits = self.packed.digits_of(state)
        return Fraction(self.cost(self.swept.number_of(digits)), self.scale(digits) * self.unit)

    def value_at(self, state: State) -> Fraction:
        """Exact optimal value of a state: what its tokens earn for certain, less the exact cost."""
        return earned_from(self.packed.instance, state) - self.exact_cost(state)

    def bounds_at(self, state: State) -> tuple[float, float]:
        """Doubles that enclose the value of a state, whether or not it is known exactly."""
        least, most = self.swept.bounds(self.swept.number_of(self.packed.digits_of(state)))
        earned = earned_from(self.packed.instance, state)
        return outward(earned - most, earned - least)

    def reachable_states(self) -> tuple[State, ...]:
        """Every reachable unfinished state, the initial one first.

        Raises
        ------
        TooLarge
            More than can be listed.
        """
        instance = self.packed.instance
        alone = pack(instance)
        if alone.n_states - 1 > MAX_LISTED_STATES:
            raise TooLarge(
                f"instance {instance.name!r} has {alone.n_states - 1:,} states; "
                f"a list takes at most {MAX_LISTED_STATES:,}",
                states=alone.n_states - 1,
            )
        places = product(*(range(len(axis.chain)) for axis in alone.axes))
        # the last one is final
        return tuple(alone.state_of([(place,) for place in digits]) for digits in places)[:-1]

    def optimal_actions(self, state: State) -> tuple[Action, ...]:
        """Every optimal action of a state, maximal or not, in enumeration order."""
        instance = self.packed.instance
        digits = self.packed.digits_of(state)
        rate, scale = self.rate(digits), self.scale(digits)
        sets = {self._shape(digits, served): served for served in self.sets_of(digits)}
        expected = dict(zip(sets, self.expectations(digits, list(sets.values())), strict=True))
        listed = [(action, self._shape_of(state, action)) for action in actions(instance, state)]
        sign = -1.0 if self.swept.worst else 1.0
        paid = float(Fraction(rate, self.common)) * sign
        graphs, fees = instance.graphs.graphs, [float(fee) for fee in self.rules.fees]
        costs = np.array(
            [
                abs(float(graphs[action.graph].duration_ms) * paid + sign * fees[action.graph] + expected[shape])
                for action, shape in listed
            ]
        )
        keep = self.near(costs, float(costs.max() if self.swept.worst else costs.min()))
        exact: list[tuple[int, Action]] = []
        known: dict[object, int] = {}
        for (action, shape), kept in zip(listed, keep, strict=True):
            if not kept:
                continue
            if shape not in known:
                to, weights = self.law(digits, sets[shape])
                known[shape] = sum(w * self.cost(number) for number, w in zip(to.tolist(), weights, strict=True))
            waited = rate * self.durations[action.graph] + self.fees[action.graph]
            exact.append((waited * scale + known[shape], action))
        best = max(c for c, _ in exact) if self.swept.worst else min(c for c, _ in exact)
        return tuple(action for cost, action in exact if cost == best)

    def _shape(self, digits: Digits, served: Served) -> object:
        flat = [x for places in digits for x in places]
        return frozenset(Counter((self.axis_of[m], flat[m], o) for m, o in served.members).items())

    def _shape_of(self, state: State, action: Action) -> object:
        """The set that an action serves, whatever its graph: how many of which axis in which local state, and how."""
        graph = self.packed.instance.graphs.graphs[action.graph]
        operators = {(op.width, op.capacity): o for o, op in enumerate(self.packed.operators)}
        pairs = [(i, operators[0, graph.prefill_capacity]) for i in action.prefill]
        pairs += [(i, operators[graph.width, 0]) for i in action.decode]
        axis_of = {i: a for a, axis in enumerate(self.packed.axes) for i in axis.requests}
        return frozenset(
            Counter(
                (axis_of[i], self.packed.axes[axis_of[i]].places[state[i]._replace(age_ms=Fraction(0))], o)
                for i, o in pairs
            ).items()
        )
