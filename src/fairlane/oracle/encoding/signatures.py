"""What makes sets of served requests alike: only the signature of a set says which graphs hold it.

Any part of a legal set is legal, because a graph may run with any nonempty set of useful lanes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairlane.oracle.encoding.packing import Floats, Operator
from fairlane.reference.model.instance import Instance


class Signature(NamedTuple):
    """Width (0 for no rows), rows, and prefill capacity (0 for no prompt) of a set."""

    width: int
    rows: int
    capacity: int


EMPTY = Signature(0, 0, 0)


class Rules:
    """The graph of every signature, and which operators may join a set.

    Parameters
    ----------
    instance : Instance
        Its catalog is read.
    operators : tuple of Operator
        Of that catalog.
    worst : bool
        Slowest graphs, with durations negated, instead of the fastest.
    """

    def __init__(self, instance: Instance, operators: tuple[Operator, ...], *, worst: bool) -> None:
        self.graphs = instance.graphs.graphs
        self.operators = operators
        self.worst = worst
        self.known: dict[Signature, int | None] = {EMPTY: None}

    def graph(self, signature: Signature) -> int | None:
        """The first of the fastest (slowest) graphs that hold a set, None where no graph does."""
        if signature not in self.known:
            fits = [
                (-g.duration_ms if self.worst else g.duration_ms, i)
                for i, g in enumerate(self.graphs)
                if (not signature.capacity or g.prefill_capacity == signature.capacity)
                and (not signature.rows or (g.width == signature.width and g.decode_capacity >= signature.rows))
            ]
            self.known[signature] = min(fits)[1] if fits else None
        return self.known[signature]

    def duration(self, signature: Signature) -> float:
        """Signed duration (ms) of a legal signature's graph; 0 of one that no graph holds."""
        i = self.graph(signature)
        if i is None:
            return 0.0
        duration = float(self.graphs[i].duration_ms)
        return -duration if self.worst else duration

    def joined(self, signature: Signature, o: int) -> Signature | None:
        """The signature with one more request served by operator o, None where that is not legal."""
        operator = self.operators[o]
        if operator.width:
            if signature.rows and signature.width != operator.width:
                return None
            grown = Signature(operator.width, signature.rows + 1, signature.capacity)
        else:
            if signature.capacity:
                return None
            grown = Signature(signature.width, signature.rows, operator.capacity)
        return None if self.graph(grown) is None else grown

    def most_rows(self) -> int:
        """Greatest number of rows of any graph."""
        return max((g.decode_capacity for g in self.graphs), default=0)

    def table(self, most_rows: int) -> Floats:
        """duration[c, w, k] of k rows served by operator w - 1 beside a prompt filled by operator c - 1; 0 is none."""
        n = len(self.operators)
        out = np.zeros((n + 1, n + 1, most_rows + 1))
        for c in range(n + 1):
            capacity = self.operators[c - 1].capacity if c else 0
            if c and not capacity:
                continue
            for w in range(n + 1):
                width = self.operators[w - 1].width if w else 0
                if w and not width:
                    continue
                for k in range(1 if w else 0, (most_rows if w else 0) + 1):
                    out[c, w, k] = self.duration(Signature(width, k, capacity))
        return out
