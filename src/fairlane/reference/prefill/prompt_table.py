"""Prefill lists under unequal prices as a dense table over (completed prompts, tokens): exact at any size.

``table[k, s]`` is the largest value of k completed prompts with s tokens together. A partial prompt j must not be
among the completed ones. Of one price it may be taken as the longest chosen, so it is enough to add the prompts of
its own price last, in rising length, and to close the table with j just before j is added. A division of the prices
in halves shares the work of "all the others first": n log(prices) additions of one prompt to a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from fairlane.reference.prefill.prompt import WholePrompt

# of 64-bit integers, or of Python's where values are larger
Table = npt.NDArray[np.int64]

# unreachable; far enough below zero that no sum of values lifts it
FAR = -(2**61)


class _End(NamedTuple):
    """How a list ends: its value, the partial prompt or -1, and the place of its completed prompts in the table."""

    value: int
    partial: int
    completed: int
    tokens: int


class _Problem(NamedTuple):
    items: Sequence[WholePrompt]
    capacity: int
    lanes: int
    most: int
    completable: frozenset[int]
    closable: frozenset[int]


def best_set_by_table(
    items: Sequence[WholePrompt],
    capacity: int,
    lanes: int,
    *,
    completable: frozenset[int],
    closable: frozenset[int],
) -> tuple[int, ...]:
    """Indices, ascending, of a set of largest value.

    Parameters
    ----------
    items : sequence of WholePrompt
        Least recently served first.
    capacity, lanes : int
        Tokens and prompts that fit.
    completable, closable : frozenset of int
        Indices that a best list may hold completed, or partial; a bound has ruled out the rest.

    Notes
    -----
    The value is exact. Of equal values the longest partial prompt and then the oldest completed ones are taken, which
    need not be the oldest set over all partial prompts.
    """
    lengths = sorted(items[i].tokens for i in completable if items[i].tokens <= capacity)
    most = min(lanes, sum(1 for total in accumulate(lengths) if total <= capacity))
    problem = _Problem(items, capacity, lanes, most, completable, closable)
    prices: dict[tuple[int, int], list[int]] = {}
    for i in sorted(completable | closable, key=lambda i: (items[i].tokens, i)):
        prices.setdefault((items[i].rate, items[i].bonus), []).append(i)
    ends: list[_End] = []
    _close_each(problem, list(prices.values()), _empty(problem), 0, ends.append)
    best = max(ends, key=lambda end: end.value)
    before = set(completable) - {best.partial}
    if best.partial >= 0:
        own = prices[items[best.partial].rate, items[best.partial].bonus]
        before -= set(own[own.index(best.partial) :])
    chosen = _oldest_completed(problem, sorted(before), best)
    return tuple(sorted((*chosen, best.partial) if best.partial >= 0 else chosen))


def _empty(problem: _Problem) -> Table:
    shape = (problem.most + 1, problem.capacity + 1)
    bits = sum(item.full for item in problem.items).bit_length()
    if bits > 60:
        out = cast("Table", np.full(shape, -(2 ** (bits + 2)), dtype=object))
    else:
        out = np.full(shape, FAR, dtype=np.int64)
    out[0, 0] = 0
    return out


def _with_prompt(problem: _Problem, table: Table, i: int, count: int) -> int:
    """Add a prompt as one that may be completed; ``count`` prompts were added before."""
    item = problem.items[i]
    if i not in problem.completable or item.tokens > problem.capacity:
        return count
    rows = min(problem.most, count + 1)
    grown = table[:rows, : problem.capacity + 1 - item.tokens] + item.full
    target = table[1 : rows + 1, item.tokens :]
    np.maximum(target, grown, out=target)
    return count + 1


def _close_each(
    problem: _Problem, prices: list[list[int]], table: Table, count: int, found: Callable[[_End], None]
) -> None:
    if len(prices) > 1:
        middle = len(prices) // 2
        for mine, others in ((prices[:middle], prices[middle:]), (prices[middle:], prices[:middle])):
            filled, n = table.copy(), count
            for i in (i for group in others for i in group):
                n = _with_prompt(problem, filled, i, n)
            _close_each(problem, mine, filled, n, found)
        return
    free = min(problem.most, problem.lanes - 1)
    for i in prices[0] if prices else ():
        item = problem.items[i]
        start = max(0, problem.capacity - item.tokens + 1)
        if i in problem.closable and start < problem.capacity:
            left = np.arange(problem.capacity - start, 0, -1).astype(table.dtype)
            closed = table[: free + 1, start : problem.capacity] + left * item.rate
            place = int(np.argmax(closed))
            k, s = divmod(place, problem.capacity - start)
            found(_End(int(closed[k, s]), i, k, start + s))
        count = _with_prompt(problem, table, i, count)
    k, s = divmod(int(np.argmax(table)), problem.capacity + 1)
    found(_End(int(table[k, s]), -1, k, s))


def _oldest_completed(problem: _Problem, allowed: Sequence[int], end: _End) -> list[int]:
    """The oldest set of completed prompts that reaches an end's place in the table with its value."""
    table = _empty(problem)
    taken: dict[int, npt.NDArray[np.uint8]] = {}
    shape = table.shape
    count = 0
    for i in reversed(allowed):
        before = table.copy()
        count = _with_prompt(problem, table, i, count)
        item = problem.items[i]
        if item.tokens > problem.capacity:
            continue
        hold = np.zeros(shape, dtype=bool)
        grown = before[:-1, : problem.capacity + 1 - item.tokens] + item.full
        hold[1:, item.tokens :] = (grown >= before[1:, item.tokens :]) & (grown >= 0)
        taken[i] = np.packbits(hold)
    chosen: list[int] = []
    k, s = end.completed, end.tokens
    for i in allowed:
        if k == 0:
            break
        place = k * shape[1] + s
        if i in taken and taken[i][place >> 3] >> (7 - (place & 7)) & 1:
            chosen.append(i)
            k, s = k - 1, s - problem.items[i].tokens
    return chosen
