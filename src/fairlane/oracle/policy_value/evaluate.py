"""Exact value of any policy, and where it loses: a forward sweep over what the policy can reach.

The sweep carries the probability of every situation the policy can meet, level by level of progress, so one
pass gives the value. A situation is what the policy's decision may depend on: prompts, outputs, the order of
last service and its memory, with ages and the clock only where the policy or the objective looks at them.
Exchangeable requests are never merged, since their order is part of the situation.

With V the optimal value and Q(s, a) the value of taking a and going on optimally, the performance-difference
identity says that the policy's gap is the sum over situations of P(s) (V(s) - Q(s, a)). The sweep computes
value and losses apart and checks that they agree, so a gap never leaves without its evidence.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

from fairlane.oracle.policy_value.tied_actions import nearest
from fairlane.oracle.rational.plain import progress
from fairlane.oracle.refusal import REMEDY
from fairlane.oracle.solve import solve
from fairlane.reference.errors import IdlesWithWork, TooLarge
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import (
    Completion,
    Decision,
    LaneResult,
    Memory,
    Policy,
    RequestView,
    Sees,
    View,
    as_policy,
    branches,
    check_decision,
    sees_of,
)
from fairlane.reference.model.state import ZERO, Action, LocalState, State, initial_state, is_final
from fairlane.reference.model.step import Outcome, step

MAX_SITUATIONS = 2_000_000
KEPT_LOSSES = 100


class OptimalValues(Protocol):
    """What evaluation needs of a solved instance."""

    @property
    def value(self) -> Fraction | None:
        """Exact optimum at the initial state."""
        ...

    def value_at(self, state: State) -> Fraction:
        """Exact optimal value of a state."""
        ...

    def optimal_actions(self, state: State) -> tuple[Action, ...]:
        """Every optimal action of a state."""
        ...


class Situation(NamedTuple):
    """Everything a policy's next decision may depend on."""

    state: State
    service: tuple[Fraction | None, ...]
    now_ms: Fraction
    memory: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A decision that gives value away.

    ``probability`` is the chance that a run meets this decision, ``advantage`` (< 0) what the decision gives
    away there, ``decisions_before`` how many graphs ran before it on the shortest path. ``now_ms`` is the time
    on that path. ``better`` is the optimal action nearest to the one taken, of ``n_better`` equally good ones.
    """

    state: State
    action: Action
    better: Action
    n_better: int
    probability: Fraction
    advantage: Fraction
    decisions_before: int
    now_ms: Fraction

    @property
    def contribution(self) -> Fraction:
        """The part of the gap this decision accounts for, probability times advantage (< 0)."""
        return self.probability * self.advantage


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Exact value of a policy, beside the optimum.

    ``losses`` are the decisions with a negative advantage, the costliest first, at most 100 of ``n_losses`` unless
    more were asked for; ``first_loss`` is the one met after the fewest graphs, the likelier first among equals. The
    contributions of all ``n_losses`` sum to ``-gap``; that was checked in rationals.
    """

    value: Fraction
    optimum: Fraction
    situations: int
    first_loss: Loss | None
    losses: tuple[Loss, ...]
    n_losses: int
    seconds: float

    @property
    def gap(self) -> Fraction:
        """Optimum minus value, >= 0."""
        return self.optimum - self.value

    @property
    def relative_gap(self) -> Fraction | None:
        """Gap over the size of the optimum; None where the optimum is 0."""
        return None if self.optimum == 0 else self.gap / abs(self.optimum)


def view_of(instance: Instance, situation: Situation) -> View:
    """What a policy sees of a situation."""
    requests = tuple(
        RequestView(
            id=request.id,
            index=i,
            weight=request.weight,
            arrival_ms=ZERO,
            prompt=local.prompt,
            generated=local.generated,
            limit=request.limit,
            acceptance=request.acceptance,
            length_prior=request.length_prior,
            age_ms=local.age_ms if local.prompt == 0 else None,
            last_service_ms=situation.service[i],
        )
        for i, (request, local) in enumerate(zip(instance.requests, situation.state, strict=True))
        if not local.finished
    )
    return View(catalog=instance.graphs, now_ms=situation.now_ms, objective=instance.objective, requests=requests)


def action_of(instance: Instance, view: View, decision: Decision) -> Action:
    """A checked decision as an action by index.

    Raises
    ------
    IdlesWithWork
        The decision is to do nothing; every unfinished request of an instance can be served.
    PolicyError
        The decision is not legal.
    """
    if isinstance(decision, Decision) and decision.graph is None:
        waiting = ", ".join(request.id for request in view.requests[:4])
        more = "" if len(view.requests) <= 4 else f" and {len(view.requests) - 4} more"
        raise IdlesWithWork(f"idles with work: nothing to do at {view.now_ms} ms while {waiting}{more} can be served")
    graph, prefill, decode = check_decision(view, decision)
    names = [g.name for g in instance.graphs]
    return Action(names.index(graph.name), tuple(r.index for r in prefill), tuple(sorted(r.index for r in decode)))


class PolicySweep:
    """Successors of a situation under one policy, keeping only what its decisions may depend on."""

    def __init__(
        self, instance: Instance, policy: Policy, *, keeps_age: bool, keeps_clock: bool, keeps_times: bool
    ) -> None:
        self.instance = instance
        self.policy = policy
        self.keeps_age = keeps_age
        self.keeps_clock = keeps_clock
        self.keeps_times = keeps_times

    @classmethod
    def of(cls, instance: Instance, policy: Policy) -> PolicySweep:
        """What the policy says it sees, and ages where they have a price."""
        sees = sees_of(policy)
        return cls(
            instance,
            policy,
            keeps_age=bool(instance.objective.age_price) or Sees.AGE in sees,
            keeps_clock=Sees.NOW in sees or Sees.SERVICE_TIMES in sees,
            keeps_times=Sees.SERVICE_TIMES in sees,
        )

    def start(self) -> Situation:
        """The situation before the first decision."""
        state = initial_state(self.instance)
        return Situation(state, (None,) * len(state), ZERO, self.policy.initial(self.instance.graphs))

    def successors(
        self, situation: Situation, view: View, decision: Decision, action: Action
    ) -> Iterator[tuple[Outcome, Situation]]:
        """Every outcome of an action with the situation after it."""
        for outcome in step(self.instance, situation.state, action):
            yield outcome, self._follow(situation, view, decision, action, outcome)

    def _follow(
        self, situation: Situation, view: View, decision: Decision, action: Action, outcome: Outcome
    ) -> Situation:
        graph = self.instance.graphs.graphs[action.graph]
        ended = situation.now_ms + graph.duration_ms
        published, consumed = dict(outcome.published), dict(outcome.consumed)
        lanes = tuple(
            LaneResult(
                id=self.instance.requests[i].id,
                consumed=consumed.get(i, 0),
                published=published.get(i, 0),
                finished=outcome.state[i].finished,
            )
            for i in (*action.prefill, *action.decode)
        )
        completion = Completion(
            view=view,
            decision=decision,
            graph=graph,
            ended_ms=ended,
            elapsed_ms=graph.duration_ms,
            measured_ms=graph.duration_ms,
            lanes=lanes,
        )
        memory = self.policy.observe(situation.memory, completion)
        served = {*action.prefill, *action.decode}
        service: tuple[Fraction | None, ...] = tuple(
            None if local.finished else ended if i in served else before
            for i, (local, before) in enumerate(zip(outcome.state, situation.service, strict=True))
        )
        state = outcome.state
        if not self.keeps_times:
            # only the order matters: the latest becomes the clock, earlier ones -1, -2, ... below it
            known = sorted({time for time in service if time is not None}, reverse=True)
            base = ended if self.keeps_clock else ZERO
            rank = {time: base - k for k, time in enumerate(known)}
            service = tuple(None if time is None else rank[time] for time in service)
        if not self.keeps_age:
            state = tuple(_ageless(local) for local in state)
        return Situation(state, service, ended if self.keeps_clock else ZERO, memory)


def _ageless(local: LocalState) -> LocalState:
    return local._replace(age_ms=ZERO) if local.age_ms else local


class _Reach(NamedTuple):
    """How a situation is reached: its probability, and the shortest path to it."""

    probability: Fraction
    depth: int
    now_ms: Fraction


def _solved(instance: Instance) -> OptimalValues:
    return solve(instance)


def evaluate(
    instance: Instance,
    policy: object,
    *,
    solution: OptimalValues | None = None,
    max_situations: int = MAX_SITUATIONS,
    most_losses: int | None = KEPT_LOSSES,
    on_progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Exact value of a policy and its exact gap to the optimum.

    Parameters
    ----------
    instance : Instance
        Any instance of the model.
    policy : Policy, PolicySpec or callable
        Deterministic, randomised or stateful.
    solution : OptimalValues or None
        A solved instance to compare with; solved here when None.
    max_situations : int
        Refusal beyond this many situations.
    most_losses : int or None
        Losses that are kept, the costliest ones; None keeps all.
    on_progress : callable or None
        Called with (situations done, situations known) now and then.

    Returns
    -------
    Evaluation
        Rational value, optimum and losses.

    Raises
    ------
    PolicyError
        An illegal decision; :class:`IdlesWithWork` when it idles while something can be served.
    TooLarge
        More situations or states than the limit.
    """
    begun = time.perf_counter()
    rule = as_policy(policy)
    optimal = solution if solution is not None else _solved(instance)
    sweep = PolicySweep.of(instance, rule)
    levels: dict[int, dict[Situation, _Reach]] = defaultdict(dict)
    start = sweep.start()
    levels[0][start] = _Reach(Fraction(1), 0, ZERO)
    origin = progress(instance, start.state)
    value = lost = ZERO
    known, done = 1, 0
    losses: list[Loss] = []
    while levels:
        level = min(levels)
        for situation, reach in levels.pop(level).items():
            done += 1
            if on_progress is not None and done % 512 == 0:
                on_progress(done, known)
            view = view_of(instance, situation)
            for chance, decision in branches(rule.decide(view, situation.memory)):
                probability = reach.probability * chance
                action = action_of(instance, view, decision)
                taken = ZERO
                for outcome, following in sweep.successors(situation, view, decision, action):
                    value += probability * outcome.probability * outcome.reward
                    final = is_final(outcome.state)
                    taken += outcome.probability * (
                        outcome.reward + (ZERO if final else optimal.value_at(outcome.state))
                    )
                    if final:
                        continue
                    bucket = levels[progress(instance, following.state) - origin]
                    arriving = probability * outcome.probability
                    before = bucket.get(following)
                    now_ms = reach.now_ms + instance.graphs.graphs[action.graph].duration_ms
                    if before is None:
                        known += 1
                        if known > max_situations:
                            raise TooLarge(
                                f"the policy reaches more than {max_situations} situations on {instance.name!r}; "
                                f"exact evaluation takes at most {max_situations}; {REMEDY}"
                            )
                        bucket[following] = _Reach(arriving, reach.depth + 1, now_ms)
                    else:
                        depth, clock = min((before.depth, before.now_ms), (reach.depth + 1, now_ms))
                        bucket[following] = _Reach(before.probability + arriving, depth, clock)
                advantage = taken - optimal.value_at(situation.state)
                if advantage < 0:
                    lost += probability * advantage
                    ties = optimal.optimal_actions(situation.state)
                    losses.append(
                        Loss(
                            state=situation.state,
                            action=action,
                            better=nearest(instance, ties, action),
                            n_better=len(ties),
                            probability=probability,
                            advantage=advantage,
                            decisions_before=reach.depth,
                            now_ms=reach.now_ms,
                        )
                    )
                elif advantage > 0:
                    raise AssertionError("a decision beats the optimum: the solution is wrong")
    optimum = optimal.value_at(initial_state(instance))
    if optimum - value != -lost:
        raise AssertionError("gap and losses disagree: the evaluation is wrong")
    first = min(losses, key=lambda x: (x.decisions_before, -x.probability), default=None)
    losses.sort(key=lambda x: (x.contribution, x.decisions_before))
    return Evaluation(
        value=value,
        optimum=optimum,
        situations=done,
        first_loss=first,
        losses=tuple(losses[:most_losses]),
        n_losses=len(losses),
        seconds=time.perf_counter() - begun,
    )
