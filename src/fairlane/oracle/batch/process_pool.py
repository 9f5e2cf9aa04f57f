"""A pool of worker processes that never outlive the work: not an interrupt, not an error, not a killed parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait


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
    """
    before = set(multiprocessing.active_children())
    with _interrupts_held():
        # workers inherit the held interrupt, so there is no moment at which one could end them with a traceback
        pool = ProcessPoolExecutor(max_workers=workers, initializer=_prepare)
        for _ in range(workers):
            pool.submit(os.getpid)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True)


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
