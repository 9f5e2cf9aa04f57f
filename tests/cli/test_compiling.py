"""What a command says while kernels are compiled, and that `fairlane warm` leaves nothing to compile."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fairlane
from fairlane.cli.output import Progress
from fairlane.compiling.notice import Compiling

SAID = "compiling kernels, once per installation, about "


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """An installation that has compiled nothing yet."""
    source = Path(fairlane.__file__).parent
    shutil.copytree(source, tmp_path / "site" / "fairlane", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(fresh: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of that installation."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_"))}
    environment |= {"PYTHONPATH": str(fresh / "site"), "HOME": str(fresh)}
    return subprocess.run(
        [sys.executable, "-m", "fairlane", *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=fresh,
    )


def instance(fresh: Path, n_requests: int) -> str:
    """Equal requests of 8 local states each, one graph of one row."""
    file = fresh / f"equal-{n_requests}.json"
    request = {"prompt": 0, "limit": 7}
    file.write_text(
        json.dumps(
            {
                "graphs": [{"name": "d", "duration_ms": 1, "decode_capacity": 1}],
                "requests": [{"id": f"r{i}", **request} for i in range(n_requests)],
                "objective": {"decode_value": 1, "completion_price": 1},
            }
        )
    )
    return str(file)


def test_compiling_is_said_once_and_only_where_it_happens(fresh: Path) -> None:
    small, large = instance(fresh, 2), instance(fresh, 4)
    # 8^2 states never compile, 8^4 do
    assert run(fresh, "solve", small).stderr == ""
    first, second = run(fresh, "solve", large, "--json"), run(fresh, "solve", large, "--json")
    assert first.returncode == second.returncode == 0, first.stderr
    assert first.stderr.count(SAID) == 1
    assert len(first.stderr.splitlines()) == 1
    assert second.stderr == ""
    # four requests of 7 tokens, one a ms and worth 1, each a ms that those still there pay for. One after another they
    # end after 7, 14, 21 and 28 ms: 28 - 70
    assert {json.loads(done.stdout)["value"] for done in (first, second)} == {"-42"}


@pytest.mark.slow
def test_nothing_is_left_to_compile_after_warm(fresh: Path) -> None:
    first = run(fresh, "warm")
    assert first.returncode == 0, first.stderr
    assert "kernels compiled in" in first.stdout
    assert str(fresh / "site") in first.stdout
    assert "every kernel had been compiled before" in run(fresh, "warm").stdout
    assert run(fresh, "solve", instance(fresh, 4)).stderr == ""


def test_the_time_left_leaves_compiling_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    line = Progress("solving", "states")
    line.compiling(Compiling(kernel="fairlane.oracle.kernels.aged.visit", begins=True))
    clock[0] = 100.0
    line.compiling(Compiling(kernel="fairlane.oracle.kernels.aged.visit", begins=False))
    clock[0] = 104.0
    line(1_000, 3_000)
    # 1,000 states in 4 s after 100 s of compiling: 2,000 more take 8 s, not 208
    assert "solving: 1,000 of 3,000 states, 8 s left" in capsys.readouterr().err
