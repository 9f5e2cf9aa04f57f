"""The best prefill list under a price of its own for every request.

A prompt earns ``per_token`` for each token consumed and ``at_end`` more when its last one is. With one lane the
best single prompt is found by looking at each. With more lanes the completed prompts are a knapsack over lanes and
capacity, and at most one more prompt takes what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlane.reference.graph import Graph
from fairlane.reference.policy import RequestView

MOST_IN_KNAPSACK = 12


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
    """The prefill list of largest value; of equal ones the one found first in the order of ``waiting``.

    Exact with one lane, and with more lanes up to twelve waiting prompts; beyond that the knapsack is over the twelve
    that earn most alone, which is exact whenever the best list is among them.
    """
    capacity = graph.prefill_capacity
    if capacity == 0 or not waiting:
        return NO_PROMPTS
    if graph.prefill_lanes == 1 or len(waiting) == 1:
        best = max(waiting, key=lambda row: row.value(min(capacity, row.request.prompt)))
        return PromptList((best.request,), best.value(min(capacity, best.request.prompt)))
    kept = list(waiting)
    if len(kept) <= graph.prefill_lanes and sum(row.request.prompt for row in kept) <= capacity:
        return PromptList(tuple(row.request for row in kept), sum(row.value(row.request.prompt) for row in kept))
    if len(kept) > MOST_IN_KNAPSACK:
        alone = sorted(range(len(kept)), key=lambda k: (-kept[k].value(min(capacity, kept[k].request.prompt)), k))
        kept = [kept[k] for k in sorted(alone[:MOST_IN_KNAPSACK])]
    best_list = NO_PROMPTS
    for partial in (None, *range(len(kept))):
        rows = [row for k, row in enumerate(kept) if k != partial]
        for tokens, members, value in _completed(rows, capacity, graph.prefill_lanes - (partial is not None)):
            if partial is None:
                found = PromptList(tuple(row.request for row in members), value)
            else:
                left, last = capacity - tokens, kept[partial]
                if not 0 < left < last.request.prompt:
                    continue
                found = PromptList((*(row.request for row in members), last.request), value + last.value(left))
            if found.requests and found.value > best_list.value:
                best_list = found
    return best_list


def _completed(
    rows: Sequence[PricedPrompt], capacity: int, lanes: int
) -> list[tuple[int, tuple[PricedPrompt, ...], float]]:
    """The best set of completed prompts for every (size, tokens used)."""
    tables: list[dict[int, tuple[tuple[PricedPrompt, ...], float]]] = [{0: ((), 0.0)}]
    tables += [{} for _ in range(lanes)]
    for row in rows:
        gain = row.value(row.request.prompt)
        for size in range(lanes - 1, -1, -1):
            for tokens, (members, value) in tables[size].items():
                total = tokens + row.request.prompt
                known = tables[size + 1].get(total)
                if total <= capacity and (known is None or value + gain > known[1]):
                    tables[size + 1][total] = ((*members, row), value + gain)
    return [(tokens, members, value) for table in tables for tokens, (members, value) in table.items()]
