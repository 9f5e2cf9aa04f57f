"""A pool of worker processes that never outlive the work: not an interrupt, not an error, not a killed parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait

from fairlane.reference.errors import Unsupported

# how long the pool may take to drop what was cancelled, seconds; it takes milliseconds
DROP_S = 5.0


@contextmanager
def process_pool(workers: int) -> Iterator[Executor]:
    """A process pool for the length of a block.

    Leaving the block by an error, an interrupt included, ends the workers at once, in the middle of their work.
    Workers leave interrupts from the terminal to the parent, and end when the parent is gone.

    Parameters
    ----------
    workers : int
        Processes, >= 1.

    Yields
    ------
    Executor
        The pool.

    Raises
    ------
    Unsupported
        The system has no room for worker processes.
    """
    before = set(multiprocessing.active_children())
    with _interrupts_held():
        # workers inherit the held interrupt, so there is no moment at which one could end them with a traceback
        try:
            pool = ProcessPoolExecutor(max_workers=workers, initializer=_prepare)
            for _ in range(workers):
                pool.submit(os.getpid)
        except OSError as error:
            # semaphores live in /dev/shm, which containers may leave small or out
            raise Unsupported(
                f"{workers} worker processes cannot be started: {error.strerror or error}; need room in /dev/shm and "
                "for processes, or --workers 1"
            ) from None
    try:
        yield pool
    except BaseException:
        with _interrupts_held():
            _drop_the_rest(pool)
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
        raise
    finally:
        pool.shutdown(wait=True)


def _drop_the_rest(pool: ProcessPoolExecutor) -> None:
    """Cancel what no worker has begun, and wait until the pool's own thread has let go of it.

    That thread marks all work it holds as failed when a worker ends, and dies of an InvalidStateError at a future that
    was cancelled before. Work is handed out in order: once a last piece has been cancelled or begun, the thread holds
    nothing older that was cancelled.
    """
    try:
        last = pool.submit(os.getpid)
    except (BrokenExecutor, RuntimeError):
        # it has failed or been shut down already, and holds nothing
        pool.shutdown(wait=False, cancel_futures=True)
        return
    pool.shutdown(wait=False, cancel_futures=True)
    until = time.monotonic() + DROP_S
    while not (last.running() or last.done()) and time.monotonic() < until:
        time.sleep(0.002)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _prepare() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # a terminated worker ends quietly even if the parent had a handler of its own
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "runs in a worker process only"
    wait([parent.sentinel])
    os._exit(1)
