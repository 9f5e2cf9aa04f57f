"""One self-contained HTML page about runs: figures, timelines, output ages, service shares, and what was wasted.

The page holds its pictures as inline SVG and its style inside; it loads nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairlane.pictures import figures, svg
from fairlane.pictures.page import Markup, render_page
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


class Table(NamedTuple):
    """Headings and cells; text that is no markup is escaped by the page."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


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
    return render_page(
        "runs.html",
        title=svg.clean(title),
        comparison=_comparison(entries) if len(entries) > 1 else None,
        runs=[_section(entry) for entry in entries],
        percentiles=entries[0].metrics.publications.ttft.method.value,
        starvation=f"{entries[0].metrics.starvation_factor:g}",
    )


def _section(entry: MeasuredCase) -> dict[str, object]:
    run, metrics = entry.run, entry.metrics
    gap = f", launch gap {_ms(float(run.launch_gap_ms))} ms" if run.launch_gap_ms else ""
    horizon = "until everyone had finished" if run.horizon_ms is None else f"horizon {_ms(float(run.horizon_ms))} ms"
    in_flight = "one graph" if run.frames_in_flight == 1 else "two graphs"
    window = window_of(run)
    ages: list[Markup] = []
    if run.boundary_ms > 0 and len(metrics.table):
        whole = age_series(metrics.table, 0.0, run.boundary_ms)
        ages.append(_picture(figures.ages_figure(whole, title="Output age over the whole run")))
        if window.n_launches < run.n_launches:
            shown = age_series(metrics.table, window.start_ms, window.end_ms)
            ages.append(_picture(figures.ages_figure(shown, title="Output age in the timeline's window")))
    shares = shares_of(entry)
    graphs = _graphs(run)
    return {
        "label": svg.clean(entry.label),
        "conditions": svg.clean(
            f"policy {run.policy}, decode value {show(run.decode_value)}, seed {run.seed}, {horizon}, "
            f"{in_flight} in flight{gap}"
        ),
        "warnings": [svg.clean(warning) for warning in run.warnings],
        "tiles": _tiles(metrics),
        "latencies": _latencies(metrics),
        "timeline": Markup(draw_timelines([run_panel(run, window)])),
        "ages": ages,
        "shares": None if shares is None else _picture(shares),
        "graphs": graphs,
        "unused": len(run.catalog) - len(graphs.rows),
        "rejected": _rejections(run),
    }


def _picture(figure: Figure) -> Markup:
    text = figures.render(figure, figures.PictureFormat.SVG).decode("utf-8")
    return Markup(text[text.index("<svg") :])


def _comparison(entries: Sequence[MeasuredCase]) -> Table:
    rows = []
    for i, entry in enumerate(entries):
        metrics, shown = entry.metrics, entry.metrics.publications
        rows.append(
            [
                Markup('<a href="#run-{}">{}</a>').format(i, svg.clean(entry.label)),
                svg.clean(entry.run.policy),
                svg.clean(show(entry.run.decode_value)),
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
    return Table([*head, "tokens / busy ms", "Jain", "starved"], rows)


def _tiles(metrics: RunMetrics) -> list[tuple[str, str]]:
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
    return tiles


def _latencies(metrics: RunMetrics) -> Table:
    shown = metrics.publications

    def row(name: str, sample: Distribution) -> list[str]:
        values = (sample.mean, *(value for _, value in sample.percentiles), sample.largest)
        return [name, f"{sample.samples:,}", *(_ms(value) for value in values)]

    names = ("time to first token", "end to end", "time per output token", "gap between outputs")
    rows = [row(n, d) for n, d in zip(names, (shown.ttft, shown.e2e, shown.tpot, shown.gap), strict=True)]
    return Table(["ms", "samples", "mean", "median", *(f"p{level}" for level in LEVELS[1:]), "max"], rows)


def _graphs(run: Run) -> Table:
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
                svg.clean(graph.name),
                _ms(float(graph.duration_ms)),
                f"{count:,}",
                _percent(_share(float(spent[ran].sum()), float(spent.sum()))),
                _percent(_share(int(tokens_in[ran].sum()), graph.prefill_capacity * count)),
                _percent(_share(int(rows_in[ran].sum()), graph.decode_capacity * count)),
                str(graph.width) if graph.decode_capacity else "n/a",
            ]
        )
    head = ["graph", "ms", "launches", "share of busy time", "prompt capacity used", "rows used", "width"]
    return Table(head, rows)


def _rejections(run: Run) -> dict[str, object] | None:
    if not run.rejections:
        return None
    listed = run.rejections[:MOST_LISTED]
    more = len(run.rejections) - len(listed)
    return {
        "count": f"{len(run.rejections):,}",
        "rows": [[svg.clean(run.requests[r.request].id), svg.clean(r.reason)] for r in listed],
        "more": f"{more:,}" if more else "",
    }


def _ms(value: float | None) -> str:
    if value is None:
        return "n/a"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.1f}" if abs(value) >= 10 else f"{value:,.2f}"


def _plain(value: float | None) -> str:
    if value is None:
        return "n/a"
    if abs(value) >= 1e8:
        mantissa, exponent = f"{value:.2e}".split("e")
        return Markup("{} · 10<sup>{}</sup>").format(mantissa, int(exponent))
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
