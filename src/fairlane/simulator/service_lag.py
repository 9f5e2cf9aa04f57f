"""Service lag of a run: what the fair reference would have given each request, less what it received.

The reference is the certified fair allocation of the requests live at each instant, each in the phase it is in and
with its weight as fairness coefficient. It changes at arrivals, at phase changes and at departures, and holds in
between; a request accrues reference progress from its arrival to its end, or to the boundary. The run decides who is
live when: the reference is not a schedule of its own, it says what a fair dispatcher would have been giving in the
state the run was in. Delivered progress is prompt tokens consumed and output tokens published.

Requests of one phase, acceptance and weight receive equal rates, since the optimum is unique; an allocation is
therefore solved once for each multiset of such kinds that occurs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairlane.reference.allocation import fair_allocation_graphs
from fairlane.reference.errors import TooLarge
from fairlane.reference.request import Request
from fairlane.simulator.publication_table import Floats, Integers
from fairlane.simulator.run import Run, Status, lane_launch

MOST_ALLOCATIONS = 2_000
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
        Reference progress over the time it was live.
    n_allocations : int
        Distinct allocations solved.
    """

    ranks: Integers
    delivered_tokens: Floats
    reference_tokens: Floats
    n_allocations: int

    @property
    def lag_tokens(self) -> Floats:
        """Reference less delivered progress; positive where a request received less than the reference."""
        return self.reference_tokens - self.delivered_tokens


def service_lag(run: Run, *, most_allocations: int = MOST_ALLOCATIONS) -> ServiceLag:
    """Progress against the fair reference.

    Parameters
    ----------
    run : Run
        Any run.
    most_allocations : int
        Refuse rather than solve more distinct allocations.

    Returns
    -------
    ServiceLag
        Each allocation is certified to 1e-7 relative.

    Raises
    ------
    TooLarge
        More distinct allocations than allowed; the message has both numbers.
    """
    ranks = np.flatnonzero((run.status == Status.FINISHED) | (run.status == Status.UNFINISHED)).astype(np.int64)
    phases = _phases(run, ranks)
    reference = np.zeros(run.n_requests)
    solved: dict[frozenset[tuple[Kind, int]], dict[Kind, float]] = {}
    live: Counter[Kind] = Counter()
    # progress of a kind from time 0: a request's own is the difference over the time it was of that kind
    total: dict[Kind, float] = {}
    entered: dict[tuple[int, Kind], float] = {}
    last_ms = 0.0
    events = sorted(
        (at, entering, rank, kind)
        for rank, kind, begin, end in phases
        for at, entering in ((begin, True), (end, False))
    )
    for at, entering, rank, kind in events:
        if at > last_ms and live:
            for of_kind, rate in _rates(run, live, solved, most_allocations).items():
                total[of_kind] = total.get(of_kind, 0.0) + rate * (at - last_ms)
        last_ms = max(last_ms, at)
        if entering:
            live[kind] += 1
            entered[rank, kind] = total.get(kind, 0.0)
        else:
            live[kind] -= 1
            if not live[kind]:
                del live[kind]
            reference[rank] += total.get(kind, 0.0) - entered.pop((rank, kind))
    received = np.bincount(run.lane_request, weights=run.lane_consumed + run.lane_published, minlength=run.n_requests)
    return ServiceLag(
        ranks=ranks,
        delivered_tokens=received[ranks].astype(np.float64),
        reference_tokens=reference[ranks],
        n_allocations=len(solved),
    )


def _phases(run: Run, ranks: Integers) -> list[tuple[int, Kind, float, float]]:
    """When each request was in which phase, as (rank, kind, from, to); empty intervals left out."""
    consumed = np.full(run.n_requests, np.inf)
    filled = run.lane_consumed > 0
    # lanes are in the order of time, so that the last assignment to a request stays
    consumed[run.lane_request[filled]] = run.end_ms[lane_launch(run)[filled]]
    consumed[run.prompt_left > 0] = np.inf
    out: list[tuple[int, Kind, float, float]] = []
    for rank in ranks.tolist():
        request = run.requests[rank]
        begin = float(request.arrival_ms)
        end = run.boundary_ms if np.isnan(run.finished_ms[rank]) else float(run.finished_ms[rank])
        change = begin if request.prompt == 0 else min(float(consumed[rank]), end)
        for decoding, start, stop in ((False, begin, change), (True, change, end)):
            if stop > start:
                out.append((rank, Kind(decoding, request.acceptance, request.weight), start, stop))
    return out


def _rates(
    run: Run, live: Counter[Kind], solved: dict[frozenset[tuple[Kind, int]], dict[Kind, float]], most: int
) -> dict[Kind, float]:
    """Fair rate of each kind among those live, tokens per millisecond."""
    key = frozenset(live.items())
    if key not in solved:
        if len(solved) >= most:
            raise TooLarge(
                f"the run passes through more than {most} distinct sets of live requests; the limit is {most}"
            )
        kinds = [kind for kind, count in live.items() for _ in range(count)]
        requests = [
            Request(id=str(i), prompt=0 if kind.decoding else 1, limit=1, acceptance=kind.acceptance)
            for i, kind in enumerate(kinds)
        ]
        weights = [kind.weight for kind in kinds]
        rates = fair_allocation_graphs(run.catalog, requests, fairness_weights=weights, tolerance=TOLERANCE).rates
        solved[key] = {kind: float(rates[[k == kind for k in kinds]].mean()) for kind in live}
    return solved[key]
