"""The priced prefill list against every ordered list of a small queue."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from fairlane.policies.priced_prompts import PricedPrompt, best_prompts
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.policy import RequestView


@given(
    prompts=st.lists(st.tuples(st.integers(1, 9), st.integers(0, 5), st.integers(0, 9)), min_size=1, max_size=4),
    capacity=st.integers(1, 14),
    lanes=st.integers(1, 4),
)
def test_no_ordered_list_earns_more(prompts: list[tuple[int, int, int]], capacity: int, lanes: int) -> None:
    waiting = [
        PricedPrompt(
            RequestView(
                id=str(k),
                index=k,
                weight=Fraction(1),
                arrival_ms=0,
                prompt=n,
                generated=0,
                limit=1,
                acceptance=(),
                length_prior=None,
                age_ms=None,
                last_service_ms=None,
            ),
            float(token),
            float(end),
        )
        for k, (n, token, end) in enumerate(prompts)
    ]

    def earned(order: tuple[PricedPrompt, ...]) -> float:
        left, total = capacity, 0.0
        for row in order:
            share = min(left, row.request.prompt)
            total += row.value(share)
            left -= share
        return total

    best = max(
        earned(order) for size in range(1, min(lanes, len(waiting)) + 1) for order in permutations(waiting, size)
    )
    graph = Graph(name="p", duration_ms=1, prefill_capacity=capacity, prefill_lanes=lanes)
    found = best_prompts(graph, waiting)
    by_id = {row.request.id: row for row in waiting}
    assert found.value == best
    assert earned(tuple(by_id[r.id] for r in found.requests)) == best or best == 0
