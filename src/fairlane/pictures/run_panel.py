"""A run, or a window of it, as a timeline panel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlane.pictures import svg
from fairlane.pictures.timeline import Block, Lane, LaneKind, Panel, Row
from fairlane.reference.errors import InvalidInstance
from fairlane.simulator.run import Run, Status

MAX_LAUNCHES = 60
MAX_ROWS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Launches ``first`` to ``last`` (excluded) and the interval they cover, milliseconds."""

    first: int
    last: int
    start_ms: float
    end_ms: float

    @property
    def n_launches(self) -> int:
        """Launches in it."""
        return self.last - self.first


def window_of(run: Run, *, start_ms: float = 0.0, max_launches: int = MAX_LAUNCHES, max_rows: int = MAX_ROWS) -> Window:
    """The longest window from an instant on that has few enough launches and served requests to be legible.

    Parameters
    ----------
    run : Run
        Its launches are in the order of time.
    start_ms : float
        Launches that start at or after it are shown.
    max_launches, max_rows : int
        Bounds on launches and on distinct requests in their lanes, >= 1.

    Raises
    ------
    InvalidInstance
        A bound below 1.
    """
    if max_launches < 1 or max_rows < 1:
        raise InvalidInstance(f"max_launches is {max_launches} and max_rows {max_rows}; need >= 1")
    first = int(np.searchsorted(run.start_ms, start_ms, side="left"))
    last = first
    served: set[int] = set()
    while last < run.n_launches and last - first < max_launches:
        lanes = set(run.lane_request[run.lane_offsets[last] : run.lane_offsets[last + 1]].tolist())
        if last > first and len(served | lanes) > max_rows:
            break
        served |= lanes
        last += 1
    whole = first == 0 and last == run.n_launches
    begin = float(run.start_ms[first]) if 0 < first < run.n_launches else 0.0
    return Window(
        first=first,
        last=last,
        start_ms=begin,
        end_ms=run.boundary_ms if whole or last == 0 else float(run.end_ms[last - 1]),
    )


def run_panel(run: Run, window: Window, *, title: str = "", max_rows: int = MAX_ROWS) -> Panel:
    """The launches of a window with a row for every request they serve, and for others that wait while there is room.

    Parameters
    ----------
    run : Run
        The run.
    window : Window
        From :func:`window_of`.
    title : str
        The policy's name without one.
    max_rows : int
        Rows of requests that only wait are added up to this many rows.

    Returns
    -------
    Panel
        Its subtitle says what part of the run is shown and how many waiting requests are not.
    """
    graphs = run.catalog.graphs
    blocks: list[Block] = []
    shown: set[int] = set()
    for k in range(window.first, window.last):
        graph = graphs[run.graph[k]]
        span = slice(run.lane_offsets[k], run.lane_offsets[k + 1])
        lanes: list[Lane] = []
        for who, consumed, published in zip(
            run.lane_request[span].tolist(),
            run.lane_consumed[span].tolist(),
            run.lane_published[span].tolist(),
            strict=True,
        ):
            shown.add(who)
            kind = LaneKind.PREFILL if consumed else LaneKind.DECODE
            lanes.append(Lane(request_id=run.requests[who].id, kind=kind, tokens=consumed or published))
        blocks.append(
            Block(
                start_ms=float(run.start_ms[k]),
                end_ms=float(run.end_ms[k]),
                graph=graph.name,
                lanes=tuple(lanes),
                prefill_capacity=graph.prefill_capacity,
                decode_capacity=graph.decode_capacity,
                width=graph.width,
            )
        )
    live = [i for i in range(run.n_requests) if i not in shown and _lives(run, i, window)]
    rows = sorted((*shown, *live[: max(0, max_rows - len(shown))]))
    return Panel(
        title=title or run.policy,
        subtitle=_subtitle(run, window, len(live) - (len(rows) - len(shown))),
        blocks=tuple(blocks),
        rows=tuple(_row(run, i, window) for i in rows),
    )


def _lives(run: Run, i: int, window: Window) -> bool:
    if run.status[i] not in (Status.FINISHED, Status.UNFINISHED):
        return False
    ended = run.status[i] == Status.FINISHED and run.finished_ms[i] <= window.start_ms
    return float(run.requests[i].arrival_ms) < window.end_ms and not ended


def _row(run: Run, i: int, window: Window) -> Row:
    arrival = float(run.requests[i].arrival_ms)
    finished = run.status[i] == Status.FINISHED and run.finished_ms[i] <= window.end_ms
    return Row(
        request_id=run.requests[i].id,
        arrival_ms=arrival if arrival >= window.start_ms else None,
        end_ms=float(run.finished_ms[i]) if finished else None,
    )


def _subtitle(run: Run, window: Window, hidden: int) -> str:
    waiting = f"; {hidden:,} more requests wait and have no row" if hidden > 0 else ""
    if run.n_launches == 0:
        return f"no launch in {svg.label(run.boundary_ms)} ms{waiting}"
    if window.n_launches == run.n_launches:
        return f"all {run.n_launches:,} launches, {svg.label(run.boundary_ms)} ms{waiting}"
    return (
        f"{window.n_launches:,} of {run.n_launches:,} launches: {svg.label(window.start_ms)} to "
        f"{svg.label(window.end_ms)} ms of {svg.label(run.boundary_ms)} ms{waiting}"
    )
