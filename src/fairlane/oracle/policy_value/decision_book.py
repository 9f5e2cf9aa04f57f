"""Every situation of a small instance with every decision it allows: what an explorer leafs through.

With a policy a page is a situation, that is a state with all its decisions may depend on, reached by any decisions at
all: so what the policy would do is known wherever a reader strays to. Without one a page is a state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fairlane.oracle.policy_value.evaluate import PolicySweep, Situation, action_of, view_of
from fairlane.oracle.policy_value.tied_actions import nearest
from fairlane.oracle.solve import Solution
from fairlane.reference.errors import TooLarge
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import Completion, Decision, Memory, Policy, View, branches
from fairlane.reference.model.state import Action, State, is_final
from fairlane.reference.model.step import Outcome

# A page of a browser holds this much well: pages, and outcomes of decisions on all of them.
MAX_PAGES = 20_000
MAX_OUTCOMES = 300_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BookOutcome:
    """One way a decision can end; ``page`` is where it leads, None where every request has finished."""

    probability: Fraction
    reward: Fraction
    page: int | None
    published: tuple[tuple[int, int], ...]
    consumed: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A decision: its exact value when everything afterwards is optimal, and how likely the policy takes it."""

    action: Action
    value: Fraction
    taken: Fraction
    outcomes: tuple[BookOutcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A state with its exact optimal value and its choices, the best first; ``best`` numbers the one to show."""

    state: State
    value: Fraction
    choices: tuple[Choice, ...]
    best: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionBook:
    """All pages of an instance, the first one first."""

    instance: Instance
    policy: str | None
    pages: tuple[Page, ...]


class _Nobody:
    """Decides nothing: stands where there is no policy, so that situations are states."""

    def initial(self, catalog: object) -> Memory:
        return None

    def decide(self, view: View, memory: Memory) -> Decision:
        raise AssertionError("nobody is asked")

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        return None


def decision_book(
    instance: Instance,
    solution: Solution,
    *,
    policy: Policy | None = None,
    policy_name: str | None = None,
    max_pages: int = MAX_PAGES,
    max_outcomes: int = MAX_OUTCOMES,
    on_progress: Callable[[int, int], None] | None = None,
) -> DecisionBook:
    """Every situation that any decisions lead to.

    Parameters
    ----------
    instance : Instance
        A small instance.
    solution : Solution
        Its exact solution.
    policy : Policy or None
        Whose choices are marked; deterministic, randomised or with a memory.
    policy_name : str or None
        What to call it.
    max_pages, max_outcomes : int
        Refusal beyond this many.
    on_progress : callable or None
        Called with (pages done, pages known).

    Raises
    ------
    TooLarge
        More than the limits.
    PolicyError
        An illegal decision of the policy, in a situation that any decisions lead to.
    """
    if policy is None:
        sweep = PolicySweep(
            instance, _Nobody(), keeps_age=bool(instance.objective.age_price), keeps_clock=False, keeps_times=False
        )
    else:
        sweep = PolicySweep.of(instance, policy)
    start = _key(sweep.start(), policy)
    numbers: dict[Situation, int] = {start: 0}
    waiting, pages, n_outcomes = [start], list[Page](), 0
    for situation in waiting:
        view = view_of(instance, situation)
        taken = {} if policy is None else _taken(instance, view, policy, situation)
        choices = []
        for action, value in solution.action_values(situation.state):
            outcomes = []
            for outcome, following in sweep.successors(situation, view, _decision(instance, action), action):
                page = None
                if not is_final(outcome.state):
                    key = _key(following, policy)
                    page = numbers.setdefault(key, len(numbers))
                    if page == len(waiting):
                        waiting.append(key)
                outcomes.append(_outcome(outcome, page))
            n_outcomes += len(outcomes)
            if len(waiting) > max_pages or n_outcomes > max_outcomes:
                raise TooLarge(
                    f"instance {instance.name!r} has more than {len(waiting) - 1:,} situations with {n_outcomes:,} "
                    f"outcomes; a page takes at most {max_pages:,} and {max_outcomes:,}; need fewer requests, tokens "
                    "or graphs" + ("" if policy is None else ", or no policy, whose memory makes situations of states")
                )
            chance = taken.pop(_unordered(action), Fraction(0))
            choices.append(Choice(action=action, value=value, taken=chance, outcomes=tuple(outcomes)))
        assert not taken, "a checked decision is a legal action"
        choices.sort(key=lambda choice: -choice.value)
        ties = [choice.action for choice in choices if choice.value == choices[0].value]
        like = max(choices, key=lambda choice: choice.taken)
        shown = nearest(instance, ties, like.action if like.taken else None)
        best = next(i for i, choice in enumerate(choices) if choice.action == shown)
        pages.append(
            Page(state=situation.state, value=solution.value_at(situation.state), choices=tuple(choices), best=best)
        )
        if on_progress is not None and len(pages) % 64 == 0:
            on_progress(len(pages), len(waiting))
    return DecisionBook(instance=instance, policy=policy_name, pages=tuple(pages))


def _key(situation: Situation, policy: Policy | None) -> Situation:
    if policy is not None:
        return situation
    return situation._replace(service=(None,) * len(situation.service))


def _taken(instance: Instance, view: View, policy: Policy, situation: Situation) -> dict[Action, Fraction]:
    """How likely the policy takes each action here."""
    found: dict[Action, Fraction] = {}
    for chance, decision in branches(policy.decide(view, situation.memory)):
        action = _unordered(action_of(instance, view, decision))
        found[action] = found.get(action, Fraction(0)) + chance
    return found


def _unordered(action: Action) -> Action:
    """Decode rows are a set; prompts are filled in order, which matters."""
    return action._replace(decode=tuple(sorted(action.decode)))


def _decision(instance: Instance, action: Action) -> Decision:
    ids = [request.id for request in instance.requests]
    return Decision(
        graph=instance.graphs.graphs[action.graph].name,
        prefill=tuple(ids[i] for i in action.prefill),
        decode=tuple(ids[i] for i in action.decode),
    )


def _outcome(outcome: Outcome, page: int | None) -> BookOutcome:
    return BookOutcome(
        probability=outcome.probability,
        reward=outcome.reward,
        page=page,
        published=outcome.published,
        consumed=outcome.consumed,
    )
