"""The files of simulated cases: summary and requests as CSV, launches as JSON lines, the catalog as JSON.

Every row carries the decode value and the seed of its case, so that a row taken out of its file still says what
it belongs to. The same run gives the same bytes.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from math import gcd

from fairlane.reference.exact import show
from fairlane.reference.model.codec import graph_to_json
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.objective import PRICES
from fairlane.simulator.cases import MeasuredCase
from fairlane.simulator.draws import kinds_of
from fairlane.simulator.gain_tables import gain_tables
from fairlane.simulator.metrics_json import requests_to_json, run_metrics_to_json
from fairlane.simulator.run import Status

PRICED = tuple(name for name in PRICES if name.endswith("_price"))


def case_columns(entry: MeasuredCase) -> dict[str, object]:
    """What says which case a row belongs to."""
    run = entry.run
    case: dict[str, object] = {
        "workload": entry.label,
        "policy": run.policy,
        "decode_value": show(run.decode_value),
        "seed": run.seed,
        "horizon_ms": None if run.horizon_ms is None else show(run.horizon_ms),
    }
    # a price of 0 is none
    case |= {name: show(price) for name in PRICED if (price := getattr(run.objective, name))}
    if run.chosen_ms is not None:
        case |= {"in_flight": run.frames_in_flight, "launch_gap_ms": show(run.launch_gap_ms)}
    return case


def summary_rows(entries: Sequence[MeasuredCase]) -> list[dict[str, object]]:
    """One row a case: every figure that is a number or a word."""
    rows = []
    for entry in entries:
        figures = run_metrics_to_json(entry.metrics, entry.lag)
        flat = {k: v for k, v in figures.items() if not isinstance(v, (list, Mapping))}
        shown = {} if entry.lengths is None else {"output_lengths": entry.lengths}
        rows.append(case_columns(entry) | shown | flat)
    return rows


def request_rows(entries: Sequence[MeasuredCase]) -> Iterator[dict[str, object]]:
    """One row a request: what it asked for, how it ended, and its figures."""
    for entry in entries:
        run = entry.run
        reasons = {r.request: r.reason for r in run.rejections}
        arrived = {int(rank): k for k, rank in enumerate(entry.metrics.ranks)}
        figures = requests_to_json(entry.metrics.table, entry.metrics.publications)
        case = case_columns(entry)
        for i, request in enumerate(run.requests):
            row = case | {
                "id": request.id,
                "arrival_ms": float(request.arrival_ms),
                "prompt": request.prompt,
                "limit": request.limit,
                "weight": show(request.weight),
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
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([row.get(name) for name in names] for row in rows)
    return out.getvalue()


def trace_lines(entry: MeasuredCase) -> Iterator[str]:
    """One JSON line a launch: when, which graph, what its lanes delivered, and its fixed-value score.

    Where graphs were not chosen at their start, ``chosen_ms`` says when.

    The score is the expected useful value per ms of the lanes as they were chosen, not of what came out. It is
    exact; gains are whole numbers of one unit, and lines are put together from encoded parts, since a run has
    hundreds of thousands of them.
    """
    run = entry.run
    graphs = run.catalog.graphs
    kinds = kinds_of(run.requests)
    gains = gain_tables(kinds, graphs, run.decode_value)
    widest = gains.span - 1
    token = [gains.token[k] for k in kinds.by_request]
    end = [gains.end[k] for k in kinds.by_request]
    base = [k * gains.span for k in kinds.by_request]
    row_gain = [gains.row[gains.widths.index(g.width)] if g.decode_capacity else () for g in graphs]
    # per graph: its name as JSON, and the score's denominator and factor
    name = [json.dumps(g.name, ensure_ascii=False) for g in graphs]
    below = [gains.unit * g.duration_ms.numerator for g in graphs]
    above = [g.duration_ms.denominator for g in graphs]
    left = [r.prompt for r in run.requests]
    to_limit = [r.limit - r.generated for r in run.requests]
    head = [f'{{"id": {json.dumps(r.id, ensure_ascii=False)}, "consumed": ' for r in run.requests]
    case = json.dumps(case_columns(entry), ensure_ascii=False)[:-1]
    offsets = run.lane_offsets.tolist()
    lane_rows = list(
        zip(run.lane_request.tolist(), run.lane_consumed.tolist(), run.lane_published.tolist(), strict=True)
    )
    launches = zip(run.graph.tolist(), run.start_ms.tolist(), run.end_ms.tolist(), strict=True)
    chosen = (
        [""] * run.n_launches if run.chosen_ms is None else [f'"chosen_ms": {t!r}, ' for t in run.chosen_ms.tolist()]
    )
    for k, (g, start_ms, end_ms) in enumerate(launches):
        gain = 0
        lanes: list[str] = []
        for i, consumed, published in lane_rows[offsets[k] : offsets[k + 1]]:
            if consumed:
                left[i] -= consumed
                gain += token[i] * consumed
                if not left[i]:
                    gain += end[i]
            else:
                remaining = to_limit[i]
                gain += row_gain[g][base[i] + (remaining if remaining < widest else widest)]
            to_limit[i] -= published
            lanes.append(f'{head[i]}{consumed}, "published": {published}}}')
        common = gcd(gain * above[g], below[g])
        numerator, denominator = gain * above[g] // common, below[g] // common
        score = f"{numerator}/{denominator}" if denominator > 1 else str(numerator)
        yield (
            f'{case}, "launch": {k}, {chosen[k]}"start_ms": {start_ms!r}, "end_ms": {end_ms!r}, "graph": {name[g]}, '
            f'"lanes": [{", ".join(lanes)}], "score": "{score}", "score_decimal": {numerator / denominator!r}}}'
        )


def catalog_text(catalog: Catalog) -> str:
    """The timing input, as a file that `--catalog` reads back."""
    return json.dumps([graph_to_json(g) for g in catalog], indent=1, ensure_ascii=False) + "\n"
