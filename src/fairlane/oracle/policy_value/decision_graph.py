"""The decision graph of a small instance: its states, its choices, and which of them whom they belong to.

Drawing it is another module's work (:mod:`fairlane.pictures.decision_picture`).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from fairlane.oracle.policy_value.evaluate import OptimalValues, PolicySweep, Situation, action_of, view_of
from fairlane.oracle.rational.plain import progress, without_age
from fairlane.oracle.solve import solve
from fairlane.reference.errors import TooLarge
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import as_policy, branches
from fairlane.reference.model.state import ZERO, Action, State, actions, initial_state, is_final, prompt_shares
from fairlane.reference.model.step import step

# more than this many choices cannot be read in one picture
MAX_CHOICES = 90
# nor more than this many lines from choices to states
MAX_TRANSITIONS = 110
# with at most this many choices in all, those that nobody takes are drawn too
MAX_FULL_CHOICES = 36
MAX_SITUATIONS = 20_000


class Kind(StrEnum):
    """Whose choice it is."""

    OPTIMAL = "optimal"
    TIED = "tied"
    LOSING = "losing"
    FOLLOWING = "following"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateNode:
    """A state with its exact value; ``on_optimal_path`` where the optimal policy can come to it."""

    state: State
    value: Fraction
    on_optimal_path: bool
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceNode:
    """One action of a state.

    ``advantage`` is its worth minus the state's value, <= 0. ``probability`` is the chance that a run of the
    policy takes it, None without a policy. ``to`` has (state, probability) pairs.
    """

    source: int
    action: Action
    kind: Kind
    advantage: Fraction
    probability: Fraction | None
    to: tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionGraph:
    """States by number, 0 the initial one; all final situations are one state, the last."""

    instance: Instance
    states: tuple[StateNode, ...]
    choices: tuple[ChoiceNode, ...]
    policy: str | None
    policy_value: Fraction | None

    @property
    def optimum(self) -> Fraction:
        """Exact optimum of the instance."""
        return self.states[0].value


def decision_graph(
    instance: Instance,
    *,
    solution: OptimalValues | None = None,
    policy: object | None = None,
    policy_name: str = "policy",
    max_choices: int = MAX_CHOICES,
    max_transitions: int = MAX_TRANSITIONS,
) -> DecisionGraph:
    """The optimal policy's choices, a policy's own where given, and all others where there are few.

    Parameters
    ----------
    instance : Instance
        A small instance.
    solution : OptimalValues or None
        Its solution; solved here when None.
    policy : Policy, PolicySpec, callable or None
        Whose losing branches to mark.
    policy_name : str
        What to call it.
    max_choices, max_transitions : int
        Refusal beyond this many choices, or outcomes of choices, to draw.

    Raises
    ------
    TooLarge
        More choices than can be read in a picture.
    PolicyError
        An illegal decision of the policy.
    """
    if solution is None:
        solution = solve(instance)
    graph = _Collector(instance, solution, max_choices).collect(policy, policy_name)
    lines = sum(len(choice.to) for choice in graph.choices)
    if lines > max_transitions:
        raise TooLarge(
            f"instance {instance.name!r} needs {lines} transitions in its picture; "
            f"a picture takes at most {max_transitions}"
        )
    return graph


class _Collector:
    def __init__(self, instance: Instance, solution: OptimalValues, max_choices: int) -> None:
        self.instance = instance
        self.solution = solution
        self.max_choices = max_choices
        self.root = without_age(instance, initial_state(instance))

    def collect(self, policy: object | None, name: str) -> DecisionGraph:
        optimal = self._optimal()
        taken: dict[tuple[State, Action], Fraction] = {}
        value = None
        if policy is not None:
            taken, value = self._taken(policy)
        wanted: dict[State, list[Action]] = {state: [action] for state, action in optimal.items()}
        for state, action in taken:
            row = wanted.setdefault(state, [])
            if action not in row:
                row.append(action)
        self._check(sum(len(row) for row in wanted.values()))
        shown = self._everything() or wanted
        return self._assemble(shown, optimal, taken if policy is not None else None, name, value)

    def _check(self, n: int) -> None:
        if n > self.max_choices:
            raise TooLarge(
                f"instance {self.instance.name!r} needs at least {n} choices in its picture; "
                f"a picture takes at most {self.max_choices}"
            )

    def _following(self, state: State, action: Action) -> dict[State | None, Fraction]:
        to: dict[State | None, Fraction] = {}
        for outcome in step(self.instance, state, action):
            after = None if is_final(outcome.state) else without_age(self.instance, outcome.state)
            to[after] = to.get(after, ZERO) + outcome.probability
        return to

    def _optimal(self) -> dict[State, Action]:
        """The first optimal action of every state the optimal policy can come to."""
        found: dict[State, Action] = {}
        queue = [self.root]
        for state in queue:
            if state in found:
                continue
            found[state] = self.solution.optimal_actions(state)[0]
            self._check(len(found))
            queue += [s for s in self._following(state, found[state]) if s is not None]
        return found

    def _everything(self) -> dict[State, list[Action]] | None:
        """Every action of every reachable state, or None where they are too many to draw."""
        found: dict[State, list[Action]] = {self.root: []}
        n = 0
        for state in (queue := [self.root]):
            for action in actions(self.instance, state):
                n += 1
                if n > MAX_FULL_CHOICES:
                    return None
                found[state].append(action)
                for after in self._following(state, action):
                    if after is not None and after not in found:
                        found[after] = []
                        queue.append(after)
        return found

    def _taken(self, policy: object) -> tuple[dict[tuple[State, Action], Fraction], Fraction]:
        """The chance that a run of the policy takes an action in a state, and the policy's exact value."""
        rule = as_policy(policy)
        sweep = PolicySweep.of(self.instance, rule)
        start = sweep.start()
        levels: dict[int, dict[Situation, Fraction]] = defaultdict(dict)
        levels[progress(self.instance, start.state)][start] = Fraction(1)
        taken: dict[tuple[State, Action], Fraction] = {}
        value = ZERO
        met = 0
        while levels:
            for situation, chance in levels.pop(min(levels)).items():
                met += 1
                if met > MAX_SITUATIONS:
                    raise TooLarge(
                        f"the policy meets more than {MAX_SITUATIONS} situations on {self.instance.name!r}; "
                        "a picture takes at most that"
                    )
                view = view_of(self.instance, situation)
                for share, decision in branches(rule.decide(view, situation.memory)):
                    action = action_of(self.instance, view, decision)
                    key = (without_age(self.instance, situation.state), self._listed(situation.state, action))
                    taken[key] = taken.get(key, ZERO) + chance * share
                    for outcome, following in sweep.successors(situation, view, decision, action):
                        arriving = chance * share * outcome.probability
                        value += arriving * outcome.reward
                        if not is_final(outcome.state):
                            bucket = levels[progress(self.instance, following.state)]
                            bucket[following] = bucket.get(following, ZERO) + arriving
        return taken, value

    def _listed(self, state: State, action: Action) -> Action:
        """The action as the enumeration lists it: prompt lists with equal shares are one action."""

        def shares(other: Action) -> tuple[object, ...]:
            graph = self.instance.graphs.graphs[other.graph]
            given = zip(other.prefill, prompt_shares(graph, state, other.prefill), strict=True)
            return (other.graph, frozenset(given), other.decode)

        return next(other for other in actions(self.instance, state) if shares(other) == shares(action))

    def _unspoilt(self, taken: dict[tuple[State, Action], Fraction]) -> set[State]:
        """States the policy can come to without having lost anything before."""
        moves: dict[State, list[Action]] = defaultdict(list)
        for state, action in taken:
            moves[state].append(action)
        found = {self.root}
        for state in (queue := [self.root]):
            for action in set(moves[state]) & set(self.solution.optimal_actions(state)):
                for after in self._following(state, action):
                    if after is not None and after not in found:
                        found.add(after)
                        queue.append(after)
        return found

    def _assemble(
        self,
        shown: dict[State, list[Action]],
        optimal: dict[State, Action],
        taken: dict[tuple[State, Action], Fraction] | None,
        name: str,
        value: Fraction | None,
    ) -> DecisionGraph:
        number = {state: k for k, state in enumerate(shown)}
        end = len(number)
        unspoilt = self._unspoilt(taken or {})
        choices: list[ChoiceNode] = []
        nodes: list[StateNode] = []
        for state, row in shown.items():
            best = set(self.solution.optimal_actions(state))
            worth_here = self.solution.value_at(state)
            for action in row:
                chance = None if taken is None else taken.get((state, action), ZERO)
                worth = ZERO
                to: dict[int, Fraction] = {}
                for outcome in step(self.instance, state, action):
                    final = is_final(outcome.state)
                    after = without_age(self.instance, outcome.state)
                    worth += outcome.probability * (
                        outcome.reward + (ZERO if final else self.solution.value_at(outcome.state))
                    )
                    place = end if final else number[after]
                    to[place] = to.get(place, ZERO) + outcome.probability
                choices.append(
                    ChoiceNode(
                        source=number[state],
                        action=action,
                        kind=_kind(action, optimal.get(state), action in best, chance, state in unspoilt),
                        advantage=worth - worth_here,
                        probability=chance,
                        to=tuple(sorted(to.items())),
                    )
                )
            nodes.append(
                StateNode(
                    state=state,
                    value=worth_here,
                    on_optimal_path=state in optimal,
                    left_out=sum(1 for _ in actions(self.instance, state)) - len(row),
                )
            )
        done = tuple(local._replace(prompt=0, generated=0, age_ms=ZERO, finished=True) for local in self.root)
        nodes.append(StateNode(state=done, value=ZERO, on_optimal_path=True, left_out=0))
        return DecisionGraph(
            instance=self.instance,
            states=tuple(nodes),
            choices=tuple(choices),
            policy=None if taken is None else name,
            policy_value=value,
        )


def _kind(action: Action, on_path: Action | None, best: bool, chance: Fraction | None, unspoilt: bool) -> Kind:
    if action == on_path:
        return Kind.OPTIMAL
    if not chance:
        return Kind.OTHER
    if not best:
        return Kind.LOSING
    # as good as the optimum drawn, or the best that is left once something was lost
    return Kind.TIED if unspoilt else Kind.FOLLOWING
