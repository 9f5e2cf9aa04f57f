"""Ranking prompts is exact for one prefill lane and fails for several.

Statement: With one prefill lane the prompt of highest value min(p, C) + β·[p <= C] is a best one. With several lanes
that share a capacity, ranking prompts by that value can lose: capacity 10, two lanes, prompts 10, 9, 1 and β = 5 earn
15 where 20 is possible. Some best list leaves at most its last prompt partial.

Assumptions: prompts are filled in the order listed; the last prompt token publishes one output token of value β >= 0.

Source: the reduction in the source's section on one metric for graph selection, which holds per lane only.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement, permutations

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, check_equal, forall, settle
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.request import Request
from fairlane.reference.prefill.prefill_list import best_prefill


def prove(*, lanes: int = 2, output_value: str = "nonnegative") -> Sequence[Evidence]:
    """Evidence for a number of lanes in the counterexample, and for the domain of an output's value."""
    prompts = (10, 9, 1)
    return settle(
        forall(
            # v(p) = min(p, C) + (b where the prompt fits)
            f"p in count, r in count, C in count, b in {output_value}",
            "min(p, C) + (b if p <= C else 0) <= min(r, C) + (b if r <= C else 0)",
            given=["p <= r and r <= C or p >= r and r == C"],
            label="one lane: the longest fitting prompt is the best of the fitting ones, a full fit the best of all",
        ),
        forall(
            "a in count, c in count, x in count",
            "min(a, x) + min(c, x - min(a, x)) == min(a + c, x)",
            label="the work of a list does not depend on its order",
        ),
        check_equal("ranking prompts by their own value", _ranked(prompts, 10, lanes, 5), 15, beside=False),
        check_equal("the best list", _best(prompts, 10, lanes, 5), 20, beside=False),
        check_all(
            "one lane: ranking is best",
            [(p, c, b) for p in combinations_with_replacement(range(1, 6), 3) for c in range(1, 6) for b in (0, 1, 5)],
            lambda at: _ranked(at[0], at[1], 1, at[2]) == _best(at[0], at[1], 1, at[2]),
            count=35 * 15,
        ),
        check_all(
            "the reference list is best, one to three lanes",
            [(p, c, n) for p in combinations_with_replacement(range(1, 6), 3) for c in (2, 5, 7) for n in (1, 2, 3)],
            lambda at: _reference_value(*at) == _best(at[0], at[1], at[2], 5),
            count=35 * 9,
        ),
        check_all(
            "two and three lanes: some best list leaves at most its last prompt partial",
            [(p, c, n) for p in combinations_with_replacement(range(1, 6), 3) for c in range(2, 8) for n in (2, 3)],
            lambda at: _best(at[0], at[1], at[2], 5) == _best(at[0], at[1], at[2], 5, partial_last_only=True),
            count=35 * 12,
            beside=False,
        ),
    )


def _value(order: Sequence[int], capacity: int, output_value: int) -> int | None:
    """Work and outputs of a list filled in order; None where a listed prompt would get nothing."""
    left, value = capacity, 0
    for prompt in order:
        if left == 0:
            return None
        share = min(prompt, left)
        value += share + (output_value if share == prompt else 0)
        left -= share
    return value


def _best(
    prompts: Sequence[int], capacity: int, lanes: int, output_value: int, *, partial_last_only: bool = False
) -> int:
    best = 0
    for size in range(1, lanes + 1):
        for order in permutations(prompts, size):
            if partial_last_only and sum(order[:-1]) > capacity:
                continue
            value = _value(order, capacity, output_value)
            best = best if value is None else max(best, value)
    return best


def _reference_value(prompts: Sequence[int], capacity: int, lanes: int) -> int | None:
    graph = Graph(name="p", duration_ms=1, prefill_capacity=capacity, prefill_lanes=lanes)
    requests = [Request(id=str(i), prompt=prompt, limit=1) for i, prompt in enumerate(prompts)]
    return _value([prompts[int(i)] for i in best_prefill(graph, requests, decode_value=5)], capacity, 5)


def _ranked(prompts: Sequence[int], capacity: int, lanes: int, output_value: int) -> int:
    """The list made by own value in falling order, until the lanes or the capacity are used up."""

    def own(prompt: int) -> int:
        return min(prompt, capacity) + (output_value if prompt <= capacity else 0)

    order: list[int] = []
    for prompt in sorted(prompts, key=own, reverse=True):
        if len(order) < lanes and sum(order) < capacity:
            order.append(prompt)
    value = _value(order, capacity, output_value)
    assert value is not None, "a prompt is listed only while capacity is left"
    return value


PROOF = proof_from(
    __doc__,
    "prefill-lanes",
    prove,
    {
        "one lane in the counterexample": lambda: prove(lanes=1),
        "outputs of negative value": lambda: prove(output_value="real"),
    },
)
