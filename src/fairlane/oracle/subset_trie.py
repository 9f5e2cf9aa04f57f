"""Which requests can be served together, as a trie over axes, and which of its nodes a state may choose.

A node is a set of axes, each with an operator. Its parent is the same set without its last axis, so that the
expectation over a node is one operator applied to the expectation over its parent. For the best value without
a price on age only maximal sets are actions; for the worst value all are.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fairlane.oracle.packing import Floats, Ints, Packed


@dataclass(frozen=True, slots=True, kw_only=True)
class Trie:
    """Nodes sorted by last axis. ``parent`` is -1 for sets of one axis.

    ``decode_mask`` has the bits of decoding axes, ``prompt_axis`` the prefilled axis or -1, ``width`` and
    ``capacity`` what they are served with (0 for none).
    """

    members: tuple[tuple[tuple[int, int], ...], ...]
    parent: Ints
    last_axis: Ints
    operator: Ints
    decode_mask: Ints
    prompt_axis: Ints
    width: Ints
    capacity: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Graphs:
    """The catalog's columns; capacities of lanes a graph has not are 0."""

    duration: Floats
    prefill: Ints
    rows: Ints
    width: Ints


def graphs_of(packed: Packed) -> Graphs:
    """The catalog as arrays."""
    rows = packed.instance.graphs.graphs
    return Graphs(
        duration=np.array([float(g.duration_ms) for g in rows]),
        prefill=np.array([g.prefill_capacity for g in rows], dtype=np.int64),
        rows=np.array([g.decode_capacity for g in rows], dtype=np.int64),
        width=np.array([g.width for g in rows], dtype=np.int64),
    )


def build_trie(packed: Packed) -> Trie:
    """Every set that some graph can hold, with all its prefixes."""
    n = len(packed.sizes)
    real = [a for a in range(n) if packed.requests[a] >= 0]
    prompts = [a for a in real if 0 in packed.phases[a]]
    decodes = [a for a in real if 1 in packed.phases[a]]
    width_op = {op.width: o for o, op in enumerate(packed.operators) if op.width}
    capacity_op = {op.capacity: o for o, op in enumerate(packed.operators) if op.capacity}
    found: set[tuple[tuple[int, int], ...]] = set()
    shapes = {
        (g.prefill_capacity, g.decode_capacity, g.width if g.decode_capacity else 0) for g in packed.instance.graphs
    }
    for capacity, rows, width in shapes:
        for prompt in (None, *(prompts if capacity else ())):
            others = [a for a in decodes if a != prompt] if rows else []
            for size in range(min(rows, len(others)) + 1):
                for chosen in combinations(others, size):
                    held = [(a, width_op[width]) for a in chosen]
                    if prompt is not None:
                        held.append((prompt, capacity_op[capacity]))
                    found.add(tuple(sorted(held)))
    found.discard(())
    for members in list(found):
        for size in range(1, len(members)):
            found.add(members[:size])
    ordered = sorted(found, key=lambda m: (m[-1][0], len(m), m))
    place = {members: k for k, members in enumerate(ordered)}
    masks, prompt_axes, widths, capacities = [], [], [], []
    for members in ordered:
        rows_in = [(a, o) for a, o in members if packed.operators[o].width]
        filled = [(a, o) for a, o in members if packed.operators[o].capacity]
        masks.append(sum(1 << a for a, _ in rows_in))
        prompt_axes.append(filled[0][0] if filled else -1)
        widths.append(packed.operators[rows_in[0][1]].width if rows_in else 0)
        capacities.append(packed.operators[filled[0][1]].capacity if filled else 0)
    return Trie(
        members=tuple(ordered),
        parent=_ints([place[m[:-1]] if len(m) > 1 else -1 for m in ordered]),
        last_axis=_ints([m[-1][0] for m in ordered]),
        operator=_ints([m[-1][1] for m in ordered]),
        decode_mask=_ints(masks),
        prompt_axis=_ints(prompt_axes),
        width=_ints(widths),
        capacity=_ints(capacities),
    )


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)
