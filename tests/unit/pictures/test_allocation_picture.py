"""Pictures show what the allocation says: bars of its numbers, a region that holds its optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairlane.pictures.allocation_picture import _hull_2d, draw_allocation
from fairlane.reference.allocation import fair_allocation, fair_allocation_graphs
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.request import Request


def _bar_lengths(axes: Any) -> list[float]:
    return [float(bar.get_width()) for bar in axes.patches]


@pytest.mark.parametrize(("n", "panels"), [(1, 2), (2, 3), (3, 3), (4, 2)])
def test_the_region_is_drawn_for_two_or_three_requests(n: int, panels: int) -> None:
    found = fair_allocation(np.eye(n) + 0.1)
    names = [f"r{i}" for i in range(n)]
    figure = draw_allocation(found, request_names=names, action_names=names)
    assert len(figure.axes) == panels
    shares, rates = figure.axes[-2:]
    np.testing.assert_allclose(_bar_lengths(shares), found.time_shares)
    np.testing.assert_allclose(_bar_lengths(rates), found.rates)


def test_many_bars_are_cut_to_the_largest_and_say_so() -> None:
    found = fair_allocation(np.eye(60), fairness_weights=np.arange(1, 61))
    names = [f"r{i}" for i in range(60)]
    figure = draw_allocation(found, request_names=names, action_names=names)
    assert "largest 24 of 60" in figure.axes[0].get_title()
    np.testing.assert_allclose(_bar_lengths(figure.axes[0]), np.arange(37, 61) / 1830, rtol=1e-9)


def test_a_graph_region_contains_its_optimum_on_the_supporting_line() -> None:
    graphs = [
        Graph(name="d2", duration_ms=3, decode_capacity=2),
        Graph(name="d1", duration_ms=1, decode_capacity=1),
    ]
    requests = [Request(id=name, prompt=0, limit=1) for name in "ab"]
    found = fair_allocation_graphs(graphs, requests)
    figure = draw_allocation(found, request_names=["a", "b"], action_names=["d2", "d1"])
    region: Any = figure.axes[0]
    corners = np.asarray(region.patches[0].get_path().vertices)
    # rates (1, 0), (0, 1), nothing at all; (1/3, 1/3) lies inside
    assert {tuple(np.round(corner, 12).tolist()) for corner in corners} == {(0, 0), (1, 0), (0, 1)}
    line = next(line for line in region.lines if str(line.get_label()).startswith("supporting"))
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    np.testing.assert_allclose(x + y, 1.0)  # q = (2, 2) at (1/2, 1/2)


def test_prompts_and_three_requests_give_a_solid() -> None:
    graphs = [
        Graph(name="p8", duration_ms=4, prefill_capacity=8, prefill_lanes=2),
        Graph(name="d1", duration_ms=1, decode_capacity=1),
    ]
    requests = [
        Request(id="a", prompt=9, limit=1),
        Request(id="b", prompt=9, limit=1),
        Request(id="c", prompt=0, limit=1),
    ]
    found = fair_allocation_graphs(graphs, requests)
    figure = draw_allocation(found, request_names=["a", "b", "c"], action_names=["p8", "d1"])
    figure.canvas.draw()
    assert figure.axes[0].name == "3d"


def test_names_are_text_and_fit() -> None:
    # dollar signs would be mathematics, and broken mathematics an exception when drawn
    found = fair_allocation(np.eye(2))
    names = ["$\\frac$", "x" * 500]
    figure = draw_allocation(found, request_names=names, action_names=["a\nb", "$^$ $"])
    figure.canvas.draw()
    labels = [label.get_text() for label in figure.axes[-1].get_yticklabels()]
    assert labels[0] == r"\$\frac\$"
    assert len(labels[1]) < 40
    assert figure.axes[-2].get_yticklabels()[0].get_text() == "a b"
    with pytest.raises(InvalidInstance, match="request_names has 1 names; need 2"):
        draw_allocation(found, request_names=["a"], action_names=["x", "y"])


def test_the_hull_leaves_out_inner_and_collinear_points() -> None:
    points = np.array([[0, 0], [2, 0], [1, 0], [2, 2], [0, 2], [1, 1.0]])
    assert {tuple(p) for p in _hull_2d(points)} == {(0, 0), (2, 0), (2, 2), (0, 2)}
