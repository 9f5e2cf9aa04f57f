"""The files of simulated cases: summary and requests as CSV, launches as JSON lines, the catalog as JSON.

Every row carries the decode value and the seed of its case, so that a row taken out of its file still says what
it belongs to. The same run gives the same bytes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from types import SimpleNamespace

from fairlane.reference.codec import graph_to_json
from fairlane.reference.exact import show
from fairlane.reference.graph import Catalog
from fairlane.reference.score import Lanes, lanes_value
from fairlane.simulator.metrics_json import requests_to_json, run_metrics_to_json
from fairlane.simulator.report import ReportEntry
from fairlane.simulator.run import Status


def case_columns(entry: ReportEntry) -> dict[str, object]:
    """What says which case a row belongs to."""
    run = entry.run
    return {
        "workload": entry.label,
        "policy": run.policy,
        "decode_value": show(run.decode_value),
        "seed": run.seed,
        "horizon_ms": None if run.horizon_ms is None else show(run.horizon_ms),
    }


def summary_rows(entries: Sequence[ReportEntry]) -> list[dict[str, object]]:
    """One row a case: every figure that is a number or a word."""
    rows = []
    for entry in entries:
        figures = run_metrics_to_json(entry.metrics, entry.lag)
        flat = {k: v for k, v in figures.items() if not isinstance(v, (list, Mapping))}
        rows.append(case_columns(entry) | flat)
    return rows


def request_rows(entries: Sequence[ReportEntry]) -> Iterator[dict[str, object]]:
    """One row a request: what it asked for, how it ended, and its figures."""
    for entry in entries:
        run = entry.run
        reasons = {r.request: r.reason for r in run.rejections}
        arrived = {int(rank): k for k, rank in enumerate(entry.metrics.ranks)}
        figures = requests_to_json(entry.metrics.table, entry.metrics.publications)
        for i, request in enumerate(run.requests):
            row = case_columns(entry) | {
                "id": request.id,
                "arrival_ms": float(request.arrival_ms),
                "prompt": request.prompt,
                "limit": request.limit,
                "status": Status(int(run.status[i])).name.lower(),
                "rejected_because": reasons.get(i),
                "starved": bool(entry.metrics.starved[arrived[i]]) if i in arrived else None,
            }
            measured = figures[arrived[i]] if i in arrived else {}
            kept = {k: v for k, v in measured.items() if k not in {"id", "outcome", "gaps_ms"}}
            yield row | kept


def to_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as CSV; a missing or undefined value is an empty cell."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n", restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: "" if v is None else v for k, v in row.items()})
    return out.getvalue()


def trace_lines(entry: ReportEntry) -> Iterator[str]:
    """One JSON line a launch: when, which graph, what its lanes delivered, and its fixed-value score.

    The score is the expected useful value per ms of the lanes as they were chosen, not of what came out.
    """
    run = entry.run
    names = [g.name for g in run.catalog]
    case = case_columns(entry)
    left = [r.prompt for r in run.requests]
    generated = [r.generated for r in run.requests]
    for k in range(run.n_launches):
        graph = run.catalog.graphs[int(run.graph[k])]
        prompts: list[SimpleNamespace] = []
        rows: list[SimpleNamespace] = []
        lanes: list[dict[str, object]] = []
        for lane in range(int(run.lane_offsets[k]), int(run.lane_offsets[k + 1])):
            i = int(run.lane_request[lane])
            request = run.requests[i]
            held = SimpleNamespace(
                id=request.id,
                weight=request.weight,
                prompt=left[i],
                generated=generated[i],
                limit=request.limit,
                acceptance=request.acceptance,
            )
            consumed, published = int(run.lane_consumed[lane]), int(run.lane_published[lane])
            (prompts if consumed else rows).append(held)
            lanes.append({"id": request.id, "consumed": consumed, "published": published})
            left[i] -= consumed
            generated[i] += published
        score: Fraction = lanes_value(graph, Lanes(prompts, rows), run.decode_value) / graph.duration_ms
        line = case | {
            "launch": k,
            "start_ms": float(run.start_ms[k]),
            "end_ms": float(run.end_ms[k]),
            "graph": names[int(run.graph[k])],
            "lanes": lanes,
            "score": show(score),
            "score_decimal": float(score),
        }
        yield json.dumps(line, ensure_ascii=False)


def catalog_text(catalog: Catalog) -> str:
    """The timing input, as a file that `--catalog` reads back."""
    return json.dumps([graph_to_json(g) for g in catalog], indent=1, ensure_ascii=False) + "\n"
