"""One concrete run of a policy or of the optimum: at every completion the likeliest outcome happens.

Such a run is an illustration for people. It says nothing about values; those come from the exact evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairlane.oracle.policy_value.evaluate import OptimalValues, PolicySweep, action_of, view_of
from fairlane.oracle.policy_value.tied_actions import TimeToGo, nearest
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import Policy, branches
from fairlane.reference.model.state import ZERO, Action, State, initial_state, is_final
from fairlane.reference.model.step import Outcome, step


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBlock:
    """One graph of a run: when it ran, what it held, and what its lanes did (request index, tokens)."""

    start_ms: Fraction
    end_ms: Fraction
    state: State
    action: Action
    consumed: tuple[tuple[int, int], ...]
    published: tuple[tuple[int, int], ...]


def _likeliest(outcomes: tuple[Outcome, ...]) -> int:
    return max(range(len(outcomes)), key=lambda k: (outcomes[k].probability, -k))


def policy_run(instance: Instance, policy: Policy) -> tuple[RunBlock, ...]:
    """A run of a policy, taking the likeliest of its decisions where it draws."""
    sweep = PolicySweep(instance, policy, keeps_age=True, keeps_clock=True, keeps_times=True)
    situation = sweep.start()
    blocks: list[RunBlock] = []
    while not is_final(situation.state):
        view = view_of(instance, situation)
        _, decision = max(branches(policy.decide(view, situation.memory)), key=lambda pair: pair[0])
        action = action_of(instance, view, decision)
        followed = tuple(sweep.successors(situation, view, decision, action))
        outcome, following = followed[_likeliest(tuple(o for o, _ in followed))]
        blocks.append(_block(instance, situation.state, action, outcome, situation.now_ms))
        situation = following
    return tuple(blocks)


def optimal_run(
    instance: Instance, solution: OptimalValues, *, beside: Sequence[RunBlock] = ()
) -> tuple[RunBlock, ...]:
    """A run of an optimal policy, of those that tie one of least expected time.

    Parameters
    ----------
    instance : Instance
        The instance.
    solution : OptimalValues
        Its solution.
    beside : sequence of RunBlock
        Another run, which is stayed close to where its states are met.
    """
    time_to_go = TimeToGo(instance, solution)
    chosen = {block.state: block.action for block in beside}
    state = initial_state(instance)
    now = ZERO
    blocks: list[RunBlock] = []
    while not is_final(state):
        action = nearest(instance, time_to_go.quickest(state), chosen.get(state))
        outcomes = step(instance, state, action)
        outcome = outcomes[_likeliest(outcomes)]
        blocks.append(_block(instance, state, action, outcome, now))
        now = blocks[-1].end_ms
        state = outcome.state
    return tuple(blocks)


def _block(instance: Instance, state: State, action: Action, outcome: Outcome, now_ms: Fraction) -> RunBlock:
    return RunBlock(
        start_ms=now_ms,
        end_ms=now_ms + instance.graphs.graphs[action.graph].duration_ms,
        state=state,
        action=action,
        consumed=outcome.consumed,
        published=outcome.published,
    )
