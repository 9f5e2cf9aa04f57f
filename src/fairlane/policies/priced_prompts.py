"""The best prefill list under a price of its own for every request.

A prompt earns ``per_token`` for each token consumed and ``at_end`` more when its last one is. With one lane the
best single prompt is found by looking at each; with more lanes it is the knapsack of `prompt_knapsack`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlane.reference.model.graph import Graph
from fairlane.reference.model.policy import RequestView
from fairlane.reference.prefill.prompt import Prompt
from fairlane.reference.prefill.prompt_knapsack import best_list

MOST_OF_UNEQUAL_PRICES = 20


class PricedPrompt(NamedTuple):
    """A waiting request with its value a prompt token and its value at the end of the prompt."""

    request: RequestView
    per_token: float
    at_end: float

    def value(self, share: int) -> float:
        """Of ``share`` tokens."""
        return share * self.per_token + (self.at_end if share >= self.request.prompt else 0.0)


class PromptList(NamedTuple):
    """Requests in the order they are filled, and their value."""

    requests: tuple[RequestView, ...]
    value: float


NO_PROMPTS = PromptList((), 0.0)


def best_prompts(graph: Graph, waiting: Sequence[PricedPrompt]) -> PromptList:
    """The prefill list of largest value; of equal ones the oldest in the order of ``waiting``.

    Exact with one lane, with equal prices, and up to twenty waiting prompts of unequal prices; beyond that the
    knapsack is over the twenty that earn most alone, so that a dispatcher always answers in milliseconds.
    """
    capacity = graph.prefill_capacity
    if capacity == 0 or not waiting:
        return NO_PROMPTS
    if graph.prefill_lanes == 1 or len(waiting) == 1:
        best = max(waiting, key=lambda row: row.value(min(capacity, row.request.prompt)))
        return PromptList((best.request,), best.value(min(capacity, best.request.prompt)))
    kept = waiting
    if len(waiting) > MOST_OF_UNEQUAL_PRICES and len({row[1:] for row in waiting}) > 1:
        alone = sorted(
            range(len(waiting)), key=lambda k: (-waiting[k].value(min(capacity, waiting[k].request.prompt)), k)
        )
        kept = [waiting[k] for k in sorted(alone[:MOST_OF_UNEQUAL_PRICES])]
    prompts = [Prompt(row.request.prompt, row.per_token, row.at_end) for row in kept]
    members = [kept[k] for k in best_list(prompts, capacity, graph.prefill_lanes)]
    value, left = 0.0, capacity
    for row in members:
        share = min(left, row.request.prompt)
        value += row.value(share)
        left -= share
    return PromptList(tuple(row.request for row in members), value)
