"""The experiment commands: what they write, what they refuse, and how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairlane.cli import run

QUICK = ["--decode-value", "16", "--instances", "h100-prompt-tail", "--workload", "solo_prefill"]

IDLE = """
from fairlane.reference.model.policy import Decision

def idle(view):
    return Decision(graph=None)
"""


def test_regret_and_behaviour_stand_in_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    trace_free = ["experiment", "regret", *QUICK, "--policies", "fixed-value,continuation", "--seed", "3", "--json"]
    assert run(trace_free) == 0
    document = json.loads(capsys.readouterr().out)
    first, second = document["rows"]
    assert (first["policy"], second["policy"]) == ("fixed-value", "continuation")
    assert {(row["workload"], row["decode_value"], row["seed"]) for row in document["rows"]} == {
        ("solo_prefill", "16", 3)
    }
    # the built-in table takes the prompt of 8192 in two graphs of 4096, 66 ms each
    assert first["ttft_p50_ms"] == first["ttft_p99_ms"] == 132.0
    assert (second["optimal_on"], second["largest_gap"]) == (1, "0")
    assert second["ttft_p50_ms"] is None
    assert "one request spans up to" in second["refusal"]


def test_the_command_in_the_document_runs_it_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.json"
    assert (
        run(
            ["experiment", "ongoing", "--systems", "prompt-beside-stream", "--horizon-ms", "200", "--output", str(file)]
        )
        == 0
    )
    capsys.readouterr()
    words = json.loads(file.read_text())["command"].split()
    assert words[:1] == ["fairlane"]
    assert run([*words[1:], "--json"]) == 0
    assert capsys.readouterr().out == file.read_text()


def test_rows_takes_the_first_to_arrive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("id,arrival_ms,prompt,output\nlate,900,64,1\na,0,64,1\nb,5,64,1\n")
    words = [
        "--decode-value",
        "1",
        "--instances",
        "h100-prompt-tail",
        "--policies",
        "prefill-first",
        "--trace",
        str(trace),
    ]
    assert run(["experiment", "regret", *words, "--rows", "2", "--json"]) == 0
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["n_requests"] == 2
    # each prompt of 64 runs alone for 3 ms: a from 0 to 3, b from 5 to 8
    assert document["rows"][0]["ttft_p99_ms"] == 3.0
    assert "before an earlier row" in err
    assert str(tmp_path) not in document["command"]


def test_every_gap_goes_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["experiment", "regret", *QUICK, "--policies", "continuation", "--gaps", str(tmp_path / "g.csv")]
    assert run(words) == 0
    head, row = (tmp_path / "g.csv").read_text().splitlines()
    assert head == "policy,instance,optimum,gap,relative_gap"
    assert row.startswith("continuation,h100-prompt-tail,")
    assert row.endswith(",0,0")
    assert "written to" in capsys.readouterr().out


def test_the_line_on_the_continuation_value(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--systems", "prompt-beside-stream,aged-prompts-between,aged-unequal-weights", "--horizon-ms", "200"]
    assert run(["experiment", "ongoing", *words]) == 0
    out = " ".join(capsys.readouterr().out.split())
    # by hand: a cycle of two prompts earns 29/20 a ms, one of four 479/380
    assert "fails most on aged-prompts-between" in out
    assert "479/380" in out
    assert "13.07 % below the optimum" in out


def test_a_policy_that_breaks_a_rule_is_shown_and_ends_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "idling.py").write_text(IDLE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run(["experiment", "regret", *QUICK, "--policies", "prefill-first,idling:idle"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "idling:idle broke a rule on h100-prompt-tail" in out
    assert "idling:idle did not run" in out
    assert "prefill-first" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("regret", "decode-value"),
        ("regret --decode-value x", "--decode-value is 'x'"),
        ("regret --decode-value -1", "need a value >= 0"),
        ("regret --decode-value 1 --policies none", "policy is 'none'"),
        ("regret --decode-value 1 --policies fixed-value,,ongoing", "need names separated by commas"),
        ("regret --decode-value 1 --instances none", "suite has no instance 'none'"),
        ("regret --decode-value 1 --workload none", "workload is 'none'"),
        ("regret --decode-value 1 --trace TRACE --workload solo_prefill", "--workload and --trace are both given"),
        ("regret --decode-value 1 --acceptance 1/2", "--acceptance is given without --trace"),
        ("regret --decode-value 1 --trace MISSING", "does not exist"),
        ("regret --decode-value 1 --trace TRACE", "row 2, column prompt"),
        ("regret --decode-value 1 --catalog TRACE", "t.csv"),
        ("regret --decode-value 1 --rows 0", "--rows"),
        ("ongoing --seeds 1", "--seeds is 1; need >= 2"),
        ("ongoing --seeds x", "--seeds"),
        ("ongoing --horizon-ms 0", "--horizon-ms is 0; need > 0"),
        ("ongoing --horizon-ms x", "--horizon-ms is 'x'"),
        ("ongoing --systems none", "--systems names 'none'"),
        ("ongoing --seed -1", "--seed"),
    ],
)
def test_bad_options_are_one_line(words: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("id,arrival_ms,prompt,output\na,0,64,1\nb,5,-3,1\n")
    places = {"TRACE": str(trace), "MISSING": str(tmp_path / "none.csv")}
    target = tmp_path / "out.json"
    line = [places.get(word, word) for word in words.split()]
    assert run(["experiment", *line, "--output", str(target)]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert err.count("\n") == 1
    assert out == ""
    assert not target.exists()


def test_a_place_that_cannot_be_written_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["experiment", "ongoing", "--systems", "prompt-beside-stream", "--horizon-ms", "100"]
    assert run([*words, "--output", str(tmp_path / "no" / "x.json")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_an_interrupt_ends_with_130_and_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    words = ["experiment", "ongoing", "--horizon-ms", "1000000", "--output", str(target)]
    # the child says when its work begins, so that the signal does not meet an interpreter that is still importing
    program = (
        "import sys; from fairlane.simulator.experiments import ongoing_distance; from fairlane.cli import run; "
        f"print('ready', flush=True); sys.exit(run({words!r}))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert child.returncode == 130
    # typer may end the run itself, without our line
    assert err in ("", "fairlane: interrupted\n")
    assert out == ""
    assert not list(tmp_path.iterdir())
