"""Prefill lists under unequal prices: forward induction over (lanes, tokens, partial prompt) with a bound.

Items are taken least recently served first, so of equal values in one state the lexicographically smaller set can be
kept. With a multiplier m on capacity, what a state can still gain is at most m times the tokens left plus the
largest positive reduced values v_j - m p_j of later items, one a lane; states that cannot reach a value already
known are dropped. Where too many states stay, the dense table of `prompt_table` takes over.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from fairlane.reference.prefill.prompt import WholePrompt

MOST_STATES = 30_000


class _Best(NamedTuple):
    value: int
    members: tuple[int, ...]


class _Room(NamedTuple):
    """What bounds a state before item i + 1: see the module docstring."""

    capacity: int
    lanes: int
    price: int
    gains: list[int]

    def reach(self, used: int, tokens: int, value: int, partial: WholePrompt | None) -> int:
        left = self.capacity - tokens
        extra = 0 if partial is None else max(0, partial.rate - self.price)
        return value + (self.price + extra) * left + self.gains[min(self.lanes - used, len(self.gains) - 1)]


def best_priced_set(prompts: Sequence[WholePrompt], capacity: int, lanes: int) -> tuple[int, ...]:
    """Indices, ascending, of the set of largest value.

    The value is exact. So is the tie-break up to 30,000 states; beyond them see
    :func:`fairlane.reference.prefill.prompt_table.best_set_by_table`.
    """
    multiplier = _multiplier(prompts, capacity, lanes)
    # scaled so that the multiplier, too, is whole
    scale = multiplier.denominator
    items = [WholePrompt(p.tokens, p.rate * scale, p.bonus * scale) for p in prompts]
    gains = _later_gains(items, multiplier.numerator, lanes)
    known = _greedy(items, capacity, lanes)
    # key: lanes used, tokens used by completed prompts, partial prompt or -1
    states: dict[tuple[int, int, int], _Best] = {(0, 0, -1): _Best(0, ())}
    visited = 0
    for i, item in enumerate(items):
        following: dict[tuple[int, int, int], _Best] = {}
        room = _Room(capacity, lanes, multiplier.numerator, gains[i + 1])
        for (used, tokens, k), best in states.items():
            partial = items[k] if k >= 0 else None
            offers = [((used, tokens, k), best, partial)]
            if used < lanes:
                members = (*best.members, i)
                total = tokens + item.tokens
                # of one price the partial prompt may be taken as the longest: swapping two changes no value
                swapped = partial is not None and partial[1:] == item[1:] and item.tokens > partial.tokens
                if not swapped and total + (k >= 0) <= capacity:
                    full = _Best(best.value + item.full, members)
                    known = max(known, full.value) if partial is None else known
                    offers.append(((used + 1, total, k), full, partial))
                if partial is None and tokens < capacity:
                    offers.append(((used + 1, tokens, i), _Best(best.value, members), item))
            for key, offer, pending in offers:
                if room.reach(key[0], key[1], offer.value, pending) < known:
                    continue
                before = following.get(key)
                if before is None or (-offer.value, offer.members) < (-before.value, before.members):
                    following[key] = offer
        states = following
        visited += len(states)
        if visited > MOST_STATES:
            return _by_table(items, capacity, lanes, multiplier.numerator, known)
    return _closed(items, states, capacity).members


def _by_table(items: Sequence[WholePrompt], capacity: int, lanes: int, price: int, known: int) -> tuple[int, ...]:
    """The dense table over the prompts that the bound does not rule out of every list worth ``known``."""
    # it loads numpy, which small inputs do without
    from fairlane.reference.prefill.prompt_table import best_set_by_table

    reduced = [item.full - price * item.tokens for item in items]
    positive = sorted((r for r in reduced if r > 0), reverse=True)
    fullest = price * capacity + sum(positive[:lanes])
    # a prompt held in the list costs the last lane's gain, unless it is one of the best itself
    last = positive[lanes - 1] if len(positive) >= lanes else 0
    completable = frozenset(i for i, r in enumerate(reduced) if fullest - max(0, last - r) >= known)
    # a partial prompt takes a lane as well, and earns at most its rate above the price for up to tokens - 1 tokens
    best = [max((p.rate - price) * (p.tokens - 1), p.rate - price) for p in items]
    closable = frozenset(
        i for i, gain in enumerate(best) if fullest - max(0, last - gain) >= known or reduced[i] >= last > 0
    )
    return best_set_by_table(items, capacity, lanes, completable=completable, closable=closable)


def _closed(items: Sequence[WholePrompt], states: dict[tuple[int, int, int], _Best], capacity: int) -> _Best:
    """The best state at the end, a partial prompt taking what is left; it must not be completed by it."""
    best = _Best(-1, ())
    for (_, tokens, k), found in states.items():
        value = found.value
        if k >= 0:
            left = capacity - tokens
            if left >= items[k].tokens:
                continue
            value += items[k].rate * left
        if found.members and (-value, found.members) < (-best.value, best.members):
            best = _Best(value, found.members)
    return best


def _later_gains(items: Sequence[WholePrompt], price: int, lanes: int) -> list[list[int]]:
    """For every suffix the sums of its 0, 1, ... largest positive reduced values."""
    out = [[0]]
    largest: list[int] = []
    for item in reversed(items):
        reduced = item.full - price * item.tokens
        if reduced > 0:
            insort(largest, -reduced)
            del largest[lanes:]
        sums = [0]
        for value in largest:
            sums.append(sums[-1] - value)
        out.append(sums)
    out.reverse()
    return out


def _bound(items: Sequence[WholePrompt], price: Fraction, capacity: int, lanes: int) -> Fraction:
    reduced = sorted((item.full - price * item.tokens for item in items), reverse=True)
    return price * capacity + sum((r for r in reduced[:lanes] if r > 0), Fraction(0))


def _multiplier(items: Sequence[WholePrompt], capacity: int, lanes: int) -> Fraction:
    """The price of capacity with the least bound among the items' densities; the bound is convex in it."""
    options = sorted({Fraction(item.full, item.tokens) for item in items} | {Fraction(item.rate) for item in items})
    options.insert(0, Fraction(0))
    low, high = 0, len(options) - 1
    while low < high:
        middle = (low + high) // 2
        if _bound(items, options[middle], capacity, lanes) <= _bound(items, options[middle + 1], capacity, lanes):
            high = middle
        else:
            low = middle + 1
    return options[low]


def _greedy(items: Sequence[WholePrompt], capacity: int, lanes: int) -> int:
    """A value that some list has: the best of a few orders, filled to the end."""
    orders = (
        sorted(range(len(items)), key=lambda i: -Fraction(items[i].full, items[i].tokens)),
        sorted(range(len(items)), key=lambda i: items[i].tokens),
        sorted(range(len(items)), key=lambda i: -items[i].full),
        sorted(range(len(items)), key=lambda i: (-items[i].rate, items[i].tokens)),
    )
    best = 0
    for order in orders:
        value, left, free = 0, capacity, lanes
        passed: list[WholePrompt] = []
        for i in order:
            if free and items[i].tokens <= left:
                value, left, free = value + items[i].full, left - items[i].tokens, free - 1
                best = max(best, value)
            else:
                passed.append(items[i])
            if free and left:
                # every prompt passed over is longer than what is left
                best = max(best, value + max((p.rate * left for p in passed if p.tokens > left), default=0))
    return best
