"""A run in the Trace Event Format, which chrome://tracing and Perfetto open.

One process holds the graphs, one track; another holds the requests, one track each: a slice from arrival to end named
"live", and inside it one slice for every lane. Counters show live requests and decode rows in use. Times are in
microseconds, as the format wants them.

References
----------
Trace Event Format, Google (2016).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from fairlane.pictures.svg import clean
from fairlane.simulator.run import Run, Status

US_PER_MS = 1000
GRAPHS, REQUESTS = 1, 2

Event = dict[str, object]


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
    yield from _launches(run)
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
    # the json module takes 20 µs an event, of which a long run has hundreds of thousands
    encode = msgspec.json.Encoder().encode
    before = '{"displayTimeUnit": "ms", "traceEvents": [\n'
    for event in trace_events(run):
        yield before + encode(event).decode()
        before = ",\n"
    yield "\n]}\n"


def _launches(run: Run) -> Iterator[Event]:
    names = [clean(graph.name) for graph in run.catalog]
    graphs = run.catalog.graphs
    # plain lists: a numpy scalar costs ten times as much to touch
    which, offsets = run.graph.tolist(), run.lane_offsets.tolist()
    starts, ends = run.start_ms.tolist(), run.end_ms.tolist()
    columns = (run.lane_request, run.lane_consumed, run.lane_published, run.lane_proposed, run.lane_accepted)
    lanes = list(zip(*(column.tolist() for column in columns), strict=True))
    for k, g in enumerate(which):
        own = lanes[offsets[k] : offsets[k + 1]]
        start = _us(starts[k])
        length = _us(ends[k]) - start
        args: dict[str, object] = {
            "launch": k,
            "rows": f"{sum(not lane[1] for lane in own)} of {graphs[g].decode_capacity}",
            "prompt tokens": f"{sum(lane[1] for lane in own)} of {graphs[g].prefill_capacity}",
            "width": graphs[g].width,
            "output tokens": sum(lane[2] for lane in own),
        }
        if run.chosen_ms is not None:
            args["chosen at, ms"] = float(run.chosen_ms[k])
        yield _slice(names[g], GRAPHS, 1, start, length, args, "graph")
        for who, used, out, proposed, accepted in own:
            word = "prefill" if used else "decode"
            detail: dict[str, object] = {
                "prompt tokens": used,
                "output tokens": out,
                "drafts": f"{accepted} of {proposed} accepted",
            }
            yield _slice(f"{word} {names[g]}", REQUESTS, who + 1, start, length, detail, word)


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
    yield from _rows_in_use(run)


def _rows_in_use(run: Run) -> Iterator[Event]:
    """Decode rows that the running graph serves, from each change to the next; 0 while nothing runs."""
    decodes = np.concatenate(([0], np.cumsum(run.lane_consumed == 0)))
    rows = np.diff(decodes[run.lane_offsets]).tolist()
    starts, ends = run.start_ms.tolist(), run.end_ms.tolist()
    shown = 0
    for k, in_use in enumerate(rows):
        changes = [(starts[k], in_use)]
        if k + 1 == len(rows) or starts[k + 1] > ends[k]:
            changes.append((ends[k], 0))
        for at, value in changes:
            if value != shown:
                shown = value
                yield {"name": "decode rows", "ph": "C", "pid": GRAPHS, "ts": _us(at), "args": {"in use": value}}


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
