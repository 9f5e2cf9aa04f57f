"""``fairlane notes``: exit statuses, one line a claim, equal bytes from any number of processes, a quick second run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.claim_texts import claim_text

GOOD = "# Note\n\nThe sum is {val}`sum`.\n\n" + "\n".join(
    [
        claim_text("exact", "1/3 + 1/6 == 1/2", claim_id="sum"),
        claim_text("not-forall", "x**2 >= x", claim_id="square", vars="x", witness="x = 1/2", uses="sum"),
        claim_text(
            "statistical",
            "mean < 1",
            claim_id="coin",
            sampler="tossing:coin",
            n="100",
            delta="1e-6",
            method="hoeffding",
            range="0, 1",
        ),
    ]
)
SAMPLER = "def coin(rng, n):\n    return rng.random(n) < 0.5\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    notes = tmp_path / "docs" / "notes"
    notes.mkdir(parents=True)
    (notes / "note.md").write_text(GOOD, encoding="utf-8")
    (notes / "tossing.py").write_text(SAMPLER, encoding="utf-8")
    return tmp_path


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name != "CI"}
    return subprocess.run(
        [sys.executable, "-m", "fairlane", "notes", *words],
        cwd=folder,
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_check_prints_one_line_a_claim_and_the_second_run_executes_nothing(folder: Path) -> None:
    first = run(folder, "check", "--jobs", "1")
    assert (first.returncode, first.stderr) == (0, "")
    lines = first.stdout.splitlines()
    assert [line.split()[:1] for line in lines[:3]] == [["green"]] * 3
    assert "docs/notes/note.md:5 " in lines[0]
    assert lines[3] == "3 claims: 3 green, 0 grey, 0 amber, 0 red; 3 run"
    assert lines[4].startswith("statistical claims miss with probability at most 1e-06")
    second = run(folder, "check")
    assert second.stdout == first.stdout.replace("3 run", "0 run")


def test_the_output_does_not_depend_on_the_number_of_processes(folder: Path) -> None:
    outputs = []
    for jobs in ("1", "2"):
        shutil.rmtree(folder / "docs" / "notes" / ".fairlane-cache", ignore_errors=True)
        outputs.append(run(folder, "check", "docs/notes", "--jobs", jobs, "--json").stdout)
    assert outputs[0] == outputs[1]
    document = json.loads(outputs[0])
    assert document["passed"] is True
    assert [claim["id"] for claim in document["claims"]] == ["sum", "square", "coin"]
    assert document["claims"][0]["value"] == "1/2"


def test_check_fails_on_a_red_claim_and_on_a_bare_number(folder: Path) -> None:
    note = folder / "docs" / "notes" / "note.md"
    note.write_text(GOOD.replace("== 1/2", "== 1/3"), encoding="utf-8")
    done = run(folder, "check", "docs/notes/note.md", "--jobs", "1")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0].startswith("red")
    assert "doubtful" in done.stdout.splitlines()[1]
    note.write_text(GOOD + "\nIt took 17 tries.\n", encoding="utf-8")
    done = run(folder, "check", "--jobs", "1")
    assert done.returncode == 1
    line = GOOD.count("\n") + 2
    assert f"docs/notes/note.md:{line}: bare number 17 in prose" in done.stdout
    assert "1 to mend" in done.stdout


def test_status_executes_nothing(folder: Path) -> None:
    (folder / "docs" / "notes" / "tossing.py").write_text("raise SystemExit('was imported')\n")
    done = run(folder, "status")
    assert done.returncode == 1
    assert "3 claims: 0 green, 0 grey, 3 amber, 0 red; 0 run" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("check", "nowhere"), "'nowhere' does not exist; need a note or a folder of notes"),
        (("check", "docs/empty"), "'docs/empty' holds no Markdown file; need at least one note (*.md)"),
        (("build", "--output", "docs"), "'docs' exists already; need a directory name that is free"),
    ],
)
def test_bad_input_is_one_line_and_status_2(folder: Path, words: tuple[str, ...], message: str) -> None:
    (folder / "docs" / "empty").mkdir()
    done = run(folder, *words)
    assert (done.returncode, done.stderr) == (2, f"fairlane: {message}\n")


def test_without_a_path_and_without_notes_it_says_what_it_needs(tmp_path: Path) -> None:
    done = run(tmp_path, "status")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "docs/notes" in done.stderr


def test_new_draws_are_for_outside_ci(folder: Path) -> None:
    refused = run(folder, "check", "--rotate", CI="true")
    assert refused.returncode == 2
    assert "--rotate draws new samples, and CI is set" in refused.stderr
    fixed = run(folder, "check", "--jobs", "1", "--json")
    rotated = run(folder, "check", "--rotate", "--jobs", "1", "--json")
    word = rotated.stderr.split()[1].rstrip(";")
    again = run(folder, "check", "--rotation", word, "--jobs", "1", "--json")
    draws = [json.loads(done.stdout)["claims"][2]["evidence"] for done in (fixed, rotated, again)]
    assert draws[1] == draws[2] != draws[0]
    assert json.loads(run(folder, "status", "--json").stdout)["claims"][2]["evidence"] == draws[0], "not kept"


def test_a_process_that_dies_fails_its_claim_alone_and_prints_stay_out_of_the_document(folder: Path) -> None:
    notes = folder / "docs" / "notes"
    (notes / "tossing.py").write_text(
        "import os, sys\n"
        "def coin(rng, n):\n    os._exit(3)\n"
        "def leave(rng, n):\n    sys.exit('bye')\n"
        "def talk(rng, n):\n    print('talking')\n    return rng.random(n)\n"
    )
    options = {"n": "100", "delta": "1e-6", "method": "hoeffding", "range": "0, 1"}
    more = [
        claim_text("statistical", "mean < 1", claim_id=f"it-{f}", sampler=f"tossing:{f}", **options)
        for f in ("leave", "talk")
    ]
    (notes / "note.md").write_text(GOOD + "\n".join(more), encoding="utf-8")
    done = run(folder, "check", "--json")
    assert done.returncode == 1
    coin_line = GOOD[: GOOD.index(":::{claim} coin")].count("\n") + 1
    found = {claim["id"]: (claim["status"], claim["summary"]) for claim in json.loads(done.stdout)["claims"]}
    assert found["coin"] == (
        "failed",
        f"docs/notes/note.md:{coin_line}: the process that ran it ended with status 3 before it had an outcome",
    )
    assert found["it-leave"][0] == "failed"
    assert "SystemExit: bye" in found["it-leave"][1]
    assert [found[name][0] for name in ("sum", "square", "it-talk")] == ["holds"] * 3
    assert "talking" in done.stderr


def test_ctrl_c_ends_at_once_and_keeps_what_has_run(folder: Path) -> None:
    notes = folder / "docs" / "notes"
    (notes / "tossing.py").write_text(
        "import pathlib, time\ndef coin(rng, n):\n    pathlib.Path('begun').touch()\n    time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "fairlane", "notes", "check"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    begun = time.monotonic()
    while not (folder / "begun").exists() and time.monotonic() - begun < 60:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=20)
    assert (process.returncode, output) == (130, "")
    assert errors in ("", "fairlane: interrupted\n")
    assert "2 green" in run(folder, "status").stdout


def test_the_help_says_that_notes_are_run(folder: Path) -> None:
    done = run(folder, "check", "--help")
    assert "Notes are code" in done.stdout


def test_build_writes_pages_with_statuses_values_and_the_graph(folder: Path) -> None:
    done = run(folder, "build", "--output", "site", "--jobs", "1")
    assert (done.returncode, done.stderr) == (0, "")
    site = folder / "site"
    assert {file.name for file in site.iterdir()} == {
        "index.md",
        "index.html",
        "note.md",
        "note.html",
        "claim-graph.md",
        "claim-graph.html",
        "claim-graph.svg",
        "claims.json",
    }
    assert "The sum is [1/2](#claim-sum)." in (site / "note.md").read_text(encoding="utf-8")
    assert 'href="note.html#claim-square"' in (site / "claim-graph.svg").read_text(encoding="utf-8")
    assert '<a id="claim-square"></a>' in (site / "note.html").read_text(encoding="utf-8")
