"""What takes longer than two seconds says how far it is, and an interrupt leaves nothing behind."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# two prompts may share a graph, so this is solved in rationals: minutes of work, far from the limit of states
LONG = {
    "graphs": [
        {"name": "p", "duration_ms": 3, "prefill_capacity": 2, "prefill_lanes": 2},
        {"name": "d", "duration_ms": "5/2", "decode_capacity": 3, "width": 3},
    ],
    "requests": [
        {"id": "a", "prompt": 9, "limit": 40, "acceptance": ["1/2", "1/3"]},
        {"id": "b", "prompt": 8, "limit": 42, "acceptance": ["2/3", "1/3"], "weight": 2},
        {"id": "c", "prompt": 7, "limit": 44, "acceptance": ["1/5", "1/7"], "weight": 3},
    ],
    "objective": {"decode_value": 4, "time_price": 1, "completion_price": "1/3"},
}


class Terminal:
    """A command whose standard error is a terminal."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.main, other = pty.openpty()
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fairlane", *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=other,
            env={**os.environ, "COLUMNS": "100"},
            start_new_session=True,
        )
        os.close(other)
        self.seen = ""

    def read_until(self, pattern: str, *, seconds: float) -> re.Match[str]:
        """Wait for a text on the terminal."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = re.search(pattern, self.seen)
            if found:
                return found
            if not self._more(0.2) and self.process.poll() is not None:
                break
        raise AssertionError(f"no {pattern!r} on the terminal within {seconds} s: {self.seen!r}")

    def _more(self, wait: float) -> bool:
        if not select.select([self.main], [], [], wait)[0]:
            return False
        try:
            text = os.read(self.main, 65536).decode()
        except OSError:
            # how a terminal says on Linux that its other end is closed
            return False
        self.seen += text
        return bool(text)

    def interrupt(self) -> tuple[int, str]:
        """Press Ctrl-C: every process of the group gets the signal. Status and standard output."""
        os.killpg(self.process.pid, signal.SIGINT)
        # a worker left behind would hold the pipe open, and this would not end
        out, _ = self.process.communicate(timeout=20)
        while self._more(0.2):
            pass
        return self.process.returncode, out.decode()

    def close(self) -> None:
        """End what a failed test has left."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        os.close(self.main)


COMMANDS = [
    pytest.param(("solve", "long.json"), r"solving long.json: [\d,]+ of [\d,]+ states found so far", id="solve"),
    pytest.param(
        ("verify", "long.json", "--policy", "age-only"),
        r"solving long: [\d,]+ of [\d,]+ states found so far",
        id="verify one",
    ),
    pytest.param(
        ("verify", "tiny.json", "long.json", "more.json", "--policy", "age-only", "--workers", "2"),
        r"verifying: 1 of 3 instances, \d+ s left",
        id="verify many in processes",
    ),
]


@pytest.mark.parametrize(("words", "line"), COMMANDS)
def test_a_long_run_tells_how_far_it_is_and_ends_at_once_when_interrupted(
    words: tuple[str, ...], line: str, tmp_path: Path
) -> None:
    tiny = {**LONG, "requests": [{"id": "a", "prompt": 1, "limit": 1}]}
    for name, content in (("long", LONG), ("more", LONG), ("tiny", tiny)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    before = sorted(tmp_path.iterdir())
    terminal = Terminal(tmp_path, *words)
    try:
        terminal.read_until(line, seconds=60)
        assert time.monotonic() - terminal.begun > 2
        status, out = terminal.interrupt()
    finally:
        terminal.close()
    assert status == 130, terminal.seen
    assert "Traceback" not in terminal.seen
    # the line is wiped, and one line says what happened
    # the cursor is shown again and the line of progress wiped
    assert terminal.seen.endswith("\x1b[?25h\r\x1b[1A\x1b[2Kfairlane: interrupted\r\n")
    assert "Traceback" not in out
    assert sorted(tmp_path.iterdir()) == before


def test_no_progress_where_standard_error_is_no_terminal(tmp_path: Path) -> None:
    (tmp_path / "long.json").write_text(json.dumps(LONG))
    process = subprocess.Popen(
        [sys.executable, "-m", "fairlane", "solve", "long.json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=5)
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert (out, err) == ("", "fairlane: interrupted\n")
