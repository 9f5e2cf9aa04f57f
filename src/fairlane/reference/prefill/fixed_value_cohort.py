"""The lanes of a graph with the largest fixed value: decode rows by ranking, prompts by their knapsack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairlane.reference.exact import Real
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.score import LaneRequest, Lanes, check_value, lanes_value, ranked_rows
from fairlane.reference.prefill.prefill_list import best_prefill


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """The lanes of one graph by id, with their value in tokens and their score in value per ms."""

    graph: Graph
    prefill: tuple[str, ...]
    decode: tuple[str, ...]
    value: Fraction
    score: Fraction


def best_cohort(graph: Graph, requests: Sequence[LaneRequest], *, decode_value: Real | str) -> Cohort | None:
    """The lanes of largest fixed value, or None where the graph can serve none of the requests.

    Parameters
    ----------
    graph : Graph
        The graph.
    requests : sequence of Request or RequestView
        Live requests in request order.
    decode_value : number
        beta, the value of an output token, >= 0.

    Returns
    -------
    Cohort or None
        Exact; decode rows by ranking, prefill lists by :func:`best_prefill`.
    """
    beta = check_value(decode_value)
    prefill = best_prefill(graph, requests, decode_value=beta)
    chosen = ranked_rows(requests, graph.width, beta)[: graph.decode_capacity]
    if not prefill and not chosen:
        return None
    by_id = {request.id: request for request in requests}
    prompts = tuple(by_id[request_id] for request_id in prefill)
    decode = tuple(request for _, request in chosen)
    value = lanes_value(graph, Lanes(prompts, decode), beta)
    return Cohort(
        graph=graph,
        prefill=prefill,
        decode=tuple(request.id for request in decode),
        value=value,
        score=value / graph.duration_ms,
    )
