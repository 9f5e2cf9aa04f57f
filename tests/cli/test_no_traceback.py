"""No input file makes a command print a traceback: whatever the bytes, one line and a documented status."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlane.cli import run
from tests.counts import count

BASE: dict[str, Any] = {
    "graphs": [
        {"name": "p4", "duration_ms": 2, "prefill_capacity": 4},
        {"name": "d2", "duration_ms": "7/2", "decode_capacity": 2, "width": 2},
    ],
    "requests": [
        {"id": "a", "prompt": 5, "limit": 2, "length_prior": {"1": "1/10", "2": "9/10"}, "acceptance": ["1/4"]},
        {"id": "b", "prompt": 0, "generated": 1, "limit": 3, "weight": 2},
    ],
    "objective": {"decode_value": 16, "time_price": "1/2"},
}

GRAPH_PROBLEM: dict[str, Any] = {
    "graphs": [*BASE["graphs"], {"name": "mix", "duration_ms": 3, "prefill_capacity": 2, "decode_capacity": 1}],
    "requests": [
        {"id": "a", "prompt": 5, "token_value": "1/2"},
        {"id": "b", "acceptance": ["1/4", 0.5], "fairness_weight": 2},
        {"id": "c", "prompt": 0},
    ],
}
ACTION_PROBLEM: dict[str, Any] = {
    "requests": [{"id": "a", "token_value": "1/2"}, {"id": "b", "fairness_weight": 2}],
    "actions": [{"name": "x", "rates": {"a": 2}}, {"name": "y", "rates": {"a": "1/3", "b": 0.5}}],
}
SPACE: dict[str, Any] = {
    "requests": {"count": [1, 2], "prompt": [0, 2], "limit": [1, 2], "acceptance": [[], ["1/2"]], "weight": [1, "3/2"]},
    "graphs": {
        "count": [2],
        "prefill_capacity": [1, 2],
        "decode_capacity": [1],
        "width": [1, 2],
        "duration_ms": [1, "5/2"],
    },
    "objective": {"decode_value": [1], "time_price": ["1/2", 1], "age_price": [0, 1]},
}

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("solve", "FILE", "--json"),
    ("solve", "FILE", "--worst"),
    ("evaluate", "FILE", "--policy", "fixed-value"),
    ("verify", "FILE", "--policy", "fixed-value", "--json"),
    ("catalog", "check", "FILE"),
    ("allocate", "FILE", "--json"),
    ("allocate", "FILE"),
    ("long-run", "FILE", "--json"),
    ("metrics", "FILE"),
    ("export", "FILE", "--format", "drn", "--output", "OUT"),
    ("search", "--policy", "decode-first", "--space", "FILE", "--instances", "20", "--proposals", "5"),
)

numbers = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([10**9, 10**30, 10**70, -1, 0, 0.1, 1e300, "1/3", "7/2", "1e5", "1e99", "5 ms", "", "nan", "-1/2"]),
    st.floats(),
)
leaves = st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=8))
values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=8,
)


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path into a document."""
    out = [path] if path else []
    items: Any = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in items:
        out += places(value, (*path, key))
    return out


@st.composite
def documents(draw: st.DrawFn, *bases: dict[str, Any]) -> bytes:
    """A base with up to three places changed, removed or renamed; sometimes cut short or broken as bytes."""
    document: Any = json.loads(json.dumps(draw(st.sampled_from(bases))))
    for _ in range(draw(st.integers(0, 3))):
        paths = places(document)
        if not paths:
            break
        path = draw(st.sampled_from(paths))
        at = document
        for key in path[:-1]:
            at = at[key]
        how = draw(st.sampled_from(["set", "remove", "rename", "double"]))
        if how == "set":
            at[path[-1]] = draw(values)
        elif how == "remove":
            del at[path[-1]]
        elif isinstance(at, dict):
            at[draw(st.text(max_size=6))] = at[path[-1]] if how == "double" else at.pop(path[-1])
        else:
            at.append(at[path[-1]])
    text = json.dumps(document).encode()
    how = draw(st.sampled_from(["whole", "whole", "whole", "whole", "cut", "flip"]))
    if how == "cut":
        text = text[: draw(st.integers(0, len(text)))]
    elif how == "flip":
        i = draw(st.integers(0, len(text) - 1))
        text = text[:i] + bytes([draw(st.integers(0, 255))]) + text[i + 1 :]
    return text


def outcome(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Status, standard output and standard error of a command line run in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(arguments)
    return status, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: "-".join(w.strip("-") for w in c if w.islower()))
def test_a_mutated_file_gives_one_line_and_a_documented_status(command: tuple[str, ...], tmp_path: Path) -> None:
    file, target = tmp_path / "x.json", tmp_path / "out"

    bases = {"allocate": (GRAPH_PROBLEM, ACTION_PROBLEM), "search": (SPACE,)}.get(command[0], (BASE,))

    @given(documents(*bases))
    def check(content: bytes) -> None:
        file.write_bytes(content)
        target.unlink(missing_ok=True)
        words = [{"FILE": str(file), "OUT": str(target)}.get(word, word) for word in command]
        status, _, err = outcome(words)
        assert status in {0, 1, 2}
        if status:
            assert err.count("\n") <= 1
            assert "Traceback" not in err
        if status == 2:
            assert err.startswith("fairlane: ")

    check()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: "-".join(w.strip("-") for w in c if w.islower()))
@pytest.mark.parametrize("content", [b"", b"[", b"\xff", b"[" * 10_000, b'{"a": 1, "a": 2}', b"null", b"[]"])
def test_a_file_that_is_nothing_like_it_is_bad_input(command: tuple[str, ...], content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(content)
    words = [{"FILE": str(file), "OUT": str(tmp_path / "out")}.get(word, word) for word in command]
    status, out, err = outcome(words)
    empty_but_valid = command[0] == "metrics" and content in {b"[]", b""}
    assert status == 2 or empty_but_valid
    assert err.count("\n") == 1 or empty_but_valid
    assert out == "" or empty_but_valid


@pytest.mark.parametrize("field", ["prompt", "limit"])
@pytest.mark.parametrize("tokens", [10**7, 10**18, 10**59])
def test_a_request_of_astronomic_size_is_refused_at_once(field: str, tokens: int, tmp_path: Path) -> None:
    document = json.loads(json.dumps(BASE))
    document["requests"][0][field] = tokens
    file = tmp_path / "x.json"
    file.write_text(json.dumps(document))
    for command in (("solve", str(file)), ("verify", str(file)), ("evaluate", str(file), "--policy", "age-only")):
        status, out, err = outcome(command)
        assert status == 1
        # a row of a verification is an answer, and the other instances go on
        said = out if command[0] == "verify" else err
        assert "at most" in " ".join(said.split())


@pytest.mark.parametrize("missing", ["nowhere/x.json", "."])
def test_by_subprocess_a_missing_file_and_a_directory_are_one_line(missing: str, tmp_path: Path) -> None:
    for command in COMMANDS[: count(len(COMMANDS) * 10)]:
        words = [{"FILE": missing, "OUT": str(tmp_path / "out")}.get(word, word) for word in command]
        done = subprocess.run(
            [sys.executable, "-m", "fairlane", *words], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 2, done.stderr
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr
        assert done.stdout == ""
