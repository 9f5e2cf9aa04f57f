"""The knapsack behind prefill lists: prompts that share one capacity and a number of lanes.

A list is filled in order until the capacity C is used up, so at most its last prompt is partial. Item i earns a_i
for each token (``rate``) and b_i when its last token is consumed (``bonus``). Items come least recently served
first; of equal values the set that is lexicographically smallest in that order wins.

Where all prices are equal, only the total of tokens and the number of completed prompts count. Then a best list is
one of three kinds, with s(g) the sum of the g shortest and l(g) of the g longest prompts, and G lanes in use:

* g prompts, the last one partial, possible exactly if s(g - 1) < C < l(g), worth a C + b (g - 1);
* the g shortest where s(g) = C exactly, worth a C + b g;
* G completed prompts with the largest sum that is at most C, a subset sum of fixed size.

Every other list is worth less: with a lane free and capacity left, one more prompt adds to it. Only the third kind
needs a table, held as bit sets. With unequal prices a forward induction over (lanes, tokens, partial prompt) runs
instead, cut by a Lagrangian bound (Kellerer, Pferschy and Pisinger, "Knapsack Problems", 2004, chapters 5 and 9).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import NamedTuple

from fairlane.reference.prefill.prompt import Prompt, WholePrompt
from fairlane.reference.prefill.prompt_induction import best_priced_set


def best_list(prompts: Sequence[Prompt], capacity: int, lanes: int) -> tuple[int, ...]:
    """Indices of the list of largest value, in the order they are filled.

    Parameters
    ----------
    prompts : sequence of Prompt
        Least recently served first. Floats count as the rationals they are.
    capacity, lanes : int
        Tokens and prompts that fit, >= 0 and >= 1.

    Returns
    -------
    tuple of int
        Completed prompts in index order, then the partial one if any; empty where nothing can be filled.

    Notes
    -----
    Exact. Equal prices: n log n, and n times lanes operations on bit sets of ``capacity`` bits where the lanes bind.
    Unequal prices: at most lanes times capacity times n states, far fewer after the bound.

    Examples
    --------
    >>> best_list([Prompt(10, 1, 5), Prompt(9, 1, 5), Prompt(1, 1, 5)], 10, 2)
    (1, 2)
    """
    return PromptKnapsack(prompts).best(capacity, lanes)


class PromptKnapsack:
    """Prompts with their prices made whole numbers once, for the lists of many graphs; see :func:`best_list`."""

    def __init__(self, prompts: Sequence[Prompt]) -> None:
        self.items, self._unit = _whole(prompts)
        self._total = sum(p.tokens for p in prompts)
        self._equal = len({item[1:] for item in self.items}) == 1
        self._sums: _Sums | None = None

    def at_most(self, capacity: int, lanes: int) -> Fraction:
        """A bound on the value of a list, found in logarithmic time after the first call.

        The lesser of two relaxations: any part of any prompt at its density with no count of lanes, and the most
        valuable prompts in full with no capacity.
        """
        if self._sums is None:
            self._sums = _Sums.of(self.items)
        return Fraction(min(self._sums.within(capacity), self._sums.in_lanes[: lanes + 1][-1]), self._unit)

    def best(self, capacity: int, lanes: int) -> tuple[int, ...]:
        """Indices of the list of largest value, in the order they are filled."""
        items = self.items
        if capacity <= 0 or not items:
            return ()
        if lanes == 1:
            values = [item.full if item.tokens <= capacity else item.rate * capacity for item in items]
            return (values.index(max(values)),)
        if len(items) <= lanes and self._total <= capacity:
            return tuple(range(len(items)))
        if self._equal:
            chosen = _equal_prices([p.tokens for p in items], capacity, lanes, items[0].rate, items[0].bonus)
        else:
            chosen = best_priced_set(items, capacity, lanes)
        return _in_filling_order(items, chosen, capacity)


def best_equal_list(tokens: Sequence[int], capacity: int, lanes: int, rate: int, bonus: int) -> tuple[int, ...]:
    """The list of :func:`best_list` for prompts of one price, without an object a prompt.

    ``capacity`` and ``lanes`` are >= 1, ``tokens`` least recently served first and not empty, prices whole numbers.
    """
    if len(tokens) <= lanes and sum(tokens) <= capacity:
        return tuple(range(len(tokens)))
    chosen = _equal_prices(tokens, capacity, lanes, rate, bonus)
    total = sum([tokens[i] for i in chosen])
    if total <= capacity:
        return chosen
    # whoever is partial, as much is lost
    partial = max(i for i in chosen if total - tokens[i] < capacity)
    return (*(i for i in chosen if i != partial), partial)


class _Sums(NamedTuple):
    """Running sums of prompts by falling density, and of whole values by falling value."""

    densest: list[WholePrompt]
    tokens: list[int]
    values: list[int]
    in_lanes: list[int]

    @classmethod
    def of(cls, items: Sequence[WholePrompt]) -> _Sums:
        densest = sorted(items, key=lambda item: Fraction(-item.full, item.tokens))
        return cls(
            densest,
            [0, *accumulate(item.tokens for item in densest)],
            [0, *accumulate(item.full for item in densest)],
            [0, *accumulate(sorted((item.full for item in items), reverse=True))],
        )

    def within(self, capacity: int) -> int:
        """The relaxation by capacity, rounded up."""
        k = bisect_right(self.tokens, capacity) - 1
        if k == len(self.densest):
            return self.values[k]
        item = self.densest[k]
        return self.values[k] - (-item.full * (capacity - self.tokens[k])) // item.tokens


def _whole(prompts: Sequence[Prompt]) -> tuple[list[WholePrompt], int]:
    """Prompts in whole numbers, and how many of their units make one."""
    if all(type(p.rate) is int and type(p.bonus) is int for p in prompts):
        return [WholePrompt(p.tokens, int(p.rate), int(p.bonus)) for p in prompts], 1
    exact = [(Fraction(p.rate), Fraction(p.bonus)) for p in prompts]
    scale = lcm(*(q.denominator for pair in exact for q in pair))
    whole = [WholePrompt(p.tokens, int(a * scale), int(b * scale)) for p, (a, b) in zip(prompts, exact, strict=True)]
    return whole, scale


def _in_filling_order(items: Sequence[WholePrompt], chosen: tuple[int, ...], capacity: int) -> tuple[int, ...]:
    """The most valuable order of a set; of equal ones the latest member that may be partial is."""
    total = sum(items[i].tokens for i in chosen)
    if total <= capacity:
        return chosen
    best: tuple[int, int] | None = None
    for i in chosen:
        if total - items[i].tokens >= capacity:
            continue
        left = capacity - (total - items[i].tokens)
        # everything but i is completed
        lost = items[i].rate * (items[i].tokens - left) + items[i].bonus
        if best is None or lost <= best[0]:
            best = (lost, i)
    assert best is not None, "a chosen set has a member that may be partial"
    return (*(i for i in chosen if i != best[1]), best[1])


def _equal_prices(tokens: Sequence[int], capacity: int, lanes: int, rate: int, bonus: int) -> tuple[int, ...]:
    used = min(lanes, len(tokens))
    ascending = sorted(tokens)
    shortest = (0, *accumulate(ascending))
    longest = (0, *accumulate(reversed(ascending)))
    options: list[tuple[int, tuple[int, ...]]] = []
    best = -1
    for g in range(used, 0, -1):
        value = rate * capacity + bonus * (g - 1)
        if value < best:
            break
        if shortest[g - 1] < capacity < longest[g]:
            best = value
            options.append((value, _oldest_partial(tokens, capacity, g)))
    for g in range(1, used + 1):
        if shortest[g] == capacity:
            options.append((rate * capacity + bonus * g, _oldest_of_extreme(tokens, g, shortest_ones=True)))
    # completing all lanes can only win if even the best conceivable sum would
    if shortest[used] < capacity and rate * min(capacity, longest[used]) + bonus * used >= best:
        if longest[used] <= capacity:
            chosen: tuple[int, ...] = _oldest_of_extreme(tokens, used, shortest_ones=False)
        else:
            chosen = largest_sum(tokens, capacity, used)
        options.append((rate * sum(tokens[i] for i in chosen) + bonus * used, chosen))
    return min(options, key=lambda option: (-option[0], option[1]))[1]


def _oldest_partial(tokens: Sequence[int], capacity: int, size: int) -> tuple[int, ...]:
    """The first set of ``size`` that overflows the capacity, and would not without its longest member."""
    later = sorted(tokens)
    chosen: list[int] = []
    total = longest = 0
    for i, p in enumerate(tokens):
        del later[bisect_left(later, p)]
        more = size - len(chosen) - 1
        if more > len(later):
            chosen.append(i)
            break
        low = total + p + sum(later[:more])
        top = max(longest, p, later[more - 1] if more else 0)
        if low - top < capacity < total + p + sum(later[len(later) - more :]):
            chosen.append(i)
            total, longest = total + p, max(longest, p)
            if more == 0:
                break
    return tuple(chosen)


def _oldest_of_extreme(tokens: Sequence[int], size: int, *, shortest_ones: bool) -> tuple[int, ...]:
    """The shortest (or longest) prompts, the oldest among equals."""
    sign = 1 if shortest_ones else -1
    return tuple(sorted(sorted(range(len(tokens)), key=lambda i: (sign * tokens[i], i))[:size]))


BLOCK = 16


def largest_sum(tokens: Sequence[int], capacity: int, size: int) -> tuple[int, ...]:
    """The first set of exactly ``size`` prompts whose sum is largest among those of at most ``capacity``.

    Some such set must exist. Bit t of ``rows[k]`` says that k prompts of a suffix sum to t. Every sixteenth suffix
    is kept and the ones between are computed again on the way back, which bounds the memory.
    """
    n = len(tokens)
    mask = (1 << (capacity + 1)) - 1
    kept: dict[int, list[int]] = {}

    def extended(rows: list[int], p: int, most: int) -> list[int]:
        out = rows[:]
        if len(out) <= most:
            out.append(0)
        for k in range(len(out) - 1, 0, -1):
            out[k] |= (rows[k - 1] << p) & mask
        return out

    rows = [1]
    for i in range(n, 0, -1):
        if i % BLOCK == 0 or i == n:
            kept[i] = rows
        rows = extended(rows, tokens[i - 1], size)
    left = rows[size].bit_length() - 1
    assert left >= 0, "a set of this size fits"
    chosen: list[int] = []
    block: dict[int, list[int]] = {}
    for i, p in enumerate(tokens):
        need = size - len(chosen) - 1
        if i + 1 not in block:
            end = min(n, -(-(i + 1) // BLOCK) * BLOCK)
            block = {end: kept[end]}
            for j in range(end, i + 1, -1):
                block[j - 1] = extended(block[j], tokens[j - 1], size)
        after = block[i + 1]
        if p <= left and need < len(after) and after[need] >> (left - p) & 1:
            chosen.append(i)
            left -= p
            if need == 0:
                break
    return tuple(chosen)
