"""Chunking a prompt greedily is never better than H.

Statement: With H(0) = 0 and H(p) = min_g [T_g + H(max(0, p - c_g))], every sequence of prefill graphs that consumes a
prompt of p tokens takes at least H(p), hence so does greedy chunking; for 129 tokens and capacities 64, 128, 256 at
2, 3, 4 ms greedy work per time takes 5 ms, where H is 4.

Assumptions: one prompt alone, fixed positive durations that do not depend on context.

Source: the prefill reference of the source's section on remaining work and its first counterexample.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, check_equal, forall, induction, settle
from fairlane.reference.model.completion import prefill_completion_ms
from fairlane.reference.model.graph import Graph

Graphs = tuple[tuple[int, int], ...]  # (capacity, duration)
_SOURCE: Graphs = ((64, 2), (128, 3), (256, 4))


def prove(*, bellman: str = "H <= T + N", greedy_ms: int = 5) -> Sequence[Evidence]:
    """Evidence for what H satisfies at every graph, and for the greedy time of the source's example."""
    return settle(
        induction(
            # any sequence: C: time so far; H: H of what is left now; N: H of what is left after the next graph
            "T in positive, C, H, N, H0",
            "H0 <= C + H",
            over="n",
            first=0,
            state={"C": ("0", "C + T"), "H": ("H0", "N")},
            given=[bellman],
            label="time spent plus H of the rest never falls below H(p), any sequence of graphs",
        ),
        forall("C, H, H0", "H0 <= C", given=["H0 <= C + H", "H == 0"], label="a finished prompt took at least H(p)"),
        check_equal("greedy chunks of 129 tokens", greedy_chunking_ms(129, _SOURCE), greedy_ms, beside=False),
        check_equal("H(129)", completion_ms(129, _SOURCE), 4, beside=False),
        check_all(
            "the reference function, against the shortest plan",
            [(p, graphs) for graphs in _CATALOGS[::9] for p in range(8)],
            lambda at: prefill_completion_ms(at[0], _as_graphs(at[1])) == _shortest_plan(*at),
            count=8 * 9,
        ),
        check_all(
            "greedy is never better, small catalogs, against the shortest path by length of plan",
            [(p, graphs) for graphs in _CATALOGS for p in range(8)],
            lambda at: greedy_chunking_ms(*at) >= completion_ms(*at) == _shortest_plan(*at),
            count=8 * 81,
        ),
    )


def completion_ms(prompt_tokens: int, graphs: Graphs) -> int:
    """H(p) by its recursion."""

    @cache
    def rest(left: int) -> int:
        return 0 if left == 0 else min(duration + rest(max(0, left - capacity)) for capacity, duration in graphs)

    return rest(prompt_tokens)


def greedy_chunking_ms(prompt_tokens: int, graphs: Graphs) -> int:
    """Time of the graphs with most useful work per ms, the first output counted as one token."""
    left, elapsed = prompt_tokens, 0
    while left > 0:

        def score(graph: tuple[int, int], now: int = left) -> Fraction:
            return Fraction(min(now, graph[0]) + (1 if graph[0] >= now else 0), graph[1])

        capacity, duration = max(graphs, key=score)
        left, elapsed = max(0, left - capacity), elapsed + duration
    return elapsed


def _as_graphs(graphs: Graphs) -> tuple[Graph, ...]:
    return tuple(Graph(name=str(i), duration_ms=t, prefill_capacity=c) for i, (c, t) in enumerate(graphs))


def _shortest_plan(prompt_tokens: int, graphs: Graphs) -> int:
    """The least time over all multisets of graphs that hold the prompt, without any recursion."""
    counts = range(prompt_tokens + 1)
    return min(
        sum(n * graph[1] for n, graph in zip(plan, graphs, strict=True))
        for plan in product(counts, repeat=len(graphs))
        if sum(n * graph[0] for n, graph in zip(plan, graphs, strict=True)) >= prompt_tokens
    )


_CATALOGS: tuple[Graphs, ...] = (
    tuple(
        tuple(zip(capacities, durations, strict=True))
        for capacities in combinations((1, 2, 3), 2)
        for durations in product((1, 2, 3, 5, 7), repeat=2)
    )[:72]
    + tuple(((1, a), (3, b), (5, c)) for a, b, c in product((1, 2, 4), repeat=3))[:9]
)

PROOF = proof_from(
    __doc__,
    "greedy-chunking",
    prove,
    {
        "H that may exceed one graph and the rest": lambda: prove(bellman="H >= T + N"),
        "greedy said to be optimal": lambda: prove(greedy_ms=4),
    },
)
