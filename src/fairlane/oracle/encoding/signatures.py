"""What makes sets of served requests alike: only the signature of a set says which graphs hold it.

Any part of a legal set is legal, because a graph may run with any nonempty set of useful lanes.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairlane.oracle.encoding.packing import Floats, Ints, Operator
from fairlane.oracle.kernels.arguments import Charges
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.pricing import launch_cost


class Signature(NamedTuple):
    """Width (0 for no rows), rows, and prefill capacity (0 for no prompt) of a set."""

    width: int
    rows: int
    capacity: int


EMPTY = Signature(0, 0, 0)


class Charge(NamedTuple):
    """What a launch costs where waiting costs ``rate`` a ms: duration (ms) times rate, plus the fee of the launch."""

    duration_ms: Fraction
    fee: Fraction


class Rules:
    """The graphs of every signature, and which operators may join a set.

    Of the graphs that hold a set only those matter that no other one undercuts in time and in fee (the slowest and
    dearest where the greatest cost is sought). Where no launch has a fee that is one graph. Where some have, each list
    of charges has a number, its row; its cost is a concave function of the rate, tabled once a state.

    Parameters
    ----------
    instance : Instance
        Its catalog is read.
    operators : tuple of Operator
        Of that catalog.
    worst : bool
        Slowest graphs, with durations negated, instead of the fastest.

    Attributes
    ----------
    rows : list of tuple of Charge
        Charges by row, for launches with fees; row 0 is the plain rate and charges nothing.
    """

    def __init__(self, instance: Instance, operators: tuple[Operator, ...], *, worst: bool) -> None:
        self.graphs = instance.graphs.graphs
        self.operators = operators
        self.worst = worst
        self.fees = [launch_cost(instance.objective, graph) for graph in self.graphs]
        self.known: dict[Signature, tuple[Charge, ...]] = {EMPTY: ()}
        self.rows: list[tuple[Charge, ...]] = [()]

    def charges(self, signature: Signature) -> tuple[Charge, ...]:
        """What the graphs that hold a set charge, fastest (slowest) first; none where no graph does."""
        if signature not in self.known:
            sign = -1 if self.worst else 1
            fits = sorted(
                (sign * g.duration_ms, sign * fee)
                for g, fee in zip(self.graphs, self.fees, strict=True)
                if (not signature.capacity or g.prefill_capacity == signature.capacity)
                and (not signature.rows or (g.width == signature.width and g.decode_capacity >= signature.rows))
            )
            kept: list[Charge] = []
            for duration, fee in fits:
                if not kept or fee < sign * kept[-1].fee:
                    kept.append(Charge(sign * duration, sign * fee))
            self.known[signature] = tuple(kept)
        return self.known[signature]

    def duration(self, signature: Signature) -> float:
        """Signed duration (ms) of the fastest (slowest) graph of a legal signature; 0 of one that no graph holds."""
        charges = self.charges(signature)
        if not charges:
            return 0.0
        duration = float(charges[0].duration_ms)
        return -duration if self.worst else duration

    def paid(self, signature: Signature, rate: float) -> float:
        """Signed cost of a legal signature's best launch where waiting costs ``rate`` a ms."""
        sign = -1.0 if self.worst else 1.0
        return min(sign * float(c.duration_ms) * rate + sign * float(c.fee) for c in self.charges(signature))

    def row(self, signature: Signature) -> int:
        """The row of a signature's charges: 0 where no launch has a fee, so that its duration says it all."""
        charges = self.charges(signature)
        if not charges or not any(self.fees):
            return 0
        if charges not in self.rows:
            self.rows.append(charges)
        return self.rows.index(charges)

    def factor(self, signature: Signature) -> float:
        """By what the entry of a signature's row is multiplied: its duration in row 0, 1 in others, 0 for none."""
        return 1.0 if self.row(signature) else self.duration(signature)

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
        return grown if self.charges(grown) else None

    def most_rows(self) -> int:
        """Greatest number of rows of any graph."""
        return max((g.decode_capacity for g in self.graphs), default=0)

    def tables(self, most_rows: int) -> tuple[Floats, Ints]:
        """factor[c, w, k] and row[c, w, k] of k rows of operator w - 1 beside a prompt of operator c - 1; 0 is none."""
        n = len(self.operators)
        factor = np.zeros((n + 1, n + 1, most_rows + 1))
        row = np.zeros(factor.shape, dtype=np.int64)
        for c in range(n + 1):
            capacity = self.operators[c - 1].capacity if c else 0
            if c and not capacity:
                continue
            for w in range(n + 1):
                width = self.operators[w - 1].width if w else 0
                if w and not width:
                    continue
                for k in range(1 if w else 0, (most_rows if w else 0) + 1):
                    signature = Signature(width, k, capacity)
                    factor[c, w, k], row[c, w, k] = self.factor(signature), self.row(signature)
        return factor, row

    def charges_of_rows(self) -> Charges:
        """The charges of every row that was asked for so far, signed, for a kernel."""
        sign = -1.0 if self.worst else 1.0
        flat = [charge for row in self.rows for charge in row]
        return Charges(
            start=np.cumsum([0, *(len(row) for row in self.rows)]).astype(np.int64),
            duration=np.array([sign * float(charge.duration_ms) for charge in flat]),
            fee=np.array([sign * float(charge.fee) for charge in flat]),
        )
