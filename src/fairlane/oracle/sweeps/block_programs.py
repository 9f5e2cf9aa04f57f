"""What the block kernel executes: legal sets outside the block, and the instructions that grow them inside it.

Sets are nodes of a trie over axes. Any part of a legal set is legal, so every node is an action, in the graph that
serves it at the least cost (the greatest where that is sought).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from fairlane.oracle.encoding.packing import Axis, Ints, Operator
from fairlane.oracle.encoding.signatures import EMPTY, Rules, Signature
from fairlane.oracle.kernels.arguments import Alone, Nodes, Programs
from fairlane.reference.errors import TooLarge
from fairlane.reference.model.state import FINISHED, ZERO

MAX_SETS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything static that the block kernel needs besides the laws; ``depths`` is the height of the stack."""

    cut: int
    nodes: Nodes
    programs: Programs
    depths: int
    alone: Alone


class GridAxes:
    """Axes of single requests with their strides, padded in front to three."""

    def __init__(self, axes: tuple[Axis, ...], operators: tuple[Operator, ...]) -> None:
        nobody = Axis(
            requests=(),
            chain=(FINISHED,),
            laws=tuple(((),) for _ in operators),
            rates=(ZERO,),
            reach=tuple((0, 0) for _ in operators),
            places={},
        )
        self.axes = (*([nobody] * (3 - len(axes))), *axes)
        self.sizes = tuple(len(axis.chain) for axis in self.axes)
        self.strides = tuple(prod(self.sizes[a + 1 :]) for a in range(len(self.sizes)))
        self.n_operators = len(operators)

    def served(self, o: int, a: int) -> tuple[int, int]:
        """Range of the places of axis a that operator o serves."""
        return self.axes[a].reach[o]

    def cut(self, block_states: int) -> int:
        """The first axis of the block: as many axes as fit, at least one, after the first two."""
        cut = len(self.sizes) - 1
        while cut > 2 and self.strides[cut - 2] <= block_states:
            cut -= 1
        return cut


def build_plan(grid: GridAxes, rules: Rules, *, block_states: int) -> Plan:
    """Nodes outside the block and programs inside it.

    Raises
    ------
    TooLarge
        More legal sets than can be listed.
    """
    cut = grid.cut(block_states)
    signatures: dict[Signature, int] = {}

    def number(signature: Signature) -> int:
        return signatures.setdefault(signature, len(signatures))

    nodes = _build_nodes(grid, rules, cut, number)
    first = [rules.joined(EMPTY, o) for o in range(grid.n_operators)]
    own = [number(s) if s is not None else 0 for s in first]
    own_t = [0.0 if s is None else rules.factor(s) for s in first]
    own_row = [0 if s is None else rules.row(s) for s in first]
    programs, depths = _build_programs(grid, rules, cut, signatures)
    alone = Alone(factor=np.array(own_t), row=_ints(own_row), signature=_ints(own))
    return Plan(cut=cut, nodes=nodes, programs=programs, depths=depths, alone=alone)


def _build_nodes(grid: GridAxes, rules: Rules, cut: int, number: Callable[[Signature], int]) -> Nodes:
    rows: list[tuple[int, int, int, Signature]] = []
    # (index, last axis, signature) of all sets found so far; a set's parent is the set without its last axis
    found: list[tuple[int, Signature]] = [(-1, EMPTY)]
    for axis in range(cut):
        grown = []
        for up, signature in found:
            for o in range(grid.n_operators):
                joined = rules.joined(signature, o)
                if joined is not None and grid.served(o, axis)[1]:
                    grown.append((len(rows), joined))
                    rows.append((up, axis, o, joined))
        found += grown
        if len(found) > MAX_SETS:
            raise TooLarge(f"more than {MAX_SETS:,} sets of requests can be served together; the limit is {MAX_SETS:,}")
    return Nodes(
        parent=_ints([r[0] for r in rows]),
        last_axis=_ints([r[1] for r in rows]),
        operator=_ints([r[2] for r in rows]),
        signature=_ints([number(r[3]) for r in rows]),
        factor=np.array([rules.factor(r[3]) for r in rows]),
        row=_ints([rules.row(r[3]) for r in rows]),
        start=np.searchsorted(_ints([r[1] for r in rows]), np.arange(len(grid.sizes) + 1)).astype(np.int64),
    )


def _build_programs(grid: GridAxes, rules: Rules, cut: int, signatures: dict[Signature, int]) -> tuple[Programs, int]:
    n = len(grid.sizes)
    start = np.zeros((max(1, len(signatures)), n + 1, 2), dtype=np.int64)
    rows: list[list[float]] = []
    depths = 1

    def grow(signature: Signature, outermost: int, before: int, below: int, operator: int, depth: int) -> None:
        """Extend by every axis from `before` - 1 out to `outermost`; `below`, `operator` are of the last one added."""
        nonlocal depths
        for axis in range(before - 1, outermost - 1, -1):
            for o in range(grid.n_operators):
                joined = rules.joined(signature, o)
                if joined is None or not grid.served(o, axis)[1]:
                    continue
                low, high = 0, grid.strides[axis]
                if below == axis + 1:
                    low, high = (place * grid.strides[below] for place in grid.served(operator, below))
                at = len(rows)
                rows.append([axis, o, depth, rules.factor(joined), low, high, 0, rules.row(joined)])
                depths = max(depths, depth + 1)
                if len(rows) > MAX_SETS:
                    raise TooLarge(
                        f"more than {MAX_SETS:,} sets of requests can be served together; the limit is {MAX_SETS:,}"
                    )
                grow(joined, outermost, axis, axis, o, depth + 1)
                rows[at][6] = len(rows) > at + 1
                if rows[at][6]:
                    # what may join later reads the whole stride
                    rows[at][4], rows[at][5] = 0, grid.strides[axis]

    for signature, g in signatures.items():
        for axis in range(cut, n):
            begun = len(rows)
            grow(signature, axis, n, -1, -1, 0)
            start[g, axis] = begun, len(rows)
    table = np.array(rows).reshape(-1, 8)
    column = [table[:, k].astype(np.int64) for k in range(8)]
    programs = Programs(
        start=start,
        axis=column[0],
        operator=column[1],
        depth=column[2],
        factor=np.ascontiguousarray(table[:, 3]),
        low=column[4],
        high=column[5],
        keep=column[6],
        row=column[7],
    )
    return programs, depths


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)
