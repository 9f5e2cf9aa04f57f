"""Pictures of a run as matplotlib figures: its timeline, its output ages, and its service shares.

A figure is written as PNG or SVG by :func:`render`; the same run gives the same bytes. Colours are those of
:mod:`~fairlane.pictures.svg`, and hatching or line style says the same without colour.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from fairlane.pictures import svg
from fairlane.pictures.timeline import COLOURS, Block, LaneKind, Panel
from fairlane.simulator.output_ages import AgeSeries
from fairlane.simulator.publication_table import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_BARS = 40
# the keys are literals to matplotlib's types
STYLE: dict[Any, Any] = {
    "font.size": 10,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "hatch.linewidth": 0.9,
    "legend.frameon": False,
    "svg.hashsalt": "fairlane",
    "svg.fonttype": "path",
}


class PictureFormat(StrEnum):
    """File formats of pictures."""

    PNG = "png"
    SVG = "svg"


def render(figure: Figure, kind: PictureFormat) -> bytes:
    """The bytes of a figure, without a date in them.

    Parameters
    ----------
    figure : matplotlib Figure
        One of this module's.
    kind : PictureFormat
        ``png`` at 150 dots an inch, or ``svg``.

    Returns
    -------
    bytes
        A whole file.
    """
    stream = io.BytesIO()
    with mpl.rc_context(STYLE):
        # the date and the version of the library would change the bytes of equal pictures
        metadata = {"Date": None, "Creator": None} if kind is PictureFormat.SVG else {"Software": None}
        figure.savefig(stream, format=kind.value, dpi=150, metadata=metadata)
    return stream.getvalue()


def timeline_figure(panel: Panel) -> Figure:
    """The timeline of :mod:`~fairlane.pictures.timeline` as a figure: one row a request, one block a graph."""
    rows = panel.all_rows()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 1.75 + 0.27 * (len(rows) + 1)), layout="constrained")
        axes = figure.subplots()
        places = {row.request_id: i + 1.25 for i, row in enumerate(rows)}
        ends = [float(block.end_ms) for block in panel.blocks] + [float(r.end_ms) for r in rows if r.end_ms is not None]
        starts = [float(block.start_ms) for block in panel.blocks]
        starts += [float(row.arrival_ms) for row in rows if row.arrival_ms is not None]
        low, high = min(starts, default=0.0), max(ends, default=1.0)
        for row in rows:
            if row.arrival_ms is None and row.end_ms is None:
                continue
            y, begin = places[row.request_id], low if row.arrival_ms is None else float(row.arrival_ms)
            open_end = row.end_ms is None
            end = high if row.end_ms is None else float(row.end_ms)
            axes.plot([begin, end], [y, y], color="#8a8a8a", lw=1, ls=":" if open_end else "-", zorder=1)
            if row.arrival_ms is not None:
                axes.plot([begin], [y], marker="|", ms=9, mew=1.6, color=svg.BLACK, zorder=2)
            if not open_end:
                axes.plot([end], [y], marker="o", ms=4.5, color=svg.BLACK, mec="white", mew=0.6, zorder=5)
        _draw_blocks(axes, panel.blocks, places, 11 * 72 * 0.88 / max(high - low, 1e-9))
        names = [svg.fit(row.request_id, 130, 10) for row in rows]
        axes.set_yticks([0, *places.values()], ["graph", *names])
        axes.set_ylim(len(rows) + 0.9, -0.6)
        margin = (high - low) * 0.005
        axes.set_xlim(low - margin, high + margin)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color="#ececec")
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("time, ms")
        axes.xaxis.set_major_formatter(lambda x, _: svg.label(x))
        figure.suptitle(svg.clean(panel.title), x=0.01, ha="left", fontsize=12, fontweight="bold")
        axes.set_title(svg.clean(panel.subtitle), fontsize=9, fontweight="normal", color=svg.GREY)
        kinds = {lane.kind for block in panel.blocks for lane in block.lanes}
        words = {LaneKind.PREFILL: "prompt tokens", LaneKind.DECODE: "output tokens"}
        keys: list[Any] = [
            Patch(fc=COLOURS[kind], ec="#5a5a5a", lw=0.6, label=words[kind]) for kind in LaneKind if kind in kinds
        ]
        keys.append(
            Patch(fc="white", ec="#a0a0a0", hatch="////", lw=0.6, label="unused: padding, empty rows, rejected drafts")
        )
        if any(row.arrival_ms is not None for row in rows):
            keys.append(Line2D([], [], color=svg.BLACK, marker="|", ms=9, mew=1.6, ls="", label="arrival"))
            keys.append(Line2D([], [], color=svg.BLACK, marker="o", ms=4.5, ls="", label="finished"))
        figure.legend(handles=keys, loc="outside lower left", ncols=5, fontsize=9)
    return figure


def _draw_blocks(axes: Any, blocks: Sequence[Block], places: dict[str, float], points_per_ms: float) -> None:
    filled: dict[str, list[Floats]] = {}
    unused: list[Floats] = []
    outlines: list[Floats] = []
    for block in blocks:
        begin, end = float(block.start_ms), float(block.end_ms)
        for y, level, colour, texts in _boxes(block, places):
            top, floor = y - 0.38, y + 0.38
            surface = floor - (floor - top) * level
            unused.append(_rectangle(begin, end, top, surface))
            filled.setdefault(colour, []).append(_rectangle(begin, end, surface, floor))
            outlines.append(_rectangle(begin, end, top, floor))
            text = next((t for t in texts if svg.text_width_px(t, 7.5) <= (end - begin) * points_per_ms - 2), "")
            if text:
                around = {"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none", "alpha": 0.75}
                shown = axes.text(
                    (begin + end) / 2, y, svg.clean(text), ha="center", va="center", fontsize=7.5, zorder=6
                )
                shown.set_bbox(around)
                # the layout needs to know nothing of texts inside the axes, and asking each one takes seconds
                shown.set_in_layout(False)
    # one collection a kind: thousands of single patches are slow to draw
    axes.add_collection(PolyCollection(unused, fc="white", ec="#b0b0b0", hatch="////", lw=0, zorder=3), autolim=False)
    for colour, boxes in filled.items():
        axes.add_collection(PolyCollection(boxes, fc=colour, ec="none", zorder=3), autolim=False)
    axes.add_collection(PolyCollection(outlines, fc="none", ec="#5a5a5a", lw=0.5, zorder=4), autolim=False)


def _rectangle(begin: float, end: float, top: float, floor: float) -> Floats:
    return np.array([(begin, top), (end, top), (end, floor), (begin, floor)])


def _boxes(block: Block, places: dict[str, float]) -> list[tuple[float, float, str, tuple[str, ...]]]:
    """Row, useful share, colour and possible texts of a block's graph and of each of its lanes."""
    share = block.useful_tokens / block.offered_tokens if block.offered_tokens else 1.0
    boxes: list[tuple[float, float, str, tuple[str, ...]]] = [(0.0, share, svg.LIGHT, (block.graph,))]
    for lane, offered in block.offers():
        whole = f"{lane.tokens}/{offered}" if offered > lane.tokens else f"{lane.tokens}"
        boxes.append((places[lane.request_id], lane.tokens / offered, COLOURS[lane.kind], (whole, f"{lane.tokens}")))
    return boxes


def ages_figure(series: AgeSeries, *, title: str = "Output age") -> Figure:
    """Ages over time: single streams thin, their mean and the longest of them bold."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 3.4), layout="constrained")
        axes = figure.subplots()
        axes.stairs(series.longest_ms, series.edge_ms, color=svg.SKY, alpha=0.4, fill=True, zorder=2)
        axes.stairs(series.longest_ms, series.edge_ms, color=svg.BLUE, lw=1.4, baseline=None, label="longest", zorder=3)
        for i, (times, ages) in enumerate(series.saws):
            axes.plot(times, ages, color="#5a5a5a", lw=0.7, label="one stream" if i == 0 else None, zorder=4)
        centres = series.edge_ms[1:]
        axes.plot(centres, series.mean_ms, color=svg.ORANGE, lw=1.8, ls="--", label="mean", zorder=5)
        axes.set_xlim(series.edge_ms[0], series.edge_ms[-1])
        axes.set_ylim(bottom=0)
        axes.grid(color="#ececec")
        axes.set_xlabel("time, ms")
        axes.set_ylabel("ms since last output")
        axes.xaxis.set_major_formatter(lambda x, _: svg.label(x))
        axes.yaxis.set_major_formatter(lambda x, _: svg.label(x))
        word = "stream" if series.n_streams == 1 else "streams"
        axes.set_title(f"{svg.clean(title)}: {series.n_streams:,} {word}")
        figure.legend(loc="outside lower left", ncols=3, fontsize=9)
        if series.n_streams == 0:
            axes.text(0.5, 0.5, "no stream decodes here", transform=axes.transAxes, ha="center", color=svg.GREY)
    return figure


def shares_figure(
    ids: Sequence[str], delivered: Floats, reference: Floats, *, title: str = "Useful tokens against the fair reference"
) -> Figure:
    """What each request received beside what the fair reference would have given it.

    Parameters
    ----------
    ids : sequence of str
        Labels of the requests.
    delivered, reference : float64, shape (n,)
        Useful tokens received, and the reference's over the same time.
    title : str
        Above the picture.

    Returns
    -------
    Figure
        Bars with a mark each up to 40 requests; beyond, the distribution of delivered / reference.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 3.6), layout="constrained")
        axes = figure.subplots()
        axes.set_title(svg.clean(title))
        axes.grid(axis="y", color="#ececec")
        if len(ids) <= MOST_BARS:
            x = np.arange(len(ids))
            sums = [float(values.sum()) or 1.0 for values in (delivered, reference)]
            axes.bar(x, 100 * delivered / sums[0], width=0.68, color=svg.SKY, ec="#5a5a5a", lw=0.6, label="delivered")
            axes.hlines(100 * reference / sums[1], x - 0.42, x + 0.42, color=svg.BLACK, lw=2.2, label="fair reference")
            names = [svg.fit(name, 80, 10) for name in ids]
            crowded = sum(svg.text_width_px(name, 10) + 8 for name in names) > 11 * 72 * 0.9
            axes.set_xticks(x, names, rotation=90 if crowded else 0)
            axes.set_xlim(-0.7, max(len(ids), 1) - 0.3)
            axes.set_ylabel("share of useful tokens, %")
            axes.tick_params(axis="x", length=0)
        else:
            ratio = np.sort(delivered[reference > 0] / reference[reference > 0])
            axes.plot(ratio, 100 * np.arange(1, len(ratio) + 1) / len(ratio), color=svg.BLUE, lw=1.8, label="requests")
            axes.axvline(1, color=svg.BLACK, lw=1.4, ls="--", label="the fair reference")
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(lambda x, _: svg.label(x))
            axes.set_xlabel("useful tokens delivered / fair reference")
            axes.set_ylabel(f"% of {len(ratio):,} requests")
            axes.set_ylim(0, 101)
        figure.legend(loc="outside lower left", ncols=2, fontsize=9)
    return figure
