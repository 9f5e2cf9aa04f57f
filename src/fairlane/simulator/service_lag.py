"""Service lag of a run: what the fair reference would have given each request, less what it received.

The rule is that of :mod:`~fairlane.reference.allocation.lag`: the reference is the certified fair allocation of the
requests live at each instant, each in the phase it is in and with its weight as fairness coefficient; it changes at
arrivals, phase changes and departures. Where a prompt is consumed, what is carried over is time: lag in prompt tokens
over the old rate, times the new rate. The run decides who is live when: the reference is no schedule of its own, it
says what a fair dispatcher would have been giving in the state the run was in.

Requests of one phase, acceptance and weight receive equal rates, since the optimum is unique. An allocation is
therefore solved once for each multiset of such kinds that occurs, and progress is kept by kind: a run of any length
costs O(events) beside its allocations, where an account for every request would cost O(events · live requests).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from fairlane.reference.allocation import fair_allocation_graphs
from fairlane.reference.errors import TooLarge
from fairlane.reference.model.request import Request
from fairlane.simulator.publication_table import Floats, Integers
from fairlane.simulator.run import Run, Status, lane_launch

MOST_ALLOCATIONS = 2_000
# requests of all distinct allocations together; about ten seconds
MOST_MEMBERS = 40_000
TOLERANCE = 1e-7


class Kind(NamedTuple):
    """What decides a request's rate: phase, acceptance and weight."""

    decoding: bool
    acceptance: tuple[Fraction, ...]
    weight: Fraction


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServiceLag:
    """Progress of each request that was admitted and had arrived; n entries.

    Attributes
    ----------
    ranks : int64, shape (n,)
        Index in ``Run.requests``.
    delivered_tokens : float64, shape (n,)
        Prompt tokens consumed and output tokens published.
    reference_tokens : float64, shape (n,)
        Reference progress over the time it was live, prompt and output tokens added up.
    lag_tokens : float64, shape (n,)
        Lag at its end, or at the boundary, in tokens of the phase it was in then; positive where it is owed.
    n_allocations : int
        Distinct allocations solved.
    """

    ranks: Integers
    delivered_tokens: Floats
    reference_tokens: Floats
    lag_tokens: Floats
    n_allocations: int


class _Event(NamedTuple):
    """A request enters or leaves a phase; leaving comes first at one instant."""

    at_ms: float
    entering: bool
    rank: int
    kind: Kind


def service_lag(run: Run, *, most_allocations: int = MOST_ALLOCATIONS, most_members: int = MOST_MEMBERS) -> ServiceLag:
    """Progress against the fair reference.

    Parameters
    ----------
    run : Run
        Any run.
    most_allocations : int
        Refuse rather than solve more distinct allocations.
    most_members : int
        Refuse rather than solve allocations with more requests, all together. Both are counted before any is solved.

    Returns
    -------
    ServiceLag
        Each allocation is certified to 1e-7 relative.

    Raises
    ------
    TooLarge
        More distinct allocations, or more requests in them, than allowed; the message has both numbers.
    """
    ranks = np.flatnonzero((run.status == Status.FINISHED) | (run.status == Status.UNFINISHED)).astype(np.int64)
    events = _events(run, ranks)
    _refuse_beyond(events, most_allocations, most_members)
    solved: dict[frozenset[tuple[Kind, int]], dict[Kind, float]] = {}
    live: Counter[Kind] = Counter()
    # progress of a kind from time 0: a request's own is the difference over the time it was of that kind
    total: dict[Kind, float] = {}
    entered: dict[int, tuple[Kind, float]] = {}
    reference, lag = np.zeros(run.n_requests), np.zeros(run.n_requests)
    delivered = _delivered(run)
    now = 0.0
    rates: dict[Kind, float] = {}

    def advance(at_ms: float) -> None:
        for kind, rate in rates.items():
            total[kind] = total.get(kind, 0.0) + rate * (at_ms - now)

    def settle(rank: int) -> Kind:
        kind, before = entered.pop(rank)
        progress = total.get(kind, 0.0) - before
        reference[rank] += progress
        lag[rank] += progress - delivered[int(kind.decoding)][rank]
        return kind

    for at, group in groupby(events, key=attrgetter("at_ms")):
        advance(at)
        now, old_rates, carried = at, rates, {}
        for event in group:
            if event.entering:
                live[event.kind] += 1
                entered[event.rank] = (event.kind, total.get(event.kind, 0.0))
            else:
                live -= Counter((event.kind,))
                carried[event.rank] = settle(event.rank)
        rates = _rates(run, live, solved) if live else {}
        for rank, kind in carried.items():
            if rank in entered:
                # what is carried over from prompt to output is time
                lag[rank] *= rates[entered[rank][0]] / old_rates[kind]
    advance(run.boundary_ms)
    for rank in tuple(entered):
        settle(rank)
    return ServiceLag(
        ranks=ranks,
        delivered_tokens=(delivered[0] + delivered[1])[ranks],
        reference_tokens=reference[ranks],
        lag_tokens=lag[ranks],
        n_allocations=len(solved),
    )


def _delivered(run: Run) -> tuple[Floats, Floats]:
    """Useful tokens of each request by phase; the output that ends a prompt counts to the prompt's phase."""
    useful = (run.lane_consumed + run.lane_published).astype(np.float64)
    prompt = run.lane_consumed > 0
    before, after = (
        np.bincount(run.lane_request[mask], weights=useful[mask], minlength=run.n_requests).astype(np.float64)
        for mask in (prompt, ~prompt)
    )
    return before, after


def _events(run: Run, ranks: Integers) -> list[_Event]:
    """Entries and exits of phases in the order of time; who is still live at the boundary does not leave."""
    consumed = np.full(run.n_requests, np.inf)
    filled = run.lane_consumed > 0
    # lanes are in the order of time, so that the last assignment to a request stays
    consumed[run.lane_request[filled]] = run.end_ms[lane_launch(run)[filled]]
    consumed[run.prompt_left > 0] = np.inf
    out: list[_Event] = []
    for rank in ranks.tolist():
        request = run.requests[rank]
        begin, end = float(request.arrival_ms), float(run.finished_ms[rank])
        change = begin if request.prompt == 0 else float(consumed[rank])
        spans = [(Kind(True, request.acceptance, request.weight), change, end)]
        if request.prompt > 0:
            spans.insert(0, (Kind(False, request.acceptance, request.weight), begin, change))
        for kind, start, stop in spans:
            if start in (stop, np.inf):
                # finished with its prompt, or never through it
                continue
            out.append(_Event(start, True, rank, kind))
            # NaN, infinity: still in it at the boundary
            if stop < np.inf:
                out.append(_Event(stop, False, rank, kind))
    return sorted(out)


def _refuse_beyond(events: list[_Event], most_allocations: int, most_members: int) -> None:
    live: Counter[Kind] = Counter()
    met: set[frozenset[tuple[Kind, int]]] = set()
    members = 0
    for _, group in groupby(events, key=attrgetter("at_ms")):
        for event in group:
            live[event.kind] += 1 if event.entering else -1
        key = frozenset((kind, count) for kind, count in live.items() if count)
        if key and key not in met:
            met.add(key)
            members += sum(live.values())
    if len(met) > most_allocations:
        raise TooLarge(
            f"the run passes through {len(met):,} distinct sets of live requests; "
            f"the limit of service lag is {most_allocations:,}"
        )
    if members > most_members:
        raise TooLarge(
            f"the run passes through {len(met):,} distinct sets of {members:,} live requests together; "
            f"the limit of service lag is {most_members:,}"
        )


def _rates(
    run: Run, live: Counter[Kind], solved: dict[frozenset[tuple[Kind, int]], dict[Kind, float]]
) -> dict[Kind, float]:
    """Fair rate of each kind among those live, tokens per millisecond."""
    key = frozenset(live.items())
    if key not in solved:
        kinds = [kind for kind, count in live.items() for _ in range(count)]
        requests = [
            Request(id=str(i), prompt=0 if kind.decoding else 1, limit=1, acceptance=kind.acceptance)
            for i, kind in enumerate(kinds)
        ]
        weights = [kind.weight for kind in kinds]
        rates = fair_allocation_graphs(run.catalog, requests, fairness_weights=weights, tolerance=TOLERANCE).rates
        solved[key] = {kind: float(rates[[k == kind for k in kinds]].mean()) for kind in live}
    return solved[key]
