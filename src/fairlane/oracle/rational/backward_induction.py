"""Exact optimum in rationals by one backward sweep over numbered states; no compilation, made for small instances.

Each request has a short list of local states; a state of the instance is one number in mixed radix, so that an
outcome is an addition. Rows are independent given the state, so the law of a cohort's outcome is built row by
row and shared by every cohort that extends it. Arithmetic is FLINT's.

Without a price on age only maximal cohorts are tried when the best value is sought: serving one more row with
the same graph never hurts then. With such a price, and for the worst value, every action counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import prod

from flint import fmpq

from fairlane.oracle.encoding.enclosure import enclose
from fairlane.oracle.rational.plain import Sense
from fairlane.oracle.refusal import met
from fairlane.reference.errors import TooLarge
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.pricing import launch_cost, output_worth, prompt_worth, waiting_rate
from fairlane.reference.model.state import FINISHED, ZERO, Action, LocalState, State
from fairlane.reference.model.yields import row_outcomes
from fairlane.reference.rationals import to_fmpq, to_fraction

MAX_TOKENS = 2_000_000

Law = list[tuple[fmpq, int]]
# what some lanes hold, with its expected reward and law
_Lanes = list[tuple[tuple[int, ...], fmpq, Law]]

NO_LANES: tuple[tuple[int, ...], fmpq, Law] = ((), fmpq(0), [(fmpq(1), 0)])


@dataclass(frozen=True, slots=True)
class _Lane:
    """What serving a request in one local state does: expected reward, and number shifts with probabilities."""

    reward: fmpq
    law: Law


def numbers_of(instance: Instance) -> int:
    """How many numbers a sweep has for the states of an instance, reachable or not; at once."""
    return prod(r.prompt + r.limit - (1 if r.prompt else r.generated) + 1 for r in instance.requests)


class Sweep:
    """One instance, solved on demand from the root down; values by state number.

    Parameters
    ----------
    instance : Instance
        Any instance without a price on age.
    sense : Sense
        Best or worst value.
    max_states : int
        Refusal beyond this many reachable unfinished states.
    """

    def __init__(self, instance: Instance, sense: Sense, max_states: int) -> None:
        self.instance = instance
        self.sense = sense
        self.max_states = max_states
        tokens = sum(r.prompt + r.limit for r in instance.requests)
        if tokens > MAX_TOKENS:
            raise TooLarge(
                f"instance {instance.name!r} has {tokens:,} prompt and output tokens together; "
                f"the exact solver takes at most {MAX_TOKENS:,}"
            )
        self.locals: list[list[LocalState]] = []
        # places are arithmetic: prompt tokens consumed, then output from `first` on, the finished one last
        self.prompts = [request.prompt for request in instance.requests]
        self.firsts = [1 if request.prompt else request.generated for request in instance.requests]
        self.strides: list[int] = []
        stride = 1
        for request, first in zip(instance.requests, self.firsts, strict=True):
            chain = [LocalState(p, 0, ZERO, False) for p in range(request.prompt, 0, -1)]
            chain += [LocalState(0, g, ZERO, False) for g in range(first, request.limit)]
            chain.append(FINISHED)
            self.locals.append(chain)
            self.strides.append(stride)
            stride *= len(chain)
        self.size = stride
        prices = instance.objective
        self.graphs = instance.graphs.graphs
        self.durations = [to_fmpq(g.duration_ms) for g in self.graphs]
        self.launch_costs = [to_fmpq(launch_cost(prices, g)) for g in self.graphs]
        self.time_price = to_fmpq(prices.time_price)
        # worth of one token of each request
        self.prompt_worths = [to_fmpq(prompt_worth(prices, r.weight, 1)) for r in instance.requests]
        self.output_worths = [to_fmpq(output_worth(prices, r.weight, 1)) for r in instance.requests]
        self.rates = [self._waiting_rates(i) for i in range(len(self.locals))]
        self.rows: dict[tuple[int, int, int], _Lane] = {}
        self.fills: dict[tuple[int, int, int], _Lane] = {}
        self.values: dict[int, fmpq] = {self.size - 1: fmpq(0)}

    def _waiting_rates(self, i: int) -> list[fmpq]:
        """Cost per ms of one request's waiting, by local state."""
        prices, weight = self.instance.objective, self.instance.requests[i].weight
        decoding = to_fmpq(waiting_rate(prices, weight, before_output=False))
        waiting = to_fmpq(waiting_rate(prices, weight, before_output=True))
        prompt = self.prompts[i]
        return [waiting] * prompt + [decoding] * (len(self.locals[i]) - 1 - prompt) + [fmpq(0)]

    def _place(self, i: int, prompt: int, generated: int) -> int:
        """Where an unfinished local state stands in its chain."""
        return self.prompts[i] - prompt if prompt else self.prompts[i] + generated - self.firsts[i]

    def number_of(self, state: State) -> int:
        """The number of a state; ages are ignored."""
        return sum(
            (len(self.locals[i]) - 1 if local.finished else self._place(i, local.prompt, local.generated))
            * self.strides[i]
            for i, local in enumerate(state)
        )

    def state_of(self, number: int) -> State:
        """The state of a number."""
        return tuple(chain[place] for chain, place in zip(self.locals, self.digits_of(number), strict=True))

    def reachable_states(self) -> tuple[State, ...]:
        """Every unfinished state that actions reach from the initial one, which comes first."""
        return tuple(self.state_of(number) for number in self.reachable(0, every=True))

    def digits_of(self, number: int) -> list[int]:
        """Local places of a state, request by request."""
        out = []
        for chain in self.locals:
            number, digit = divmod(number, len(chain))
            out.append(digit)
        return out

    def row(self, i: int, place: int, width: int) -> _Lane:
        key = (i, place, width)
        lane = self.rows.get(key)
        if lane is None:
            assert place >= self.prompts[i], "a row has no prompt left"
            lane = self.rows[key] = self._published(i, place, self.locals[i][place].generated, width, fmpq(0))
        return lane

    def fill(self, i: int, place: int, share: int) -> _Lane:
        key = (i, place, share)
        lane = self.fills.get(key)
        if lane is None:
            left = self.locals[i][place].prompt - share
            work = self.prompt_worths[i] * share
            if left:
                lane = _Lane(work, [(fmpq(1), share * self.strides[i])])
            else:
                # the last prompt token publishes exactly one output token, as a row of width 1 does
                lane = self._published(i, place, 0, 1, work)
            self.fills[key] = lane
        return lane

    def _published(self, i: int, place: int, generated: int, width: int, work: fmpq) -> _Lane:
        request = self.instance.requests[i]
        value = self.output_worths[i]
        reward, law = work, []
        for outcome in row_outcomes(request.acceptance, width, request.length_prior, generated, request.limit):
            probability = to_fmpq(outcome.probability)
            reward += probability * value * outcome.n
            to = len(self.locals[i]) - 1 if outcome.finished else self._place(i, 0, generated + outcome.n)
            law.append((probability, (to - place) * self.strides[i]))
        return _Lane(reward, law)

    def moves(self, number: int, *, every: bool, every_prefill: bool = False) -> list[tuple[Action, fmpq, Law]]:
        """Actions of a state with expected reward and law of the next number; all, or the maximal ones.

        ``every_prefill`` asks for every prefill list, none included, beside maximal decode sets.
        """
        places = self.digits_of(number)
        prompts: list[int] = []
        rows: list[int] = []
        rate = self.time_price
        for i, place in enumerate(places):
            local = self.locals[i][place]
            if local.finished:
                continue
            rate += self.rates[i][place]
            (prompts if local.prompt else rows).append(i)
        out: list[tuple[Action, fmpq, Law]] = []
        cohorts: dict[tuple[int, int], _Lanes] = {}
        lists: dict[tuple[int, int], _Lanes] = {}
        for g, graph in enumerate(self.graphs):
            capacity = min(graph.decode_capacity, len(rows))
            key = (capacity, graph.width if capacity else 0)
            decodes = cohorts.get(key)
            if decodes is None:
                decodes = cohorts[key] = self._cohorts(rows, places, capacity, graph.width, every=every)
            # graphs that differ in nothing but time and energy share their lists
            shape = (graph.prefill_capacity, graph.prefill_lanes) if prompts and graph.prefill_capacity else (0, 0)
            prefills = lists.get(shape)
            if prefills is None:
                prefills = lists[shape] = (
                    self.lists(g, prompts, places, every=every or every_prefill) if shape[0] else [NO_LANES]
                )
            waited = rate * self.durations[g] + self.launch_costs[g]
            for prefill, gained, filled in prefills:
                for decode, value, law in decodes:
                    if not prefill:
                        if decode:
                            out.append((Action(g, prefill, decode), value - waited, law))
                    elif not decode:
                        out.append((Action(g, prefill, decode), gained - waited, filled))
                    else:
                        out.append((Action(g, prefill, decode), gained + value - waited, _joint(filled, law)))
        return out

    def _cohorts(self, rows: list[int], places: list[int], capacity: int, width: int, *, every: bool) -> _Lanes:
        """Decode sets with expected reward and law, each built from the set without its last row."""
        if capacity == 0:
            return [NO_LANES]
        out: list[tuple[tuple[int, ...], fmpq, Law]] = []
        level: list[tuple[tuple[int, ...], int, fmpq, Law]] = [((), 0, *NO_LANES[1:])]
        for size in range(capacity + 1):
            if every or size == capacity:
                out += [(members, value, law) for members, _, value, law in level]
            if size == capacity:
                break
            grown = []
            for members, first, value, law in level:
                # leave enough rows behind to reach a maximal set
                last = len(rows) if every else len(rows) - (capacity - size) + 1
                for k in range(first, last):
                    lane = self.row(rows[k], places[rows[k]], width)
                    grown.append(((*members, rows[k]), k + 1, value + lane.reward, _joint(law, lane.law)))
            level = grown
        # levels come by size, and members in order within one
        return out

    def lists(self, g: int, prompts: list[int], places: list[int], *, every: bool) -> _Lanes:
        """Prefill lists with expected reward and law; lists with equal shares once, the empty one first."""
        graph = self.graphs[g]
        out: list[tuple[tuple[int, ...], fmpq, Law]] = []
        lanes = min(graph.prefill_lanes, len(prompts)) if graph.prefill_capacity else 0
        if every or lanes == 0:
            out.append(NO_LANES)
        if lanes == 1:
            for i in prompts:
                lane = self.fill(i, places[i], min(graph.prefill_capacity, self.prompts[i] - places[i]))
                out.append(((i,), lane.reward, lane.law))
            return out
        seen: set[frozenset[tuple[int, int]]] = set()
        for size in range(1, lanes + 1):
            for order in permutations(prompts, size):
                left = graph.prefill_capacity
                shares = []
                for i in order:
                    share = min(left, self.locals[i][places[i]].prompt)
                    shares.append(share)
                    left -= share
                if shares[-1] == 0 or (not every and left and size < lanes):
                    continue
                key = frozenset(zip(order, shares, strict=True))
                if key in seen:
                    continue
                seen.add(key)
                value: fmpq = fmpq(0)
                law: Law = [(fmpq(1), 0)]
                for i, share in zip(order, shares, strict=True):
                    lane = self.fill(i, places[i], share)
                    value += lane.reward
                    law = _joint(law, lane.law)
                out.append((order, value, law))
        return out

    def reachable(self, root: int, *, every: bool) -> list[int]:
        """Unfinished states that some action sequence reaches, the root first.

        Raises
        ------
        TooLarge
            More than ``max_states``.
        """
        final = self.size - 1
        seen = {root, final}
        queue = [root]
        for number in queue:
            for following in self._shifts(number, every=every):
                if following not in seen:
                    seen.add(following)
                    queue.append(following)
                    if len(queue) > self.max_states:
                        raise met(self.instance, self.max_states)
        return queue

    def _shifts(self, number: int, *, every: bool) -> set[int]:
        return {number + shift for _, _, law in self.moves(number, every=every) for _, shift in law}

    def solve(self, root: int, on_progress: Callable[[int, int], None] | None = None) -> None:
        """Values of every state that the tried actions reach from ``root``."""
        best = self.sense is Sense.MAX
        # places only grow, and so does the number: falling numbers are a topological order
        every = not best
        values = self.values
        pending = [root]
        # moves of states that wait for others, so that they are built once
        waiting: dict[int, list[tuple[Action, fmpq, Law]]] = {}
        done = 0
        while pending:
            number = pending[-1]
            if number in values:
                pending.pop()
                continue
            moves = waiting.pop(number, None)
            if moves is None:
                moves = self.moves(number, every=every)
                missing = {number + shift for _, _, law in moves for _, shift in law if number + shift not in values}
                if missing:
                    pending += missing
                    waiting[number] = moves
                    continue
            top: fmpq | None = None
            for _, reward, law in moves:
                value = reward
                for probability, shift in law:
                    value += probability * values[number + shift]
                if top is None or (value > top if best else value < top):
                    top = value
            assert top is not None, "every unfinished request of a checked instance can be served"
            values[number] = top
            pending.pop()
            done += 1
            if len(values) > self.max_states + 1:
                raise met(self.instance, self.max_states)
            if on_progress is not None and done % 256 == 0:
                on_progress(done, done + len(pending))

    def value_at(self, state: State) -> Fraction:
        """Exact value of any state of the instance."""
        number = self.number_of(state)
        if number not in self.values:
            self.solve(number)
        return to_fraction(self.values[number])

    def bounds_at(self, state: State) -> tuple[float, float]:
        """Doubles around the value of a state."""
        return enclose(self.value_at(state))

    def optimal_actions(self, state: State) -> tuple[Action, ...]:
        """Every optimal action of an unfinished state, maximal or not, in enumeration order."""
        number = self.number_of(state)
        if number not in self.values:
            self.solve(number)
        top = self.values[number]
        out = []
        for action, reward, law in self.moves(number, every=True):
            value = reward
            for probability, shift in law:
                if number + shift not in self.values:
                    self.solve(number + shift)
                value += probability * self.values[number + shift]
            if value == top:
                out.append(action)
        return tuple(out)


def _joint(first: Law, second: Law) -> Law:
    if len(first) == 1 and first[0][1] == 0:
        return second
    if len(second) == 1 and second[0][1] == 0:
        return first
    return [(p * q, a + b) for p, a in first for q, b in second]
