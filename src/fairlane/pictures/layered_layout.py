"""Positions for a layered drawing of an acyclic graph: few crossings, short edges, nothing on top of anything.

The steps are those of Sugiyama, Tagawa and Toda (1981, doi:10.1109/TSMC.1981.4308636): longest-path layers, stand-ins
for edges that cross layers, orders by neighbours' means, and coordinates by least squares with the order kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import networkx

SWEEPS = 16
RELAXATIONS = 60
# how much more a line through several layers pulls than one between neighbours
STRAIGHT = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where nodes and edges go.

    ``layer[v]`` is the column of node v, ``across[v]`` its centre within the column, and ``bends[u, v]`` the
    (layer, across) points that the edge passes between its ends.
    """

    layer: tuple[int, ...]
    across: tuple[float, ...]
    bends: Mapping[tuple[int, int], tuple[tuple[int, float], ...]]


def layered(extents: Sequence[float], edges: Sequence[tuple[int, int]], *, gap: float = 0.2) -> Layout:
    """A layered drawing, edges from lower to higher layers.

    Parameters
    ----------
    extents : sequence of float
        Room each node takes across its layer, > 0.
    edges : sequence of (int, int)
        Acyclic, distinct.
    gap : float
        Least room between neighbours of a layer.

    Returns
    -------
    Layout
        The same for the same input.
    """
    n = len(extents)
    layer = longest_path_layers(n, edges)
    room = list(extents)
    chains: dict[tuple[int, int], list[int]] = {}
    short: list[tuple[int, int]] = []
    for u, v in edges:
        chain = []
        for k in range(layer[u] + 1, layer[v]):
            chain.append(len(room))
            room.append(gap)
            layer.append(k)
        chains[u, v] = chain
        path = [u, *chain, v]
        short += pairwise(path)
    above: list[list[int]] = [[] for _ in room]
    below: list[list[int]] = [[] for _ in room]
    for u, v in short:
        below[u].append(v)
        above[v].append(u)
    columns = _ordered(layer, above, below)
    across = _coordinates(columns, room, above, below, gap, n)
    return Layout(
        layer=tuple(layer[:n]),
        across=tuple(across[:n]),
        bends={edge: tuple((layer[v], across[v]) for v in chain) for edge, chain in chains.items()},
    )


def longest_path_layers(n: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The number of edges on the longest path to each node."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges)
    layer = [0] * n
    for k, generation in enumerate(networkx.topological_generations(graph)):
        for v in generation:
            layer[v] = k
    return layer


def crossings(upper: Sequence[int], lower: Sequence[int], below: Sequence[Sequence[int]]) -> int:
    """How many pairs of edges between two neighbouring layers cross."""
    place = {v: i for i, v in enumerate(lower)}
    ends = [sorted(place[v] for v in below[u] if v in place) for u in upper]
    flat = [end for row in ends for end in row]
    return sum(a > b for i, a in enumerate(flat) for b in flat[i + 1 :])


def _ordered(layer: Sequence[int], above: list[list[int]], below: list[list[int]]) -> list[list[int]]:
    columns: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for v, k in enumerate(layer):
        columns[k].append(v)
    best, fewest = [list(c) for c in columns], _total(columns, below)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        order = range(1, len(columns)) if down else range(len(columns) - 2, -1, -1)
        for k in order:
            fixed = columns[k - 1] if down else columns[k + 1]
            place = {v: i for i, v in enumerate(fixed)}
            here = {v: i for i, v in enumerate(columns[k])}
            means = {}
            for v in columns[k]:
                ends = [place[u] for u in (above if down else below)[v]]
                means[v] = sum(ends) / len(ends) if ends else here[v]
            columns[k].sort(key=lambda v: (means[v], here[v]))
        found = _total(columns, below)
        if found < fewest:
            best, fewest = [list(c) for c in columns], found
    return best


def _total(columns: list[list[int]], below: list[list[int]]) -> int:
    return sum(crossings(a, b, below) for a, b in pairwise(columns))


def _coordinates(
    columns: list[list[int]], room: list[float], above: list[list[int]], below: list[list[int]], gap: float, n: int
) -> list[float]:
    across = [0.0] * len(room)
    for column in columns:
        at = -(sum(room[v] for v in column) + gap * (len(column) - 1)) / 2
        for v in column:
            across[v] = at + room[v] / 2
            at += room[v] + gap
    for turn in range(RELAXATIONS):
        down = turn % 2 == 0
        for column in columns if down else reversed(columns):
            # first towards one side, then the other, at last towards both
            both = turn >= RELAXATIONS - 10
            wanted = []
            for v in column:
                ends = above[v] + below[v] if both else (above if down else below)[v]
                # lines through several layers are to be straight
                pull = [STRAIGHT if u >= n and v >= n else 1.0 for u in ends]
                total = sum(p * across[u] for p, u in zip(pull, ends, strict=True))
                wanted.append(total / sum(pull) if ends else across[v])
            weights = [STRAIGHT if v >= n else 1.0 for v in column]
            for v, y in zip(column, spread(wanted, [room[v] for v in column], gap, weights=weights), strict=True):
                across[v] = y
    return across


def spread(
    wanted: Sequence[float], room: Sequence[float], gap: float, *, weights: Sequence[float] | None = None
) -> list[float]:
    """Positions nearest to the wanted ones in weighted least squares, in the given order and without overlap.

    Examples
    --------
    >>> spread([0, 0], [1, 1], 0.5)
    [-0.75, 0.75]
    """
    offsets = [0.0]
    for a, b in pairwise(room):
        offsets.append(offsets[-1] + (a + b) / 2 + gap)
    # pool adjacent violators on what remains after taking the least distances off
    blocks: list[tuple[float, float, int]] = []
    for k, (y, offset) in enumerate(zip(wanted, offsets, strict=False)):
        mean, weight, size = y - offset, 1.0 if weights is None else weights[k], 1
        while blocks and blocks[-1][0] > mean:
            before, w, m = blocks.pop()
            mean, weight, size = (before * w + mean * weight) / (w + weight), w + weight, m + size
        blocks.append((mean, weight, size))
    flat = [mean for mean, _, size in blocks for _ in range(size)]
    return [y + offset for y, offset in zip(flat, offsets, strict=False)]
