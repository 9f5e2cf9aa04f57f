"""Exact costs of a policy and of the optimum for every episode that shares a catalog and an objective.

Every request finishes, so the expected value of all tokens is the same under every policy: value = tokens - cost,
and the gap is the policy's cost minus the least cost. After one graph an episode is a smaller episode: its least cost
depends on what is left of the live requests, the policy's cost also on the order of service and its memory. Both are
kept by what they depend on, so that in an enumeration of all small episodes each new one costs about one decision
and one step: everything behind its first graph is known already. Arithmetic is FLINT's, in rationals throughout;
nothing is rounded, so nothing can be missed.

This is a second implementation of the model; the tests hold it to `evaluate` and the readable solver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from math import lcm
from typing import NamedTuple

from flint import fmpq

from fairlane.reference.errors import TooLarge
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import (
    Completion,
    FunctionPolicy,
    LaneResult,
    Memory,
    RequestView,
    Sees,
    View,
    sees_of,
)
from fairlane.reference.model.pricing import launch_cost, output_worth, prompt_worth, waiting_rate
from fairlane.reference.model.request import LengthPrior, Request
from fairlane.reference.model.yields import row_outcomes
from fairlane.reference.rationals import to_fmpq, to_fraction
from fairlane.search.failure import Guard

# an episode of more tokens would recurse deeper than Python does
MAX_TOKENS = 300
# local states multiplied, as if no two requests were alike: what one episode may take
MAX_STATES = 2_000_000

ZERO, ONE = fmpq(0), fmpq(1)
# Times are whole numbers of ticks, a common measure of all durations of a catalog: tables are looked up by them, and a
# rational takes ten times as long to hash. A policy is shown milliseconds as rationals. What is not kept is 0.
NOT_KEPT = 0
ARRIVAL = Fraction(0)


class Kind(NamedTuple):
    """What does not change while a request is served."""

    limit: int
    length_prior: LengthPrior | None
    acceptance: tuple[Fraction, ...]
    weight: Fraction


class Local(NamedTuple):
    """A live request: its kind by number, prompt left, output published, output age in ticks where ages are kept."""

    kind: int
    prompt: int
    generated: int
    age: int


# a finished request keeps its place as None, since a policy sees the places of the others
Lives = tuple[Local | None, ...]
# probability, tokens published, and the request afterwards
Way = tuple[fmpq, int, Local | None]


class Situation(NamedTuple):
    """Everything a policy's next decision may depend on."""

    lives: Lives
    service: tuple[int | None, ...]
    now: int
    memory: Memory


class SharedCosts:
    """Costs under one catalog and one objective, of the optimum and of one policy.

    Parameters
    ----------
    catalog, objective : Catalog, Objective
        What the episodes have in common.
    guard : Guard
        The policy.
    """

    def __init__(self, catalog: Catalog, objective: Objective, guard: Guard) -> None:
        self.catalog = catalog
        self.objective = objective
        self.guard = guard
        sees = sees_of(guard.policy)
        self._keeps_age = bool(objective.age_price) or Sees.AGE in sees
        self._keeps_clock = Sees.NOW in sees or Sees.SERVICE_TIMES in sees
        self._keeps_times = Sees.SERVICE_TIMES in sees
        self._remembers = not isinstance(guard.policy, FunctionPolicy)
        self._ticks_a_ms = lcm(*(g.duration_ms.denominator for g in catalog.graphs))
        self._ticks = [int(g.duration_ms * self._ticks_a_ms) for g in catalog.graphs]
        self._shown: dict[int, Fraction] = {}
        self._durations = [to_fmpq(g.duration_ms) for g in catalog.graphs]
        self._place = {g.name: k for k, g in enumerate(catalog.graphs)}
        self._launches = [to_fmpq(launch_cost(objective, g)) for g in catalog.graphs]
        self._time = to_fmpq(objective.time_price)
        self._age_price = to_fmpq(objective.age_price)
        self._kinds: list[Kind] = []
        self._numbers: dict[Kind, int] = {}
        # a request object is looked up by identity; it is kept here so that its identity stays its own
        self._known: dict[int, tuple[Request, int]] = {}
        self._rates: dict[tuple[int, bool], fmpq] = {}
        self._rows: dict[tuple[int, int, int], list[Way]] = {}
        self._least: dict[tuple[Local, ...], fmpq] = {(): ZERO}
        self._policy: dict[Situation, fmpq] = {}

    def __len__(self) -> int:
        return len(self._least) + len(self._policy)

    def least(self, requests: Sequence[Request]) -> Fraction:
        """The least expected cost of an episode."""
        return to_fraction(self._least_cost(self._start(requests)))

    def policy(self, requests: Sequence[Request]) -> Fraction:
        """The policy's expected cost on an episode.

        Raises
        ------
        PolicyBroke
            The policy breaks on a view that it can be led to.
        """
        return to_fraction(self._policy_cost(self._opening(requests), requests))

    def gap(self, requests: Sequence[Request]) -> fmpq:
        """The policy's cost less the least one, >= 0."""
        return self._policy_cost(self._opening(requests), requests) - self._least_cost(self._start(requests))

    def optimum(self, requests: Sequence[Request]) -> fmpq:
        """The optimal value: expected worth of all tokens less the least cost."""
        worth = ZERO
        for request in requests:
            worth += to_fmpq(
                prompt_worth(self.objective, request.weight, request.prompt)
                + output_worth(self.objective, request.weight, _mean_output(request))
            )
        return worth - self._least_cost(self._start(requests))

    def _start(self, requests: Sequence[Request]) -> tuple[Local, ...]:
        total, states = 0, 1
        lives = []
        for request in requests:
            known = self._known.get(id(request))
            if known is None:
                kind = Kind(request.limit, request.length_prior, request.acceptance, request.weight)
                number = self._numbers.get(kind)
                if number is None:
                    number = self._numbers[kind] = len(self._kinds)
                    self._kinds.append(kind)
                known = self._known[id(request)] = (request, number)
            tokens = request.prompt + request.limit - request.generated
            total += tokens
            states *= tokens + 1
            lives.append(Local(known[1], request.prompt, request.generated, NOT_KEPT))
        if total > MAX_TOKENS:
            raise TooLarge(f"an instance has {total} prompt and output tokens; the search takes at most {MAX_TOKENS}")
        if states > MAX_STATES:
            raise TooLarge(
                f"an instance has about {states:,} states without merging; the search takes at most {MAX_STATES:,}"
            )
        return tuple(lives)

    def _opening(self, requests: Sequence[Request]) -> Situation:
        lives = self._start(requests)
        service = (None,) * len(lives)
        memory: Memory = None
        if self._remembers:
            bare = Situation(lives, service, NOT_KEPT, None)
            memory = self.guard.initial(self._view(bare, requests))
        return Situation(lives, service, NOT_KEPT, memory)

    # -- what both costs are made of

    def _passing(self, lives: Lives, graph: int) -> fmpq:
        """Cost of a launch and of the time that it takes."""
        span = self._durations[graph]
        rate = self._time
        aged = ZERO
        for local in lives:
            if local is None:
                continue
            key = (local.kind, local.prompt > 0)
            known = self._rates.get(key)
            if known is None:
                weighted = waiting_rate(self.objective, self._kinds[local.kind].weight, before_output=local.prompt > 0)
                known = self._rates[key] = to_fmpq(weighted)
            rate += known
            if self._age_price and not local.prompt:
                weight = to_fmpq(self._kinds[local.kind].weight)
                aged += weight * (fmpq(local.age, self._ticks_a_ms) * span + span * span / 2)
        cost = rate * span + self._launches[graph]
        return cost + self._age_price * aged if self._age_price else cost

    def _row(self, local: Local, width: int) -> list[Way]:
        key = (local.kind, local.generated, width)
        known = self._rows.get(key)
        if known is None:
            limit, prior, acceptance, _ = self._kinds[local.kind]
            known = self._rows[key] = [
                (
                    to_fmpq(o.probability),
                    o.n,
                    None if o.finished else Local(local.kind, 0, local.generated + o.n, NOT_KEPT),
                )
                for o in row_outcomes(acceptance, width, prior, local.generated, limit)
            ]
        return known

    def _fill(self, local: Local, share: int) -> list[Way]:
        if share < local.prompt:
            return [(ONE, 0, local._replace(prompt=local.prompt - share))]
        # the last prompt token publishes exactly one output token, as a row of width 1 does
        return self._row(local, 1)

    def _waited(self, lives: Lives, graph: int) -> list[Local | None]:
        if not self._keeps_age:
            return list(lives)
        ticks = self._ticks[graph]
        return [
            local._replace(age=local.age + ticks) if local is not None and not local.prompt else local
            for local in lives
        ]

    def _endings(
        self, lives: Lives, graph: int, prefill: Sequence[tuple[int, int]], decode: Sequence[int]
    ) -> Iterator[tuple[fmpq, list[Local | None], list[int]]]:
        """Every joint outcome: probability, requests afterwards, tokens published lane by lane."""
        width = self.catalog.graphs[graph].width
        lanes = [(i, self._fill(lives[i], share)) for i, share in prefill]  # type: ignore[arg-type]  # lanes are live
        lanes += [(i, self._row(lives[i], width)) for i in decode]  # type: ignore[arg-type]  # lanes are live
        endings: list[tuple[fmpq, list[Local | None], list[int]]] = [(ONE, self._waited(lives, graph), [])]
        for i, ways in lanes:
            grown = []
            for chance, after, published in endings:
                for probability, n, local in ways:
                    following = after.copy()
                    following[i] = local
                    grown.append((chance * probability, following, [*published, n]))
            endings = grown
        return iter(endings)

    # -- the least cost

    def _least_cost(self, live: tuple[Local, ...]) -> fmpq:
        if self._keeps_age and not self._age_price:
            live = tuple(local._replace(age=NOT_KEPT) for local in live)
        # requests of one state are exchangeable
        key = tuple(sorted(live))
        known = self._least.get(key)
        if known is not None:
            return known
        best: fmpq | None = None
        for graph, row in enumerate(self.catalog.graphs):
            passing = self._passing(key, graph)
            if best is not None and passing >= best:
                # what comes after costs something too
                continue
            for prefill, decode in _lanes(row, key, age=bool(self._age_price)):
                cost = passing
                for chance, after, _ in self._endings(key, graph, prefill, decode):
                    cost += chance * self._least_cost(tuple(local for local in after if local is not None))
                if best is None or cost < best:
                    best = cost
        assert best is not None, "every unfinished request of a checked instance can be served"
        self._least[key] = best
        return best

    # -- the policy's cost

    def _ms(self, ticks: int) -> Fraction:
        """A time as a policy sees it."""
        known = self._shown.get(ticks)
        if known is None:
            known = self._shown[ticks] = Fraction(ticks, self._ticks_a_ms)
        return known

    def _view(self, at: Situation, requests: Sequence[Request]) -> View:
        seen = []
        for i, local in enumerate(at.lives):
            if local is not None:
                limit, prior, acceptance, weight = self._kinds[local.kind]
                served = at.service[i]
                seen.append(
                    RequestView(
                        id=requests[i].id,
                        index=i,
                        weight=weight,
                        arrival_ms=ARRIVAL,
                        prompt=local.prompt,
                        generated=local.generated,
                        limit=limit,
                        acceptance=acceptance,
                        length_prior=prior,
                        age_ms=None if local.prompt else self._ms(local.age),
                        last_service_ms=None if served is None else self._ms(served),
                    )
                )
        return View(catalog=self.catalog, now_ms=self._ms(at.now), objective=self.objective, requests=tuple(seen))

    def _policy_cost(self, at: Situation, requests: Sequence[Request]) -> fmpq:
        known = self._policy.get(at)
        if known is not None:
            return known
        view = self._view(at, requests)
        total = ZERO
        for chance, decision, row, prompts, rows in self.guard.decisions(view, at.memory):
            graph = self._place[row.name]
            prefill = _shares(row, [(r.index, r.prompt) for r in prompts])
            decode = sorted(r.index for r in rows)
            cost = self._passing(at.lives, graph)
            ended = at.now + self._ticks[graph]
            lanes = [*prefill, *((i, 0) for i in decode)]
            for probability, after, published in self._endings(at.lives, graph, prefill, decode):
                if not any(after):
                    continue
                memory = at.memory
                if self._remembers:
                    results = tuple(
                        LaneResult(id=requests[i].id, consumed=share, published=n, finished=after[i] is None)
                        for (i, share), n in zip(lanes, published, strict=True)
                    )
                    done = Completion(
                        view=view,
                        decision=decision,
                        graph=row,
                        ended_ms=self._ms(ended),
                        elapsed_ms=row.duration_ms,
                        measured_ms=row.duration_ms,
                        lanes=results,
                    )
                    memory = self.guard.observe(memory, done)
                following = self._after(at, after, [i for i, _ in lanes], ended, memory)
                cost += probability * self._policy_cost(following, requests)
            total += to_fmpq(chance) * cost
        self._policy[at] = total
        return total

    def _after(
        self, at: Situation, after: list[Local | None], served: Sequence[int], ended: int, memory: Memory
    ) -> Situation:
        service = [None if local is None else before for local, before in zip(after, at.service, strict=True)]
        for i in served:
            if after[i] is not None:
                service[i] = ended
        if not self._keeps_times:
            # only the order matters: the latest becomes the clock, earlier ones follow below it
            base = ended if self._keeps_clock else NOT_KEPT
            times = sorted({time for time in service if time is not None}, reverse=True)
            rank = {time: base - k * self._ticks_a_ms for k, time in enumerate(times)}
            service = [None if time is None else rank[time] for time in service]
        return Situation(tuple(after), tuple(service), ended if self._keeps_clock else NOT_KEPT, memory)


def _mean_output(request: Request) -> Fraction:
    """Expected output still to be published."""
    if request.length_prior is None:
        return Fraction(request.limit - request.generated)
    above = [(min(n, request.limit), p) for n, p in request.length_prior if n > request.generated]
    mass = sum((p for _, p in above), Fraction(0))
    return sum((p * n for n, p in above), Fraction(0)) / mass - request.generated


def _shares(graph: Graph, prompts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """(request, prompt tokens it receives) when (request, prompt) pairs fill a graph in order."""
    left = graph.prefill_capacity
    out = []
    for i, prompt in prompts:
        out.append((i, min(left, prompt)))
        left -= out[-1][1]
    return out


def _lanes(
    graph: Graph, live: Sequence[Local], *, age: bool
) -> Iterator[tuple[Sequence[tuple[int, int]], tuple[int, ...]]]:
    """Prefill shares and decode sets worth trying.

    One more decode row never hurts, and without a price on age neither does one more prompt where lanes are single
    (the theorem of `fairlane.proofs.maximal_cohorts`); requests in equal states are tried once.
    """
    prompts = [(i, local.prompt) for i, local in enumerate(live) if local.prompt]
    rows = [i for i, local in enumerate(live) if not local.prompt]
    fills: list[Sequence[tuple[int, int]]] = []
    seen: set[object] = set()
    if graph.prefill_capacity:
        for size in range(1, min(graph.prefill_lanes, len(prompts)) + 1):
            for order in permutations(prompts, size):
                shares = _shares(graph, order)
                key = tuple(sorted((live[i], share) for i, share in shares))
                if shares[-1][1] > 0 and key not in seen:
                    seen.add(key)
                    fills.append(shares)
    if not fills or age or graph.prefill_lanes > 1:
        fills.append(())
    size = min(graph.decode_capacity, len(rows))
    cohorts: list[tuple[int, ...]] = []
    for decode in combinations(rows, size):
        states = tuple(live[i] for i in decode)
        if states not in seen:
            seen.add(states)
            cohorts.append(decode)
    for fill in fills:
        for decode in cohorts:
            if fill or decode:
                yield fill, decode
