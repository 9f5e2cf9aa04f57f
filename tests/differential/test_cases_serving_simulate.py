"""The simulations and decisions of the shared serving cases; the answers there come from public reports."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairlane import policies
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request
from fairlane.simulator.run import Run
from fairlane.simulator.run_metrics import RunMetrics, measure_run
from fairlane.simulator.simulate import simulate

FOLDER = Path(os.environ.get("FAIRLANE_CASES", Path(__file__).parents[3] / "shared" / "cases"))


def cases(kind: str) -> list[Any]:
    file = FOLDER / "serving.json"
    if not file.exists():
        return []
    found = [case for case in json.loads(file.read_text())["cases"] if case["kind"] == kind]
    return [pytest.param(case, id=case["name"]) for case in found]


def needs(found: list[Any]) -> list[Any]:
    skip = pytest.mark.skip(reason=f"no serving.json in {FOLDER}; set FAIRLANE_CASES")
    return found or [pytest.param(None, marks=skip)]


def requests_of(case: dict[str, Any]) -> list[Request]:
    return [Request(**{"limit": row.get("output_length"), **row}) for row in case["requests"]]


def figures(run: Run, measured: RunMetrics, name: str) -> dict[str, Any]:
    k = measured.table.ids.index(name)
    of = measured.publications.per_request
    table = measured.table
    times = table.at_ms[table.offsets[k] : table.offsets[k + 1]]
    before = np.concatenate((table.arrival_ms[k : k + 1] if table.prompt_tokens[k] == 0 else times[:1], times))
    gaps = np.diff(before) if table.prompt_tokens[k] == 0 else np.diff(times)
    return {
        "ttft_ms": of.ttft_ms[k],
        "tpot_ms": of.tpot_ms[k],
        "end_ms": run.finished_ms[measured.ranks[k]],
        "gaps_ms": gaps.tolist(),
        "longest_gap_ms": gaps.max(initial=0),
        "starved": bool(measured.starved[k]),
        "rejected": bool(run.status[measured.ranks[k]] == 2),
    }


@pytest.mark.parametrize("case", needs(cases("simulate")))
def test_simulated_case_holds(case: dict[str, Any]) -> None:
    run = simulate(
        requests_of(case),
        Catalog(Graph(**row) for row in case["catalog"]),
        policies.spec(case["policy"]),
        decode_value=case.get("decode_value", 1),
        horizon_ms=case.get("horizon_ms"),
    )
    measured = measure_run(run)
    for name, expected in case["expect"].items():
        found = figures(run, measured, name)
        for key, value in expected.items():
            if value is None:
                assert np.isnan(found[key]), (name, key)
            else:
                assert found[key] == value, (name, key)
    summary = {
        "graphs": run.n_launches,
        "completions": measured.publications.n_finished,
        "tpot_samples": measured.publications.tpot.samples,
    }
    for key, value in case.get("summary", {}).items():
        assert summary[key] == value, key


@pytest.mark.parametrize("case", needs(cases("decision")))
def test_decision_case_holds(case: dict[str, Any]) -> None:
    run = simulate(
        requests_of(case),
        Catalog(Graph(**row) for row in case["catalog"]),
        policies.spec(case["policy"]),
        decode_value=case.get("decode_value", 1),
        horizon_ms=Fraction(1, 10**6),
    )
    assert run.catalog.graphs[run.graph[0]].name == case["expect"]["graph"]
    assert run.lane_offsets[1] == case["expect"]["decode"]
