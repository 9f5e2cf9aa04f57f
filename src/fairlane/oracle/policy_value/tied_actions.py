"""Which of several optimal actions is named or drawn: equal in value, they are not equally easy to understand.

Beside a policy's choice, the optimal action that differs least from it says best what was wrong. In a run that is
drawn, one that takes the least expected time is shown: where time has no price, an optimum may waste it, and nobody
would recognise the schedule as a good one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from fairlane.reference.model.instance import Instance
from fairlane.reference.model.state import Action, State, is_final
from fairlane.reference.model.step import step

# Beyond this many states the time to go is left out: a picture is not worth a second solution.
MAX_STATES = 2_000


class OptimalActions(Protocol):
    """What is needed of a solved instance."""

    def optimal_actions(self, state: State) -> tuple[Action, ...]:
        """Every optimal action of a state."""
        ...


def nearest(instance: Instance, ties: Sequence[Action], like: Action | None = None) -> Action:
    """Of equally good actions the one that differs least from another, then the fuller, then the shorter one.

    Parameters
    ----------
    instance : Instance
        Whose graphs and requests the actions name.
    ties : sequence of Action
        At least one.
    like : Action or None
        What to stay close to: lanes in common count first, then the graph.

    Returns
    -------
    Action
        One of ``ties``.
    """

    def order(action: Action) -> tuple[int, bool, int, Fraction, int, Action]:
        graph = instance.graphs.graphs[action.graph]
        lanes = _lanes(action)
        apart = 0 if like is None else len(lanes ^ _lanes(like))
        capacity = graph.prefill_capacity + graph.decode_capacity
        return apart, like is not None and action.graph != like.graph, -len(lanes), graph.duration_ms, capacity, action

    return min(ties, key=order)


def _lanes(action: Action) -> frozenset[tuple[str, int]]:
    return frozenset([*(("prefill", i) for i in action.prefill), *(("decode", i) for i in action.decode)])


class TimeToGo:
    """Least expected time to the end among optimal policies, by state, as far as that is looked at.

    Parameters
    ----------
    instance : Instance
        The instance.
    solution : OptimalActions
        Its solution.
    """

    def __init__(self, instance: Instance, solution: OptimalActions) -> None:
        self._instance = instance
        self._solution = solution
        self._known: dict[State, Fraction] = {}

    def quickest(self, state: State) -> tuple[Action, ...]:
        """The optimal actions of a state after which the end is nearest; all of them where there is too much to see."""
        ties = self._solution.optimal_actions(state)
        if len(ties) == 1 or not self._explore(state):
            return ties
        times = [self._after(state, action) for action in ties]
        return tuple(action for action, time in zip(ties, times, strict=True) if time == min(times))

    def _explore(self, start: State) -> bool:
        """Work out every state that optimal actions reach, later ones first; False where there are too many."""
        waiting = [start]
        while waiting:
            state = waiting[-1]
            if state in self._known or is_final(state):
                waiting.pop()
                continue
            ties = self._solution.optimal_actions(state)
            open_ = [
                outcome.state
                for action in ties
                for outcome in step(self._instance, state, action)
                if not is_final(outcome.state) and outcome.state not in self._known
            ]
            if open_:
                if len(self._known) + len(waiting) > MAX_STATES:
                    return False
                waiting += open_
                continue
            self._known[state] = min(self._after(state, action) for action in ties)
            waiting.pop()
        return True

    def _after(self, state: State, action: Action) -> Fraction:
        """Expected time to the end when an action is taken and the quickest optimum follows."""
        time = self._instance.graphs.graphs[action.graph].duration_ms
        for outcome in step(self._instance, state, action):
            if not is_final(outcome.state):
                time += outcome.probability * self._known[outcome.state]
        return time
