"""``fixed-value``: the largest useful value per millisecond over all graphs and cohorts.

Source: the fixed-value dispatch baseline; score(a) = sum_i w_i (P_i + beta D_i) / T with beta the objective's
``decode_value`` and a prompt token worth one.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlane.policies.choosing import Candidate, choose
from fairlane.reference.policy import Decision, FunctionPolicy, PolicySpec, RequestView, View
from fairlane.reference.prefill_list import best_prefill
from fairlane.reference.score import Lanes, lanes_value, ranked_rows


def decide(view: View) -> Decision:
    """The best cohort of every graph, then the best graph."""
    return choose(_candidates(view))


def _candidates(view: View) -> Iterator[Candidate]:
    beta = view.objective.decode_value
    by_id = {r.id: r for r in view.requests}
    ranked: dict[int, list[RequestView]] = {}
    lists: dict[tuple[int, int], tuple[RequestView, ...]] = {}
    for order, graph in enumerate(view.catalog):
        if graph.decode_capacity and graph.width not in ranked:
            ranked[graph.width] = [r for _, r in ranked_rows(view.requests, graph.width, beta)]
        key = (graph.prefill_capacity, graph.prefill_lanes)
        if key not in lists:
            lists[key] = tuple(by_id[i] for i in best_prefill(graph, view.requests, decode_value=beta))
        decode = tuple(ranked[graph.width][: graph.decode_capacity]) if graph.decode_capacity else ()
        if lists[key] or decode:
            value = lanes_value(graph, Lanes(lists[key], decode), beta)
            yield Candidate(
                graph=graph, order=order, prefill=lists[key], decode=decode, score=value / graph.duration_ms
            )


POLICY = PolicySpec(
    name="fixed-value",
    policy=FunctionPolicy(decide, frozenset()),
    source="fixed-value dispatch baseline: useful work per graph time",
    assumes="known durations and acceptance; prompt tokens worth one, output tokens decode_value",
)
