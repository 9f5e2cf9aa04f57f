"""The best prefill list of a graph: several prompts that share one capacity.

Prompts are filled in the order given until the capacity is used up, so all but the last are completed. Choosing
them is a knapsack over lanes and capacity, with at most one partial prompt, and ranking by value fails: with
capacity 10, two lanes, prompts 10, 9 and 1 and an output value of 5, ranking earns 15 and {9, 1} earns 20.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import NamedTuple

from fairlane.reference.exact import Real
from fairlane.reference.graph import Graph
from fairlane.reference.score import LaneRequest, Lanes, check_value, lanes_value, prompt_value, service_key


class _Choice(NamedTuple):
    value: Fraction
    members: tuple[int, ...]


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
    One lane: the best single prompt. More: states (completed prompts, tokens used) with the best value, largest
    prompts last so that each state can be closed with a partial one. The number of states is at most lanes times
    capacity. With equal weights a state's value is fixed by the state.
    """
    beta = check_value(decode_value)
    waiting = [(service_key(r, i), r) for i, r in enumerate(requests) if r.prompt > 0]
    if graph.prefill_capacity == 0 or not waiting:
        return ()
    waiting.sort(key=lambda row: row[0])
    rows = [request for _, request in waiting]
    if graph.prefill_lanes == 1:
        best = max(
            range(len(rows)),
            key=lambda k: (prompt_value(rows[k], min(graph.prefill_capacity, rows[k].prompt), beta), -k),
        )
        return (rows[best].id,)
    return tuple(rows[k].id for k in _best_list(graph, rows, beta))


def _best_list(graph: Graph, rows: list[LaneRequest], beta: Fraction) -> tuple[int, ...]:
    capacity, lanes = graph.prefill_capacity, min(graph.prefill_lanes, len(rows))
    if len(rows) <= lanes and sum(r.prompt for r in rows) <= capacity:
        return tuple(range(len(rows)))
    # For a given set with a partial member, the order only decides who is partial. Rows are taken in falling
    # length here, so a partial prompt is chosen before the completed ones and its share is settled at the end.
    best = _Choice(Fraction(-1), ())
    for partial in (None, *range(len(rows))):
        for tokens, choice in _completed(rows, partial, capacity, lanes - (partial is not None), beta):
            members, value = choice.members, choice.value
            if partial is not None:
                left = capacity - tokens
                if left == 0 or left >= rows[partial].prompt:
                    continue
                value += prompt_value(rows[partial], left, beta)
                members = (*members, partial)
            if members and (value > best.value or (value == best.value and _older(members, best.members))):
                best = _Choice(value, members)
    return best.members


def _older(members: tuple[int, ...], others: tuple[int, ...]) -> bool:
    return sorted(members) < sorted(others)


def _completed(
    rows: list[LaneRequest], partial: int | None, capacity: int, lanes: int, beta: Fraction
) -> list[tuple[int, _Choice]]:
    """Best sets of completed prompts by tokens used, without ``partial``."""
    tables: list[dict[int, _Choice]] = [{0: _Choice(Fraction(0), ())}] + [{} for _ in range(lanes)]
    for k, request in enumerate(rows):
        if k == partial or request.prompt > capacity:
            continue
        gain = prompt_value(request, request.prompt, beta)
        for size in range(lanes - 1, -1, -1):
            for tokens, choice in tables[size].items():
                total = tokens + request.prompt
                if total > capacity:
                    continue
                known = tables[size + 1].get(total)
                value = choice.value + gain
                if known is None or value > known.value:
                    tables[size + 1][total] = _Choice(value, (*choice.members, k))
    return [(tokens, choice) for table in tables for tokens, choice in table.items()]


def exhaustive_prefill(
    graph: Graph, requests: Sequence[LaneRequest], *, decode_value: Real | str
) -> tuple[tuple[str, ...], Fraction]:
    """The best prefill list by trying every ordered one; the proof of :func:`best_prefill` on small inputs.

    Returns
    -------
    ids, value : tuple of str, Fraction
        An empty list of value 0 where nothing can be filled.
    """
    beta = check_value(decode_value)
    rows = [r for r in requests if r.prompt > 0]
    best: tuple[tuple[str, ...], Fraction] = ((), Fraction(0))
    if graph.prefill_capacity == 0:
        return best
    for size in range(1, min(graph.prefill_lanes, len(rows)) + 1):
        for order in permutations(rows, size):
            left = graph.prefill_capacity
            for request in order[:-1]:
                left -= min(left, request.prompt)
            if left == 0:
                continue
            value = lanes_value(graph, Lanes(order, ()), beta)
            if not best[0] or value > best[1]:
                best = (tuple(r.id for r in order), value)
    return best
