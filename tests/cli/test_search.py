"""`fairlane search`: its answer, its directory, what a kill leaves, and bad input in one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairlane.oracle import evaluate
from fairlane.policies import load_policy
from fairlane.reference import load_instance
from fairlane.search.space_file import load_space

SPACE = {
    "requests": {"prompt": [0, 1], "limit": [1, 2]},
    "graphs": {"prefill_capacity": [1, 2], "decode_capacity": [1, 2], "duration_ms": [1, 2]},
}
# some 100,000 instances: tens of seconds
LARGE = {
    "requests": {"prompt": [0, 1, 2], "limit": [1, 2, 3], "acceptance": [[], ["1/2"]]},
    "graphs": {"prefill_capacity": [1, 2], "decode_capacity": [1, 2], "width": [1, 2], "duration_ms": [1, 2, "5/2"]},
}
POLICIES = """
from fractions import Fraction
from fairlane.policies import load_policy

def raises(view):
    if view.requests[0].generated:
        raise KeyError("no such table")
    return load_policy("fixed-value").decide(view, None)

def rounds(view):
    return load_policy("round-robin").decide(view, None)

def waits(case):
    return any(block.start_ms >= 2 for block in case.run)
"""


def command(*words: str) -> list[str]:
    """The command line in a process of its own."""
    return [sys.executable, "-m", "fairlane", "search", *words]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    (folder / "mine.py").write_text(POLICIES, encoding="utf-8")
    (folder / "space.json").write_text(json.dumps(SPACE), encoding="utf-8")
    return subprocess.run(command(*words), cwd=folder, capture_output=True, text=True, check=False)


def test_the_directory_replays_exactly(tmp_path: Path) -> None:
    done = run(tmp_path, "--policy", "fixed-value", "--space", "space.json", "--output", "out", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["counterexample"]["status"] == "global-min"
    # the tests of the search hold this number to plain enumeration
    assert found["bound"]["exhaustive"]
    out = tmp_path / "out"
    assert json.loads((out / "result.json").read_text(encoding="utf-8")) == found
    replayed = evaluate(load_instance(out / "instance.json"), load_policy("fixed-value"))
    assert str(replayed.gap) == found["counterexample"]["gap"]
    assert str(replayed.value) == found["counterexample"]["value"]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert "fixed-value: value" in page
    assert "optimum: value" in page
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_counterexample.py"],
        cwd=out,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 0, tested.stdout
    assert "2 passed" in tested.stdout


def test_the_emitted_test_fails_where_the_policy_decides_something_else(tmp_path: Path) -> None:
    run(tmp_path, "--policy", "fixed-value", "--space", "space.json", "--output", "out")
    test = tmp_path / "out" / "test_counterexample.py"
    test.write_text(test.read_text(encoding="utf-8").replace('"fixed-value"', '"continuation"'), encoding="utf-8")
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert tested.returncode == 1
    assert "1 failed, 1 passed" in tested.stdout


def test_the_same_bytes_whatever_the_number_of_workers(tmp_path: Path) -> None:
    texts = []
    for workers in ("1", "2"):
        done = run(
            tmp_path, "--policy", "least-served", "--space", "space.json", "--instances", "300", "--workers", workers,
            "--output", f"out{workers}", "--json",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        files = sorted((tmp_path / f"out{workers}").iterdir())
        texts.append([done.stdout, *(f"{f.name}\n{f.read_text(encoding='utf-8')}" for f in files)])
    assert texts[0] == texts[1]


def test_the_same_bytes_on_a_cluster(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    # policy and predicate are in a folder that the cluster's workers do not know
    words = ["--policy", "mine:rounds", "--predicate", "mine:waits", "--space", "space.json", "--json"]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1", protocol="tcp"
    ) as cluster:
        done = run(tmp_path, *words, "--cluster", cluster.scheduler_address)
    assert done.returncode == 0, done.stderr
    assert done.stdout == run(tmp_path, *words).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals")
@pytest.mark.parametrize("with_signal", ["SIGKILL", "SIGINT"])
def test_a_stopped_search_keeps_its_best_witness_and_goes_on(tmp_path: Path, with_signal: str) -> None:
    (tmp_path / "large.json").write_text(json.dumps(LARGE), encoding="utf-8")
    words = ["--policy", "fixed-value", "--space", "large.json", "--instances", "5000"]
    process = subprocess.Popen(command(*words, "--output", "out"), cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    out = tmp_path / "out"
    until = time.monotonic() + 60
    while not (out / "instance.json").exists() and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(process.pid, getattr(signal, with_signal))
    _, said = process.communicate(timeout=60)
    if with_signal == "SIGINT":
        assert process.returncode == 130
        assert said.splitlines() == ["go on with --resume out", "fairlane: interrupted"]
    # a witness, whole, before the search has ended
    assert evaluate(load_instance(out / "instance.json"), load_policy("fixed-value")).gap > 0
    assert not (out / "result.json").exists()
    before = (out / "journal.jsonl").read_bytes()
    assert before.count(b"\n") > 1
    whole = subprocess.run(command(*words, "--json"), cwd=tmp_path, capture_output=True, text=True, check=True)
    again = subprocess.run(
        command(*words, "--resume", "out", "--json"), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert again.stdout == whole.stdout
    assert (out / "journal.jsonl").read_bytes().startswith(before[: before.rindex(b"\n") + 1])
    assert (out / "test_counterexample.py").exists()


def test_a_torn_line_of_the_journal_is_dropped(tmp_path: Path) -> None:
    words = ["--policy", "fixed-value", "--space", "space.json"]
    whole = run(tmp_path, *words, "--output", "out", "--json")
    journal = tmp_path / "out" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-40])
    assert run(tmp_path, *words, "--resume", "out", "--json").stdout == whole.stdout


def test_a_policy_that_raises_is_reported_with_its_view(tmp_path: Path) -> None:
    done = run(tmp_path, "--policy", "mine:raises", "--space", "space.json", "--json", "--output", "out")
    assert done.returncode == 1
    failure = json.loads(done.stdout)["failure"]
    assert failure["breach"] == "raises"
    assert "no such table" in failure["message"]
    assert failure["view"]["requests"][0]["generated"] == 1
    assert (tmp_path / "out" / "instance.json").exists()


def test_a_predicate_by_name(tmp_path: Path) -> None:
    done = run(tmp_path, "--policy", "round-robin", "--space", "space.json", "--predicate", "mine:waits", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["counterexample"]
    # by hand: the second graph starts at 2 ms where the first takes 2 ms and one token is left: one request, two tokens
    assert len(found["instance"]["requests"]) == 1
    assert sum(r["prompt"] + r["limit"] for r in found["instance"]["requests"]) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--policy", "best"], "policy is 'best'; need module:attribute or one of"),
        (["--policy", "fixed-value", "--space", "nowhere.json"], "nowhere.json does not exist"),
        (["--policy", "fixed-value", "--measure", "big"], "--measure is 'big'; need one of absolute, relative"),
        (["--policy", "fixed-value", "--exceeds", "-1"], "--exceeds is -1; need >= 0"),
        (["--policy", "fixed-value", "--predicate", "waits"], "predicate is 'waits'; need module:attribute"),
        (["--policy", "fixed-value", "--output", "mine.py"], "'mine.py' exists already"),
        (["--policy", "fixed-value", "--resume", "nowhere"], "'nowhere' has no journal.jsonl"),
        (["--policy", "fixed-value", "--resume", "a", "--output", "b"], "need one of them"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, words: list[str], message: str) -> None:
    done = run(tmp_path, *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"requests": {"prompts": [1]}}, "requests has the unknown field 'prompts'"),
        ({"requests": {"prompt": []}}, "requests.prompt is empty; need at least one value"),
        ({"requests": {"count": [0]}}, "requests.count[0] is 0; need >= 1"),
        ({"requests": {"limit": [1], "generated": [1]}}, "need a limit above generated"),
        ({"requests": {"acceptance": [["3/2"]]}}, "is 3/2; need a probability in [0, 1]"),
        ({"requests": {"length_prior": [{"1": "1/2"}]}}, "length_prior[0] sums to 1/2; need a sum of 1"),
        ({"requests": {"length_prior": [5]}}, "requests.length_prior[0] is 5; need an object"),
        ({"requests": {"identical": 1}}, "requests.identical is 1; need true or false"),
        ({"graphs": {"prefill_capacity": [], "decode_capacity": []}}, "graphs has no shape"),
        ({"graphs": {"count": [40]}}, "n_graphs has 40; need at most"),
        ({"graphs": {"rows": [], "width": [1]}}, "graphs has rows and width; need one of them"),
        ({"graphs": {"duration_ms": [True]}}, "graphs.duration_ms[0] is true; need a number"),
        ({"objective": {"price": [1]}}, "objective has the unknown field 'price'"),
        ({"objective": {"time_price": [-1]}}, "objective.time_price is -1; need >= 0"),
        ([], "space is a list; need an object"),
    ],
)
def test_a_wrong_space_is_one_line(tmp_path: Path, space: object, message: str) -> None:
    (tmp_path / "wrong.json").write_text(json.dumps(space), encoding="utf-8")
    done = run(tmp_path, "--policy", "fixed-value", "--space", "wrong.json")
    assert done.returncode == 2, done.stdout
    assert "wrong.json: " in done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_space_of_given_graphs(tmp_path: Path) -> None:
    rows = [
        {"name": "p", "duration_ms": "3/2", "prefill_capacity": 4},
        {"name": "d", "duration_ms": 1, "decode_capacity": 2},
        {"name": "e", "duration_ms": 1, "decode_capacity": 1},
    ]
    (tmp_path / "space.json").write_text(json.dumps({"graphs": {"rows": rows, "count": [2]}}), encoding="utf-8")
    space = load_space(tmp_path / "space.json")
    # every pair of the three, in the order given
    assert [[g.name for g in space.catalog(2, k)] for k in range(space.n_catalogs(2))] == [
        ["p", "d"],
        ["p", "e"],
        ["d", "e"],
    ]
