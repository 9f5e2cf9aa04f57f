"""The best prefill list of a graph: several prompts that share one capacity.

Prompts are filled in the order given until the capacity is used up, so all but the last are completed. Choosing
them is a knapsack over lanes and capacity, with at most one partial prompt, and ranking by value fails: with
capacity 10, two lanes, prompts 10, 9 and 1 and an output value of 5, ranking earns 15 and {9, 1} earns 20.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

from fairlane.reference.exact import Real
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.score import LaneRequest, Lanes, check_value, lanes_value, service_key
from fairlane.reference.prefill.prompt import Prompt
from fairlane.reference.prefill.prompt_knapsack import best_list


def best_prefill(graph: Graph, requests: Sequence[LaneRequest], *, decode_value: Real | str) -> tuple[str, ...]:
    """Ids of the prefill list of largest value, in the order they are filled.

    Parameters
    ----------
    graph : Graph
        The graph.
    requests : sequence of Request or RequestView
        Live requests in request order; those without a prompt are passed over.
    decode_value : number
        beta, the value of a first output, >= 0.

    Returns
    -------
    tuple of str
        Empty where the graph has no prefill capacity or nothing waits. Of equal values the list whose members
        were served least recently.

    Notes
    -----
    Exact for any number of lanes; see :func:`fairlane.reference.prefill.prompt_knapsack.best_list` for method and cost.
    """
    beta = check_value(decode_value)
    waiting = [(service_key(r, i), r) for i, r in enumerate(requests) if r.prompt > 0]
    if graph.prefill_capacity == 0 or not waiting:
        return ()
    waiting.sort(key=lambda row: row[0])
    rows = [request for _, request in waiting]
    prompts = [Prompt(r.prompt, r.weight, r.weight * beta) for r in rows]
    return tuple(rows[k].id for k in best_list(prompts, graph.prefill_capacity, graph.prefill_lanes))


def exhaustive_prefill(
    graph: Graph, requests: Sequence[LaneRequest], *, decode_value: Real | str
) -> tuple[tuple[str, ...], Fraction]:
    """The best prefill list by trying every ordered one; the proof of :func:`best_prefill` on small inputs.

    Returns
    -------
    ids, value : tuple of str, Fraction
        An empty list of value 0 where nothing can be filled. Of equal values the set that is least recently served
        when its members are compared oldest first, then the order that fills the older first.
    """
    beta = check_value(decode_value)
    if graph.prefill_capacity == 0:
        return (), Fraction(0)
    waiting = [(service_key(r, i), r) for i, r in enumerate(requests) if r.prompt > 0]
    waiting.sort(key=lambda row: row[0])
    rows = [request for _, request in waiting]
    best: tuple[Fraction, list[int], tuple[int, ...]] | None = None
    for size in range(1, min(graph.prefill_lanes, len(rows)) + 1):
        for order in permutations(range(len(rows)), size):
            if sum(rows[k].prompt for k in order[:-1]) >= graph.prefill_capacity:
                continue
            value = lanes_value(graph, Lanes([rows[k] for k in order], ()), beta)
            key = (-value, sorted(order), order)
            best = key if best is None else min(best, key)
    return ((), Fraction(0)) if best is None else (tuple(rows[k].id for k in best[2]), -best[0])
