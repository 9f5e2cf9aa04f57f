"""Exact values of every reachable state at once, for certificates: one pass over falling state numbers.

Given an action the rows are independent, so the expectation over a decode set is one row's combination of the
expectations over the set without that row, taken at the states that row leads to. All of those have greater
numbers and are known already. The cost a decode set is a row's number of outcomes, not their product.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

from flint import fmpq

from fairlane.oracle.encoding.enclosure import enclose
from fairlane.oracle.rational.backward_induction import Sweep
from fairlane.oracle.rational.plain import Sense
from fairlane.oracle.refusal import met
from fairlane.reference.errors import TooLarge
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.state import Action, State, initial_state
from fairlane.reference.rationals import to_fraction

# expectations of all states and decode sets together, about 200 bytes each
MAX_EXPECTATIONS = 6_000_000


class FullTable:
    """Values and optimal actions of all reachable states of an instance without a price on age.

    Parameters
    ----------
    instance : Instance
        Any instance without a price on age.
    sense : Sense
        Best or worst value.
    max_states : int
        Refusal beyond this many reachable unfinished states.
    on_progress : callable or None
        Called with (states done, states).

    Raises
    ------
    TooLarge
        More states or expectations than the limits.
    """

    def __init__(
        self,
        instance: Instance,
        sense: Sense,
        *,
        max_states: int,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.instance = instance
        self.sense = sense
        self._sweep = Sweep(instance, sense, max_states)
        # the widest set that any graph of a width serves
        self._capacity: dict[int, int] = {}
        for graph in instance.graphs:
            if graph.decode_capacity:
                self._capacity[graph.width] = max(graph.decode_capacity, self._capacity.get(graph.width, 0))
        self._numbers = self._reachable(max_states)
        self._values: dict[int, fmpq] = {self._sweep.size - 1: fmpq(0)}
        self._best: dict[int, list[Action]] = {}
        self._expected: dict[tuple[int, int, tuple[int, ...]], fmpq] = {}
        for done, number in enumerate(sorted(self._numbers, reverse=True)):
            if on_progress is not None and done % 256 == 0:
                on_progress(done, len(self._numbers))
            self._settle(number)
        self._expected.clear()

    @property
    def states(self) -> int:
        """How many unfinished states are reachable."""
        return len(self._numbers)

    def value_at(self, state: State) -> Fraction:
        """Exact value of a reachable state."""
        return to_fraction(self._values[self._sweep.number_of(state)])

    def optimal_actions(self, state: State) -> tuple[Action, ...]:
        """Every optimal action of a reachable unfinished state, in enumeration order."""
        return tuple(self._best[self._sweep.number_of(state)])

    def bounds_at(self, state: State) -> tuple[float, float]:
        """Doubles around the value of a reachable state."""
        return enclose(self.value_at(state))

    def reachable_states(self) -> tuple[State, ...]:
        """Every reachable unfinished state, the initial one first."""
        return tuple(self._sweep.state_of(number) for number in self._numbers)

    def _phases(self, number: int) -> tuple[list[int], list[int], list[int]]:
        places = self._sweep.digits_of(number)
        prompts: list[int] = []
        rows: list[int] = []
        for i, place in enumerate(places):
            local = self._sweep.locals[i][place]
            if not local.finished:
                (prompts if local.prompt else rows).append(i)
        return places, prompts, rows

    def _reachable(self, max_states: int) -> list[int]:
        """Numbers of reachable states: what one lane at a time reaches is all that lanes together reach."""
        final = self._sweep.size - 1
        root = self._sweep.number_of(initial_state(self.instance))
        seen = {root, final}
        queue = [root]
        for number in queue:
            places, prompts, rows = self._phases(number)
            shifts = [
                shift for width in self._capacity for i in rows for _, shift in self._sweep.row(i, places[i], width).law
            ]
            for g in range(len(self.instance.graphs)):
                for order, _, law in self._sweep.lists(g, prompts, places, every=True):
                    shifts += [shift for _, shift in law] if order else []
            for shift in shifts:
                if number + shift not in seen:
                    seen.add(number + shift)
                    queue.append(number + shift)
            if len(queue) > max_states:
                raise met(self.instance, max_states)
        return queue

    def _settle(self, number: int) -> None:
        """Value and optimal actions of a state whose successors are all settled."""
        sweep = self._sweep
        places, prompts, rows = self._phases(number)
        for width, capacity in self._capacity.items():
            for size in range(1, min(capacity, len(rows)) + 1):
                for members in combinations(rows, size):
                    # the last row moves, the others stand where they were
                    lane = sweep.row(members[-1], places[members[-1]], width)
                    total = fmpq(0)
                    for p, shift in lane.law:
                        total += p * self._after(number + shift, width, members[:-1])
                    self._expected[number, width, members] = total
        if len(self._expected) > MAX_EXPECTATIONS:
            raise TooLarge(
                f"instance {self.instance.name!r} has more than {MAX_EXPECTATIONS:,} pairs of a state and a decode "
                "set; exact values of all of its states take at most that"
            )
        rate = sweep.time_price
        for i, place in enumerate(places):
            rate += sweep.rates[i][place]
        best: fmpq | None = None
        ties: list[Action] = []
        for g, graph in enumerate(self.instance.graphs):
            waited = rate * sweep.durations[g] + sweep.launch_costs[g]
            for order, gained, law in sweep.lists(g, prompts, places, every=True):
                for size in range(min(graph.decode_capacity, len(rows)) + 1):
                    for members in combinations(rows, size):
                        if not order and not members:
                            continue
                        value = gained - waited
                        for i in members:
                            value += sweep.row(i, places[i], graph.width).reward
                        for p, shift in law:
                            value += p * self._after(number + shift, graph.width, members)
                        if best is None or (value > best if self.sense is Sense.MAX else value < best):
                            best, ties = value, [Action(g, order, members)]
                        elif value == best:
                            ties.append(Action(g, order, members))
        assert best is not None, "every unfinished request of a checked instance can be served"
        self._values[number] = best
        self._best[number] = ties

    def _after(self, number: int, width: int, rows: tuple[int, ...]) -> fmpq:
        return self._expected[number, width, rows] if rows else self._values[number]
