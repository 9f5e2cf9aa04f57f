"""``fixed-value``: the largest useful value per millisecond over all graphs and cohorts.

Source: the fixed-value dispatch baseline; score(a) = sum_i w_i (P_i + beta D_i) / T with beta the objective's
``decode_value`` and a prompt token worth one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fairlane.policies.choosing import Candidate, Running, Worth, choose, list_worth
from fairlane.reference.exact import Real, compare
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.policy import Decision, FunctionPolicy, PolicySpec, RequestView, View
from fairlane.reference.model.score import RowValues, by_service, prompt_value, ranked
from fairlane.reference.prefill.prompt import Prompt
from fairlane.reference.prefill.prompt_knapsack import PromptKnapsack


def decide(view: View) -> Decision:
    """The best cohort of every graph, then the best graph."""
    return choose(candidates(view, RowValues(view.objective.decode_value)))


class _Rows(NamedTuple):
    """A graph with its best rows, and the most its lanes can score together."""

    graph: Graph
    order: int
    duration_ms: Real
    decode: tuple[RequestView, ...]
    worth: Real
    at_most: Real


def candidates(view: View, row_worth: Worth) -> Iterator[Candidate]:
    """Graphs with their best prompts by fixed value and best rows by ``row_worth``, the most promising first.

    A prefill list of several lanes is the one costly part, so graphs whose bound falls short of a score that was
    found already are left out: they cannot be chosen, nor tie.
    """
    beta = view.objective.decode_value
    line = by_service(view.requests)
    waiting = [r for r in line if r.prompt > 0]
    knapsack = PromptKnapsack([Prompt(r.prompt, r.weight, r.weight * beta) for r in waiting])
    lists: dict[tuple[int, int], tuple[tuple[RequestView, ...], Real]] = {}
    best: Real | None = None
    for graph, order, duration, decode, worth, at_most in _by_promise(view, line, knapsack, row_worth):
        if best is not None and compare(at_most, best) < 0:
            break
        shape = (graph.prefill_capacity, graph.prefill_lanes)
        if shape not in lists:
            prompts = tuple(waiting[k] for k in knapsack.best(*shape))
            total = list_worth(prompts, graph.prefill_capacity, lambda r, share: prompt_value(r, share, beta))
            lists[shape] = prompts, total
        prompts, total = lists[shape]
        if prompts or decode:
            score = (total + worth) / duration
            best = score if best is None or compare(score, best) > 0 else best
            yield Candidate(graph=graph, order=order, prefill=prompts, decode=decode, score=score)


def _by_promise(view: View, line: Sequence[RequestView], knapsack: PromptKnapsack, row_worth: Worth) -> list[_Rows]:
    streams = [r for r in line if r.prompt == 0]
    ranking: dict[int, tuple[list[RequestView], Running]] = {}
    out: list[_Rows] = []
    for order, graph, duration in view.known_graphs():
        decode: tuple[RequestView, ...] = ()
        worth: Real = 0
        if graph.decode_capacity:
            if graph.width not in ranking:
                rows = [r for _, r in ranked(streams, [row_worth(r, graph.width) for r in streams])]
                ranking[graph.width] = rows, Running(rows, row_worth)
            rows, running = ranking[graph.width]
            decode = tuple(rows[: graph.decode_capacity])
            worth = running.first(graph.width, graph.decode_capacity)
        prompts = knapsack.at_most(graph.prefill_capacity, graph.prefill_lanes) if graph.prefill_capacity else 0
        out.append(_Rows(graph, order, duration, decode, worth, (worth + prompts) / duration))
    out.sort(key=lambda row: row.at_most, reverse=True)
    return out


POLICY = PolicySpec(
    name="fixed-value",
    policy=FunctionPolicy(decide, frozenset()),
    source="fixed-value dispatch baseline: useful work per graph time",
    assumes="known durations and acceptance; prompt tokens worth one, output tokens decode_value",
)
