"""``stall-bonus``: fixed value with a stall-clearing bonus on every token of a burst. A warning.

A stream that has waited A ms has each of its tokens valued beta (1 + A / 50 ms). Ending a stall is worth
something once; multiplying the whole burst by it overvalues deep speculation for a neglected stream.

Source: the approximation that the stream-age analysis warns of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from fairlane.policies.choosing import Candidate, choose, oldest_first, phases
from fairlane.reference.exact import Real
from fairlane.reference.graph import Catalog
from fairlane.reference.policy import Completion, Decision, Memory, PolicySpec, RequestView, Sees, View
from fairlane.reference.prefill_list import best_prefill
from fairlane.reference.score import Lanes, lanes_value, row_value


@dataclass(frozen=True, slots=True)
class StallBonus:
    """The policy; `per_ms` is the bonus factor a ms of age adds to a token's value."""

    per_ms: Fraction = Fraction(1, 50)
    sees: frozenset[Sees] = frozenset({Sees.AGE})

    def initial(self, catalog: Catalog) -> Memory:
        """No memory."""
        return None

    def decide(self, view: View, memory: Memory) -> Decision:
        """The best cohort of every graph under the bonus, then the best graph."""
        return choose(self._candidates(view))

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        """No memory."""
        return None

    def _candidates(self, view: View) -> Iterator[Candidate]:
        beta = view.objective.decode_value
        by_id = {r.id: r for r in view.requests}
        _, streams = phases(view)
        for order, graph in enumerate(view.catalog):
            prefill = tuple(by_id[i] for i in best_prefill(graph, view.requests, decode_value=beta))
            value: Real = lanes_value(graph, Lanes(prefill, ()), beta)
            decode: tuple[RequestView, ...] = ()
            if graph.decode_capacity:
                valued = [(row_value(r, graph.width, beta) * (1 + self.per_ms * (r.age_ms or 0)), r) for r in streams]
                valued.sort(key=lambda pair: (-pair[0], oldest_first(pair[1])))
                taken = valued[: graph.decode_capacity]
                decode = tuple(r for _, r in taken)
                value = value + sum(v for v, _ in taken)
            if prefill or decode:
                yield Candidate(
                    graph=graph, order=order, prefill=prefill, decode=decode, score=value / graph.duration_ms
                )


POLICY = PolicySpec(
    name="stall-bonus",
    policy=StallBonus(),
    source="a stall-clearing bonus on the whole burst, the approximation warned of",
    assumes="known durations and acceptance",
)
