"""Best ratio of expected net reward and expected duration of an episode, on the backward sweep's transitions.

Dinkelbach's method (1967, doi:10.1287/mnsc.13.7.492): maximise E[reward] - rho E[time] exactly, move rho to the
ratio of the policy found, and stop when the maximum is 0. Transitions are built once and used in every round.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

from flint import fmpq

from fairlane.oracle.rational.aged_induction import AgedSweep
from fairlane.oracle.rational.backward_induction import Sweep
from fairlane.oracle.rational.plain import Sense
from fairlane.reference.errors import TooLarge
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.state import Action, State, initial_state
from fairlane.reference.rationals import to_fmpq, to_fraction

Row = tuple[Action, fmpq, fmpq, list[tuple[fmpq, Hashable]]]


class RatioPlan:
    """The policy of the best ratio from an instance's initial state.

    Parameters
    ----------
    instance : Instance
        Any instance.
    max_states : int
        Refusal beyond this many states.
    """

    def __init__(self, instance: Instance, *, max_states: int = 20_000) -> None:
        self._aged = bool(instance.objective.age_price)
        self._table: Sweep | AgedSweep = (
            AgedSweep(instance, Sense.MAX, max_states) if self._aged else Sweep(instance, Sense.MAX, max_states)
        )
        self._durations = [to_fmpq(g.duration_ms) for g in instance.graphs]
        root = self._key(initial_state(instance))
        rows: dict[Hashable, list[Row]] = {}
        order: list[Hashable] = []
        # depth first, so that a state is listed after everything it leads to
        stack: list[tuple[Hashable, bool]] = [(root, False)]
        while stack:
            key, expanded = stack.pop()
            if expanded:
                order.append(key)
                continue
            if key in rows:
                continue
            if len(rows) >= max_states:
                raise TooLarge(
                    f"instance {instance.name!r} has more than {max_states} states; the limit is {max_states}"
                )
            rows[key] = self._rows(key)
            stack.append((key, True))
            stack += [(k, False) for row in rows[key] for _, k in row[3] if k not in rows]
        self._choice: dict[Hashable, Action] = {}
        self.ratio = self._iterate(root, rows, order)

    def action(self, state: State) -> Action:
        """The plan's action in a state reachable from the initial one."""
        return self._choice[self._key(state)]

    def _key(self, state: State) -> Hashable:
        return self._table.key_of(state) if isinstance(self._table, AgedSweep) else self._table.number_of(state)

    def _rows(self, key: Hashable) -> list[Row]:
        if isinstance(self._table, AgedSweep):
            assert isinstance(key, tuple)
            final = self._table.base.size - 1
            return [
                (action, reward, self._durations[action.graph], [(p, k) for p, k in law if k[0] != final])
                for action, reward, law in self._table.moves(key, every=True)
            ]
        assert isinstance(key, int)
        final = self._table.size - 1
        return [
            (
                action,
                reward,
                self._durations[action.graph],
                [(p, key + shift) for p, shift in law if key + shift != final],
            )
            for action, reward, law in self._table.moves(key, every=True)
        ]

    def _iterate(self, root: Hashable, rows: dict[Hashable, list[Row]], order: list[Hashable]) -> Fraction:
        rate: fmpq = fmpq(0)
        while True:
            net: dict[Hashable, fmpq] = {}
            earned: dict[Hashable, fmpq] = {}
            spent: dict[Hashable, fmpq] = {}
            for key in order:
                best: fmpq | None = None
                chosen: Row | None = None
                for row in rows[key]:
                    value = row[1] - rate * row[2]
                    for p, k in row[3]:
                        value += p * net[k]
                    if best is None or value > best:
                        best, chosen = value, row
                assert chosen is not None
                assert best is not None
                net[key] = best
                reward, time = chosen[1], chosen[2]
                for p, k in chosen[3]:
                    reward += p * earned[k]
                    time += p * spent[k]
                earned[key], spent[key] = reward, time
                self._choice[key] = chosen[0]
            ratio = earned[root] / spent[root]
            if net[root] == 0:
                return to_fraction(ratio)
            rate = ratio
