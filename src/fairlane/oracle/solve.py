"""The exact optimum of an episode, by the method that fits its size."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from fairlane.oracle.aged_induction import AgedSweep
from fairlane.oracle.backward_induction import Sweep
from fairlane.oracle.plain import Sense
from fairlane.reference.instance import Instance
from fairlane.reference.policy import Decision, FunctionPolicy, Policy, Sees, View
from fairlane.reference.state import FINISHED, ZERO, Action, LocalState, State, initial_state

MAX_STATES = 200_000


class Method(StrEnum):
    """How an optimum was found."""

    BACKWARD_INDUCTION = "backward_induction"
    AGED_BACKWARD_INDUCTION = "aged_backward_induction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """An optimum with its evidence.

    ``value`` is exact, or None where only the certified doubles ``lower`` and ``upper`` enclose it. ``states``
    counts reachable unfinished states without symmetry, None where only the merged ``canonical_states`` were
    visited.
    """

    value: Fraction | None
    lower: float
    upper: float
    policy: Policy
    states: int | None
    canonical_states: int | None
    method: Method
    seconds: float
    _table: Sweep | AgedSweep = field(repr=False)
    _reached: tuple[State, ...] = field(repr=False)

    def reachable_states(self) -> tuple[State, ...]:
        """Every reachable unfinished state, the initial one first."""
        return self._reached

    def value_at(self, state: State) -> Fraction:
        """Exact optimal value of a state; 0 of a final one."""
        return self._table.value_at(state)

    def optimal_actions(self, state: State) -> tuple[Action, ...]:
        """Every optimal action of an unfinished state, in enumeration order."""
        return self._table.optimal_actions(state)


def solve(
    instance: Instance,
    *,
    sense: Sense | str = Sense.MAX,
    max_states: int = MAX_STATES,
    on_progress: Callable[[int, int], None] | None = None,
) -> Solution:
    """Exact optimum over all policies.

    Parameters
    ----------
    instance : Instance
        Any instance of the model.
    sense : Sense or str
        "max" for the optimum, "min" for the worst value over all policies.
    max_states : int
        Refusal beyond this many reachable states.
    on_progress : callable or None
        Called with (states done, states known).

    Returns
    -------
    Solution
        A rational value with the states it took.

    Raises
    ------
    TooLarge
        More states than the limit, said before the work where the count follows from the instance.
    """
    begun = time.perf_counter()
    which = Sense(sense)
    table: Sweep | AgedSweep
    root = initial_state(instance)
    if instance.objective.age_price:
        aged = table = AgedSweep(instance, which, max_states)
        aged.solve(aged.key_of(root), on_progress)
        method = Method.AGED_BACKWARD_INDUCTION
    else:
        plain = table = Sweep(instance, which, max_states)
        plain.solve(plain.number_of(root), on_progress)
        method = Method.BACKWARD_INDUCTION
    value = table.value_at(root)
    reached = tuple(table.reachable_states())
    lower, upper = enclose(value)
    return Solution(
        value=value,
        lower=lower,
        upper=upper,
        policy=_policy(instance, table),
        states=len(reached),
        canonical_states=None,
        method=method,
        seconds=time.perf_counter() - begun,
        _table=table,
        _reached=reached,
    )


def enclose(value: Fraction) -> tuple[float, float]:
    """The doubles around a rational, equal where it is one."""
    try:
        near = float(value)
    except OverflowError:
        return (-math.inf, -1.7976931348623157e308) if value < 0 else (1.7976931348623157e308, math.inf)
    exact = Fraction(near)
    if exact == value:
        return near, near
    return (near, math.nextafter(near, math.inf)) if exact < value else (math.nextafter(near, -math.inf), near)


def _policy(instance: Instance, table: Sweep | AgedSweep) -> Policy:
    ids = [request.id for request in instance.requests]
    keeps_age = bool(instance.objective.age_price)

    def decide(view: View) -> Decision:
        live = {request.index: request for request in view.requests}
        state = tuple(
            LocalState(live[i].prompt, live[i].generated, Fraction(live[i].age_ms or 0) if keeps_age else ZERO, False)
            if i in live
            else FINISHED
            for i in range(len(ids))
        )
        action = table.optimal_actions(state)[0]
        return Decision(
            graph=instance.graphs.graphs[action.graph].name,
            prefill=tuple(ids[i] for i in action.prefill),
            decode=tuple(ids[i] for i in action.decode),
        )

    return FunctionPolicy(decide, frozenset({Sees.AGE}) if keeps_age else frozenset())
