"""Decoding streams by the code of their next row, least recently served first within a code.

Rows of one code are worth the same, so the best rows of a graph are the heads of some codes: what can be earned
depends on how many streams each code has, and who they are is looked up for the chosen graph alone. Serving k rows
costs O(k) however many streams there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import groupby, islice
from typing import NamedTuple

from fairlane.simulator.gain_tables import GainTables


class Piece(NamedTuple):
    """So many rows of this gain each, from these codes."""

    size: int
    gain: int
    codes: tuple[int, ...]


Pieces = tuple[Piece, ...]


def gain_of(pieces: Pieces, rows: int) -> int:
    """Gain of the best ``rows`` rows, or of all where there are fewer."""
    total = 0
    for count, gain, _ in pieces:
        if count >= rows:
            return total + rows * gain
        total += count * gain
        rows -= count
    return total


class StreamQueue:
    """The streams. ``served`` gives by rank the dispatch that last served each, 0 for none."""

    def __init__(self, gains: GainTables, served: Sequence[int]) -> None:
        self._served = served
        n_codes = len(gains.row[0]) if gains.row else 0
        self._by_code: list[deque[int]] = [deque() for _ in range(n_codes)]
        self.counts = [0] * n_codes
        self.total = 0
        # codes of a width by falling gain, those of equal gain together
        self._order = [
            [
                (gain, tuple(codes))
                for gain, codes in groupby(sorted(range(n_codes), key=lambda c: (-row[c], c)), key=row.__getitem__)
            ]
            for row in gains.row
        ]

    def arrive(self, rank: int, code: int) -> None:
        """A new stream stands behind the others that were never served."""
        queue = self._by_code[code]
        place = 0
        while place < len(queue) and self._served[queue[place]] == 0:
            place += 1
        queue.insert(place, rank)
        self.counts[code] += 1
        self.total += 1

    def put_last(self, rank: int, code: int) -> None:
        """A stream just served; those of one dispatch come by rank."""
        self._by_code[code].append(rank)
        self.counts[code] += 1
        self.total += 1

    def pieces(self, w: int) -> Pieces:
        """All streams by falling gain under the w-th width."""
        counts = self.counts
        out: list[Piece] = []
        for gain, codes in self._order[w]:
            here = tuple([c for c in codes if counts[c]])
            if here:
                out.append(Piece(sum([counts[c] for c in here]), gain, here))
        return tuple(out)

    def heads(self, pieces: Pieces, rows: int) -> list[int]:
        """The best ``rows`` streams; the least recently served among rows of equal gain."""
        out: list[int] = []
        for count, _, codes in pieces:
            wanted = rows - len(out)
            if len(codes) == 1:
                out += islice(self._by_code[codes[0]], wanted)
            else:
                offered = [i for c in codes for i in islice(self._by_code[c], wanted)]
                if count > wanted:
                    offered.sort(key=lambda i: (self._served[i], i))
                out += offered[:wanted]
            if len(out) == rows:
                break
        return out

    def take_heads(self, pieces: Pieces, rows: int) -> list[int]:
        """The streams of :meth:`heads`, taken out of the queue; by rank."""
        out: list[int] = []
        for _, _, codes in pieces:
            wanted = rows - len(out)
            if len(codes) == 1:
                queue = self._by_code[codes[0]]
                count = len(queue) if len(queue) < wanted else wanted
                out += [queue.popleft() for _ in range(count)]
                self.counts[codes[0]] -= count
            else:
                offered = [(self._served[i], i, c) for c in codes for i in islice(self._by_code[c], wanted)]
                offered.sort()
                for _, i, c in offered[:wanted]:
                    # within a code the order is the same, so each is the head of its code in turn
                    self._by_code[c].popleft()
                    self.counts[c] -= 1
                    out.append(i)
            if len(out) == rows:
                break
        self.total -= len(out)
        out.sort()
        return out
