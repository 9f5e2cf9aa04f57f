"""``fixed-value``: the largest useful value per millisecond over all graphs and cohorts.

Source: the fixed-value dispatch baseline; score(a) = sum_i w_i (P_i + beta D_i) / T with beta the objective's
``decode_value`` and a prompt token worth one.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlane.policies.choosing import Candidate, Running, Worth, choose, list_worth
from fairlane.reference.exact import Real
from fairlane.reference.policy import Decision, FunctionPolicy, PolicySpec, RequestView, View
from fairlane.reference.prompt_knapsack import Prompt, PromptKnapsack
from fairlane.reference.score import RowValues, by_service, prompt_value, ranked


def decide(view: View) -> Decision:
    """The best cohort of every graph, then the best graph."""
    return choose(candidates(view, RowValues(view.objective.decode_value)))


def candidates(view: View, row_worth: Worth) -> Iterator[Candidate]:
    """Every graph with its best prompts by fixed value and its best rows by ``row_worth``."""
    beta = view.objective.decode_value
    line = by_service(view.requests)
    streams = [r for r in line if r.prompt == 0]
    waiting = [r for r in line if r.prompt > 0]
    knapsack = PromptKnapsack([Prompt(r.prompt, r.weight, r.weight * beta) for r in waiting])
    lists: dict[tuple[int, int], tuple[tuple[RequestView, ...], Real]] = {}
    ranking: dict[int, tuple[list[RequestView], Running]] = {}
    for order, graph in enumerate(view.catalog):
        shape = (graph.prefill_capacity, graph.prefill_lanes)
        if shape not in lists:
            prompts = tuple(waiting[k] for k in knapsack.best(*shape))
            worth = list_worth(prompts, graph.prefill_capacity, lambda r, share: prompt_value(r, share, beta))
            lists[shape] = prompts, worth
        prompts, worth = lists[shape]
        decode: tuple[RequestView, ...] = ()
        if graph.decode_capacity:
            if graph.width not in ranking:
                rows = [r for _, r in ranked(streams, [row_worth(r, graph.width) for r in streams])]
                ranking[graph.width] = rows, Running(rows, row_worth)
            rows, running = ranking[graph.width]
            decode = tuple(rows[: graph.decode_capacity])
            worth = worth + running.first(graph.width, graph.decode_capacity)
        if prompts or decode:
            yield Candidate(graph=graph, order=order, prefill=prompts, decode=decode, score=worth / graph.duration_ms)


POLICY = PolicySpec(
    name="fixed-value",
    policy=FunctionPolicy(decide, frozenset()),
    source="fixed-value dispatch baseline: useful work per graph time",
    assumes="known durations and acceptance; prompt tokens worth one, output tokens decode_value",
)
