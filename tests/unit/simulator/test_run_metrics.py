"""Figures and pictures of a run that is worked out by hand."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fairlane.pictures.figures import PictureFormat, render, shares_figure
from fairlane.pictures.perfetto import trace_events, trace_text
from fairlane.pictures.report import picture_files, render_report
from fairlane.pictures.run_panel import run_panel, window_of
from fairlane.pictures.timeline import LaneKind
from fairlane.policies import load_policy
from fairlane.reference.errors import InvalidInstance, TooLarge
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.policy import Decision, View
from fairlane.reference.model.request import Request
from fairlane.simulator.cases import MeasuredCase
from fairlane.simulator.goodput import Targets
from fairlane.simulator.metrics_json import run_metrics_to_json
from fairlane.simulator.output_ages import age_series
from fairlane.simulator.run import Run
from fairlane.simulator.run_metrics import measure_run
from fairlane.simulator.service_lag import service_lag
from fairlane.simulator.simulate import simulate

CATALOG = Catalog(
    [
        Graph(name="p4", duration_ms=2, prefill_capacity=4),
        Graph(name="d2w2", duration_ms=3, decode_capacity=2, width=2),
    ]
)


def prompts_first(view: View) -> Decision:
    """A prompt if there is one, otherwise two rows."""
    prompts = [request.id for request in view.requests if not request.decoding]
    if prompts:
        return Decision(graph="p4", prefill=(prompts[0],))
    return Decision(graph="d2w2", decode=tuple(request.id for request in view.requests)[:2])


def small_run(*, first_id: str = "a") -> Run:
    """p4 for a at 0 and at 2, then d2w2 for a and b from 4 to 7; c would arrive at 100, after the horizon of 20."""
    requests = [
        Request(id=first_id, prompt=6, limit=3, output_length=3, acceptance=[1]),
        Request(id="b", prompt=0, limit=1, output_length=1),
        Request(id="c", prompt=4, limit=1, output_length=1, arrival_ms=100),
    ]
    return simulate(requests, CATALOG, prompts_first, decode_value=16, horizon_ms=20, seed=3, name="prompts first")


def test_the_figures_of_a_small_run() -> None:
    metrics = measure_run(small_run(), targets=Targets(e2e_ms=7))
    shown = metrics.publications
    assert (shown.n_requests, shown.n_finished, metrics.n_not_arrived) == (2, 2, 1)
    assert shown.ttft.mean == 4
    assert shown.ttft.samples == 1
    # a: 7 - 4; b arrived decoding at 0 and is served at 7
    assert shown.per_request.gaps_ms.tolist() == [3, 7]
    assert shown.age_area_ms2 == 3**2 / 2 + 7**2 / 2
    # 3 tokens: (7 - 4) / 2
    assert (shown.tpot.mean, shown.n_tpot_undefined) == (1.5, 1)
    assert (metrics.busy_ms, shown.elapsed_ms, metrics.n_launches) == (7, 20, 3)
    assert (metrics.prompt_tokens, shown.output_tokens) == (6, 4)
    assert metrics.useful_tokens_per_busy_ms == pytest.approx(10 / 7, rel=1e-12)
    assert metrics.useful_tokens_per_elapsed_ms == 0.5
    assert (metrics.padded_prompt_tokens, metrics.offered_prompt_tokens) == (2, 8)
    assert (metrics.padded_rows, metrics.offered_rows) == (0, 2)
    # one draft a row; a's is accepted, b has no acceptance
    assert shown.acceptance == Fraction(1, 2)
    assert shown.goodput.attainment == 1
    # rates 3/7 and 1/7: (3 + 1)² / (2 (9 + 1))
    assert shown.jain == pytest.approx(0.8, rel=1e-12)
    assert metrics.n_starved == 0


def test_energy_is_counted_where_the_catalog_gives_it_and_not_made_up_elsewhere() -> None:
    rows = [Request(id="s", prompt=0, limit=2), Request(id="p", prompt=5, limit=1)]
    known = Catalog(
        [
            Graph(name="p4", duration_ms=2, prefill_capacity=4, energy_j="3/2"),
            Graph(name="d1", duration_ms=3, decode_capacity=1, energy_j=2),
        ]
    )
    # two launches of each: 5 prompt tokens and 3 output tokens for 7 J
    metrics = measure_run(simulate(rows, known, load_policy("round-robin"), decode_value=1))
    assert metrics.energy_j == 7
    assert metrics.useful_tokens_per_j == pytest.approx(8 / 7, rel=1e-15)
    unknown = measure_run(small_run())
    assert (unknown.energy_j, unknown.useful_tokens_per_j) == (None, None)
    assert run_metrics_to_json(unknown)["energy_j"] is None


def test_a_long_wait_starves_and_the_factor_decides() -> None:
    # b waits 4 ms from the start; one round for a prompt and a stream is 2 + 3 ms
    assert measure_run(small_run(), starvation_factor=0.7).starved.tolist() == [False, True]
    assert measure_run(small_run(), starvation_factor=0.8).starved.tolist() == [False, False]


def test_a_rejected_request_is_counted_and_in_the_denominator() -> None:
    catalog = Catalog([Graph(name="p4", duration_ms=2, prefill_capacity=4)])
    requests = [Request(id="a", prompt=4, limit=1), Request(id="b", prompt=4, limit=2)]
    run = simulate(requests, catalog, prompts_first, decode_value=1)
    metrics = measure_run(run, targets=Targets(ttft_ms=2))
    assert (metrics.publications.n_finished, metrics.publications.n_rejected) == (1, 1)
    assert metrics.publications.goodput.attainment == Fraction(1, 2)


def test_lag_is_the_reference_of_each_live_set_less_what_was_delivered() -> None:
    # 0 to 4: a's prompt and b's stream share the time evenly, a at 4/2/2 = 1 and b at 1/3/2 tokens a ms;
    # 4 to 7: both hold a row all the time, a (whose draft is always accepted) at 2/3 and b at 1/3 tokens a ms
    lag = service_lag(small_run())
    assert lag.reference_tokens.tolist() == pytest.approx([4 + 2, 4 / 6 + 1], rel=1e-6)
    assert lag.delivered_tokens.tolist() == [6 + 3, 1]
    # at 4 a's prompt phase is 4 - 7 tokens ahead, 3 ms at 1 token a ms, which become 3 · 2/3 output tokens;
    # afterwards it receives exactly its rate
    assert lag.lag_tokens.tolist() == pytest.approx([-2, 2 / 3], rel=1e-5)
    assert (lag.ranks.tolist(), lag.n_allocations) == ([0, 1], 2)


def test_lag_refuses_more_allocations_than_allowed() -> None:
    # first a and b prefill together, then a decodes alone: two sets, three requests in them
    with pytest.raises(TooLarge, match="2 distinct sets of live requests; the limit of service lag is 1"):
        service_lag(small_run(), most_allocations=1)
    with pytest.raises(TooLarge, match="live requests together; the limit of service lag is 1"):
        service_lag(small_run(), most_members=1)


def test_every_figure_is_ready_for_json() -> None:
    document = run_metrics_to_json(measure_run(small_run()), service_lag(small_run()))
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["max_lag_tokens"] == pytest.approx(2 / 3, rel=1e-5)
    assert run_metrics_to_json(measure_run(small_run()))["mean_lag_tokens"] is None
    assert (document["graphs"], document["n_starved"], document["starvation_factor"]) == (3, 0, 10)


def test_ages_rise_to_each_output_and_peaks_between_bins_are_kept() -> None:
    table = measure_run(small_run()).table
    series = age_series(table, 0, 20, n_bins=4)
    # bins of 5 ms: b reaches 5, then 7 at its end; nobody decodes afterwards
    assert series.longest_ms[:2].tolist() == [5, 7]
    assert np.isnan(series.longest_ms[2:]).all()
    # at 5 ms: b 5 and a, whose first output came at 4, 1
    assert series.mean_ms[0] == 3
    assert series.n_streams == 2
    assert [ages.max() for _, ages in series.saws] == [3, 7]
    with pytest.raises(InvalidInstance, match="interval"):
        age_series(table, 5, 5)


def test_the_panel_shows_lanes_capacities_and_rows() -> None:
    run = small_run()
    panel = run_panel(run, window_of(run))
    assert [(b.graph, [(lane.request_id, lane.kind, lane.tokens) for lane in b.lanes]) for b in panel.blocks] == [
        ("p4", [("a", LaneKind.PREFILL, 4)]),
        ("p4", [("a", LaneKind.PREFILL, 2)]),
        ("d2w2", [("a", LaneKind.DECODE, 2), ("b", LaneKind.DECODE, 1)]),
    ]
    assert [(row.request_id, row.arrival_ms, row.end_ms) for row in panel.rows] == [("a", 0, 7), ("b", 0, 7)]
    # the second prompt graph has room for 2 more tokens, b's row for one more
    assert [offered for block in panel.blocks for _, offered in block.offers()] == [4, 4, 2, 2]


def test_a_window_stops_at_its_bounds_and_says_so() -> None:
    run = small_run()
    window = window_of(run, start_ms=1, max_launches=1)
    assert (window.first, window.last, window.start_ms, window.end_ms) == (1, 2, 2, 4)
    panel = run_panel(run, window)
    assert "1 of 3 launches: 2 to 4 ms of 20 ms" in panel.subtitle
    # b only waits in it, and has a row all the same
    assert [row.request_id for row in panel.rows] == ["a", "b"]
    with pytest.raises(InvalidInstance, match="max_launches"):
        window_of(run, max_launches=0)


def test_trace_events_cover_each_launch_and_each_life() -> None:
    events = list(trace_events(small_run()))
    assert json.loads("".join(trace_text(small_run())))["traceEvents"] == events
    slices = [e for e in events if e["ph"] == "X"]
    graphs = [(e["name"], e["ts"], e["dur"]) for e in slices if e["cat"] == "graph"]
    assert graphs == [("p4", 0, 2000), ("p4", 2000, 2000), ("d2w2", 4000, 3000)]
    lives = [(e["tid"], e["ts"], e["dur"]) for e in slices if e["cat"] == "live"]
    assert lives == [(1, 0, 7000), (2, 0, 7000)]
    counts = [(e["ts"], e["args"]) for e in events if e["ph"] == "C" and e["name"] == "live requests"]
    assert counts == [(0, {"requests": 2}), (7000, {"requests": 0})]
    # two rows from 4 to 7 ms, while d2w2 runs
    rows = [(e["ts"], e["args"]) for e in events if e["ph"] == "C" and e["name"] == "decode rows"]
    assert rows == [(4000, {"in use": 2}), (7000, {"in use": 0})]
    # every event has what the format asks for
    assert all({"name", "ph", "pid", "tid"} <= e.keys() for e in events if e["ph"] != "C")
    named = {(e["pid"], e["tid"]): e["args"] for e in events if e["name"] == "thread_name"}
    assert named[2, 1] == {"name": "a"}


def test_the_counter_of_decode_rows_falls_to_nothing_in_every_pause() -> None:
    # one graph of 3 ms a token: s has two and t, which arrives at 10 ms, one; from 6 to 10 ms nothing runs
    rows = [Request(id="s", prompt=0, limit=2), Request(id="t", prompt=0, limit=1, arrival_ms=10)]
    graphs = Catalog([Graph(name="d", duration_ms=3, decode_capacity=2)])
    run = simulate(rows, graphs, load_policy("round-robin"), decode_value=1)
    counts = [(e["ts"], e["args"]) for e in trace_events(run) if e["name"] == "decode rows"]
    assert counts == [(0, {"in use": 1}), (6000, {"in use": 0}), (10000, {"in use": 1}), (13000, {"in use": 0})]


NASTY = "<script>&\"'\u0000\ud800x"


def test_the_report_is_one_page_that_loads_nothing_and_escapes_labels() -> None:
    run = small_run(first_id=NASTY)
    entry = MeasuredCase(label=NASTY, run=run, metrics=measure_run(run), lag=service_lag(run))
    page = render_report([entry, entry], title=NASTY)
    page.encode("utf-8")
    assert "<script" not in page
    loads = re.findall(r'(?:src|href|xlink:href|url)\s*[=(]\s*["\']?([^"\')>\s]+)', page)
    assert loads
    assert all(target.startswith("#") for target in loads)
    assert "@import" not in page
    assert page == render_report([entry, entry], title=NASTY)
    with pytest.raises(InvalidInstance, match="entries"):
        render_report([], title="x")


def test_pictures_come_as_png_and_svg_with_the_same_bytes_each_time() -> None:
    run = small_run()
    entry = MeasuredCase(label="x", run=run, metrics=measure_run(run), lag=service_lag(run))
    files = picture_files(entry)
    assert sorted(files) == sorted(f"{n}.{k}" for n in ("timeline", "ages", "shares") for k in ("png", "svg"))
    for name, content in files.items():
        if name.endswith("png"):
            assert content.startswith(b"\x89PNG\r\n\x1a\n")
        else:
            assert ET.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
    assert picture_files(entry) == files


def test_many_requests_are_drawn_as_a_distribution() -> None:
    ids = [f"r{i}" for i in range(60)]
    figure = shares_figure(ids, np.arange(1.0, 61.0), np.full(60, 30.0))
    axes = figure.axes[0]
    line = axes.lines[0]
    # 30 of 60 received at most what the reference gives
    xs, ys = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert ys[xs <= 1].max() == pytest.approx(50, rel=1e-12)
    assert render(figure, PictureFormat.PNG)


def test_a_run_without_a_launch_can_still_be_shown(tmp_path: Path) -> None:
    run = simulate(
        [Request(id="c", prompt=4, limit=1, arrival_ms=100)], CATALOG, prompts_first, decode_value=1, horizon_ms=5
    )
    entry = MeasuredCase(label="empty", run=run, metrics=measure_run(run))
    assert "no graph ran" in render_report([entry], title="empty")
    assert picture_files(entry)
