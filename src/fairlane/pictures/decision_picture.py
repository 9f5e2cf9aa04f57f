"""Pictures of decision graphs: time runs to the right, the optimal path is bold, losing branches are red."""

from __future__ import annotations

import unicodedata
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Curve

from fairlane.oracle.policy_value.decision_graph import ChoiceNode, DecisionGraph, Kind, StateNode
from fairlane.pictures.layered_layout import Layout, layered
from fairlane.pictures.svg import text_width_px
from fairlane.reference.exact import decimal_of, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure


INK = "#1a1a1a"
PALE = "#a9adb3"
# blue and vermillion of Okabe and Ito (2008), told apart without colour vision by width and dashes too
STYLE: dict[Kind, tuple[str, float, Any, str]] = {
    Kind.OPTIMAL: ("#0b4f8a", 3.0, "-", "#e3eef8"),
    Kind.TIED: ("#0b4f8a", 1.4, (0, (5, 2)), "#ffffff"),
    Kind.LOSING: ("#c62828", 2.2, "-", "#fdeaea"),
    Kind.FOLLOWING: ("#c62828", 1.3, (0, (5, 2)), "#ffffff"),
    Kind.OTHER: (PALE, 0.9, "-", "#ffffff"),
}
ORDER = (Kind.OTHER, Kind.FOLLOWING, Kind.TIED, Kind.LOSING, Kind.OPTIMAL)

# all lengths in inches, text in points
SIZE_PT = 8.0
SMALL_PT = 7.0
LINE = 0.165
PAD = 0.09
GAP = 0.17
BETWEEN = 0.5
MARGIN = 0.3
LONGEST_LABEL = 28


def draw_decision_graph(graph: DecisionGraph) -> Figure:
    """A figure of a decision graph, not shown and not saved.

    Parameters
    ----------
    graph : DecisionGraph
        What to draw.

    Returns
    -------
    matplotlib Figure
        Boxes are states with their exact values, pills are choices, numbers on lines are probabilities.
    """
    n = len(graph.states)
    texts = [_state_lines(graph, k) for k in range(n)] + [_choice_lines(graph, c) for c in graph.choices]
    sizes = [_box(lines, SIZE_PT if k < n else SMALL_PT) for k, lines in enumerate(texts)]
    edges = [(c.source, n + k) for k, c in enumerate(graph.choices)]
    edges += [(n + k, t) for k, c in enumerate(graph.choices) for t, _ in c.to]
    layout = layered([height for _, height in sizes], edges, gap=GAP)
    columns = _columns(layout, [width for width, _ in sizes])
    passed = [y for bends in layout.bends.values() for _, y in bends]
    low = min([y - sizes[k][1] / 2 for k, y in enumerate(layout.across)] + passed)
    high = max([y + sizes[k][1] / 2 for k, y in enumerate(layout.across)] + passed)
    head, foot = 0.78, 0.5
    width = max(columns[-1][1] + 2 * MARGIN, 8.4)
    height = high - low + head + foot + 2 * MARGIN
    figure = Figure(figsize=(width, height), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    left = -(width - columns[-1][1]) / 2
    axes.set_xlim(left, left + width)
    # the first request of a list stands above the second
    axes.set_ylim(high + MARGIN + foot, low - MARGIN - head)
    places = [(sum(columns[layout.layer[k]]) / 2, layout.across[k]) for k in range(len(sizes))]
    for kind in ORDER:
        for k, choice in enumerate(graph.choices):
            if choice.kind is kind:
                _draw_edges(axes, choice, n + k, layout, columns, places, sizes)
    for k, (x, y) in enumerate(places):
        if k < n:
            _draw_state(axes, graph.states[k], texts[k], x, y, sizes[k], last=k == n - 1)
        else:
            _draw_choice(axes, graph.choices[k - n], texts[k], x, y, sizes[k])
    _draw_head(axes, graph, left + MARGIN, low - MARGIN - head + 0.3)
    _draw_legend(axes, graph, left + MARGIN, high + MARGIN + foot - 0.28)
    return figure


def _brief(value: Fraction) -> str:
    text = show(value)
    if len(text) <= 8:
        return text.replace("-", "−")
    decimal = decimal_of(value)
    return "huge" if decimal is None else f"≈{decimal:.5g}".replace("-", "−")


def _label(text: str, longest: int = LONGEST_LABEL) -> str:
    shown = "".join("\ufffd" if unicodedata.category(c)[0] == "C" else c for c in text)
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def _state_lines(graph: DecisionGraph, k: int) -> list[str]:
    if k == len(graph.states) - 1:
        return ["all finished"]
    node = graph.states[k]
    lines = []
    for request, local in zip(graph.instance.requests, node.state, strict=True):
        name = _label(request.id, 12)
        if local.finished:
            lines.append(f"{name}: finished")
        elif local.prompt:
            lines.append(f"{name}: prompt {local.prompt}")
        else:
            age = f", age {_brief(local.age_ms)} ms" if graph.instance.objective.age_price else ""
            lines.append(f"{name}: output {local.generated} of {request.limit}{age}")
    value = _brief(node.value)
    lines.append(f"V ≈ {value[1:]}" if value.startswith("≈") else f"V = {value}")
    return lines


def _choice_lines(graph: DecisionGraph, choice: ChoiceNode) -> list[str]:
    ids = [_label(request.id, 12) for request in graph.instance.requests]
    prompts, rows = ", ".join(ids[i] for i in choice.action.prefill), ", ".join(ids[i] for i in choice.action.decode)
    lanes = f"{prompts} | {rows}" if prompts and rows else prompts or rows
    lines = [f"{_label(graph.instance.graphs.graphs[choice.action.graph].name, 18)} ← {_label(lanes)}"]
    if choice.kind is Kind.LOSING:
        often = f", probability {_brief(choice.probability)}" if choice.probability not in (None, 1) else ""
        lines.append(f"loses {_brief(-choice.advantage)}{often}")
    elif choice.kind is Kind.OTHER and choice.advantage:
        lines.append(f"{_brief(choice.advantage)}")
    return lines


def _box(lines: list[str], size_pt: float) -> tuple[float, float]:
    widest = max(text_width_px(line, size_pt) for line in lines) / 72
    return widest + 2 * PAD, len(lines) * LINE + PAD


def _columns(layout: Layout, widths: list[float]) -> list[tuple[float, float]]:
    """Left and right edge of each layer, all of its nodes centred in it."""
    out: list[tuple[float, float]] = []
    at = 0.0
    for layer in range(max(layout.layer) + 1):
        width = max(w for k, w in enumerate(widths) if layout.layer[k] == layer)
        out.append((at, at + width))
        at += width + BETWEEN
    return out


def _draw_edges(
    axes: Any,
    choice: ChoiceNode,
    k: int,
    layout: Layout,
    columns: list[tuple[float, float]],
    places: list[tuple[float, float]],
    sizes: list[tuple[float, float]],
) -> None:
    colour, width, dashes, _ = STYLE[choice.kind]
    ends = [(choice.source, k, None), *((k, t, p) for t, p in choice.to)]
    for u, v, probability in ends:
        start = (places[u][0] + sizes[u][0] / 2, places[u][1])
        stop = (places[v][0] - sizes[v][0] / 2, places[v][1])
        # straight through a column, curved between columns
        points = [start, (columns[layout.layer[u]][1], start[1])]
        for layer, across in layout.bends[u, v]:
            points += [(columns[layer][0], across), (columns[layer][1], across)]
        points += [(columns[layout.layer[v]][0], stop[1]), stop]
        vertices, codes = [points[0]], [Curve.MOVETO]
        for i, (a, b) in enumerate(pairwise(points)):
            if i % 2 == 0:
                # a line of no length would give its arrow no direction
                if b[0] - a[0] > 1e-9:
                    vertices.append(b)
                    codes.append(Curve.LINETO)
            else:
                middle = (a[0] + b[0]) / 2
                vertices += [(middle, a[1]), (middle, b[1]), b]
                codes += [Curve.CURVE4] * 3
        axes.add_patch(
            FancyArrowPatch(
                path=Curve(vertices, codes),
                arrowstyle="-|>" if probability is not None else "-",
                mutation_scale=7 + 2 * width,
                color=colour,
                linewidth=width,
                linestyle=dashes,
                shrinkA=0,
                shrinkB=0,
                capstyle="butt",
                joinstyle="round",
                zorder=1 + ORDER.index(choice.kind) / 10,
            )
        )
        if probability is not None and probability != 1:
            # near the choice, where lines of one choice have not met others yet
            at = points[2] if len(points) > 2 else points[-1]
            gap = at[0] - points[1][0]
            x, y = points[1][0] + 0.62 * gap, start[1] + 0.73 * (at[1] - start[1])
            axes.text(
                x, y, _brief(probability), fontsize=SMALL_PT - 0.5, ha="center", va="center", zorder=3,
                color=INK if choice.kind is Kind.OTHER else colour, parse_math=False,
                bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none"},
            )  # fmt: skip


def _draw_state(
    axes: Any, node: StateNode, lines: list[str], x: float, y: float, size: tuple[float, float], *, last: bool
) -> None:
    bold = node.on_optimal_path
    axes.add_patch(
        FancyBboxPatch(
            (x - size[0] / 2 + 0.04, y - size[1] / 2 + 0.04), size[0] - 0.08, size[1] - 0.08,
            boxstyle="round,pad=0.04,rounding_size=0.05", facecolor="#f4f6f8" if bold else "white",
            edgecolor=STYLE[Kind.OPTIMAL][0] if bold else INK, linewidth=1.8 if bold else 0.8, zorder=4,
        )
    )  # fmt: skip
    top = y - (len(lines) - 1) * LINE / 2
    for i, line in enumerate(lines):
        value = i == len(lines) - 1 and not last
        axes.text(
            x - size[0] / 2 + PAD, top + i * LINE, line, fontsize=SIZE_PT, color=INK, ha="left", va="center",
            zorder=5, fontweight="bold" if value else "normal", parse_math=False,
        )  # fmt: skip
    if node.left_out:
        axes.text(
            x - size[0] / 2, y + size[1] / 2 + 0.02, f"{node.left_out} more choices" if node.left_out > 1
            else "1 more choice", fontsize=SMALL_PT - 1, color="#6b6b6b", ha="left", va="top", zorder=5,
        )  # fmt: skip


def _draw_choice(
    axes: Any, choice: ChoiceNode, lines: list[str], x: float, y: float, size: tuple[float, float]
) -> None:
    colour, width, _, fill = STYLE[choice.kind]
    axes.add_patch(
        FancyBboxPatch(
            (x - size[0] / 2 + 0.06, y - size[1] / 2 + 0.06), size[0] - 0.12, size[1] - 0.12,
            boxstyle="round,pad=0.06,rounding_size=0.12", facecolor=fill, edgecolor=colour,
            linewidth=min(width, 1.6), zorder=4,
        )
    )  # fmt: skip
    top = y - (len(lines) - 1) * LINE / 2
    for i, line in enumerate(lines):
        axes.text(
            x, top + i * LINE, line, fontsize=SMALL_PT, ha="center", va="center", zorder=5, parse_math=False,
            color="#5f6368" if choice.kind is Kind.OTHER else colour,
            fontweight="bold" if choice.kind in (Kind.OPTIMAL, Kind.LOSING) and i == 0 else "normal",
        )  # fmt: skip


def _draw_head(axes: Any, graph: DecisionGraph, x: float, y: float) -> None:
    axes.text(
        x, y, _label(graph.instance.name, 60), fontsize=12, fontweight="bold", color=INK, va="center", parse_math=False
    )
    text = f"optimum {_brief(graph.optimum)}"
    if graph.policy_value is not None:
        text += f"   ·   {_label(graph.policy or 'policy', 40)} {_brief(graph.policy_value)}"
        text += f"   ·   gap {_brief(graph.optimum - graph.policy_value)}"
    axes.text(x, y + 0.25, text, fontsize=9, color="#44484d", va="center", parse_math=False)


def _draw_legend(axes: Any, graph: DecisionGraph, x: float, y: float) -> None:
    kinds = {choice.kind for choice in graph.choices}
    name = _label(graph.policy or "policy", 24)
    words = {
        Kind.OPTIMAL: "optimal path",
        Kind.LOSING: f"{name}, value given away",
        Kind.FOLLOWING: f"{name}, after a loss",
        Kind.TIED: f"{name}, as good as the optimum",
        Kind.OTHER: "other choice, with its advantage",
    }
    for kind, text in words.items():
        if kind not in kinds:
            continue
        colour, width, dashes, _ = STYLE[kind]
        axes.plot([x, x + 0.4], [y, y], color=colour, linewidth=width, linestyle=dashes)
        axes.text(x + 0.48, y, text, fontsize=SIZE_PT, color=INK, va="center", parse_math=False)
        x += 0.48 + text_width_px(text, SIZE_PT) / 72 + 0.3
