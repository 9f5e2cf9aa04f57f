"""One self-contained HTML page about runs: figures, timelines, output ages, service shares, and what was wasted.

The page holds its pictures as inline SVG and its style inside; it loads nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from fairlane.pictures import figures, svg
from fairlane.pictures.run_panel import run_panel, window_of
from fairlane.pictures.timeline import draw_timelines
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import show
from fairlane.simulator.cases import MeasuredCase
from fairlane.simulator.output_ages import age_series
from fairlane.simulator.percentiles import LEVELS, Distribution
from fairlane.simulator.run import Run
from fairlane.simulator.run_metrics import RunMetrics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LISTED = 20

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif; color: #1a1a1a;
  background: #fff; max-width: 1120px; margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; padding-top: .5rem;
  border-top: 2px solid #1a1a1a; } h3 { font-size: 1.05rem; margin: 1.75rem 0 .5rem; }
.muted { color: #5a5a5a; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .28rem .75rem .28rem 0; text-align: right; border-bottom: 1px solid #e4e4e4; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } th { font-weight: 600; border-bottom: 1px solid #1a1a1a; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: .75rem; margin: 1rem 0; }
.tile { border: 1px solid #d4d4d4; border-radius: 6px; padding: .6rem .8rem; }
.tile b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
.tile span { color: #5a5a5a; font-size: .85rem; }
.warn { border-left: 4px solid #d55e00; padding: .3rem .8rem; background: #fff5ee; margin: .5rem 0; }
svg { max-width: 100%; height: auto; }
"""


def render_report(entries: Sequence[MeasuredCase], *, title: str) -> str:
    """A whole HTML page.

    Parameters
    ----------
    entries : sequence of MeasuredCase
        At least one run; two or more are compared in a table first.
    title : str
        Heading and window title.

    Returns
    -------
    str
        HTML 5 without any outside resource; equal runs give equal text.

    Raises
    ------
    InvalidInstance
        No entry.
    """
    if not entries:
        raise InvalidInstance("entries is empty; need at least one run")
    parts = [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{svg.safe(title)}</title><style>{STYLE}</style></head><body>"
        f"<h1>{svg.safe(title)}</h1>"
        f'<p class="muted">{len(entries)} {"run" if len(entries) == 1 else "runs"}. Times in milliseconds.</p>'
    ]
    if len(entries) > 1:
        parts.append(_comparison(entries))
    for i, entry in enumerate(entries):
        _section(parts, entry, i)
    parts.append(_definitions(entries[0].metrics))
    parts.append("</body></html>\n")
    return "".join(parts)


def _section(parts: list[str], entry: MeasuredCase, i: int) -> None:
    run, metrics = entry.run, entry.metrics
    gap = f", launch gap {_ms(float(run.launch_gap_ms))} ms" if run.launch_gap_ms else ""
    horizon = "until everyone had finished" if run.horizon_ms is None else f"horizon {_ms(float(run.horizon_ms))} ms"
    parts.append(
        f'<h2 id="run-{i}">{svg.safe(entry.label)}</h2><p class="muted">policy {svg.safe(run.policy)}, '
        f"decode value {svg.safe(show(run.decode_value))}, seed {run.seed}, {horizon}, "
        f"{'one graph' if run.frames_in_flight == 1 else 'two graphs'} in flight{gap}</p>"
    )
    parts.extend(f'<p class="warn">{svg.safe(warning)}</p>' for warning in run.warnings)
    parts.append(_tiles(metrics))
    parts.append(_latencies(metrics))
    window = window_of(run)
    parts.append("<h3>Timeline</h3>")
    parts.append(f'<div class="scroll">{draw_timelines([run_panel(run, window)])}</div>')
    if run.boundary_ms > 0 and len(metrics.table):
        parts.append("<h3>Output age</h3>")
        whole = age_series(metrics.table, 0.0, run.boundary_ms)
        parts.append(_picture(figures.ages_figure(whole, title="Output age over the whole run")))
        if window.n_launches < run.n_launches:
            shown = age_series(metrics.table, window.start_ms, window.end_ms)
            parts.append(_picture(figures.ages_figure(shown, title="Output age in the timeline's window")))
    shares = shares_of(entry)
    if shares is not None:
        parts.append("<h3>Service shares</h3>")
        parts.append(_picture(shares))
    parts.append(_graphs(run))
    parts.append(_rejections(run))


def _picture(figure: Figure) -> str:
    text = figures.render(figure, figures.PictureFormat.SVG).decode("utf-8")
    return text[text.index("<svg") :]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heads = "".join(f"<th>{svg.safe(h)}</th>" for h in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _comparison(entries: Sequence[MeasuredCase]) -> str:
    rows = []
    for i, entry in enumerate(entries):
        metrics, shown = entry.metrics, entry.metrics.publications
        rows.append(
            [
                f'<a href="#run-{i}">{svg.safe(entry.label)}</a>',
                svg.safe(entry.run.policy),
                svg.safe(show(entry.run.decode_value)),
                f"{shown.n_finished:,} / {shown.n_requests:,}",
                _ms(shown.ttft.mean),
                _ms(shown.ttft.at(99)),
                _ms(shown.tpot.mean),
                _ms(shown.gap.at(99)),
                _plain(metrics.useful_tokens_per_busy_ms),
                _plain(shown.jain),
                f"{metrics.n_starved:,}",
            ]
        )
    head = ["run", "policy", "decode value", "finished", "TTFT mean", "TTFT p99", "TPOT mean", "gap p99"]
    return "<h3>All runs</h3>" + _table([*head, "tokens / busy ms", "Jain", "starved"], rows)


def _tiles(metrics: RunMetrics) -> str:
    shown = metrics.publications
    busy = metrics.busy_ms / shown.elapsed_ms if shown.elapsed_ms > 0 else None
    tiles = [
        (f"{shown.n_finished:,} of {shown.n_requests:,}", "requests finished"),
        (_ms(shown.ttft.mean), "mean TTFT, ms"),
        (_ms(shown.ttft.at(99)), "p99 TTFT, ms"),
        (_ms(shown.tpot.mean), "mean TPOT, ms"),
        (_plain(metrics.useful_tokens_per_busy_ms), "useful tokens a busy ms"),
        (_plain(metrics.useful_tokens_per_elapsed_ms), "useful tokens an elapsed ms"),
        (_percent(busy), "of the time busy"),
        (_plain(shown.age_area_ms2), "decode-age area, request·ms²"),
        ("n/a" if shown.acceptance is None else _percent(float(shown.acceptance)), "of drafts accepted"),
        (_plain(shown.jain), "Jain's index"),
        (_percent(_share(metrics.padded_rows, metrics.offered_rows)), "of decode rows empty"),
        (_percent(_share(metrics.padded_prompt_tokens, metrics.offered_prompt_tokens)), "of prompt capacity empty"),
        (f"{shown.n_unfinished:,} / {shown.n_rejected:,} / {metrics.n_starved:,}", "unfinished / rejected / starved"),
    ]
    if shown.goodput.attainment is not None:
        tiles.append((_percent(float(shown.goodput.attainment)), "of requests within targets"))
    return (
        '<div class="tiles">'
        + "".join(f'<div class="tile"><b>{v}</b><span>{n}</span></div>' for v, n in tiles)
        + "</div>"
    )


def _latencies(metrics: RunMetrics) -> str:
    shown = metrics.publications

    def row(name: str, sample: Distribution) -> list[str]:
        values = (sample.mean, *(value for _, value in sample.percentiles), sample.largest)
        return [name, f"{sample.samples:,}", *(_ms(value) for value in values)]

    names = ("time to first token", "end to end", "time per output token", "gap between outputs")
    rows = [row(n, d) for n, d in zip(names, (shown.ttft, shown.e2e, shown.tpot, shown.gap), strict=True)]
    return _table(["ms", "samples", "mean", "median", *(f"p{level}" for level in LEVELS[1:]), "max"], rows)


def _graphs(run: Run) -> str:
    """Which graphs ran, for how long, and how full."""
    rows_in = np.diff(np.concatenate(([0], np.cumsum(run.lane_consumed == 0)))[run.lane_offsets])
    tokens_in = np.diff(np.concatenate(([0], np.cumsum(run.lane_consumed)))[run.lane_offsets])
    spent = run.end_ms - run.start_ms
    rows = []
    for g, graph in enumerate(run.catalog):
        ran = run.graph == g
        count = int(ran.sum())
        if not count:
            continue
        rows.append(
            [
                svg.safe(graph.name),
                _ms(float(graph.duration_ms)),
                f"{count:,}",
                _percent(_share(float(spent[ran].sum()), float(spent.sum()))),
                _percent(_share(int(tokens_in[ran].sum()), graph.prefill_capacity * count)),
                _percent(_share(int(rows_in[ran].sum()), graph.decode_capacity * count)),
                str(graph.width) if graph.decode_capacity else "n/a",
            ]
        )
    unused = len(run.catalog) - len(rows)
    note = f'<p class="muted">{unused} graphs of the catalog did not run.</p>' if unused else ""
    head = ["graph", "ms", "launches", "share of busy time", "prompt capacity used", "rows used", "width"]
    return "<h3>Graphs</h3>" + _table(head, rows) + note


def _rejections(run: Run) -> str:
    if not run.rejections:
        return ""
    rows = [[svg.safe(run.requests[r.request].id), svg.safe(r.reason)] for r in run.rejections[:MOST_LISTED]]
    more = len(run.rejections) - len(rows)
    note = f'<p class="muted">and {more:,} more</p>' if more > 0 else ""
    return f"<h3>{len(run.rejections):,} rejected</h3>" + _table(["request", "reason"], rows) + note


def _definitions(metrics: RunMetrics) -> str:
    method = metrics.publications.ttft.method.value
    return (
        '<h2>How it is measured</h2><p class="muted">TTFT is first output − arrival, end to end last output − arrival, '
        "TPOT (last − first) / (tokens − 1) and undefined for one token. Gaps lie between successive outputs of one "
        "request; for one that arrives decoding, its arrival opens the first. Percentiles: "
        f"{method}. n/a stands where there is no sample. Useful tokens are prompt tokens consumed and output tokens "
        "published. A request is starved when one wait without service was longer than "
        f"{metrics.starvation_factor:g} times the sum, over the requests live when the wait began, of the shortest "
        "graph that can serve each. The fair reference gives every live request its rate in the proportionally fair "
        "allocation of the requests live at that instant.</p>"
    )


def _ms(value: float | None) -> str:
    if value is None:
        return "n/a"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.1f}" if abs(value) >= 10 else f"{value:,.2f}"


def _plain(value: float | None) -> str:
    if value is None:
        return "n/a"
    if abs(value) >= 1e8:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa} · 10<sup>{int(exponent)}</sup>"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _percent(value: float | None) -> str:
    return "n/a" if value is None else f"{100 * value:.1f} %"


def shares_of(entry: MeasuredCase) -> Figure | None:
    """What each request received beside the fair reference; None without a lag or without a request."""
    lag = entry.lag
    if lag is None or not len(lag.ranks):
        return None
    ids = [entry.run.requests[rank].id for rank in lag.ranks.tolist()]
    return figures.shares_figure(ids, lag.delivered_tokens, lag.reference_tokens)


def picture_files(entry: MeasuredCase) -> dict[str, bytes]:
    """The pictures of a run by file name, each as PNG and as SVG.

    Parameters
    ----------
    entry : MeasuredCase
        The run.

    Returns
    -------
    dict of str to bytes
        ``timeline.png``, ``timeline.svg``, ``ages.png``, ...; shares only where the entry has them.
    """
    run, table = entry.run, entry.metrics.table
    drawn = {"timeline": figures.timeline_figure(run_panel(run, window_of(run)))}
    if run.boundary_ms > 0:
        drawn["ages"] = figures.ages_figure(age_series(table, 0.0, run.boundary_ms))
    shares = shares_of(entry)
    if shares is not None:
        drawn["shares"] = shares
    return {
        str(PurePath(name).with_suffix(f".{kind.value}")): figures.render(figure, kind)
        for name, figure in drawn.items()
        for kind in figures.PictureFormat
    }
