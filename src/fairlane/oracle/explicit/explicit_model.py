"""An episode as an explicit Markov decision process: states, choices, exact rewards and transitions.

State 0 is the initial one; the last state is the end, in which nothing happens. Built from the readable step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fairlane.oracle.encoding.packing import count_states, lanes_couple
from fairlane.oracle.policy_value.verify import action_to_json
from fairlane.oracle.rational.plain import without_age
from fairlane.reference.errors import TooLarge
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.state import ZERO, State, actions, initial_state, is_final
from fairlane.reference.model.step import step

MAX_STATES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One choice of a state: a name, its expected reward, and (state, probability) pairs that sum to 1.

    ``duration`` is the time it is expected to take, >= 0: 1 in models that count steps.
    """

    name: str
    reward: Fraction
    to: tuple[tuple[int, Fraction], ...]
    duration: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplicitModel:
    """A Markov decision process with one reward model; ``final`` states end it, ``initial`` starts it.

    ``timed`` models take time rather than steps, as Markov automata and chains in continuous time do.
    """

    choices: tuple[tuple[Choice, ...], ...]
    initial: int
    final: frozenset[int]
    reward_name: str
    timed: bool = False

    @property
    def n_choices(self) -> int:
        """Choices of all states together."""
        return sum(len(row) for row in self.choices)


def explicit_model(
    instance: Instance, *, max_states: int = MAX_STATES, on_progress: Callable[[int, int], None] | None = None
) -> ExplicitModel:
    """The episode of an instance as a model other tools can read.

    Parameters
    ----------
    instance : Instance
        Any instance.
    max_states : int
        Refusal beyond this many states, before the work where they can be counted.
    on_progress : callable or None
        Called with (states expanded, states known).

    Raises
    ------
    TooLarge
        More than ``max_states`` states.
    """
    if not instance.objective.age_price and not lanes_couple(instance):
        counted = count_states(instance)
        if counted > max_states:
            raise TooLarge(f"instance {instance.name!r} has {counted:,} states; an export takes at most {max_states:,}")
    root = without_age(instance, initial_state(instance))
    number: dict[State, int] = {root: 0}
    queue = [root]
    rows: list[list[tuple[str, Fraction, dict[State | None, Fraction]]]] = []
    for state in queue:
        if on_progress is not None and len(rows) % 64 == 0:
            on_progress(len(rows), len(queue))
        row = []
        for action in actions(instance, state):
            reward = ZERO
            to: dict[State | None, Fraction] = {}
            for outcome in step(instance, state, action):
                reward += outcome.probability * outcome.reward
                following = None if is_final(outcome.state) else without_age(instance, outcome.state)
                if following is not None and following not in number:
                    number[following] = len(queue)
                    queue.append(following)
                    if len(queue) > max_states:
                        raise TooLarge(
                            f"instance {instance.name!r} has more than {max_states} states; that is the limit"
                        )
                to[following] = to.get(following, ZERO) + outcome.probability
            named = action_to_json(instance, action)
            row.append((f"{named['graph']}/{action.prefill}/{action.decode}".replace(" ", ""), reward, to))
        rows.append(row)
    end = len(queue)
    choices = [
        tuple(
            Choice(
                name=name,
                reward=reward,
                to=tuple(sorted((end if s is None else number[s], p) for s, p in to.items())),
            )
            for name, reward, to in row
        )
        for row in rows
    ]
    choices.append((Choice(name="end", reward=ZERO, to=((end, Fraction(1)),)),))
    return ExplicitModel(choices=tuple(choices), initial=0, final=frozenset({end}), reward_name="net")
