"""The plain exact solver: backward induction in rationals on the readable step.

Every action consumes prompt tokens or publishes output, so sorting the reachable states by progress gives an
order in which one backward sweep is enough. This is the independent yardstick of the compiled oracle, and the
method of choice for tiny instances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from fairlane.oracle.encoding.enclosure import enclose
from fairlane.oracle.refusal import met
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.state import ZERO, Action, State, actions, initial_state, is_final
from fairlane.reference.model.step import Outcome, step

MAX_STATES = 60_000


class Sense(StrEnum):
    """Best or worst value over all policies."""

    MAX = "max"
    MIN = "min"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainSolution:
    """Exact values of every reachable state.

    ``values`` and ``best`` are keyed by state without ages where no price on age asks for them; ``best`` holds
    every optimal action of each unfinished state, in enumeration order.
    """

    value: Fraction
    states: int
    values: dict[State, Fraction]
    best: dict[State, tuple[Action, ...]]
    keeps_age: bool

    def value_at(self, state: State) -> Fraction:
        """Exact value of a reachable state; 0 of a final one."""
        return ZERO if is_final(state) else self.values[self._key(state)]

    def optimal_actions(self, state: State) -> tuple[Action, ...]:
        """Every optimal action of a reachable unfinished state."""
        return self.best[self._key(state)]

    def bounds_at(self, state: State) -> tuple[float, float]:
        """Doubles around the value of a reachable state."""
        return enclose(self.value_at(state))

    def reachable_states(self) -> tuple[State, ...]:
        """Every reachable unfinished state, the initial one first, whose progress is the least."""
        return tuple(reversed(self.values))

    def _key(self, state: State) -> State:
        return state if self.keeps_age else tuple(local._replace(age_ms=ZERO) for local in state)


def without_age(instance: Instance, state: State) -> State:
    """The state as the objective sees it: ages are dropped where they have no price."""
    if instance.objective.age_price:
        return state
    return tuple(local._replace(age_ms=ZERO) if local.age_ms else local for local in state)


def progress(instance: Instance, state: State) -> int:
    """Prompt tokens consumed plus output published, a finished request counting beyond its limit."""
    total = 0
    for request, local in zip(instance.requests, state, strict=True):
        total += (
            request.prompt + request.limit + 1 if local.finished else request.prompt - local.prompt + local.generated
        )
    return total


Progress = Callable[[int, int], None]


def solve_plain(
    instance: Instance,
    *,
    sense: Sense = Sense.MAX,
    max_states: int = MAX_STATES,
    on_progress: Progress | None = None,
) -> PlainSolution:
    """Exact optimum by backward induction.

    Parameters
    ----------
    instance : Instance
        Any instance of the model.
    sense : Sense
        MAX for the optimum, MIN for the worst value over all policies.
    max_states : int
        Refusal beyond this many reachable unfinished states.
    on_progress : callable or None
        Called with (states done, states known) now and then.

    Returns
    -------
    PlainSolution
        The value at the initial state and at every reachable one.

    Raises
    ------
    TooLarge
        More than ``max_states`` states.
    """
    root = without_age(instance, initial_state(instance))
    seen = {root}
    frontier = [root]
    moves: dict[State, tuple[tuple[Action, tuple[Outcome, ...]], ...]] = {}
    while frontier:
        state = frontier.pop()
        moves[state] = tuple((action, step(instance, state, action)) for action in actions(instance, state))
        for _, outcomes in moves[state]:
            for outcome in outcomes:
                following = without_age(instance, outcome.state)
                if following not in seen and not is_final(following):
                    seen.add(following)
                    frontier.append(following)
                    if len(seen) > max_states:
                        raise met(instance, max_states)
    values: dict[State, Fraction] = {}
    best: dict[State, tuple[Action, ...]] = {}
    ordered = sorted(seen, key=lambda s: progress(instance, s), reverse=True)
    for done, state in enumerate(ordered):
        if on_progress is not None and done % 256 == 0:
            on_progress(done, len(ordered))
        top: Fraction | None = None
        ties: list[Action] = []
        for action, outcomes in moves.pop(state):
            value = ZERO
            for outcome in outcomes:
                future = values.get(without_age(instance, outcome.state), ZERO)
                value += outcome.probability * (outcome.reward + future)
            if top is None or (value > top if sense is Sense.MAX else value < top):
                top, ties = value, [action]
            elif value == top:
                ties.append(action)
        assert top is not None, "every unfinished request of a checked instance can be served"
        values[state] = top
        best[state] = tuple(ties)
    return PlainSolution(
        value=values[root], states=len(seen), values=values, best=best, keeps_age=bool(instance.objective.age_price)
    )
