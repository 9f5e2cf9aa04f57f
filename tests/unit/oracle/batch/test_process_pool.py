"""A pool that is left by an error shuts down in order, and a system without room for one says so in one line."""

from __future__ import annotations

import errno
import multiprocessing
import os
import threading
import time
from multiprocessing.synchronize import SemLock

import pytest

from fairlane.oracle.batch.in_order import in_order
from fairlane.oracle.batch.process_pool import process_pool
from fairlane.reference.errors import Unsupported


@pytest.fixture
def thread_errors(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What threads died of."""
    found: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda caught: found.append(caught.exc_type.__name__))
    return found


def _cancel_half_and_fail() -> None:
    with process_pool(2) as pool:
        waiting = [pool.submit(time.sleep, 0.01) for _ in range(200)]
        for future in waiting[::2]:
            future.cancel()
        raise ZeroDivisionError


def test_work_that_was_cancelled_does_not_break_the_end_of_the_pool(thread_errors: list[str]) -> None:
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            _cancel_half_and_fail()
    assert thread_errors == []


def _die(_: int) -> None:
    os._exit(9)


def _work_that_kills_its_worker() -> None:
    items = range(400)
    with process_pool(2) as pool:
        list(in_order(_die, items, costs=[10_000] * len(items), names=[str(i) for i in items], executor=pool))


def test_a_worker_that_dies_is_one_error_and_no_other(thread_errors: list[str]) -> None:
    for _ in range(5):
        with pytest.raises(Unsupported, match="a worker process ended while it worked on"):
            _work_that_kills_its_worker()
    assert thread_errors == []


def test_too_little_shared_memory_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(multiprocessing.get_context(), "Lock", full, raising=False)
    monkeypatch.setattr(SemLock, "__init__", full)
    with (
        pytest.raises(Unsupported, match=r"No space left on device; need room in /dev/shm .* --workers 1"),
        process_pool(2),
    ):
        pytest.fail("there is no pool")
