"""Small inputs from real reports, each with the value or the status that is right; why stands in the case file."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest

from fairlane.cli import run
from tests.cases import ROOT

FOLDER = Path(os.environ.get("FAIRLANE_CASES", ROOT / "../shared/cases")) / "reports"


def reports(kind: str) -> list[Any]:
    """The entries of a kind: ``trace``, or commands without one."""
    file = FOLDER / "cases.json"
    if not file.is_file():
        reason = "no case file reports/cases.json; FAIRLANE_CASES names the folder above it"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    entries = json.loads(file.read_text(encoding="utf-8"))
    wanted = [entry for entry in entries if entry.get("kind", "command") == kind]
    return [pytest.param(entry, id=f"{entry['file']} {' '.join(entry.get('args', ())[2:])}") for entry in wanted]


@pytest.mark.parametrize("entry", reports("command"))
def test_a_reported_command_gives_its_answer(
    entry: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    wanted = entry.get("exit_status", 0)
    assert run(entry["args"]) == wanted, entry["why"]
    shown = capsys.readouterr()
    if wanted:
        assert len(shown.err.splitlines()) == 1
        return
    assert run([*entry["args"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] == entry["answer"], entry["why"]
    assert f": {entry['answer']}" in shown.out


@pytest.mark.parametrize("entry", reports("trace"))
def test_a_reported_trace_runs_in_its_time(entry: dict[str, Any], tmp_path: Path) -> None:
    # a bare `arrival` column has no unit; the case says that its arrivals are seconds
    unit = entry.get("time_unit", "s")
    words = ["simulate", "--decode-values", "16", "--requests", str(FOLDER / entry["file"]), "--time-unit", unit]
    assert run([*words, "--output", str(tmp_path / "out")]) == 0
    with (tmp_path / "out/summary.csv").open(encoding="utf-8", newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert (int(row["n_requests"]), int(row["n_finished"])) == (entry["requests"], entry["finished"]), entry["why"]
    if "elapsed_s_at_most" in entry:
        assert float(row["elapsed_ms"]) <= 1000 * entry["elapsed_s_at_most"], entry["why"]
    with (tmp_path / "out/requests.csv").open(encoding="utf-8", newline="") as stream:
        arrivals = [float(request["arrival_ms"]) for request in csv.DictReader(stream)]
    assert arrivals[0] == 0
    assert arrivals[-1] == entry.get("last_arrival_ms", arrivals[-1]), entry["why"]
