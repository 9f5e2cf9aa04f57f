"""``fairlane verify`` with worker processes, on a cluster, and with a journal: the same bytes, and no traceback."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path

import pytest

from fairlane.cli import journal as journal_module
from fairlane.cli import run
from fairlane.cli.journal import Journal, keys_of
from fairlane.reference.model.codec import dump_instance
from tests.differential.test_many_instances import check_executor
from tests.random_instances import random_instance

POLICIES = ("--policy", "fixed-value", "--policy", "mine:prompts_last")
MINE = """
from fairlane.reference import Decision


def prompts_last(view):
    rows = [r for r in view.requests if not r.prompt]
    graph = next(g for g in view.catalog if (g.decode_capacity if rows else g.prefill_capacity))
    if rows:
        return Decision(graph=graph.name, decode=tuple(r.id for r in rows[: graph.decode_capacity]))
    return Decision(graph=graph.name, prefill=(view.requests[0].id,))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six random instances and a policy of one's own."""
    rng = random.Random(5)
    for k in range(6):
        dump_instance(random_instance(rng), tmp_path / f"i{k}.json")
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "fairlane", *words]


def verify(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A run of its own process, with the policy that stands in the folder."""
    files = sorted(file.name for file in folder.glob("i*.json"))
    return subprocess.run(
        command("verify", *files, *POLICIES, *words), cwd=folder, capture_output=True, text=True, check=False
    )


def here(folder: Path, *words: str, policies: Sequence[str] = ("fixed-value", "age-only")) -> tuple[int, str, str]:
    """Status, output and errors of a run in this process, with built-in policies."""
    files = sorted(str(file) for file in folder.glob("i*.json"))
    named = [word for policy in policies for word in ("--policy", policy)]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(["verify", *files, *named, *words])
    return status, out.getvalue(), err.getvalue()


def test_the_output_does_not_depend_on_the_workers(folder: Path) -> None:
    for form in ((), ("--json",)):
        done = {here(folder, "--workers", n, *form) for n in ("1", "2", "3")}
        assert len(done) == 1
        status, text, errors = done.pop()
        assert (status, errors) == (0, "")
        assert "age-only" in text


@contextlib.contextmanager
def dask() -> Iterator[Executor]:
    """A Dask cluster of two processes on this machine."""
    distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
            protocol="tcp",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client.get_executor(pure=False)


@pytest.mark.filterwarnings("default")
def test_the_output_does_not_depend_on_the_cluster(folder: Path) -> None:
    alone = verify(folder, "--workers", "1", "--json")
    with dask() as pool:
        address: str = pool._client.scheduler.address  # type: ignore[attr-defined]  # Dask's executor
        done = verify(folder, "--cluster", address, "--json")
        check_executor(pool)
    # the policy's module is in a folder that the cluster's workers do not know
    assert done.stderr == ""
    assert done.returncode == 0
    assert done.stdout == alone.stdout


@pytest.fixture
def deaf() -> Iterator[str]:
    """An address where something listens, and answers nothing that a scheduler would say."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            try:
                while True:
                    caller, _ = server.accept()
                    with caller:
                        caller.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")
            except OSError:
                return

        threading.Thread(target=answer, daemon=True).start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


def test_an_address_without_a_scheduler_is_one_line_within_seconds(folder: Path, deaf: str) -> None:
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = f"127.0.0.1:{server.getsockname()[1]}"
    for address in (closed, deaf, "nowhere"):
        begun = time.monotonic()
        status, text, errors = here(folder, "--cluster", address)
        assert time.monotonic() - begun < 15
        assert status == 2
        assert errors.startswith(f"fairlane: --cluster is '{address}': ")
        assert errors.count("\n") == 1
        assert text == ""


def test_without_the_extra_the_line_names_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    line = "fairlane: --cluster needs Dask; install the extra: pip install 'fairlane[cluster]'\n"
    assert here(folder, "--cluster", "127.0.0.1:8786") == (1, "", line)


def test_workers_and_cluster_together_are_refused(folder: Path) -> None:
    status, _, errors = here(folder, "--cluster", "127.0.0.1:8786", "--workers", "2")
    assert status == 2
    assert "need one of them" in errors


def rows(path: Path) -> list[tuple[str, str]]:
    lines = path.read_text().splitlines()
    return [(line["instance"], line["policy"]) for line in map(json.loads, lines)]


def test_a_run_that_was_killed_goes_on_from_its_journal(folder: Path) -> None:
    # the policy stops for good at the fourth instance until a file lets it pass, so the kill falls half-way
    gate = MINE.replace(
        "    rows = ",
        "    import pathlib, time\n"
        "    while view.requests[0].id == 'held' and not pathlib.Path('open').exists():\n"
        "        time.sleep(0.05)\n"
        "    rows = ",
        1,
    )
    (folder / "mine.py").write_text(gate)
    held = json.loads((folder / "i3.json").read_text())
    held["requests"] = [{"id": "held", "prompt": 0, "limit": 4}, {"id": "r", "prompt": 0, "limit": 5}]
    (folder / "i3.json").write_text(json.dumps(held))
    files = [f"i{k}.json" for k in range(6)]
    journal = folder / "j"
    running = subprocess.Popen(
        command("verify", *files, *POLICIES, "--workers", "2", "--journal", "j", "--json"),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until = time.monotonic() + 60
        while not journal.exists() or len(journal.read_text().splitlines()) < 6:
            assert time.monotonic() < until
            assert running.poll() is None, running.communicate()
            time.sleep(0.02)
    finally:
        running.send_signal(signal.SIGKILL)
        # ends only when no process holds the pipes any more: workers follow their parent
        running.communicate(timeout=20)
    before = rows(journal)
    assert 6 <= len(before) < 12
    assert not [row for row in before if row[0] == "i3"]
    # a kill in the middle of a write
    with journal.open("ab") as file:
        file.write(b'{"fairlane_verify": 2, "key": "5f')
    (folder / "open").touch()
    done = verify(folder, "--workers", "2", "--journal", "j", "--json")
    assert done.returncode == 0, done.stderr
    after = rows(journal)
    assert after[: len(before)] == before
    assert sorted(after) == sorted({*after})
    assert len(after) == 12
    assert done.stdout == verify(folder, "--workers", "1", "--json").stdout


def test_a_journal_is_kept_for_what_it_was_written_for(folder: Path) -> None:
    first = here(folder, "--workers", "1", "--journal", str(folder / "j"))
    assert first == here(folder)
    assert len(rows(folder / "j")) == 12
    # nothing is left to do, and one policy more is all there is to do
    assert here(folder, "--workers", "1", "--journal", str(folder / "j"), "--json") == here(folder, "--json")
    assert len(rows(folder / "j")) == 12
    three = ("least-served", "age-only", "fixed-value")
    more = here(folder, "--workers", "1", "--journal", str(folder / "j"), "--json", policies=three)
    assert more == here(folder, "--json", policies=three)
    assert rows(folder / "j")[12:] == [(f"i{k}", "least-served") for k in range(6)]
    # the content of an instance counts, its name does not
    changed = json.loads((folder / "i0.json").read_text())
    changed["objective"]["decode_value"] = 17
    (folder / "i0.json").write_text(json.dumps(changed))
    (folder / "i1.json").rename(folder / "i9.json")
    status, text, _ = here(folder, "--workers", "1", "--journal", str(folder / "j"), "--json")
    assert status == 0
    assert rows(folder / "j")[18:] == [("i0", "fixed-value"), ("i0", "age-only")]
    assert [row["instance"] for row in json.loads(text)["rows"]][-2:] == ["i9", "i9"]


def test_the_text_of_a_policys_module_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_instance(random.Random(6))
    module = types.ModuleType("mine_in_a_journal")
    module.__file__ = str(folder / "mine.py")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names = ("mine_in_a_journal:prompts_last", "age-only")
    before = keys_of(instance, names)
    (folder / "mine.py").write_text(MINE + "\n# changed\n")
    after = keys_of(instance, names)
    assert before[names[0]] != after[names[0]]
    assert before[names[1]] == after[names[1]]


@pytest.mark.parametrize(
    "content", [b"a table of mine", b"[1, 2]\n", b'{"fairlane_verify": 2, "key": 3}\n', b'{"fairlane_verify": 1, ]\n']
)
def test_another_file_is_no_journal_and_stays_as_it_is(folder: Path, content: bytes) -> None:
    (folder / "j").write_bytes(content)
    line = f"fairlane: {folder / 'j'} line 1 is no line of a journal; need a file that --journal wrote\n"
    assert here(folder, "--journal", str(folder / "j")) == (2, "", line)
    assert (folder / "j").read_bytes() == content


def test_a_journal_that_cannot_be_written_is_one_line(folder: Path) -> None:
    for place in (folder, folder / "nowhere" / "j"):
        status, text, errors = here(folder, "--journal", str(place))
        assert (status, text) == (2, "")
        assert "cannot be written" in errors


def test_a_journal_line_whose_numbers_do_not_fit_is_refused(folder: Path) -> None:
    here(folder, "--journal", str(folder / "j"))
    text = (folder / "j").read_text()
    line = next(line for line in text.splitlines() if '"first_loss": {' in line)
    for field, wrong in (("optimum", "x"), ("value", 3), ("states", "many"), ("first_loss", {"state": []})):
        broken = {**json.loads(line), field: wrong}
        (folder / "j").write_text(text.replace(line, json.dumps(broken)))
        status, _, errors = here(folder, "--journal", str(folder / "j"))
        assert status == 2, field
        assert "is no line of a journal" in errors
    other = {**json.loads(line), "optimum": "1000000"}
    (folder / "j").write_text(text.replace(line, json.dumps(other)))
    assert "need a new journal" in here(folder, "--journal", str(folder / "j"))[2]


@pytest.mark.parametrize("place", ["/dev/null", "/dev/full", "pipe"])
def test_a_journal_that_cannot_be_read_again_is_one_line(folder: Path, place: str) -> None:
    os.mkfifo(folder / "pipe")
    status, text, errors = here(folder, "--journal", str(folder / place))
    assert (status, text) == (2, "")
    assert errors == f"fairlane: {str(folder / place)!r} is a device or a pipe; need a file, which can be read again\n"


def test_a_second_writer_of_a_journal_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_module, "LOCK_S", 0.1)
    with Journal(folder / "j"):
        status, text, errors = here(folder, "--journal", str(folder / "j"))
    assert (status, text) == (2, "")
    assert "j' is being written by another run; need a journal of its own for each" in errors
    assert here(folder, "--journal", str(folder / "j"))[0] == 0


# what an interrupted write leaves: a block of zeros, a line that never began, half a line, half a line in a block
@pytest.mark.parametrize(
    "debris",
    [
        b"\0" * 4096,
        b"\n",
        b"\n\n \t\r\n",
        b"\xef\xbb\xbf",
        b'{"fairl',
        b'{"fairlane_verify": 2, "key": "0\0\0\0',
        b"\0\n\0",
    ],
)
def test_what_a_power_loss_leaves_at_the_end_is_dropped(folder: Path, debris: bytes) -> None:
    journal = folder / "j"
    first = here(folder, "--workers", "1", "--journal", str(journal))
    assert first[0] == 0
    sound = journal.read_bytes()
    journal.write_bytes(sound + debris)
    assert here(folder, "--workers", "1", "--journal", str(journal)) == first
    assert journal.read_bytes() == sound
    # the debris alone is what is left of a journal whose first line was lost
    if not debris.strip(b"\0 \t\r\n\xef\xbb\xbf"):
        journal.write_bytes(debris)
        assert here(folder, "--workers", "1", "--journal", str(journal)) == first


def test_a_byte_order_mark_before_a_journal_costs_no_line(folder: Path) -> None:
    journal = folder / "j"
    first = here(folder, "--workers", "1", "--journal", str(journal))
    marked = b"\xef\xbb\xbf" + journal.read_bytes()
    journal.write_bytes(marked)
    assert here(folder, "--workers", "1", "--journal", str(journal)) == first
    assert journal.read_bytes() == marked


def test_numbers_that_would_take_for_ever_are_no_line_of_a_journal(folder: Path) -> None:
    here(folder, "--journal", str(folder / "j"))
    lines = (folder / "j").read_text().splitlines()
    broken = {**json.loads(lines[0]), "optimum": "1e999999999"}
    (folder / "j").write_text(json.dumps(broken) + "\n")
    assert "is no line of a journal" in here(folder, "--journal", str(folder / "j"))[2]
    (folder / "j").write_text('{"fairlane_verify": 2, "key": ' + "[" * 100_000 + "\n")
    assert "line 1 is no line of a journal" in here(folder, "--journal", str(folder / "j"))[2]
