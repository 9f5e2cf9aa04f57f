"""The allocate command: documents, exit statuses and one-line refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairlane.cli import run

STREAMS: dict[str, Any] = {
    "graphs": [
        {"name": "d4", "duration_ms": 21, "decode_capacity": 4},
        {"name": "d5", "duration_ms": 29, "decode_capacity": 5},
    ],
    "requests": [{"id": f"s{i}", "prompt": 0} for i in range(5)],
}
ACTIONS: dict[str, Any] = {
    "requests": [{"id": "a", "token_value": 0, "fairness_weight": 1}, {"id": "b", "fairness_weight": 3}],
    "actions": [{"name": "x", "rates": {"a": 2}}, {"name": "y", "rates": {"b": "1/3"}}],
}


def _run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fairlane", "allocate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False, timeout=120)


def _write(folder: Path, document: object) -> str:
    (folder / "problem.json").write_text(json.dumps(document))
    return "problem.json"


def test_graphs_give_rates_and_cohorts(tmp_path: Path) -> None:
    result = _run(_write(tmp_path, STREAMS), "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["rates"] == pytest.approx({f"s{i}": 4 / 105 for i in range(5)}, rel=1e-9)
    assert document["relative_gap"] <= 1e-9
    shares = document["time_shares"]
    assert {row["graph"] for row in shares} == {"d4"}
    assert sum(row["share"] for row in shares) == pytest.approx(1)
    assert all(len(row["requests"]) == 4 for row in shares)
    assert document["method"] == "interior-point"


def test_actions_follow_the_weights(tmp_path: Path) -> None:
    result = _run(_write(tmp_path, ACTIONS), "--json", "--tolerance", "1e-12", cwd=tmp_path)
    document = json.loads(result.stdout)
    assert document["time_shares"] == [
        {"action": "x", "requests": ["a"], "share": pytest.approx(0.25)},
        {"action": "y", "requests": ["b"], "share": pytest.approx(0.75)},
    ]
    assert document["rates"] == pytest.approx({"a": 0.5, "b": 0.25})


def test_people_get_a_table(tmp_path: Path) -> None:
    result = _run(_write(tmp_path, STREAMS), cwd=tmp_path)
    assert result.returncode == 0
    assert "certified gap" in result.stdout
    assert "0.0380952381" in result.stdout  # 4 / 105


def test_a_plot_is_written(tmp_path: Path) -> None:
    result = _run(_write(tmp_path, ACTIONS), "--plot", "shares.svg", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "<svg" in (tmp_path / "shares.svg").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["problem.json", "shares.svg"]


def test_names_that_look_like_markup_or_mathematics_are_shown_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    document = {
        "requests": [{"id": "[red]a[/blue]"}, {"id": "$\\frac$"}],
        "actions": [{"name": "[/x]", "rates": {"[red]a[/blue]": 1}}, {"name": "請", "rates": {"$\\frac$": 1}}],
    }
    assert run(["allocate", _write(tmp_path, document), "--plot", "shares.png"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert all(name in out for name in ("[red]a[/blue]", "$\\frac$", "[/x]", "請"))


@pytest.mark.parametrize(
    ("document", "options", "status", "said"),
    [
        ({**ACTIONS, "actions": ACTIONS["actions"][:1]}, (), 2, "requests[1] ('b') is served by no action"),
        ({**STREAMS, "requests": [{"id": "p", "prompt": 3}]}, (), 2, "requests[0] ('p') is served by no graph"),
        ({"requests": [{"id": "a", "fairness_weight": -1}], "actions": []}, (), 2, "fairness_weight"),
        ({"requests": [{"id": "\ud800"}], "actions": []}, (), 2, r"a string has \ud800, half of a surrogate pair"),
        (ACTIONS, ("--tolerance", "nan"), 2, "tolerance is nan"),
        (ACTIONS, ("--tolerance", "x"), 2, "--tolerance"),
        (ACTIONS, ("--method", "simplex"), 2, "method is 'simplex'"),
        (ACTIONS, ("--plot", "shares.txt"), 2, ".svg, .png, .pdf"),
        (ACTIONS, ("--plot", "nowhere/shares.png"), 2, "cannot be written"),
        (ACTIONS, ("--tolerance", "1e-30"), 1, "need >= 1e-13"),
        (STREAMS, ("--method", "water-filling"), 1, "needs one graph"),
        (STREAMS, ("--method", "cvxpy", "--tolerance", "1e-13"), 1, "reached a relative gap of"),
    ],
)
def test_a_refusal_is_one_line_with_its_status(
    document: object,
    options: tuple[str, ...],
    status: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # in this process, as a start of the interpreter each would cost more than all of it
    monkeypatch.chdir(tmp_path)
    assert run(["allocate", _write(tmp_path, document), *options]) == status
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert said in err
    assert "Traceback" not in err
    assert out == ""


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    result = _run("nothing.json", cwd=tmp_path)
    assert result.returncode == 2
    assert "does not exist" in result.stderr


@pytest.mark.parametrize("problem", [STREAMS, ACTIONS], ids=["graphs", "actions"])
def test_a_weight_where_a_fairness_weight_is_meant_is_refused_with_that_hint(
    problem: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    requests = [{**row, "weight": 3} for row in problem["requests"]]
    file = tmp_path / _write(tmp_path, problem | {"requests": requests})
    assert run(["allocate", str(file)]) == 2
    shown = capsys.readouterr().err
    assert "requests[0] has the field 'weight'" in shown
    assert "need fairness_weight" in shown


def test_an_instance_is_allocated_by_its_graphs_and_requests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # two decode rows of one token in 4 ms, shared equally by three streams: 2 / (3 * 4) tokens a ms each
    instance = {
        "graphs": [{"name": "d2", "duration_ms": 4, "decode_capacity": 2}],
        "requests": [{"id": f"r{i}", "prompt": 0, "limit": 9, "weight": 1 + i} for i in range(3)],
        "objective": {"decode_value": 16},
    }
    file = tmp_path / _write(tmp_path, instance)
    assert run(["allocate", str(file), "--json"]) == 0
    shown = capsys.readouterr()
    assert list(json.loads(shown.out)["rates"].values()) == pytest.approx([1 / 6] * 3, rel=1e-6)
    assert "the objective of the instance is not used" in shown.err
    assert "weights of requests are not used (r1, r2)" in shown.err
