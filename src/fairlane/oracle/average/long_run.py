"""Largest long-run reward per ms of a continuing workload, and the long-run rate of any policy.

Where all requests restart together an episode is a cycle, the rate is the best ratio of expected reward and
expected time, and Dinkelbach's iteration on the backward sweep ends exactly. The general closed system goes
through policy iteration. Every exact rate is confirmed against the optimality equation before it is returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from fairlane.oracle.average.optimality_equation import check_optimality_equation, rate_bounds
from fairlane.oracle.average.workload_model import (
    MAX_STATES,
    Move,
    WorkloadModel,
    build_model,
    check_workload,
    regenerate,
)
from fairlane.oracle.policy_value.evaluate import PolicySweep, action_of, view_of
from fairlane.oracle.rational.plain import progress
from fairlane.reference.errors import TooLarge, Unsupported
from fairlane.reference.model.instance import Instance, Regenerates
from fairlane.reference.model.policy import Decision, FunctionPolicy, Policy, Sees, View, as_policy, branches, sees_of
from fairlane.reference.model.state import ZERO, Action, LocalState, State

MAX_POLICY_STATES = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LongRun:
    """The best long-run rate with its evidence.

    ``rate`` is exact, or None where only ``lower`` and ``upper`` are proved. ``bias`` holds the relative values
    that prove them, 0 at the initial state. ``constant_offset`` is the part of the rate that no policy changes:
    in a closed system every ms costs the time price and every request's completion price.
    """

    rate: Fraction | None
    lower: Fraction
    upper: Fraction
    bias: dict[State, Fraction]
    policy: Policy
    choices: tuple[Action, ...]
    states: int
    constant_offset: Fraction
    age_cap_ms: Fraction | None
    method: str
    seconds: float
    model: WorkloadModel = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRate:
    """Exact long-run rate of a policy from the initial state.

    ``classes`` counts the closed classes it can end in, ``period`` is the largest period among them, in graphs;
    with several classes ``rate`` is the expectation over where it ends, and ``class_rates`` are theirs.
    """

    rate: Fraction
    class_rates: tuple[Fraction, ...]
    period: int
    situations: int
    seconds: float

    @property
    def classes(self) -> int:
        """How many closed classes the policy can end in."""
        return len(self.class_rates)


def long_run(
    workload: Instance,
    *,
    exact: bool = True,
    max_states: int = MAX_STATES,
    on_progress: Callable[[int, int], None] | None = None,
) -> LongRun:
    """Largest long-run reward per ms over all policies.

    Parameters
    ----------
    workload : Instance
        Templates; `regenerates` says how they start again. A positive age price needs `age_cap_ms`.
    exact : bool
        False stops at rigorous bounds.
    max_states : int
        Refusal beyond this many states.
    on_progress : callable or None
        Called with (done, total) of the current phase.

    Returns
    -------
    LongRun
        An exact rate where the rationals allow, otherwise bounds proved in rationals. Reward per ms.

    Raises
    ------
    InvalidInstance
        The states are not finite.
    TooLarge
        More than `max_states` states.
    """
    # it loads numpy and scipy, which exact rates do without
    from fairlane.oracle.average.policy_iteration import best_average

    begun = time.perf_counter()
    model = build_model(workload, max_states=max_states, on_progress=on_progress)
    rate: Fraction | None
    if workload.regenerates is Regenerates.EPISODE:
        rate, h, choice = dinkelbach(model)
        lower = upper = rate
        method = "dinkelbach"
    else:
        average = best_average(model.moves, exact=exact, on_progress=on_progress)
        rate, lower, upper, method = average.rate, average.lower, average.upper, average.method
        h = tuple(x - average.h[0] for x in average.h)
        choice = average.choice
    if rate is not None:
        check_optimality_equation(model, rate, h)
    elif rate_bounds(model, h) != (lower, upper):
        raise AssertionError("the bounds do not follow from the relative values")
    choices = tuple(row[k].action for row, k in zip(model.moves, choice, strict=True))
    return LongRun(
        rate=rate,
        lower=lower,
        upper=upper,
        bias=dict(zip(model.states, h, strict=True)),
        policy=table_policy(model, choices),
        choices=choices,
        states=len(model.states),
        constant_offset=constant_offset(workload),
        age_cap_ms=workload.age_cap_ms if workload.objective.age_price else None,
        method=method,
        seconds=time.perf_counter() - begun,
        model=model,
    )


def constant_offset(workload: Instance) -> Fraction:
    """The part of a closed system's rate that no policy changes, reward per ms, <= 0."""
    prices = workload.objective
    if workload.regenerates is Regenerates.EPISODE:
        return -prices.time_price
    return -prices.time_price - prices.completion_price * sum((r.weight for r in workload.requests), ZERO)


def dinkelbach(model: WorkloadModel) -> tuple[Fraction, tuple[Fraction, ...], tuple[int, ...]]:
    """Best ratio of expected reward and expected time of an episode, with the relative values that prove it.

    Each round maximises E[reward] - rho E[time] exactly and moves rho to the ratio of the policy found; it
    grows strictly until the maximum is 0 (Dinkelbach 1967, doi:10.1287/mnsc.13.7.492).
    """
    order = sorted(range(len(model.states)), key=lambda i: progress(model.workload, model.states[i]), reverse=True)
    rate = ZERO
    while True:
        net = [ZERO] * len(order)
        reward = [ZERO] * len(order)
        spent = [ZERO] * len(order)
        choice = [0] * len(order)
        for i in order:
            best: Fraction | None = None
            for k, move in enumerate(model.moves[i]):
                # a transition to the initial state ends the cycle
                value = move.reward - rate * move.duration_ms + sum((p * net[j] for j, p in move.to if j), ZERO)
                if best is None or value > best:
                    best, choice[i] = value, k
            assert best is not None
            chosen = model.moves[i][choice[i]]
            net[i] = best
            reward[i] = chosen.reward + sum((p * reward[j] for j, p in chosen.to if j), ZERO)
            spent[i] = chosen.duration_ms + sum((p * spent[j] for j, p in chosen.to if j), ZERO)
        ratio = reward[0] / spent[0]
        if net[0] == 0:
            return ratio, tuple(net), tuple(choice)
        rate = ratio


def table_policy(model: WorkloadModel, choices: tuple[Action, ...]) -> Policy:
    """A policy that looks its action up by state."""
    workload = model.workload
    ids = [request.id for request in workload.requests]
    keeps_age = bool(workload.objective.age_price)

    def decide(view: View) -> Decision:
        live = {request.index: request for request in view.requests}
        local = tuple(
            LocalState(
                live[i].prompt,
                live[i].generated,
                Fraction(live[i].age_ms or 0) if keeps_age else ZERO,
                False,
            )
            if i in live
            else LocalState(0, 0, ZERO, True)
            for i in range(len(ids))
        )
        action = choices[model.number[regenerate(workload, local, keeps_age=keeps_age)]]
        return Decision(
            graph=workload.graphs.graphs[action.graph].name,
            prefill=tuple(ids[i] for i in action.prefill),
            decode=tuple(ids[i] for i in action.decode),
        )

    return FunctionPolicy(decide, frozenset({Sees.AGE}) if keeps_age else frozenset())


def myopic_policy(model: WorkloadModel) -> Policy:
    """The policy that drops the future term: largest r(s,a) / T(s,a), the first action among equals."""
    choices = tuple(max(row, key=lambda m: m.reward / m.duration_ms).action for row in model.moves)
    return table_policy(model, choices)


def policy_rate(
    workload: Instance,
    policy: object,
    *,
    max_situations: int = MAX_POLICY_STATES,
    on_progress: Callable[[int, int], None] | None = None,
) -> PolicyRate:
    """Exact long-run rate of a policy from the initial state.

    Parameters
    ----------
    workload : Instance
        Templates of the requests.
    policy : Policy, PolicySpec or callable
        Its memory has to take finitely many values.
    max_situations : int
        Refusal beyond this many situations.

    Returns
    -------
    PolicyRate
        Exact, with the closed classes it can end in.

    Raises
    ------
    Unsupported
        Decisions that depend on the clock, or on ages without a cap: such situations never repeat.
    TooLarge
        More situations than the limit, as with a memory that counts without end.
    PolicyError
        An illegal decision.
    """
    # it loads networkx, which the optimum does without
    from fairlane.oracle.average.chain import chain_rates

    begun = time.perf_counter()
    check_workload(workload)
    rule = as_policy(policy)
    sees = sees_of(rule)
    if sees & {Sees.NOW, Sees.SERVICE_TIMES}:
        raise Unsupported(
            "the policy may look at the clock, which never repeats, so that it has no exact long-run rate here; "
            "a policy that does not look at it says so in `sees`"
        )
    if Sees.AGE in sees and workload.age_cap_ms is None and workload.regenerates is Regenerates.REQUEST:
        raise Unsupported("the policy looks at ages, which grow without end; the workload needs age_cap_ms")
    keeps_age = bool(workload.objective.age_price) or Sees.AGE in sees
    sweep = PolicySweep(workload, rule, keeps_age=keeps_age, keeps_clock=False, keeps_times=False)
    start = sweep.start()
    number = {start: 0}
    queue = [start]
    chain: list[Move] = []
    for situation in queue:
        if on_progress is not None and len(chain) % 128 == 0:
            on_progress(len(chain), len(queue))
        view = view_of(workload, situation)
        reward = duration = ZERO
        to: dict[int, Fraction] = {}
        first: Action | None = None
        for chance, decision in branches(rule.decide(view, situation.memory)):
            action = action_of(workload, view, decision)
            first = first or action
            duration += chance * workload.graphs.graphs[action.graph].duration_ms
            for outcome, following in sweep.successors(situation, view, decision, action):
                reward += chance * outcome.probability * outcome.reward
                renewed = following._replace(state=regenerate(workload, outcome.state, keeps_age=keeps_age))
                if all(local.finished for local in outcome.state):
                    renewed = renewed._replace(service=(None,) * len(renewed.state))
                known = number.get(renewed)
                if known is None:
                    known = number[renewed] = len(queue)
                    queue.append(renewed)
                    if len(queue) > max_situations:
                        raise TooLarge(
                            f"the policy meets more than {max_situations} situations on {workload.name!r}; an exact "
                            f"long-run rate takes at most {max_situations}, with a memory of finitely many values"
                        )
                to[known] = to.get(known, ZERO) + chance * outcome.probability
        assert first is not None
        chain.append(Move(first, duration, reward, tuple(sorted(to.items()))))
    result = chain_rates(chain)
    return PolicyRate(
        rate=result.rates[0],
        class_rates=tuple(closed.rate for closed in result.classes),
        period=max(closed.period for closed in result.classes),
        situations=len(queue),
        seconds=time.perf_counter() - begun,
    )
