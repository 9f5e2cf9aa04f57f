"""What rows and prompts are worth to `fixed-value`, as whole numbers of one common unit.

A row's gain depends on its request's kind, an (acceptance, weight), on the width, and on the output left up to the
width. Kind and output left make a row's code, so that equal rows have equal codes whoever they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from fairlane.reference.model.graph import Graph
from fairlane.reference.model.yields import exact_yield
from fairlane.simulator.draws import Kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class GainTables:
    """Gains in units of 1 / ``unit``.

    ``row`` holds for every width the gain by code, ``code`` = kind · ``span`` + min(output left, widest width).
    ``token`` and ``end`` hold by kind the gain of a prompt token and of a prompt's end.
    """

    unit: int
    span: int
    widths: tuple[int, ...]
    row: tuple[tuple[int, ...], ...]
    token: tuple[int, ...]
    end: tuple[int, ...]


def gain_tables(kinds: Kinds, graphs: Sequence[Graph], decode_value: Fraction) -> GainTables:
    """The tables for a catalog."""
    widths = tuple(sorted({g.width for g in graphs if g.decode_capacity}))
    widest = max(widths, default=1)
    exact = [
        [
            weight * decode_value * exact_yield(q, width, min(left, width)) if left else Fraction(0)
            for q, weight in kinds.of
            for left in range(widest + 1)
        ]
        for width in widths
    ]
    ends = [weight * decode_value for _, weight in kinds.of]
    weights = [weight for _, weight in kinds.of]
    unit = lcm(*{x.denominator for row in (*exact, ends, weights) for x in row})
    return GainTables(
        unit=unit,
        span=widest + 1,
        widths=widths,
        row=tuple(tuple(int(x * unit) for x in row) for row in exact),
        token=tuple(int(x * unit) for x in weights),
        end=tuple(int(x * unit) for x in ends),
    )
