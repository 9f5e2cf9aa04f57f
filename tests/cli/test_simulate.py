"""The simulate command: its files, their columns, and what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from fairlane.cli import run
from fairlane.reference.model.codec import load_catalog
from fairlane.simulator.timing_tables import synthetic_catalog


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_four_files_hold_every_case_with_its_value_and_seed(tmp_path: Path) -> None:
    target = tmp_path / "out"
    words = ["simulate", "--decode-values", "1,64", "--workload", "solo_prefill", "--workload", "prefill_five_decodes"]
    assert run([*words, "--seed", "3", "--output", str(target)]) == 0
    assert {p.name for p in target.iterdir()} == {"summary.csv", "requests.csv", "trace.jsonl", "catalog.json"}
    summary, requests = rows_of(target / "summary.csv"), rows_of(target / "requests.csv")
    assert len(summary) == 4
    assert len(requests) == 2 * (1 + 6)
    assert {(r["decode_value"], r["seed"]) for r in [*summary, *requests]} == {("1", "3"), ("64", "3")}
    lines = [json.loads(line) for line in (target / "trace.jsonl").read_text().splitlines()]
    assert sum(int(r["graphs"]) for r in summary) == len(lines)
    # the solo prompt of 4096 tokens or more starts with the full graph of the built-in table: 4096 tokens in 66 ms
    first = lines[0]
    assert (first["graph"], first["lanes"][0]["consumed"], first["end_ms"]) == ("prefill-4096", 4096, 66.0)
    assert load_catalog(target / "catalog.json") == synthetic_catalog()


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    words = ["simulate", "--decode-values", "16", "--mixed", "--workload", "prefill_five_decodes", "--seed", "5"]
    for name in ("a", "b"):
        assert run([*words, "--output", str(tmp_path / name)]) == 0
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_two_frames_say_when_each_graph_was_chosen_and_one_frame_says_what_it_said(tmp_path: Path) -> None:
    # a prompt of 8192 takes two full graphs of 66 ms; the second is chosen while the first runs
    words = ["simulate", "--decode-values", "16", "--workload", "solo_prefill", "--seed", "2"]
    assert run([*words, "--output", str(tmp_path / "plain")]) == 0
    assert run([*words, "--in-flight", "1", "--output", str(tmp_path / "one")]) == 0
    extra = ["--html", str(tmp_path / "r.html"), "--perfetto", str(tmp_path / "p.json")]
    assert run([*words, "--in-flight", "2", "--output", str(tmp_path / "two"), *extra]) == 0
    assert run([*words, "--launch-gap-ms", "1/2", "--output", str(tmp_path / "gap")]) == 0
    for file in (tmp_path / "plain").iterdir():
        assert file.read_bytes() == (tmp_path / "one" / file.name).read_bytes()
    lines = [json.loads(line) for line in (tmp_path / "two" / "trace.jsonl").read_text().splitlines()]
    assert [(x["in_flight"], x["chosen_ms"], x["start_ms"], x["end_ms"]) for x in lines[:3]] == [
        (2, 0.0, 0.0, 66.0),
        (2, 0.0, 66.0, 132.0),
        (2, 132.0, 132.0, lines[2]["end_ms"]),
    ]
    assert {row["in_flight"] for row in rows_of(tmp_path / "two" / "requests.csv")} == {"2"}
    assert "two graphs in flight" in (tmp_path / "r.html").read_text()
    gap = [json.loads(line) for line in (tmp_path / "gap" / "trace.jsonl").read_text().splitlines()]
    assert [(x["chosen_ms"], x["start_ms"]) for x in gap[:2]] == [(0.0, 0.5), (66.5, 67.0)]


def test_a_trace_with_a_report_and_a_perfetto_file(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("id,arrival_ms,prompt,output\na,0,100,3\nb,5,64,2\n")
    words = ["simulate", "--decode-values", "16", "--requests", str(trace), "--output", str(tmp_path / "out")]
    extra = ["--html", str(tmp_path / "r.html"), "--perfetto", str(tmp_path / "p.json")]
    assert run([*words, *extra]) == 0
    assert [r["status"] for r in rows_of(tmp_path / "out" / "requests.csv")] == ["finished", "finished"]
    assert (tmp_path / "r.html").read_text().lower().startswith("<!doctype html>")
    assert json.loads((tmp_path / "p.json").read_text())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--decode-values", "x"], "--decode-values is 'x'"),
        (["--decode-values", "-1"], "need values >= 0"),
        (["--decode-values", "1", "--workload", "none"], "workload is 'none'"),
        (["--decode-values", "1", "--policy", "none"], "policy is 'none'"),
        (["--decode-values", "1", "--horizon-ms", "0"], "--horizon-ms is 0"),
        (["--decode-values", "1", "--time-unit", "s"], "without --requests"),
        (["--decode-values", "1", "--in-flight", "3"], "--in-flight is 3; need 1 or 2"),
        (["--decode-values", "1", "--launch-gap-ms", "-1"], "--launch-gap-ms is '-1'; need >= 0"),
        ([], "decode-values"),
    ],
)
def test_bad_options_are_one_line_and_leave_nothing(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", *words, "--output", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_an_existing_directory_is_not_written_into(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "--decode-values", "1", "--workload", "solo_prefill", "--output", str(tmp_path)]
    assert run(words) == 2
    assert "exists already" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_trace_in_epoch_seconds_runs_from_its_first_arrival(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("arrival,prompt,output\n1700000000,100,4\n1700000001,100,4\n1700000002,100,0004\n")
    target = tmp_path / "out"
    words = ["simulate", "--decode-values", "16", "--requests", str(trace), "--time-unit", "s", "--output", str(target)]
    assert run(words) == 0
    shown = capsys.readouterr()
    assert "3 of 3" in shown.out
    assert "output lengths: hidden: limit 4096, which cuts 0 of 3 answers" in shown.out
    assert "counted from the first arrival, 1700000000000 ms on its clock" in shown.err
    (row,) = rows_of(target / "summary.csv")
    # two seconds to the last arrival
    assert 2000 < float(row["elapsed_ms"]) < 2200
    assert row["output_lengths"] == "hidden: limit 4096, which cuts 0 of 3 answers"
    assert {r["limit"] for r in rows_of(target / "requests.csv")} == {"4096"}


def test_requests_after_the_horizon_are_said_to_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("arrival_s,prompt,output\n100,100,4\n900,100,4\n901,100,4\n")
    words = ["simulate", "--decode-values", "16", "--requests", str(trace), "--horizon-ms", "5000"]
    assert run([*words, "--output", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    # the horizon is five seconds after the first arrival
    assert "1 of 1" in shown
    assert "t: 2 requests arrive after the horizon and are in no count" in shown


def test_options_of_lengths_are_named_in_the_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("arrival_ms,prompt,output,weight\n0,100,4,3\n1,100,9,1\n")
    (tmp_path / "other.csv").write_text("arrival_ms,prompt,output\n0,100,4\n1,100,9\n")
    base = ["simulate", "--decode-values", "16", "--requests", str(tmp_path / "t.csv")]
    assert run([*base, "--known-lengths", "--output", str(tmp_path / "a")]) == 0
    assert "output lengths: known: the limit is the recorded length" in capsys.readouterr().out
    rows = rows_of(tmp_path / "a/requests.csv")
    assert [(r["limit"], r["weight"]) for r in rows] == [("4", "3"), ("9", "1")]
    assert run([*base, "--limit", "5", "--output", str(tmp_path / "b")]) == 0
    assert "hidden: limit 5, which cuts 1 of 2 answers" in capsys.readouterr().out
    # 4 tokens, and 9 cut at 5
    assert [r["output_tokens"] for r in rows_of(tmp_path / "b/requests.csv")] == ["4", "5"]
    learned = ["--length-prior", f"learn:{tmp_path / 'other.csv'}"]
    assert run([*base, *learned, "--output", str(tmp_path / "c")]) == 0
    assert "prior over 2 lengths" in capsys.readouterr().out
    assert run([*base, "--length-prior", f"learn:{tmp_path / 't.csv'}", "--output", str(tmp_path / "d")]) == 0
    assert "learned from the very requests of the run" in capsys.readouterr().err
    for wrong in (["--known-lengths", "--limit", "5"], ["--length-prior", "other.csv"], ["--known-lengths", *learned]):
        assert run([*base, *wrong, "--output", str(tmp_path / "e")]) == 2
    assert run(["simulate", "--decode-values", "1", "--limit", "5", "--output", str(tmp_path / "e")]) == 2


def test_a_run_in_which_nobody_arrives_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fairlane.reference.model.request import Request
    from fairlane.simulator import cases, workloads

    late = workloads.Workload(
        name="late", shows="nothing", requests=(Request(id="a", prompt=8, limit=1, arrival_ms=1000),)
    )
    monkeypatch.setattr(cases, "workload", lambda name: late)
    words = ["simulate", "--decode-values", "1", "--workload", "late", "--output", str(tmp_path / "out")]
    assert run([*words, "--horizon-ms", "10"]) == 1
