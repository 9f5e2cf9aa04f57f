"""Many independent pieces of work through any executor, with results in the order of the input.

Tiny pieces travel in batches, so that thousands of them do not pay for a message each. How pieces are batched
depends on the pieces alone, never on the executor, and each is computed as it would be on its own: the results
are the same for any number of workers.
"""

from __future__ import annotations

import pickle
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass
from typing import Generic, TypeVar

from fairlane.reference.errors import FairlaneError, Unsupported

Item = TypeVar("Item")
Result = TypeVar("Result")

# a batch ends at this much estimated work or at this many pieces, some tenths of a second either way
BATCH_COST = 2_000
BATCH_ITEMS = 256
# few pieces travel alone: an estimate knows nothing of a slow policy, and what is in work is what a kill loses
LEAST_BATCHES = 16
# how often progress is told while nothing ends, seconds
HEARTBEAT_S = 0.25


@dataclass(frozen=True, slots=True)
class _Done(Generic[Result]):
    """What a batch gave: results up to its end or its first error."""

    results: tuple[Result, ...]
    error: Exception | None


def batches(costs: Sequence[int]) -> tuple[range, ...]:
    """Consecutive pieces cut into batches by estimated work.

    Parameters
    ----------
    costs : sequence of int
        Estimated work of each piece, >= 0, in states.

    Returns
    -------
    tuple of range
        Indices of each batch; together all of them, in order.
    """
    out: list[range] = []
    most = min(BATCH_ITEMS, max(1, len(costs) // LEAST_BATCHES))
    start, load = 0, 0
    for i, cost in enumerate(costs):
        # a large piece never waits behind small ones of its own batch
        if i > start and (load + cost > BATCH_COST or i - start == most):
            out.append(range(start, i))
            start, load = i, 0
        load += cost
    if start < len(costs):
        out.append(range(start, len(costs)))
    return tuple(out)


def in_order(
    task: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    costs: Sequence[int],
    names: Sequence[str],
    executor: Executor | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    on_result: Callable[[int, Result], None] | None = None,
) -> Iterator[Result]:
    """Results of a task on every piece, in the order of the pieces, each as soon as it and those before are known.

    Parameters
    ----------
    task : callable
        Takes one piece. With an executor of other processes it must pickle, as must pieces and results.
    items : sequence
        The pieces.
    costs : sequence of int
        Estimated work of each piece, in states.
    names : sequence of str
        What to call each piece in an error.
    executor : Executor or None
        Where the work is done; in this thread when None. It is not shut down here.
    on_progress : callable or None
        Called with (pieces done, pieces), again and again while the work goes on.
    on_result : callable or None
        Called with (index, result) as soon as a piece is done, which with an executor is in no certain order.

    Yields
    ------
    object
        One result a piece.

    Raises
    ------
    FairlaneError
        The error of the first piece, in input order, that has one; its message names the piece.
    Unsupported
        A worker died, or the executor gave the work up.
    """
    total = len(items)
    if executor is None:
        for i, item in enumerate(items):
            try:
                result = task(item)
            except Exception as error:
                raise _named(error, names[i]) from error.__cause__
            if on_result is not None:
                on_result(i, result)
            if on_progress is not None:
                on_progress(i + 1, total)
            yield result
        return
    cut = batches(costs)
    finished: queue.SimpleQueue[int] = queue.SimpleQueue()
    futures: list[Future[_Done[Result]]] = []
    outcomes: dict[int, _Done[Result]] = {}
    done = following = 0
    worked_on = range(0)
    # batches from here on are of no use: one before them has failed
    end = len(cut)
    try:
        for b, places in enumerate(cut):
            worked_on = range(places.stop)
            future = executor.submit(_run, task, [items[i] for i in places])
            future.add_done_callback(lambda _, b=b: finished.put(b))  # type: ignore[misc]  # the default binds b
            futures.append(future)
        while following < end:
            if on_progress is not None:
                on_progress(done, total)
            try:
                b = finished.get(timeout=HEARTBEAT_S)
            except queue.Empty:
                continue
            if b >= end:
                continue
            worked_on = cut[b]
            outcome = outcomes[b] = _outcome(futures[b], _span(names, worked_on))
            done += len(outcome.results)
            for i, result in zip(cut[b], outcome.results, strict=False):
                if on_result is not None:
                    on_result(i, result)
            if outcome.error is not None:
                end = b + 1
                for late in futures[end:]:
                    late.cancel()
            while following < end and following in outcomes:
                ready = outcomes.pop(following)
                yield from ready.results
                if ready.error is not None:
                    raise _named(ready.error, names[cut[following][len(ready.results)]])
                following += 1
        if on_progress is not None:
            on_progress(done, total)
    except BrokenExecutor:
        # it is telling every other batch the same, and fails where it finds one cancelled
        futures.clear()
        raise Unsupported(
            f"a worker process ended while it worked on {_span(names, worked_on)}; need workers that are not killed "
            "(fewer of them take less memory)"
        ) from None
    finally:
        for future in futures:
            future.cancel()


def _span(names: Sequence[str], places: range) -> str:
    return f"{names[places[0]]} to {names[places[-1]]}"


def _outcome(future: Future[_Done[Result]], where: str) -> _Done[Result]:
    try:
        return future.result()
    except CancelledError:
        raise Unsupported(f"the executor gave up {where}; need one that stays up until the work is done") from None


def _run(task: Callable[[Item], Result], items: Sequence[Item]) -> _Done[Result]:
    results: list[Result] = []
    for item in items:
        try:
            results.append(task(item))
        except Exception as error:
            return _Done(tuple(results), _portable(error))
    return _Done(tuple(results), None)


def _portable(error: Exception) -> Exception:
    """The error itself where it can travel between processes, otherwise one with its text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _named(error: Exception, name: str) -> Exception:
    if isinstance(error, FairlaneError):
        return type(error)(f"{name}: {error}").with_traceback(error.__traceback__)
    # a fault of a policy's own code keeps its type, and says where
    error.add_note(f"while working on {name}")
    return error
