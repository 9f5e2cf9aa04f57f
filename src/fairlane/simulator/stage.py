"""A checked input on one time grid, and the tables that a run fills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction, show
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.instance import why_unservable
from fairlane.reference.model.request import Request
from fairlane.simulator.clock import Clock, clock_for
from fairlane.simulator.event_loop import LaneRecord, Launch
from fairlane.simulator.run import Floats, Integers, Rejection


class Stage(NamedTuple):
    """A checked input, ready to run: requests by rank and times as ticks."""

    requests: tuple[Request, ...]
    arrivals: list[int]
    admitted: list[bool]
    rejections: tuple[Rejection, ...]
    clock: Clock
    horizon: int | None
    warnings: tuple[str, ...]
    gap: int = 0


class Columns(NamedTuple):
    """What a run recorded: one row a launch and one row a lane, as in :class:`~fairlane.simulator.run.Run`.

    ``lanes`` has a column for each field of :class:`LaneRecord`; ``last_end`` is in ticks.
    """

    graph: Integers
    start_ms: Floats
    end_ms: Floats
    offsets: Integers
    lanes: Integers
    last_end: int


class Outcome(NamedTuple):
    """What was recorded, and the prompt tokens left and the output of every request at the end."""

    columns: Columns
    prompt_left: Integers
    generated: Integers


class Recording:
    """The rows of a run as they come."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._graph: list[int] = []
        self._start: list[int] = []
        self._end: list[int] = []
        self._offsets: list[int] = [0]
        self._lanes: list[LaneRecord] = []

    def record(self, launch: Launch, start: int, end: int, lanes: Sequence[LaneRecord]) -> None:
        """One launch."""
        self._graph.append(launch.graph)
        self._start.append(start)
        self._end.append(end)
        self._lanes.extend(lanes)
        self._offsets.append(len(self._lanes))

    def columns(self) -> Columns:
        """Everything recorded so far."""
        per_ms = self._clock.per_ms
        return Columns(
            graph=np.array(self._graph, dtype=np.int64),
            start_ms=np.array([t / per_ms for t in self._start], dtype=np.float64),
            end_ms=np.array([t / per_ms for t in self._end], dtype=np.float64),
            offsets=np.array(self._offsets, dtype=np.int64),
            lanes=np.array(self._lanes, dtype=np.int64).reshape(-1, len(LaneRecord._fields)),
            last_end=self._end[-1] if self._end else 0,
        )


def stage(
    requests: Sequence[Request],
    catalog: Catalog,
    *,
    horizon_ms: Real | str | None = None,
    gap_ms: Real | str = 0,
    exact: bool = False,
) -> Stage:
    """Sort, check and put on one time grid.

    Raises
    ------
    InvalidInstance
        Two requests of one id, a horizon that is not > 0, or a launch gap below 0.
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
    gap = as_fraction(gap_ms, "launch_gap_ms")
    if gap < 0:
        raise InvalidInstance(f"launch_gap_ms is {show(gap)}; need >= 0")
    times = [gap] + [g.duration_ms for g in catalog] + [r.arrival_ms for r in requests]
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
        gap=clock.ticks(gap),
    )


def _rejections(requests: Sequence[Request], catalog: Catalog) -> tuple[Rejection, ...]:
    both = any(g.prefill_capacity for g in catalog) and any(g.decode_capacity for g in catalog)
    if both:
        # every request is servable then
        return ()
    found = ((i, why_unservable(catalog, r, length_known=True)) for i, r in enumerate(requests))
    return tuple(Rejection(request=i, reason=reason) for i, reason in found if reason is not None)
