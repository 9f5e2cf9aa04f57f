"""``fairlane metrics``: output, targets, and one line for bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_no_traceback import outcome

TEXT = json.dumps(
    {
        "requests": [
            {"id": "a", "arrival_ms": 0, "publications": [[10, 1], [30, 2]]},
            {"id": "b", "arrival_ms": 5, "publications": []},
        ]
    }
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "log.json"
    place.write_text(TEXT)
    return place


def test_the_table_shows_each_latency_with_its_samples(file: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fairlane", "metrics", str(file)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    rows = {line.split("  ")[0].strip(): line.split() for line in done.stdout.splitlines() if line.strip()}
    # 20 ms for two further tokens
    assert rows["TTFT"][1:3] == ["1", "10.00"]
    assert rows["TPOT"][1:3] == ["1", "10.00"]
    assert rows["gap"][1:3] == ["1", "20.00"]
    assert "2: 1 finished, 1 unfinished, 0 rejected" in done.stdout
    assert "n/a (no target given)" in done.stdout


def test_targets_of_the_command_line_take_the_place_of_the_files(file: Path) -> None:
    document = json.loads(TEXT) | {"targets": {"ttft_ms": 5}}
    file.write_text(json.dumps(document))
    for words, attainment in ((), "0"), (("--ttft-ms", "10"), "1/2"), (("--ttft-ms", "21/2", "--gap-ms", "19"), "0"):
        status, out, _ = outcome(["metrics", str(file), "--json", *words])
        assert status == 0
        assert json.loads(out)["attainment"] == attainment


def test_requests_are_listed_when_asked_for(file: Path) -> None:
    status, out, _ = outcome(["metrics", str(file), "--json", "--requests"])
    assert status == 0
    listed = json.loads(out)["requests"]
    assert [(r["id"], r["outcome"], r["ttft_ms"], r["gaps_ms"]) for r in listed] == [
        ("a", "finished", 10, [20]),
        ("b", "unfinished", None, []),
    ]


def test_the_percentile_method_is_an_option_and_named(file: Path) -> None:
    file.write_text(json.dumps([{"id": str(i), "arrival_ms": 0, "publications": [[10 * i, 1]]} for i in (1, 2, 3, 4)]))
    for method, p90 in (("linear", 37), ("nearest-rank", 40)):
        status, out, _ = outcome(["metrics", str(file), "--json", "--percentiles", method])
        assert status == 0
        document = json.loads(out)
        assert document["percentile_method"] == method
        assert document["p90_ttft_ms"] == pytest.approx(p90, rel=1e-12)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "yaml"], "--format is 'yaml'; need one of json, jsonl, csv, vllm, vtc, summary"),
        (["--time-unit", "us"], "--time-unit is 'us'; need one of s, ms"),
        (["--time-unit", "s"], "the format json has its times in ms"),
        (["--percentiles", "median"], "--percentiles is 'median'"),
        (["--missing-target", "maybe"], "--missing-target is 'maybe'"),
        (["--ttft-ms", "0"], "--ttft-ms is 0; need > 0"),
        (["--ttft-ms", "soon"], "--ttft-ms is 'soon'; need a finite number"),
        (["--format", "vllm"], "row 1, column request_id: missing"),
    ],
)
def test_bad_words_are_one_line_and_status_2(file: Path, words: list[str], message: str) -> None:
    status, out, err = outcome(["metrics", str(file), *words])
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err
