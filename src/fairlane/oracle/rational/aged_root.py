"""Exact values with ages from a certified sweep: rationals only on the actions that its bounds leave."""

from __future__ import annotations

import math
from collections.abc import Sequence

from flint import fmpq

from fairlane.oracle.encoding.enclosure import outward
from fairlane.oracle.encoding.packing import earned_from
from fairlane.oracle.encoding.rounding import relative_error
from fairlane.oracle.rational.aged_induction import AgedSweep, Key
from fairlane.oracle.rational.plain import Sense
from fairlane.oracle.sweeps.aged_sweep import AgedCosts
from fairlane.reference.model.pricing import age_rate, charges_launches, launch_cost
from fairlane.reference.model.state import FINISHED, ZERO, Action, State

# exact values of this many states take about a minute
MAX_EXACT_STATES = 50_000
MAX_LISTED_STATES = 200_000

Moves = list[tuple[Action, fmpq, list[tuple[fmpq, Key]]]]


class AgedRoot(AgedSweep):
    """Exact values of a swept instance with a price on age, found as they are asked for.

    Parameters
    ----------
    costs : AgedCosts
        The sweep.
    """

    def __init__(self, costs: AgedCosts) -> None:
        instance = costs.packed.instance
        super().__init__(instance, Sense.MIN if costs.worst else Sense.MAX, MAX_EXACT_STATES)
        self.costs = costs
        self._slacks: dict[int, float] = {}
        # the sweep's places by the numbers that the rationals have for local states
        self.places: list[dict[int, int]] = []
        for axis, local in zip(costs.packed.axes, self.base.locals, strict=True):
            found = {}
            for number, state in enumerate(local):
                plain = FINISHED if state.finished else state._replace(age_ms=ZERO)
                if plain in axis.places:
                    found[number] = axis.places[plain]
            self.places.append(found)
        unit = costs.unit
        prices = instance.objective
        self.time = float(prices.time_price / unit)
        self.rates = [[float(rate / unit) for rate in axis.rates] for axis in costs.packed.axes]
        self.aged = [float(age_rate(prices, request.weight) / unit**2) for request in instance.requests]
        self.fees = [float(launch_cost(prices, graph)) for graph in instance.graphs]

    def tried(self, key: Key) -> Moves:
        """Actions that the bounds cannot exclude."""
        moves = super().tried(key)
        found = self._costs(key, moves)
        slack = self._slack(max(len(law) for _, _, law in moves))
        if self.costs.worst:
            top = max(found)
            kept = [cost * (1 + slack) >= top * (1 - slack) for cost in found]
        else:
            top = min(found)
            kept = [cost * (1 - slack) <= top * (1 + slack) for cost in found]
        return [move for move, near in zip(moves, kept, strict=True) if near]

    def _slack(self, outcomes: int) -> float:
        """As in the exact root without ages: twice the errors of the sweep and of one more sum of so many terms.

        A term has one rounded probability, one product and a sum for each term; the waiting passes through at most
        2 r + 12 roundings, and one more where launches have fees.
        """
        if outcomes not in self._slacks:
            own = relative_error(outcomes + 2 + 2 * len(self.rates) + 12 + charges_launches(self.instance))
            self._slacks[outcomes] = math.nextafter(float(2 * (self.costs.relative_error + own)), math.inf)
        return self._slacks[outcomes]

    def _costs(self, key: Key, moves: Moves) -> list[float]:
        """Expected costs of the actions of a state, in doubles."""
        number, ages = key
        places = [of[x] for of, x in zip(self.places, self.base.digits_of(number), strict=True)]
        rate = self.time + sum(of[x] for of, x in zip(self.rates, places, strict=True))
        linear = square = 0.0
        for i, x in enumerate(places):
            local = self.costs.packed.axes[i].chain[x]
            if not local.finished and local.prompt == 0:
                linear += self.aged[i] * ages[i]
                square += self.aged[i]
        return [self._cost(action.graph, rate + linear, square, law) for action, _, law in moves]

    def _cost(self, graph: int, rate: float, square: float, law: Sequence[tuple[fmpq, Key]]) -> float:
        t, expected = self.steps[graph], 0.0
        for p, (number, ages) in law:
            after = tuple(of[x] for of, x in zip(self.places, self.base.digits_of(number), strict=True))
            kept = tuple(
                0 if self.costs.packed.axes[i].chain[x].finished else age
                for i, (x, age) in enumerate(zip(after, ages, strict=True))
            )
            expected += int(p.p) / int(p.q) * self.costs.cost(self.costs.code_of(after, kept))
        return t * rate + 0.5 * t * t * square + self.fees[graph] + expected

    def bounds_at(self, state: State) -> tuple[float, float]:
        """Doubles that enclose the value of a state, whether or not it is known exactly."""
        number, ages = self.key_of(state)
        places = tuple(of[x] for of, x in zip(self.places, self.base.digits_of(number), strict=True))
        least, most = self.costs.bounds(self.costs.code_of(places, ages))
        earned = earned_from(self.instance, state)
        return outward(earned - most, earned - least)

    def reachable_states(self) -> tuple[State, ...]:
        """Every reachable unfinished state, the initial one first.

        Raises
        ------
        TooLarge
            More than can be listed.
        """
        return AgedSweep(self.instance, self.sense, MAX_LISTED_STATES).reachable_states()
