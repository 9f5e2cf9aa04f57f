"""``least-served``: the request with the least weighted service is next.

Source: the virtual token counter (Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024), with
requests as clients: a prompt token counts one, an output token two, divided by the request's weight. A newly
arrived request starts at the least counter of the live requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairlane.policies.phase_first import serve_head_first
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.policy import Completion, Decision, Memory, PolicySpec, RequestView, Sees, View
from fairlane.reference.model.policy_parameter import PolicyParameter

Counters = tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastServed:
    """The policy. Its memory holds counters above the least live one; a request it does not hold is at that one."""

    prompt_token: Fraction = Fraction(1)
    output_token: Fraction = Fraction(2)
    sees: frozenset[Sees] = frozenset()

    def initial(self, catalog: Catalog) -> Memory:
        """No counters."""
        return ()

    def decide(self, view: View, memory: Memory) -> Decision:
        """The least counter decides the phase; other lanes by counter."""
        counters = dict(_counters(memory))

        def least(request: RequestView) -> tuple[Fraction, int]:
            return counters.get(request.id, Fraction(0)), request.index

        return serve_head_first(view, least)

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        """Counters after the lanes were charged, taken from the least one of those still live."""
        known = dict(_counters(memory))
        live = {r.id: known.get(r.id, Fraction(0)) for r in completion.view.requests}
        weight = {r.id: r.weight for r in completion.view.requests}
        for lane in completion.lanes:
            if lane.finished:
                live.pop(lane.id, None)
            else:
                served = self.prompt_token * lane.consumed + self.output_token * lane.published
                live[lane.id] += served / weight[lane.id]
        least = min(live.values(), default=Fraction(0))
        return tuple(sorted((i, count - least) for i, count in live.items() if count > least))


def _counters(memory: Memory) -> Counters:
    assert isinstance(memory, tuple)
    return memory


POLICY = PolicySpec(
    name="least-served",
    policy=LeastServed(),
    source="virtual token counter (Sheng et al., OSDI 2024), one client a request",
    assumes="nothing about lengths",
    parameters=(
        PolicyParameter(name="prompt_token", meaning="what a prompt token counts", exact=True),
        PolicyParameter(name="output_token", meaning="what an output token counts", exact=True),
    ),
)
