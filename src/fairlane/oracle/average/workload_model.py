"""A continuing workload as an explicit semi-Markov model: states, actions, durations, rewards, transitions.

In a closed system a request that finishes is replaced at once by a fresh copy of its template, so every state
is followed by another one. Ages are capped at the workload's ``age_cap_ms``, which keeps the states finite.
Models are built from the readable step, so they mean what it means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from fairlane.oracle.refusal import REMEDY
from fairlane.reference.errors import InvalidInstance, TooLarge
from fairlane.reference.model.instance import Instance, Regenerates
from fairlane.reference.model.state import ZERO, Action, LocalState, State, actions, initial_state, is_final
from fairlane.reference.model.step import step

MAX_STATES = 20_000


class Move(NamedTuple):
    """One action of a state: duration (ms), expected reward, and where it leads with which probability."""

    action: Action
    duration_ms: Fraction
    reward: Fraction
    to: tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadModel:
    """States by number (0 is the initial one) and the moves of each."""

    workload: Instance
    states: tuple[State, ...]
    number: dict[State, int]
    moves: tuple[tuple[Move, ...], ...]


def regenerate(workload: Instance, state: State, *, keeps_age: bool) -> State:
    """The state after a graph, with finished requests replaced and ages capped, or dropped without ``keeps_age``.

    With ``regenerates`` "request" every finished request starts again at once; with "episode" all of them do
    when the last one has finished.
    """
    fresh = initial_state(workload)
    if workload.regenerates is Regenerates.EPISODE:
        if is_final(state):
            return fresh
        renewed = state
    else:
        renewed = tuple(start if local.finished else local for start, local in zip(fresh, state, strict=True))
    if not keeps_age:
        return tuple(_at_age(local, ZERO) for local in renewed)
    cap = workload.age_cap_ms
    return renewed if cap is None else tuple(_at_age(local, min(local.age_ms, cap)) for local in renewed)


def _at_age(local: LocalState, age_ms: Fraction) -> LocalState:
    return local if local.age_ms == age_ms else local._replace(age_ms=age_ms)


def check_workload(workload: Instance) -> None:
    """Refuse a workload whose states are not finite.

    Raises
    ------
    InvalidInstance
        A positive age price in a closed system without ``age_cap_ms``.
    """
    endless = workload.regenerates is Regenerates.REQUEST
    if endless and workload.objective.age_price and workload.age_cap_ms is None:
        raise InvalidInstance("age_cap_ms is missing while objective.age_price is positive; a closed system needs it")


def build_model(
    workload: Instance, *, max_states: int = MAX_STATES, on_progress: Callable[[int, int], None] | None = None
) -> WorkloadModel:
    """The explicit model of everything reachable.

    Parameters
    ----------
    workload : Instance
        Templates of the requests; ``regenerates`` says how they start again.
    max_states : int
        Refusal beyond this many states.
    on_progress : callable or None
        Called with (states expanded, states known).

    Raises
    ------
    InvalidInstance
        The states are not finite.
    TooLarge
        More than ``max_states`` states.
    """
    check_workload(workload)
    keeps_age = bool(workload.objective.age_price)
    start = initial_state(workload)
    number = {start: 0}
    states = [start]
    moves: list[tuple[Move, ...]] = []
    for state in states:
        if on_progress is not None and len(moves) % 128 == 0:
            on_progress(len(moves), len(states))
        row: list[Move] = []
        for action in actions(workload, state):
            reward = ZERO
            to: dict[int, Fraction] = {}
            for outcome in step(workload, state, action):
                reward += outcome.probability * outcome.reward
                following = regenerate(workload, outcome.state, keeps_age=keeps_age)
                known = number.get(following)
                if known is None:
                    known = number[following] = len(states)
                    states.append(following)
                    if len(states) > max_states:
                        raise TooLarge(
                            f"workload {workload.name!r} has more than {max_states} states; "
                            f"long-run calculations take at most {max_states}; {REMEDY}"
                        )
                to[known] = to.get(known, ZERO) + outcome.probability
            duration = workload.graphs.graphs[action.graph].duration_ms
            row.append(Move(action, duration, reward, tuple(sorted(to.items()))))
        moves.append(tuple(row))
    return WorkloadModel(workload=workload, states=tuple(states), number=number, moves=tuple(moves))
