"""A run in the Trace Event Format, which chrome://tracing and Perfetto open.

One process holds the graphs, one track; another holds the requests, one track each: a slice from arrival to end named
"live", and inside it one slice for every lane. Counters show live requests and decode rows in use. Times are in
microseconds, as the format wants them.

References
----------
Trace Event Format, Google (2016).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from fairlane.simulator.run import Run, Status
from fairlane.simulator.svg import clean

US_PER_MS = 1000
GRAPHS, REQUESTS = 1, 2

Event = dict[str, object]

# json.dumps with options builds an encoder a call
_ENCODER = json.JSONEncoder(allow_nan=False)


def trace_events(run: Run) -> Iterator[Event]:
    """The events of a run; a document is ``{"traceEvents": [...]}``.

    Parameters
    ----------
    run : Run
        Any number of launches.

    Yields
    ------
    dict
        JSON-ready events: metadata, then graphs and lanes in the order of time, then requests, then counters.
    """
    yield _name("process_name", GRAPHS, 0, f"graphs ({clean(run.policy)})")
    yield _name("process_name", REQUESTS, 0, "requests")
    yield _name("thread_name", GRAPHS, 1, "execution")
    for i, request in enumerate(run.requests):
        if run.status[i] != Status.NOT_ARRIVED:
            yield _name("thread_name", REQUESTS, i + 1, clean(request.id))
            yield {"name": "thread_sort_index", "ph": "M", "pid": REQUESTS, "tid": i + 1, "args": {"sort_index": i}}
    graphs = run.catalog.graphs
    for k in range(run.n_launches):
        graph = graphs[run.graph[k]]
        span = slice(run.lane_offsets[k], run.lane_offsets[k + 1])
        consumed, published = run.lane_consumed[span], run.lane_published[span]
        rows = int((consumed == 0).sum())
        start, length = _us(run.start_ms[k]), _us(run.end_ms[k]) - _us(run.start_ms[k])
        args = {
            "launch": k,
            "rows": f"{rows} of {graph.decode_capacity}",
            "prompt tokens": f"{int(consumed.sum())} of {graph.prefill_capacity}",
            "width": graph.width,
            "output tokens": int(published.sum()),
        }
        yield _slice(clean(graph.name), GRAPHS, 1, start, length, args, "graph")
        for who, used, out, proposed, accepted in zip(
            run.lane_request[span].tolist(),
            consumed.tolist(),
            published.tolist(),
            run.lane_proposed[span].tolist(),
            run.lane_accepted[span].tolist(),
            strict=True,
        ):
            detail = {"prompt tokens": used, "output tokens": out, "drafts": f"{accepted} of {proposed} accepted"}
            word = "prefill" if used else "decode"
            label = f"{word} {clean(graph.name)}"
            yield _slice(label, REQUESTS, who + 1, start, length, detail, word)
    yield from _lives(run)
    yield from _counters(run)


def trace_text(run: Run) -> Iterator[str]:
    """The document of a run in pieces, an event a line, so that a long run need not be held as a whole.

    Parameters
    ----------
    run : Run
        Any number of launches.

    Yields
    ------
    str
        JSON that is whole once all pieces are joined.
    """
    before = '{"displayTimeUnit": "ms", "traceEvents": [\n'
    for event in trace_events(run):
        yield before + _ENCODER.encode(event)
        before = ",\n"
    yield "\n]}\n"


def _lives(run: Run) -> Iterator[Event]:
    for i, request in enumerate(run.requests):
        status = Status(int(run.status[i]))
        start = _us(float(request.arrival_ms))
        if status is Status.REJECTED:
            reason = next((r.reason for r in run.rejections if r.request == i), "")
            yield {
                "name": "rejected",
                "ph": "i",
                "s": "t",
                "pid": REQUESTS,
                "tid": i + 1,
                "ts": start,
                "args": {"reason": clean(reason)},
            }
        elif status is not Status.NOT_ARRIVED:
            end = _us(run.finished_ms[i] if status is Status.FINISHED else run.boundary_ms)
            args = {"prompt": request.prompt, "output": int(run.generated[i]), "status": status.name.lower()}
            yield _slice("live", REQUESTS, i + 1, start, end - start, args, "live")


def _counters(run: Run) -> Iterator[Event]:
    served = np.flatnonzero((run.status == Status.FINISHED) | (run.status == Status.UNFINISHED))
    arrivals = [_us(float(run.requests[i].arrival_ms)) for i in served]
    ends = [_us(run.finished_ms[i]) for i in served if run.status[i] == Status.FINISHED]
    live = 0
    changes: dict[float, int] = {}
    for at in arrivals:
        changes[at] = changes.get(at, 0) + 1
    for at in ends:
        changes[at] = changes.get(at, 0) - 1
    for at in sorted(changes):
        live += changes[at]
        yield {"name": "live requests", "ph": "C", "pid": REQUESTS, "ts": at, "args": {"requests": live}}


def _us(at_ms: float) -> float:
    return round(float(at_ms) * US_PER_MS, 3)


def _name(kind: str, process: int, track: int, name: str) -> Event:
    return {"name": kind, "ph": "M", "pid": process, "tid": track, "args": {"name": name}}


def _slice(
    name: str, process: int, track: int, start_us: float, length_us: float, args: dict[str, object], category: str
) -> Event:
    return {
        "name": name,
        "cat": category,
        "ph": "X",
        "pid": process,
        "tid": track,
        "ts": start_us,
        "dur": round(length_us, 3),
        "args": args,
    }
