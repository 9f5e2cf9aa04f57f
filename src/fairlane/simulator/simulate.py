"""``simulate``: requests, graphs and a policy in, a :class:`~fairlane.simulator.run.Run` out."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction, show
from fairlane.reference.graph import Catalog
from fairlane.reference.instance import why_unservable
from fairlane.reference.objective import Objective
from fairlane.reference.policy import PolicySpec, as_policy
from fairlane.reference.request import Request
from fairlane.simulator.clock import Clock, clock_for
from fairlane.simulator.draws import KeyedDraws, checked_seed
from fairlane.simulator.event_loop import EventLoop, LaneRecord, Launch
from fairlane.simulator.run import Rejection, Run, Status


class Stage(NamedTuple):
    """A checked input, ready to run: requests by rank and times as ticks."""

    requests: tuple[Request, ...]
    arrivals: list[int]
    admitted: list[bool]
    rejections: tuple[Rejection, ...]
    clock: Clock
    horizon: int | None
    warnings: tuple[str, ...]


class Tables:
    """Columns of a run as they grow."""

    def __init__(self) -> None:
        self.graph: list[int] = []
        self.start: list[int] = []
        self.end: list[int] = []
        self.offsets: list[int] = [0]
        self.lanes: list[LaneRecord] = []

    def record(self, launch: Launch, start: int, end: int, lanes: Sequence[LaneRecord]) -> None:
        """One launch."""
        self.graph.append(launch.graph)
        self.start.append(start)
        self.end.append(end)
        self.lanes.extend(lanes)
        self.offsets.append(len(self.lanes))


def stage(
    requests: Sequence[Request], catalog: Catalog, *, horizon_ms: Real | str | None = None, exact: bool = False
) -> Stage:
    """Sort, check and put on one time grid.

    Raises
    ------
    InvalidInstance
        Two requests of one id, or a horizon that is not > 0.
    """
    seen: dict[str, int] = {}
    for i, request in enumerate(requests):
        if request.id in seen:
            raise InvalidInstance(
                f"requests[{i}].id is {request.id!r}, already the id of requests[{seen[request.id]}]; need distinct ids"
            )
        seen[request.id] = i
    horizon = None if horizon_ms is None else as_fraction(horizon_ms, "horizon_ms")
    if horizon is not None and horizon <= 0:
        raise InvalidInstance(f"horizon_ms is {show(horizon)}; need > 0")
    times = [g.duration_ms for g in catalog] + [r.arrival_ms for r in requests]
    clock = clock_for([*times, horizon] if horizon is not None else times, exact=exact)
    arrivals = [clock.ticks(r.arrival_ms) for r in requests]
    late = sum(1 for k in range(1, len(arrivals)) if arrivals[k] < arrivals[k - 1])
    warnings: tuple[str, ...] = ()
    ranked = tuple(requests)
    if late:
        order = sorted(range(len(arrivals)), key=arrivals.__getitem__)
        ranked = tuple(requests[i] for i in order)
        arrivals = [arrivals[i] for i in order]
        warnings = (f"{late} requests arrive before the one ahead of them; sorted by arrival, ties in the order given",)
    reasons = _rejections(ranked, catalog)
    refused = {r.request for r in reasons}
    return Stage(
        requests=ranked,
        arrivals=arrivals,
        admitted=[i not in refused for i in range(len(ranked))],
        rejections=reasons,
        clock=clock,
        horizon=None if horizon is None else clock.ticks(horizon),
        warnings=warnings,
    )


def _rejections(requests: Sequence[Request], catalog: Catalog) -> tuple[Rejection, ...]:
    both = any(g.prefill_capacity for g in catalog) and any(g.decode_capacity for g in catalog)
    if both:
        # every request is servable then
        return ()
    found = ((i, why_unservable(catalog, r)) for i, r in enumerate(requests))
    return tuple(Rejection(request=i, reason=reason) for i, reason in found if reason is not None)


def simulate(
    requests: Sequence[Request],
    catalog: Catalog,
    policy: object,
    *,
    decode_value: Real | str | None = None,
    objective: Objective | None = None,
    horizon_ms: Real | str | None = None,
    seed: int = 0,
    name: str | None = None,
) -> Run:
    """Run a policy on requests that arrive over time.

    Parameters
    ----------
    requests : sequence of Request
        In any order; sorted by arrival, stably. ``output_length`` is the hidden length; where it is missing the
        length is drawn from ``length_prior``, and where that is missing too it is the limit.
    catalog : Catalog
        The graphs.
    policy : Policy, PolicySpec, or callable
        Who decides.
    decode_value : number
        Value of an output token; this or ``objective``, exactly one of them.
    objective : Objective or None
        Everything the policy is shown of what counts.
    horizon_ms : number or None
        No graph starts at or after it, milliseconds, > 0; a graph in flight then finishes in full. None goes on
        until every request has finished or was rejected.
    seed : int
        Of every draw, 0 <= seed < 2^63.
    name : str or None
        Label of the policy in the result.

    Returns
    -------
    Run
        The same input and seed give the same run, byte for byte.

    Raises
    ------
    InvalidInstance
        A value outside its domain.
    PolicyError
        An illegal decision, or nothing to do while someone waits and nobody else will arrive.

    Notes
    -----
    Time is kept in whole ticks of a grid that holds every duration and arrival, so no event is misplaced by
    rounding. A policy may do nothing until the next arrival. Conservation is asserted at every completion.

    Examples
    --------
    >>> from fairlane.reference.graph import Graph
    >>> from fairlane.reference.policy import Decision
    >>> graphs = Catalog([Graph(name="p512", duration_ms=50, prefill_capacity=512)])
    >>> one = Request(id="a", prompt=1000, limit=1)
    >>> run = simulate([one], graphs, lambda view: Decision(graph="p512", prefill=("a",)), decode_value=1)
    >>> run.finished_ms.tolist(), run.n_launches
    ([100.0], 2)
    """
    if (decode_value is None) == (objective is None):
        raise InvalidInstance("decode_value and objective: need exactly one of them")
    prices = objective if objective is not None else Objective(decode_value=decode_value)  # type: ignore[arg-type]  # one is given
    rule = as_policy(policy)
    label = name if name is not None else policy_label(policy)
    ready = stage(requests, catalog, horizon_ms=horizon_ms)
    source = KeyedDraws(ready.requests, checked_seed(seed))
    loop = EventLoop(ready.requests, ready.arrivals, ready.admitted, catalog, prices, rule, source, ready.clock)
    tables = Tables()
    loop.run(tables, horizon=ready.horizon)
    return assemble(ready, tables, loop, catalog=catalog, objective=prices, label=label, seed=seed)


def policy_label(policy: object) -> str:
    """How a policy is called when nobody named it."""
    if isinstance(policy, PolicySpec):
        return policy.name
    label = getattr(policy, "__qualname__", None) or getattr(policy, "name", None) or type(policy).__qualname__
    return str(label)


def assemble(
    ready: Stage, tables: Tables, loop: EventLoop, *, catalog: Catalog, objective: Objective, label: str, seed: int
) -> Run:
    """The result from what was recorded."""
    per_ms = ready.clock.per_ms
    lanes = np.array(tables.lanes, dtype=np.int64).reshape(-1, 6)
    finished_ms = np.full(len(ready.requests), np.nan)
    ends = np.array([t / per_ms for t in tables.end], dtype=np.float64)
    last_lane = np.flatnonzero(lanes[:, 5])
    offsets = np.array(tables.offsets, dtype=np.int64)
    launch = np.repeat(np.arange(len(ends)), np.diff(offsets))
    assert len(set(lanes[last_lane, 0].tolist())) == len(last_lane), "one completion a request"
    finished_ms[lanes[last_lane, 0]] = ends[launch[last_lane]]
    boundary = boundary_tick(ready, tables.end[-1] if tables.end else 0)
    status = status_codes(ready, finished_ms, boundary)
    return Run(
        requests=ready.requests,
        catalog=catalog,
        policy=label,
        objective=objective,
        seed=seed,
        horizon_ms=None if ready.horizon is None else Fraction(ready.horizon, per_ms),
        boundary_ms=boundary / per_ms,
        graph=np.array(tables.graph, dtype=np.int64),
        start_ms=np.array([t / per_ms for t in tables.start], dtype=np.float64),
        end_ms=ends,
        lane_offsets=offsets,
        lane_request=lanes[:, 0].copy(),
        lane_consumed=lanes[:, 1].copy(),
        lane_published=lanes[:, 2].copy(),
        lane_proposed=lanes[:, 3].copy(),
        lane_accepted=lanes[:, 4].copy(),
        status=status,
        finished_ms=finished_ms,
        prompt_left=np.array(loop.ledger.prompt, dtype=np.int64),
        generated=np.array(loop.ledger.generated, dtype=np.int64),
        rejections=tuple(r for r in ready.rejections if status[r.request] == Status.REJECTED),
        warnings=ready.warnings,
    )


def boundary_tick(ready: Stage, last_end: int) -> int:
    """Where the measurement ends."""
    if ready.horizon is not None:
        return max(ready.horizon, last_end)
    return max(last_end, ready.arrivals[-1] if ready.arrivals else 0)


def status_codes(ready: Stage, finished_ms: np.ndarray, boundary: int) -> np.ndarray:
    """:class:`Status` of every request at the boundary."""
    status = np.where(np.isnan(finished_ms), int(Status.UNFINISHED), int(Status.FINISHED)).astype(np.int64)
    for rejection in ready.rejections:
        status[rejection.request] = Status.REJECTED
    late = np.array([t > boundary for t in ready.arrivals], dtype=bool)
    status[late] = Status.NOT_ARRIVED
    return status
