"""Least execution time of one prompt in isolation, H(p), beside the greedy plan's.

H(0) = 0 and H(p) = min over prefill graphs g of T(g) + H(max(0, p - capacity(g))). It ignores decode competition
and takes durations as independent of context; it exposes greedy chunking errors and prices no mixed workload.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import as_integer
from fairlane.reference.model.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefillPlan:
    """Graphs in the order they run, and their time together."""

    graphs: tuple[str, ...]
    duration_ms: Fraction


def _prefill_graphs(graphs: Iterable[Graph]) -> tuple[Graph, ...]:
    rows = tuple(g for g in graphs if g.prefill_capacity > 0)
    if not rows:
        raise InvalidInstance("graphs hold no prefill_capacity > 0; need at least one graph with it")
    return rows


def prefill_plan(prompt_tokens: int, graphs: Iterable[Graph]) -> PrefillPlan:
    """The fastest sequence of graphs for one prompt.

    Parameters
    ----------
    prompt_tokens : int
        Prompt tokens, >= 0.
    graphs : iterable of Graph
        Every graph with prefill capacity counts, mixed ones included.

    Returns
    -------
    PrefillPlan
        Exact; larger graphs first, of equal plans the one with fewer graphs.

    Raises
    ------
    InvalidInstance
        No graph with prefill capacity, or a negative prompt.

    Notes
    -----
    Only the number of each graph matters, so the largest may run first. The search runs over reachable remainders
    from the whole prompt down; there are at most ``prompt_tokens`` of them.
    """
    tokens = as_integer(prompt_tokens, "prompt_tokens", minimum=0)
    rows = _prefill_graphs(graphs)
    # of equal capacities only the fastest can be part of a best plan, the first of equally fast ones
    fastest: dict[int, Graph] = {}
    for graph in rows:
        known = fastest.get(graph.prefill_capacity)
        if known is None or graph.duration_ms < known.duration_ms:
            fastest[graph.prefill_capacity] = graph
    kept: list[Graph] = []
    for capacity in sorted(fastest, reverse=True):
        graph = fastest[capacity]
        if not kept or graph.duration_ms < min(g.duration_ms for g in kept):
            kept.append(graph)
    reach = {tokens}
    order = [tokens]
    for left in order:
        for graph in kept:
            rest = left - graph.prefill_capacity
            if rest > 0 and rest not in reach:
                reach.add(rest)
                order.append(rest)
    # whole numbers of a common unit: a rational sum costs ten times as much
    unit = lcm(*(graph.duration_ms.denominator for graph in kept))
    steps = [(graph.prefill_capacity, int(graph.duration_ms * unit), k) for k, graph in enumerate(kept)]
    best: dict[int, tuple[int, int, int]] = {0: (0, 0, -1)}
    for left in sorted(reach - {0}):
        options = []
        for capacity, duration, k in steps:
            time, count, _ = best[max(0, left - capacity)]
            options.append((time + duration, count + 1, k))
        best[left] = min(options)
    names: list[Graph] = []
    left = tokens
    while left > 0:
        names.append(kept[best[left][2]])
        left = max(0, left - names[-1].prefill_capacity)
    names.sort(key=lambda g: -g.prefill_capacity)
    return PrefillPlan(graphs=tuple(g.name for g in names), duration_ms=Fraction(best[tokens][0], unit))


def prefill_completion_ms(prompt_tokens: int, graphs: Iterable[Graph]) -> Fraction:
    """Least time H(p) to consume a prompt in isolation.

    Parameters
    ----------
    prompt_tokens : int
        Prompt tokens, >= 0.
    graphs : iterable of Graph
        Every graph with prefill capacity counts, mixed ones included.

    Returns
    -------
    Fraction
        Milliseconds.

    Raises
    ------
    InvalidInstance
        No graph with prefill capacity, or a negative prompt.

    Examples
    --------
    >>> rows = [Graph(name=f"p{c}", duration_ms=t, prefill_capacity=c) for c, t in ((64, 2), (128, 3), (256, 4))]
    >>> prefill_completion_ms(129, rows)
    Fraction(4, 1)
    """
    return prefill_plan(prompt_tokens, graphs).duration_ms


def greedy_plan(prompt_tokens: int, graphs: Iterable[Graph], *, decode_value: Fraction | int = 1) -> PrefillPlan:
    """What repeating the best useful work per millisecond does to one prompt; its time is at least H(p).

    Parameters
    ----------
    prompt_tokens : int
        Prompt tokens, >= 0.
    graphs : iterable of Graph
        Candidates in catalog order.
    decode_value : Fraction or int
        Value of the first output that the last prompt token publishes.

    Returns
    -------
    PrefillPlan
        Graphs as the fixed-value score takes them, the smaller capacity first among equal scores.
    """
    left = as_integer(prompt_tokens, "prompt_tokens", minimum=0)
    rows = _prefill_graphs(graphs)
    names: list[str] = []
    total = Fraction(0)
    while left > 0:
        now = left

        def preference(k: int, now: int = now) -> tuple[Fraction, int, int]:
            graph = rows[k]
            useful = min(now, graph.prefill_capacity) + (decode_value if graph.prefill_capacity >= now else 0)
            return Fraction(useful) / graph.duration_ms, -graph.capacity_tokens, -k

        chosen = rows[max(range(len(rows)), key=preference)]
        names.append(chosen.name)
        total += chosen.duration_ms
        left = max(0, left - chosen.prefill_capacity)
    return PrefillPlan(graphs=tuple(names), duration_ms=total)
