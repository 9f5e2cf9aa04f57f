"""The exact backward sweep with output ages as part of the state, for instances whose objective prices age.

Given an action the ages after it are certain: what was served is at 0, what was not has aged by the graph's
duration. Ages are whole multiples of one unit, the reciprocal of the durations' common denominator. With a price
on age a prompt may be better left waiting, so every prefill list counts; decode sets may still be maximal.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import lcm

from flint import fmpq

from fairlane.oracle.encoding.enclosure import enclose
from fairlane.oracle.rational.backward_induction import Sweep
from fairlane.oracle.rational.plain import Sense
from fairlane.oracle.refusal import met
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.pricing import age_rate
from fairlane.reference.model.state import Action, State
from fairlane.reference.rationals import to_fmpq, to_fraction

Key = tuple[int, tuple[int, ...]]


class AgedSweep:
    """One instance with a price on age, solved on demand; values by state number and ages.

    Parameters
    ----------
    instance : Instance
        Any instance.
    sense : Sense
        Best or worst value.
    max_states : int
        Refusal beyond this many reachable unfinished states.
    """

    def __init__(self, instance: Instance, sense: Sense, max_states: int) -> None:
        self.instance = instance
        self.sense = sense
        self.max_states = max_states
        self.base = Sweep(instance, sense, max_states)
        unit = lcm(*(g.duration_ms.denominator for g in instance.graphs))
        self.unit = unit
        self.steps = [int(g.duration_ms * unit) for g in instance.graphs]
        prices = instance.objective
        self.price = [to_fmpq(age_rate(prices, r.weight) / unit**2) for r in instance.requests]
        self.values: dict[Key, fmpq] = {}

    def key_of(self, state: State) -> Key:
        """A state's number and its ages in units.

        Raises
        ------
        KeyError
            An age that is no multiple of the unit: such a state is not reachable.
        """
        ages = []
        for local in state:
            scaled = local.age_ms * self.unit
            if scaled.denominator != 1:
                raise KeyError(state)
            ages.append(int(scaled))
        return self.base.number_of(state), tuple(ages)

    def moves(self, key: Key, *, every: bool) -> list[tuple[Action, fmpq, list[tuple[fmpq, Key]]]]:
        """Actions of a state with expected reward and law of the next key; all, or those with maximal decode sets."""
        number, ages = key
        places = self.base.digits_of(number)
        local = [self.base.locals[i][place] for i, place in enumerate(places)]
        decoding = [i for i, x in enumerate(local) if x.prompt == 0 and not x.finished]
        after, area = [], []
        for step in self.steps:
            grown = list(ages)
            cost: fmpq = fmpq(0)
            for i in decoding:
                # A T + T²/2, doubled to stay whole
                cost += self.price[i] * fmpq(step * (2 * ages[i] + step), 2)
                grown[i] += step
            after.append(grown)
            area.append(cost)
        out = []
        for action, reward, law in self.base.moves(number, every=every, every_prefill=True):
            following = list(after[action.graph])
            for i in (*action.prefill, *action.decode):
                following[i] = 0
            aged = tuple(following)
            out.append((action, reward - area[action.graph], [(p, (number + shift, aged)) for p, shift in law]))
        return out

    def tried(self, key: Key) -> list[tuple[Action, fmpq, list[tuple[fmpq, Key]]]]:
        """Actions among which an optimal one is: for the best value those with maximal decode sets."""
        return self.moves(key, every=self.sense is not Sense.MAX)

    def _value(self, key: Key) -> fmpq | None:
        return fmpq(0) if key[0] == self.base.size - 1 else self.values.get(key)

    def solve(self, root: Key, on_progress: Callable[[int, int], None] | None = None) -> None:
        """Values of every state that the tried actions reach from ``root``.

        Raises
        ------
        TooLarge
            More than ``max_states`` states.
        """
        best = self.sense is Sense.MAX
        pending = [root]
        done = 0
        while pending:
            key = pending[-1]
            if self._value(key) is not None:
                pending.pop()
                continue
            moves = self.tried(key)
            missing = {k for _, _, law in moves for _, k in law if self._value(k) is None}
            if missing:
                pending += missing
                continue
            top: fmpq | None = None
            for _, reward, law in moves:
                value = self._expected(reward, law)
                if top is None or (value > top if best else value < top):
                    top = value
            assert top is not None, "every unfinished request of a checked instance can be served"
            self.values[key] = top
            pending.pop()
            done += 1
            if done > self.max_states:
                raise met(self.instance, self.max_states, "states with their ages")
            if on_progress is not None and done % 256 == 0:
                on_progress(done, done + len(pending))

    def _expected(self, reward: fmpq, law: list[tuple[fmpq, Key]]) -> fmpq:
        value = reward
        for probability, key in law:
            future = self._value(key)
            assert future is not None
            value += probability * future
        return value

    def state_of(self, key: Key) -> State:
        """The state of a key."""
        number, ages = key
        return tuple(
            local._replace(age_ms=Fraction(age, self.unit)) if age else local
            for local, age in zip(self.base.state_of(number), ages, strict=True)
        )

    def reachable_states(self) -> tuple[State, ...]:
        """Every unfinished state that actions reach from the initial one, which comes first.

        Raises
        ------
        TooLarge
            More than ``max_states``.
        """
        root: Key = (0, (0,) * len(self.instance.requests))
        seen: set[Key] = {root}
        queue: list[Key] = [root]
        for key in queue:
            for _, _, law in self.moves(key, every=True):
                for _, following in law:
                    if following[0] != self.base.size - 1 and following not in seen:
                        seen.add(following)
                        queue.append(following)
                        if len(queue) > self.max_states:
                            raise met(self.instance, self.max_states, "states with their ages")
        return tuple(self.state_of(key) for key in queue)

    def value_at(self, state: State) -> Fraction:
        """Exact value of a state."""
        key = self.key_of(state)
        if self._value(key) is None:
            self.solve(key)
        found = self._value(key)
        assert found is not None
        return to_fraction(found)

    def bounds_at(self, state: State) -> tuple[float, float]:
        """Doubles around the value of a state."""
        return enclose(self.value_at(state))

    def optimal_actions(self, state: State) -> tuple[Action, ...]:
        """Every optimal action of an unfinished state, in enumeration order."""
        key = self.key_of(state)
        top = to_fmpq(self.value_at(state))
        out = []
        for action, reward, law in self.moves(key, every=True):
            for _, following in law:
                if self._value(following) is None:
                    self.solve(following)
            if self._expected(reward, law) == top:
                out.append(action)
        return tuple(out)
