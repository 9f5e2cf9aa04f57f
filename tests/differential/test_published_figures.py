"""Published figures of a real run, and real traces in their published columns.

The figures of the vLLM run are those its publisher gives (LLMServingSim bench examples); the counts of the traces are
those of their publishers' files.
"""

from __future__ import annotations

import csv
import json
from datetime import datetime
from decimal import Decimal

import numpy as np
import pytest

from fairlane.policies import load_policy
from fairlane.simulator.run_metrics import measure_run
from fairlane.simulator.simulate import simulate
from fairlane.simulator.timing_tables import synthetic_catalog
from fairlane.simulator.traces import TraceFormat, read_trace, requests_of
from tests.cases import data
from tests.cli.test_no_traceback import outcome
from tests.counts import count

VLLM = ("timings", "llmservingsim_rtxpro6000_llama31-8b_vllm_requests.jsonl")
AZURE = ("traces", "AzureLLMInferenceTrace_code.csv")
MOONCAKE = ("traces", "mooncake_conversation_first1500.jsonl")


@pytest.mark.parametrize("unit", [(), ("--time-unit", "s")], ids=["unit of the format", "unit stated"])
def test_the_vllm_run_has_its_published_figures(unit: tuple[str, ...]) -> None:
    status, out, err = outcome(["metrics", str(data(*VLLM)), "--format", "vllm", *unit, "--json"])
    assert (status, err) == (0, "")
    figures = json.loads(out)
    published = {
        "mean_ttft_ms": 7097.2,
        "median_ttft_ms": 9442.7,
        "p90_ttft_ms": 16852.7,
        "p99_ttft_ms": 19755.3,
    }
    assert {name: round(figures[name], 1) for name in published} == published
    assert round(figures["mean_tpot_ms"], 2) == 32.46
    assert figures["n_finished"] == figures["ttft_samples"] == 300
    # the log has no time between the first and the last output
    assert figures["mean_gap_ms"] is None
    assert figures["gap_samples"] == 0


def test_the_log_of_a_run_in_seconds_is_refused_as_milliseconds() -> None:
    status, _, err = outcome(["metrics", str(data(*VLLM)), "--format", "vllm", "--time-unit", "ms"])
    assert status == 2
    assert "has its times in s" in err


def test_the_vtc_run_agrees_with_its_own_latency_columns() -> None:
    file = data("vtc_artifact_VTC_real.csv")
    status, out, err = outcome(["metrics", str(file), "--format", "vtc", "--json"])
    assert (status, err) == (0, "")
    figures = json.loads(out)
    with file.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert figures["n_requests"] == len(rows) == 1500
    for name, column in (("mean_ttft_ms", "first_token_latency"), ("mean_e2e_ms", "request_latency")):
        mean_s = sum(Decimal(row[column]) for row in rows) / len(rows)
        assert figures[name] == pytest.approx(float(mean_s * 1000), rel=1e-9)


def test_the_azure_trace_is_read_in_full() -> None:
    file = data(*AZURE)
    trace = read_trace(file.read_bytes(), file.name)
    lines = file.read_text(encoding="utf-8").split()
    # a header of one word, then rows of two words each
    assert len(trace) == (len(lines) - 1) // 2 == 8819
    first, last = (datetime.fromisoformat(f"{lines[i]} {lines[i + 1][:15]}") for i in (1, -2))
    assert float(trace.rows[-1].arrival_ms) == pytest.approx((last - first).total_seconds() * 1000, abs=1e-2)
    assert trace.rows[0].arrival_ms == 0
    assert (trace.rows[0].prompt_tokens, trace.rows[0].output_tokens) == (4808, 10)
    assert trace.warnings == ()


def test_the_mooncake_trace_is_read_in_full_with_equal_arrivals_in_file_order() -> None:
    file = data(*MOONCAKE)
    trace = read_trace(file.read_bytes(), file.name, layout=TraceFormat.MOONCAKE)
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(int(r.arrival_ms), r.prompt_tokens, r.output_tokens) for r in trace.rows] == [
        (row["timestamp"], row["input_length"], row["output_length"]) for row in rows
    ]


@pytest.mark.parametrize(("parts", "n_requests"), [(AZURE, 1000), (MOONCAKE, 200)], ids=["azure", "mooncake"])
def test_a_real_trace_runs_end_to_end_and_every_token_is_accounted_for(parts: tuple[str, ...], n_requests: int) -> None:
    file = data(*parts)
    requests = requests_of(read_trace(file.read_bytes(), file.name), acceptance=["0.73", "0.71"])[: count(n_requests)]
    run = simulate(requests, synthetic_catalog(mixed=True), load_policy("fixed-value"), decode_value=16, seed=7)
    metrics = measure_run(run)
    shown = metrics.publications
    assert shown.n_finished == len(requests)
    assert shown.output_tokens == sum(request.output_length or 0 for request in requests)
    assert metrics.prompt_tokens == sum(request.prompt for request in requests)
    assert metrics.prompt_tokens + metrics.padded_prompt_tokens == metrics.offered_prompt_tokens
    # gaps of a request add up from its first output to its last
    figures = shown.per_request
    between = figures.e2e_ms - figures.ttft_ms
    sums = np.add.reduceat(np.append(figures.gaps_ms, 0.0), figures.gap_offsets[:-1])
    several = np.diff(figures.gap_offsets) > 0
    assert sums[several] == pytest.approx(between[several], rel=1e-9)
    assert not between[~several].any()
