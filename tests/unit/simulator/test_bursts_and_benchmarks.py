"""Deliveries of several tokens, acceptance by draft position, failed requests, and the benchmarks' result files."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fairlane.cli import run
from fairlane.policies import load_policy
from fairlane.reference.errors import DataError
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request
from fairlane.simulator.goodput import Targets
from fairlane.simulator.metrics import Metrics, measure
from fairlane.simulator.percentiles import LEVELS, PercentileMethod, distribution, weighted_distribution
from fairlane.simulator.publication_rows import PublicationFormat
from fairlane.simulator.publications import format_of, read_publications
from fairlane.simulator.run_metrics import measure_run
from fairlane.simulator.simulate import simulate
from tests.cases import data


def measured(*publications: list[list[float]], targets: Targets | None = None) -> Metrics:
    rows = [{"id": str(i), "arrival_ms": 0, "publications": p} for i, p in enumerate(publications)]
    table = read_publications(json.dumps(rows), "t", layout=PublicationFormat.JSON).table
    return measure(table) if targets is None else measure(table, targets=targets)


def test_one_delivery_has_no_time_per_token_and_does_not_meet_a_target() -> None:
    # four tokens at once: no time passed between them that was measured
    metrics = measured([[50, 4]], [[50, 1]], [[10, 1], [30, 1]], targets=Targets(tpot_ms=1000))
    assert (metrics.tpot.samples, metrics.tpot.mean, metrics.n_tpot_undefined) == (1, 20, 2)
    # only the third has a figure to meet the target with
    assert metrics.goodput.attainment == Fraction(1, 3)


def test_both_variants_of_time_per_token_by_hand() -> None:
    # 3 tokens at 10, 2 at 40, 1 at 50: 40 ms over the 5 tokens but the first; over the 3 after the first delivery
    metrics = measured([[10, 3], [40, 2], [50, 1]])
    assert metrics.tpot.mean == 8
    assert metrics.tpot_after_first.mean == pytest.approx(40 / 3)
    # gaps 30 of 2 tokens and 10 of 1: 30, 30, 10 by tokens; 15, 15, 10 a token
    assert metrics.token_weighted_gap.samples == metrics.gap_per_token.samples == 3
    assert metrics.token_weighted_gap.mean == pytest.approx(70 / 3)
    assert metrics.token_weighted_gap.at(50) == 30
    assert metrics.gap_per_token.mean == pytest.approx(40 / 3)
    assert metrics.gap_per_token.at(50) == 15


@pytest.mark.parametrize("method", list(PercentileMethod))
def test_a_weighted_distribution_is_that_of_the_repeated_sample(method: PercentileMethod) -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        values = rng.integers(0, 9, size=rng.integers(1, 12)).astype(float)
        weights = rng.integers(1, 7, size=len(values))
        found, plain = (
            weighted_distribution(values, weights, method=method),
            distribution(np.repeat(values, weights), method=method),
        )
        assert (found.samples, found.largest) == (plain.samples, plain.largest)
        assert [found.at(p) for p in LEVELS] == pytest.approx([plain.at(p) for p in LEVELS], rel=1e-12, abs=1e-12)
        assert found.mean == pytest.approx(plain.mean, rel=1e-12)


def test_a_burst_of_a_million_million_tokens_takes_no_memory() -> None:
    metrics = measured([[0, 1], [7, 10**12], [10, 1]])
    assert metrics.token_weighted_gap.samples == 10**12 + 1
    assert metrics.token_weighted_gap.at(99) == 7


def test_acceptance_by_position_of_a_run_is_counted_from_its_verifications() -> None:
    # width 3, the first draft always accepted and the second never: 1 + 1 tokens a verification
    catalog = Catalog([Graph(name="d", duration_ms=1, decode_capacity=1, width=3)])
    request = Request(id="a", prompt=0, limit=20, output_length=20, acceptance=(1, 0))
    found = measure_run(simulate([request], catalog, load_policy("fixed-value"), decode_value=1)).publications
    # twenty tokens in ten verifications
    first, second = found.acceptance_by_position
    assert (first.proposed, first.reached, first.accepted) == (10, 10, 10)
    assert (second.proposed, second.reached, second.accepted) == (10, 10, 0)
    assert first.conditional == 1
    assert second.conditional == second.marginal == 0
    assert found.acceptance == Fraction(1, 2)


def benchmark(**more: object) -> dict[str, object]:
    result: dict[str, object] = {
        "backend": "vllm",
        "duration": 2.0,
        "completed": 2,
        "input_lens": [10, 20, 30],
        "output_lens": [3, 2, 0],
        "ttfts": [0.1, 0.2, 0.0],
        "itls": [[0.05, 0.03], [0.04], []],
        "generated_texts": ["", "", ""],
        "errors": ["", "", "Bad gateway"],
    }
    return result | more


def read(result: dict[str, object] | str) -> Metrics:
    text = result if isinstance(result, str) else json.dumps(result)
    assert format_of("result.json", text) is PublicationFormat.BENCHMARK
    return measure(read_publications(text, "result.json", layout=PublicationFormat.BENCHMARK).table)


def test_a_benchmarks_result_has_the_figures_of_its_lists() -> None:
    metrics = read(benchmark())
    assert (metrics.n_requests, metrics.n_finished, metrics.n_failed) == (3, 2, 1)
    # 100 and 200; 180 and 240; (50 + 30) / 2 and 40
    assert metrics.ttft.mean == pytest.approx(150)
    assert metrics.e2e.mean == pytest.approx(210)
    assert metrics.tpot.mean == pytest.approx(40)
    assert metrics.per_request.gaps_ms.tolist() == pytest.approx([50, 30, 40])
    assert metrics.gap_per_token.samples == 3
    # 5 tokens in 2 s
    assert (metrics.elapsed_ms, metrics.output_tokens_per_ms) == (2000, 5 / 2000)


def test_start_times_of_a_benchmark_are_its_arrivals() -> None:
    metrics = read(benchmark(start_times=[1000.0, 1000.5, 1001.0], duration=None))
    # last delivery: 1000.5 + 0.24, but the failed request was sent at 1001
    assert metrics.elapsed_ms == pytest.approx(1000)
    assert metrics.ttft.mean == pytest.approx(150)


def test_tokens_of_a_delivery_that_are_not_recorded_are_not_made_up() -> None:
    # a chat's first chunk holds a role and no token; a speculative burst holds several
    for output in (2, 9):
        metrics = read(benchmark(output_lens=[output, 2, 0]))
        assert metrics.output_tokens == output + 2
        assert metrics.tpot.largest == pytest.approx(max(80 / (output - 1), 40))
        assert metrics.gap.samples == 3
        assert (
            metrics.gap_per_token.samples == metrics.token_weighted_gap.samples == metrics.tpot_after_first.samples == 0
        )


def test_a_result_with_an_infinite_request_rate_is_read() -> None:
    # the default rate of SGLang's benchmark, which Python writes as Infinity
    assert read(json.dumps(benchmark(request_rate=float("inf"))) + "\n").n_finished == 2


def test_acceptance_by_position_of_a_result_is_counted_from_its_shares() -> None:
    more = {"spec_decode_num_drafts": 48, "spec_decode_per_position_acceptance_rates": [35 / 48, 25 / 48, 17 / 48]}
    found = read(benchmark(**more)).acceptance_by_position
    assert [p.accepted for p in found] == [35, 25, 17]
    assert [p.conditional for p in found] == [Fraction(35, 48), Fraction(25, 35), Fraction(17, 25)]
    assert [p.marginal for p in found] == [Fraction(35, 48), Fraction(25, 48), Fraction(17, 48)]


def test_measured_marginal_rates_give_the_published_tokens_a_step() -> None:
    file = data("per_position_acceptance.csv")
    assert len(list(csv.reader(file.read_text(encoding="utf-8").splitlines()))) > 1
    # marginals .7296, .5208, .3545 of ten thousand drafts: 1 + their sum is 2.6049 tokens a step
    rates = {"spec_decode_per_position_acceptance_rates": [0.7296, 0.5208, 0.3545], "spec_decode_num_drafts": 10_000}
    found = read(benchmark(**rates)).acceptance_by_position
    assert 1 + sum(p.marginal or 0 for p in found) == Fraction("2.6049")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"itls": None}, "found null for itls; need a list"),
        ({"ttfts": [0.1]}, "output_lens has 3 entries and ttfts 1"),
        ({"ttfts": [-1, 0.2, 0]}, "request 0, ttfts: found -1; need >= 0"),
        ({"itls": [[0.05, "x"], [0.04], []]}, r"request 0, itls\[1\]: found 'x'"),
        ({"output_lens": [3.5, 2, 0]}, r"request 0, output_lens: found 3\.5; need a whole number"),
        ({"ttfts": [0, 0.2, 0], "itls": [[], [0.04], []]}, "request 0: found no time of any delivery"),
        ({"duration": None}, "duration and start_times are both missing"),
        ({"start_times": [float("nan"), 1, 2]}, "request 0, start_times: found 'NaN'; need a finite number"),
    ],
)
def test_a_bad_result_is_named(change: dict[str, object], words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_publications(json.dumps(benchmark(**change)), "r.json", layout=PublicationFormat.BENCHMARK)


def test_several_runs_in_one_file_are_refused() -> None:
    line = json.dumps(benchmark())
    with pytest.raises(DataError, match="found 2 runs, one a line; need one run"):
        read_publications(f"{line}\n{line}\n", "r.jsonl", layout=PublicationFormat.BENCHMARK)


def test_a_log_that_answered_nothing_has_failed_and_one_at_once_has_no_time_per_token() -> None:
    text = "id,arrival,first_token,last_token,output_tokens\na,0,5,9,0\nb,0,5,5,3\nc,0,5,9,3\n"
    table = read_publications(text, "t", layout=PublicationFormat.SUMMARY, ms_per_unit=1).table
    metrics = measure(table)
    assert (metrics.n_failed, metrics.n_finished) == (1, 2)
    # c alone: 4 ms over two tokens
    assert (metrics.tpot.samples, metrics.tpot.mean) == (1, 2)


def test_the_command_reads_a_result_and_names_the_format_that_fits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "result.json"
    file.write_text(json.dumps(benchmark()))
    assert run(["metrics", str(file)]) == 0
    assert "1 failed" in capsys.readouterr().out
    log = tmp_path / "log.jsonl"
    log.write_text(
        '{"request_id": "a", "queued_ts": 1, "first_token_ts": 2, "last_token_ts": 3, '
        '"output_toks": 4, "input_toks": 5}\n'
    )
    assert run(["metrics", str(log)]) == 2
    assert "its columns are those of --format vllm" in capsys.readouterr().err
    assert run(["metrics", str(file), "--format", "json"]) == 2
    assert "its columns are those of --format benchmark" in capsys.readouterr().err
    assert run(["simulate", "--decode-values", "1", "--requests", str(log), "--output", str(tmp_path / "o")]) == 2
    assert "it looks like a vLLM log: --columns arrival=queued_ts" in capsys.readouterr().err


def test_failed_requests_and_draft_positions_of_a_publications_file() -> None:
    requests: list[dict[str, object]] = [
        {"id": "a", "arrival_ms": 0, "publications": [[5, 1], [9, 1]]},
        {"id": "b", "arrival_ms": 0, "publications": [[6, 1]], "failed": "connection reset"},
        {"id": "c", "arrival_ms": 0, "publications": [], "failed": True},
    ]
    document: dict[str, object] = {
        "requests": requests,
        "drafts_by_position": [[8, 8, 6], [8, 6, 3]],
        "targets": {"e2e_ms": 100},
    }
    file = read_publications(json.dumps(document), "p.json", layout=PublicationFormat.JSON)
    metrics = measure(file.table, targets=file.targets)
    assert (metrics.n_finished, metrics.n_failed, metrics.n_unfinished) == (1, 2, 0)
    # a failed request meets nothing and stays in the denominator
    assert metrics.goodput.attainment == Fraction(1, 3)
    assert [p.conditional for p in metrics.acceptance_by_position] == [Fraction(3, 4), Fraction(1, 2)]
    for change, words in (
        ({"drafts_by_position": [[8, 9, 6]]}, r"drafts_by_position\[0\]: draft position 1 has 6 accepted of 9 reached"),
        ({"drafts_by_position": [[8, 6]]}, r"drafts_by_position\[0\]: found a list of 2"),
        (
            {"requests": [{**requests[0], "failed": True, "finished": True}]},
            "failed: found true beside fin",
        ),
        ({"requests": [{**requests[2], "rejected": True}]}, "failed: found true beside rejected"),
    ):
        with pytest.raises(DataError, match=words):
            read_publications(json.dumps(document | change), "p.json", layout=PublicationFormat.JSON)
