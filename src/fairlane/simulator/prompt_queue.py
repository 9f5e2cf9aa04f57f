"""Waiting prompts, least recently served first, with the best prefill list of every kind of graph kept up to date."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from fairlane.reference.prefill.prompt import Prompt
from fairlane.reference.prefill.prompt_knapsack import PromptKnapsack, best_equal_list


class Key(NamedTuple):
    """What a list depends on: the prompt tokens and prompts that a graph takes."""

    capacity: int
    lanes: int


class Best(NamedTuple):
    """A list by rank, in the order it is filled, and its gain."""

    members: tuple[int, ...]
    gain: int


NOBODY = Best((), 0)


class PromptQueue:
    """The queue. ``prompt``, ``token`` and ``end`` give by rank the tokens left, and gains in whole numbers."""

    def __init__(self, keys: Sequence[Key], prompt: list[int], token: Sequence[int], end: Sequence[int]) -> None:
        self.keys = keys
        self.ranks: list[int] = []
        self._never = 0
        self._prompt, self._token, self._end = prompt, token, end
        self._tokens = 0
        self._best: list[Best | None] = [NOBODY for _ in keys]
        self._knapsack: PromptKnapsack | None = None
        self._alike = len(set(token)) < 2 and len(set(end)) < 2
        self._most_token = max(token, default=0)
        self._most_end = max(end, default=0)
        self._reach: list[int] | None = None
        self._waiting: list[int] | None = None

    def __bool__(self) -> bool:
        return bool(self.ranks)

    def arrive(self, rank: int) -> None:
        """A new prompt stands behind the others that were never served."""
        self.ranks.insert(self._never, rank)
        self._never += 1
        self._tokens += self._prompt[rank]
        self._changed(rank)

    def serve(self, members: Sequence[int], shares: Sequence[int], again: Sequence[int], first: int) -> None:
        """Members received their shares; those of ``again`` have prompt left and go to the end.

        ``first`` of the members had never been served. The caller has taken the shares off the prompts.
        """
        for rank in members:
            self.ranks.remove(rank)
        self._never -= first
        self._tokens -= sum(shares)
        if not self.ranks and not again:
            self._best = [NOBODY for _ in self.keys]
            self._forget()
            return
        served = set(members)
        for k, best in enumerate(self._best):
            if best is not None and not served.isdisjoint(best.members):
                self._best[k] = None
        self._forget()
        for rank in again:
            self.ranks.append(rank)
            self._changed(rank)

    def _changed(self, rank: int) -> None:
        """A prompt is new in its place, behind everyone it could tie with or not: only a gain decides."""
        self._forget()
        place: int | None = None
        for k, key in enumerate(self.keys):
            if key.lanes > 1:
                self._best[k] = None
                continue
            best = self._best[k]
            if best is None:
                continue
            gain = self._gain(rank, key.capacity)
            if not best.members or gain > best.gain:
                self._best[k] = Best((rank,), gain)
            elif gain == best.gain:
                place = self.ranks.index(rank) if place is None else place
                if place < self.ranks.index(best.members[0]):
                    self._best[k] = Best((rank,), gain)

    def _forget(self) -> None:
        self._knapsack = self._reach = self._waiting = None

    def _gain(self, rank: int, capacity: int) -> int:
        tokens = self._prompt[rank]
        if tokens <= capacity:
            return self._token[rank] * tokens + self._end[rank]
        return self._token[rank] * capacity

    def reach(self) -> list[int]:
        """By key the gain of the best list where it is known, otherwise a bound on it."""
        if self._reach is None:
            # no more prompts end than the shortest that fit
            shortest = [0, *accumulate(sorted([self._prompt[i] for i in self.ranks]))]
            self._reach = [
                best.gain
                if best is not None
                else self._most_token * min(capacity, self._tokens)
                + self._most_end * min(lanes, bisect_right(shortest, capacity) - 1)
                for best, (capacity, lanes) in zip(self._best, self.keys, strict=True)
            ]
        return self._reach

    def best(self, k: int) -> Best:
        """The list of largest gain for a key; of equal ones the least recently served."""
        best = self._best[k]
        if best is None:
            best = self._best[k] = self._find(self.keys[k])
            self._reach = None
        return best

    def _single(self, capacity: int) -> Best:
        ranks, prompt = self.ranks, self._prompt
        if not self._alike:
            gains = [self._gain(i, capacity) for i in ranks]
            gain = max(gains)
            return Best((ranks[gains.index(gain)],), gain)
        # of equal weight: the longest prompt that is completed, or any that fills the graph
        if self._waiting is None:
            self._waiting = [prompt[i] for i in ranks]
        tokens = self._waiting
        whole = max([t for t in tokens if t <= capacity], default=0)
        completed = self._token[ranks[0]] * whole + self._end[ranks[0]] if whole else -1
        filling = self._token[ranks[0]] * capacity if max(tokens) > capacity else -1
        place = tokens.index(whole) if completed >= filling else len(tokens)
        if filling >= completed:
            place = min(place, next(k for k, t in enumerate(tokens) if t > capacity))
        return Best((ranks[place],), max(completed, filling))

    def _find(self, key: Key) -> Best:
        ranks, capacity = self.ranks, key.capacity
        if key.lanes == 1:
            return self._single(capacity)
        if self._alike:
            tokens = [self._prompt[i] for i in ranks]
            chosen = best_equal_list(tokens, capacity, key.lanes, self._token[ranks[0]], self._end[ranks[0]])
        else:
            if self._knapsack is None:
                self._knapsack = PromptKnapsack([Prompt(self._prompt[i], self._token[i], self._end[i]) for i in ranks])
            chosen = self._knapsack.best(capacity, key.lanes)
        members = tuple(ranks[p] for p in chosen)
        gain, left = 0, capacity
        for i in members:
            share = min(left, self._prompt[i])
            left -= share
            gain += self._token[i] * share + (self._end[i] if share == self._prompt[i] else 0)
        return Best(members, gain)
