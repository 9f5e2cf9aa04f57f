"""Pictures of an allocation: the rate region of two or three requests, and shares as bars."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]  # it has no types
from scipy.spatial import ConvexHull

from fairlane.reference.allocation.arrays import FloatArray
from fairlane.reference.allocation.graph_problem import GraphProblem
from fairlane.reference.allocation.rate_table import RateTable
from fairlane.reference.allocation.result import Allocation
from fairlane.reference.errors import InvalidInstance

REGION = "#9bb7d4"
ACTION = "#274c77"
OPTIMUM = "#c8553d"
SUPPORT = "#5b5b5b"
MOST_BARS = 24
LONGEST_LABEL = 32


def draw_allocation(allocation: Allocation, *, request_names: Sequence[str], action_names: Sequence[str]) -> Figure:
    """A figure with the shares, the rates, and for two or three requests the rate region.

    Parameters
    ----------
    allocation : Allocation
        What to draw.
    request_names, action_names : sequences of str
        Labels of the requests and of the actions or graphs.

    Returns
    -------
    matplotlib Figure
        Not shown and not saved.

    Raises
    ------
    InvalidInstance
        A wrong number of names.
    """
    n = allocation.rates.size
    request_names = _labels(request_names, n, "request_names")
    action_names = _labels(action_names, allocation.time_shares.size, "action_names")
    with_region = n in (2, 3)
    figure = Figure(figsize=(13 if with_region else 10, 5.2), layout="constrained")
    grid = figure.add_gridspec(2, 2 if with_region else 1, width_ratios=[1.25, 1] if with_region else [1])
    if with_region:
        place = (
            figure.add_subplot(grid[:, 0], projection="3d", computed_zorder=False)
            if n == 3
            else figure.add_subplot(grid[:, 0])
        )
        draw_region(place, allocation, request_names=request_names, action_names=action_names)
    last = grid.ncols - 1
    draw_bars(
        figure.add_subplot(grid[0, last]), allocation.time_shares, action_names, "Time shares", "fraction of wall time"
    )
    draw_bars(figure.add_subplot(grid[1, last]), allocation.rates, request_names, "Fair rates", "tokens per ms")
    return figure


def _labels(names: Sequence[str], count: int, what: str) -> list[str]:
    """Names as one line of text each: no mathematics between dollar signs, and no wider than the panels allow."""
    if len(names) != count:
        raise InvalidInstance(f"{what} has {len(names)} names; need {count}")
    lines = [" ".join(str(name).split()) for name in names]
    cut = [line if len(line) <= LONGEST_LABEL else line[: LONGEST_LABEL - 1] + "…" for line in lines]
    return [line.replace("$", r"\$") for line in cut]


def draw_bars(axes: Any, numbers: FloatArray, names: Sequence[str], title: str, unit: str) -> None:
    """Horizontal bars, the largest few where there are many, each with its value."""
    order = np.arange(numbers.size)
    if numbers.size > MOST_BARS:
        order = np.sort(np.argsort(-numbers, kind="stable")[:MOST_BARS])
        title = f"{title} (largest {MOST_BARS} of {numbers.size:,})"
    shown = numbers[order]
    places = np.arange(order.size)
    axes.barh(places, shown, color=REGION, edgecolor=ACTION, linewidth=0.6)
    axes.set_yticks(places, [names[k] for k in order.tolist()], fontsize=8 if order.size < 13 else 6)
    axes.invert_yaxis()
    axes.set_xlim(0, float(shown.max()) * 1.18)
    for y, value in zip(places.tolist(), shown.tolist(), strict=True):
        axes.annotate(
            f"{value:.4g}", (value, y), xytext=(3, 0), textcoords="offset points", va="center",
            fontsize=8 if order.size < 13 else 6,
        )  # fmt: skip
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(unit)
    axes.spines[["top", "right"]].set_visible(False)


def draw_region(
    axes: Any, allocation: Allocation, *, request_names: Sequence[str], action_names: Sequence[str]
) -> None:
    """The rate region of two or three requests with its actions, the optimum, and the supporting line or plane."""
    points, labels = _vertices(allocation.problem, action_names)
    x = allocation.rates
    q = allocation.problem.token_values + allocation.problem.fairness_weights / x
    top = points.max(axis=0) * 1.12
    if x.size == 2:
        _region_2d(axes, points, labels, x, q, top)
        axes.set_xlim(0, top[0])
        axes.set_ylim(0, top[1])
        axes.spines[["top", "right"]].set_visible(False)
        # below the axes: any corner inside them can be where the optimum is
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=4, fontsize=8, frameon=False)
    else:
        _region_3d(axes, points, x, q, top)
        axes.set_zlabel(f"{request_names[2]} (tokens per ms)")
        axes.legend(loc="upper left", fontsize=8)
    axes.set_xlabel(f"{request_names[0]} (tokens per ms)")
    axes.set_ylabel(f"{request_names[1]} (tokens per ms)")
    axes.set_title("Rate region", fontsize=11)


def _vertices(problem: RateTable | GraphProblem, action_names: Sequence[str]) -> tuple[FloatArray, list[str]]:
    """Rates of the actions; for graphs of every cohort (a handful for three requests) and of no work."""
    if isinstance(problem, RateTable):
        rates = problem.rates if isinstance(problem.rates, np.ndarray) else problem.rates.toarray()
        return rates, [str(name) for name in action_names]
    n = len(problem.requests)
    # rows may be left empty, so everything below a feasible rate is feasible
    rows: list[FloatArray] = [np.zeros(n)]
    labels: list[str] = [""]
    decode, prefill = problem.decode_index.tolist(), problem.prefill_index.tolist()
    for g, graph in enumerate(problem.catalog):
        lane = np.zeros(n)
        lane[decode] = problem.decode_rates[g]
        lane[prefill] = problem.prefill_rates[g]
        prompts = [*prefill, None] if graph.prefill_capacity else [None]
        for size in range(min(graph.decode_capacity, len(decode)) + 1):
            for held in combinations(decode, size):
                for prompt in prompts:
                    members = [*held] if prompt is None else [*held, prompt]
                    if members:
                        rows.append(np.where(np.isin(np.arange(n), members), lane, 0.0))
                        labels.append(graph.name)
    return np.array(rows), labels


def _region_2d(axes: Any, points: FloatArray, labels: list[str], x: FloatArray, q: FloatArray, top: FloatArray) -> None:
    corners = _hull_2d(points)
    axes.fill(*corners.T, color=REGION, alpha=0.45, linewidth=0, label="feasible rates")
    axes.plot(*np.vstack([corners, corners[:1]]).T, color=ACTION, linewidth=0.8)
    axes.scatter(*points.T, s=22, color=ACTION, zorder=3, label="actions", clip_on=False)
    if len(points) <= 12:
        for point, label in zip(points, labels, strict=True):
            axes.annotate(label, point, xytext=(4, 4), textcoords="offset points", fontsize=7, color=ACTION)
    level = float(q @ x)
    line = np.array([0, level / q[0]])
    axes.plot(
        line, (level - q[0] * line) / q[1], "--", color=OPTIMUM, linewidth=1.6, label="supporting line  q·x = q·x*"
    )
    axes.scatter(*x, s=110, marker="*", color=OPTIMUM, zorder=4, label="fair optimum x*")
    axes.annotate(
        f"({x[0]:.4g}, {x[1]:.4g})", x, xytext=(-10, -18), textcoords="offset points", fontsize=8, color=OPTIMUM,
        ha="right",
    )  # fmt: skip


def _region_3d(axes: Any, points: FloatArray, x: FloatArray, q: FloatArray, top: FloatArray) -> None:
    faces = _hull_3d(points / top)
    if faces is not None:
        axes.add_collection3d(
            Poly3DCollection(
                [face * top for face in faces], facecolor=REGION, edgecolor=ACTION, alpha=0.25, linewidth=0.4
            )
        )
    axes.scatter(*points.T, s=18, color=ACTION, label="actions", depthshade=False, zorder=3)
    level = float(q @ x)
    # the piece of the supporting plane inside the drawn box, around the optimum
    corners = []
    for axis, (a, b) in enumerate(((1, 2), (0, 2), (0, 1))):
        for pa in (0.0, top[a]):
            for pb in (0.0, top[b]):
                value = (level - q[a] * pa - q[b] * pb) / q[axis]
                if -1e-12 <= value <= top[axis] * (1 + 1e-12):
                    corner = np.empty(3)
                    corner[axis], corner[a], corner[b] = value, pa, pb
                    corners.append(corner)
    if len(corners) >= 3:
        flat = np.array(corners)
        centre = flat.mean(axis=0)
        normal = q / np.linalg.norm(q)
        first = flat[0] - centre
        first /= np.linalg.norm(first)
        second = np.cross(normal, first)
        angle = np.arctan2((flat - centre) @ second, (flat - centre) @ first)
        axes.add_collection3d(
            Poly3DCollection([flat[np.argsort(angle)]], facecolor=SUPPORT, edgecolor=SUPPORT, alpha=0.13, linewidth=1)
        )
        axes.plot([], [], color=SUPPORT, linewidth=1.1, label="supporting plane  q·x = q·x*")
    axes.scatter(*x[:, None], s=130, marker="*", color=OPTIMUM, label="fair optimum x*", depthshade=False, zorder=5)
    axes.set_xlim(0, top[0])
    axes.set_ylim(0, top[1])
    axes.set_zlim(0, top[2])
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_major_locator(MaxNLocator(5))
    axes.view_init(elev=24, azim=38)


def _hull_2d(points: FloatArray) -> FloatArray:
    """Corners of the convex hull, counterclockwise; the two ends where all points lie on a line."""
    scale = _scale(points)
    if not _spans(points / scale):
        ordered = np.unique(points, axis=0)
        return ordered[[0, -1]] if len(ordered) > 1 else ordered
    corners: FloatArray = points[ConvexHull(points / scale).vertices]
    return corners


def _hull_3d(points: FloatArray) -> FloatArray | None:
    """Triangles of the convex hull, or None where the points span no volume."""
    if not _spans(points):
        return None
    triangles: FloatArray = points[ConvexHull(points).simplices]
    return triangles


def _scale(points: FloatArray) -> FloatArray:
    largest = np.abs(points).max(axis=0)
    return np.where(largest > 0, largest, 1.0)


def _spans(points: FloatArray) -> bool:
    """Whether the points lie in no flat of a lower dimension, which has no hull in this one."""
    n, dimensions = points.shape
    return bool(n > dimensions and np.linalg.matrix_rank(points - points[0], tol=1e-9) == dimensions)
