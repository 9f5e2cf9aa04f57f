"""Every estimator on real repeats of measured graphs, which stand outside the project; skipped where absent."""

from __future__ import annotations

import json
from statistics import fmean, median, variance

import pytest

from fairlane.simulator.learning import estimators
from fairlane.simulator.learning.estimator import EstimatorOptions, MeanKind
from fairlane.simulator.learning.timing import Timing
from tests.cases import ROOT, data

CATALOGS = sorted(file.name for file in ROOT.joinpath("../shared/data/catalogs").glob("*.samples.json"))


def repeats(file_name: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = json.loads(data("catalogs", file_name).read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("file_name", CATALOGS or ["splitwise_llama2-70b_h100_tp8.samples.json"])
@pytest.mark.parametrize("kind", MeanKind)
@pytest.mark.parametrize("name", estimators.names())
def test_repeats_of_a_graph_are_no_change_and_give_their_own_mean(name: str, kind: MeanKind, file_name: str) -> None:
    """Means and variances by the statistics module; a graph is measured 5 to 15 times, so nothing may be reset."""
    estimator = estimators.make(name, EstimatorOptions(mean_estimator=kind, partial_blocks=True))
    for graph, durations_ms in repeats(file_name).items():
        known = estimator.initial()
        for n, duration_ms in enumerate(durations_ms):
            timing = Timing(completed_ms=100.0 * n, duration_ms=duration_ms)
            known = estimator.observe(known, timing, prior_ms=durations_ms[0])
        assert (known.lifetime.count, known.resets, known.pending) == (len(durations_ms), 0, False), graph
        assert known.lifetime.mean == pytest.approx(fmean(durations_ms), rel=1e-12)
        assert known.lifetime.variance == pytest.approx(variance(durations_ms), rel=1e-9)
        mean_ms = estimator.mean_ms(known)
        assert mean_ms is not None
        if kind is MeanKind.MEDIAN9:
            assert mean_ms == median(durations_ms[-9:])
        assert min(durations_ms) <= mean_ms <= max(durations_ms)
        low_ms, high_ms = estimator.mean_law(known, prior_ms=1.0).interval(0.95)
        assert low_ms < fmean(durations_ms) < high_ms, graph


@pytest.mark.parametrize("file_name", CATALOGS or ["splitwise_llama2-70b_h100_tp8.samples.json"])
@pytest.mark.parametrize("name", ["log-regime", "clipped-cusum"])
def test_a_measured_graph_that_becomes_another_is_noticed(name: str, file_name: str) -> None:
    """Repeats of decoding one row, over and over, then those of decoding 32 rows, a third slower: a reset in 16."""
    graphs = repeats(file_name)
    if not {"d1", "d32"} <= graphs.keys():
        pytest.skip(f"{file_name} has no graphs d1 and d32")
    estimator = estimators.make(name)
    known = estimator.initial()
    before = (graphs["d1"] * 20)[:200]
    for n, duration_ms in enumerate((*before, *(graphs["d32"] * 4)[:16])):
        known = estimator.observe(known, Timing(completed_ms=40.0 * n, duration_ms=duration_ms), prior_ms=before[0])
        assert known.resets == 0 or n >= len(before)
    assert known.resets == 1
    assert known.active.mean == pytest.approx(fmean(graphs["d32"]), rel=0.05)
