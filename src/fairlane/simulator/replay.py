"""Exhaustive replay: the production event loop under every outcome that chance allows, summed in rationals.

The loop's draw source is swapped for one that answers every question with each possible answer in turn. From one
situation a graph is run again and again, each time down another branch, until no answer is left; equal situations
are then one, with their probabilities added. Nothing of the readable step or of the exact evaluation is used, so
an equal value is evidence for both sides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from fairlane.reference.errors import IdlesWithWork, TooLarge
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import Choice, Completion, Memory, Policy, Sees, View, as_policy, sees_of
from fairlane.reference.model.pricing import age_rate, launch_cost, output_worth, prompt_worth, waiting_rate
from fairlane.reference.model.request import Request
from fairlane.reference.model.yields import truncated_prior
from fairlane.simulator.clock import Clock, clock_for
from fairlane.simulator.draws import Timing
from fairlane.simulator.event_loop import EventLoop, LaneRecord, Launch
from fairlane.simulator.ledger import NEVER, Snapshot
from fairlane.simulator.two_frames import MAX_FRAMES, Frame, FrameLoop

MAX_BRANCHES = 2_000_000
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Expected value of a policy over every branch of an episode, exact.

    ``situations`` counts distinct situations between graphs, ``branches`` the graphs that were run.
    """

    value: Fraction
    situations: int
    branches: int


class ForkingDraws:
    """A draw source that takes one path of answers and notes what else could have been answered.

    :meth:`next_path` moves to the next path; a path's probability is the product over its answers.
    """

    def __init__(self, requests: Sequence[Request]) -> None:
        self._requests = requests
        self._priors = [truncated_prior(r.length_prior, r.limit) for r in requests]
        # answers given on this path, each with the list of (probability, answer) it was taken from
        self._taken: list[int] = []
        self._offered: list[list[tuple[Fraction, int]]] = []
        self._asked = 0

    def start(self) -> None:
        """Forget every path."""
        self._taken.clear()
        self._offered.clear()
        self._asked = 0

    def next_path(self) -> bool:
        """Go to the next path, False when all were taken."""
        while self._taken and self._taken[-1] + 1 == len(self._offered[-1]):
            self._taken.pop()
            self._offered.pop()
        self._asked = 0
        if not self._taken:
            return False
        self._taken[-1] += 1
        return True

    @property
    def probability(self) -> Fraction:
        """Of the path just taken."""
        out = ONE
        for taken, offered in zip(self._taken, self._offered, strict=True):
            out *= offered[taken][0]
        return out

    def _answer(self, offered: list[tuple[Fraction, int]]) -> int:
        if self._asked == len(self._taken):
            self._taken.append(0)
            self._offered.append(offered)
        answer = self._offered[self._asked][self._taken[self._asked]][1]
        self._asked += 1
        return answer

    def duration(self, graph: int, execution: int, listed: Timing) -> Timing:
        """The catalog's, every time."""
        return listed

    def accepted_drafts(self, request: int, generated: int, drafts: int) -> int:
        """Every prefix length of positive probability."""
        chances = self._requests[request].acceptance[:drafts]
        reach = ONE
        offered: list[tuple[Fraction, int]] = []
        for count, q in enumerate(chances):
            offered.append((reach * (1 - q), count))
            reach *= q
        offered.append((reach, len(chances)))
        return self._answer([(p, n) for p, n in offered if p])

    def tokens_to_end(self, request: int, generated: int, within: int) -> int | None:
        """Every end that the belief allows, given that the output is longer than what was published."""
        law = [(n - generated, p) for n, p in self._priors[request] if n > generated]
        total = sum((p for _, p in law), ZERO)
        offered = [(p / total, n) for n, p in law if n <= within]
        beyond = sum((p for n, p in law if n > within), ZERO) / total
        if beyond:
            offered.append((beyond, 0))
        return self._answer(offered) or None

    def choose(self, dispatch: int, probabilities: Sequence[Fraction]) -> int:
        """Every decision of a randomised policy."""
        return self._answer([(p, k) for k, p in enumerate(probabilities)])


class _AskedOnce:
    """A policy that is asked once a situation, however many branches follow."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._choice: Choice | None = None

    def forget(self) -> None:
        """A new situation begins."""
        self._choice = None

    def initial(self, catalog: Catalog) -> Memory:
        """The policy's own."""
        return self._policy.initial(catalog)

    def decide(self, view: View, memory: Memory) -> Choice:
        """The answer given before in this situation, if any."""
        if self._choice is None:
            self._choice = self._policy.decide(view, memory)
        return self._choice

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        """The policy's own."""
        return self._policy.observe(memory, completion)


class _Situation(NamedTuple):
    state: Snapshot
    memory: Memory
    queued: Frame | None


class _Reward:
    """What the objective counts over one launch, from the loop's own record of it."""

    def __init__(self, instance: Instance, clock: Clock) -> None:
        self._instance = instance
        self._clock = clock
        self.before = Snapshot(0, ())
        self.value = ZERO

    def record(self, launch: Launch, start: int, end: int, lanes: Sequence[LaneRecord]) -> None:
        """Values earned at the completion minus prices of the time that passed for everyone live."""
        prices, requests = self._instance.objective, self._instance.requests
        passed = Fraction(end - start, self._clock.per_ms)
        value = -prices.time_price * passed - launch_cost(prices, self._instance.graphs.graphs[launch.graph])
        for i, prompt, _, published_at, _ in self.before.live:
            weight = requests[i].weight
            value -= waiting_rate(prices, weight, before_output=prompt > 0) * passed
            if not prompt and prices.age_price:
                age = Fraction(start - published_at, self._clock.per_ms)
                # the integral of a + u over the launch
                value -= age_rate(prices, weight) * (age + passed / 2) * passed
        for lane in lanes:
            weight = requests[lane.request].weight
            value += prompt_worth(prices, weight, lane.consumed) + output_worth(prices, weight, lane.published)
        self.value = value


def _merged(state: Snapshot, sees: frozenset[Sees], *, keeps_age: bool, base: int) -> Snapshot:
    """A snapshot without what the policy promises not to look at; equal ones behave alike."""
    if Sees.SERVICE_TIMES in sees:
        return state
    keeps_clock = Sees.NOW in sees
    now = state.now if keeps_clock else base
    served = sorted({row[4] for row in state.live if row[4] != NEVER}, reverse=True)
    order = {t: now - k for k, t in enumerate(served)}
    rows = tuple(
        (
            i,
            prompt,
            generated,
            NEVER if prompt else now - (state.now - published_at if keeps_age else 0),
            NEVER if served_at == NEVER else order[served_at],
        )
        for i, prompt, generated, published_at, served_at in state.live
    )
    return Snapshot(now, rows)


def replay(instance: Instance, policy: object, *, max_branches: int = MAX_BRANCHES, two_frames: bool = False) -> Replay:
    """Exact expected value of a policy, from the simulator.

    Parameters
    ----------
    instance : Instance
        An episode: all requests are present at the start, lengths follow the belief.
    policy : Policy, PolicySpec or callable
        Deterministic, randomised or stateful.
    max_branches : int
        Refusal beyond this many launches.
    two_frames : bool
        Choose the next graph while one runs; a situation then also holds what is queued.

    Returns
    -------
    Replay
        Equal to the exact evaluation's value, in rationals; with two frames, the exact value of that way to choose.

    Raises
    ------
    TooLarge
        More launches than the limit.
    PolicyError
        An illegal decision; :class:`IdlesWithWork` when it does nothing.
    """
    rule = as_policy(policy)
    asked = _AskedOnce(rule)
    requests = instance.requests
    clock = clock_for([g.duration_ms for g in instance.graphs], exact=True)
    source = ForkingDraws(requests)
    everyone = [True] * len(requests)
    loop = EventLoop(requests, [0] * len(requests), everyone, instance.graphs, instance.objective, asked, source, clock)
    frames = FrameLoop(loop, instance.graphs, rule, frames=MAX_FRAMES) if two_frames else None
    loop.admit_arrivals()
    sees = sees_of(rule)
    keeps_age = bool(instance.objective.age_price) or Sees.AGE in sees
    reward = _Reward(instance, clock)
    # later than any age or service order that can occur, so that no shifted time is negative
    work = sum(r.prompt + r.limit for r in requests)
    base = work * max(clock.ticks(g.duration_ms) for g in instance.graphs) + work

    def merged(state: Snapshot) -> Snapshot:
        return _merged(state, sees, keeps_age=keeps_age, base=base)

    def left(state: Snapshot) -> int:
        return sum(prompt + requests[i].limit - generated for i, prompt, generated, _, _ in state.live)

    levels: dict[int, dict[_Situation, Fraction]] = defaultdict(dict)
    start = _Situation(merged(loop.ledger.snapshot()), loop.memory, None)
    levels[left(start.state)][start] = ONE
    value = ZERO
    situations = branches = 0
    while levels:
        # every launch leaves less to do, so a level is complete once all above it are done
        level = max(levels)
        for here, probability in levels.pop(level).items():
            situations += 1
            asked.forget()
            source.start()
            reward.before = here.state
            more = True
            while more:
                branches += 1
                if branches > max_branches:
                    raise TooLarge(
                        f"exhaustive replay of {instance.name!r} runs more than {max_branches} launches; "
                        f"it takes at most {max_branches}"
                    )
                loop.ledger.restore(here.state)
                loop.memory = here.memory
                if frames is None:
                    stop = loop.advance(reward)
                else:
                    frames.queued = here.queued
                    stop = frames.advance(reward)
                if stop is not None:
                    raise IdlesWithWork(f"idles with work: nothing to do while {len(here.state.live)} can be served")
                chance = probability * source.probability
                value += chance * reward.value
                after = merged(loop.ledger.snapshot())
                if after.live:
                    bucket = levels[left(after)]
                    # when it was chosen no longer matters: it starts now
                    queued = None if frames is None or frames.queued is None else frames.queued._replace(chosen=0)
                    situation = _Situation(after, loop.memory, queued)
                    bucket[situation] = bucket.get(situation, ZERO) + chance
                more = source.next_path()
    return Replay(value=value, situations=situations, branches=branches)
