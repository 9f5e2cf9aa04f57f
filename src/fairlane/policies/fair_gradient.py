"""``fair-gradient``: the graph in the direction of the fair allocation's gradient at the observed rates.

With F(x) = sum_i [v_i x_i + f_i log x_i], a useful token of request i is worth q_i = v_i + f_i / x_i, and the
dispatcher takes the graph and cohort of the largest sum_i q_i E[useful tokens_i] / T. The observed rates x_i fade
exponentially and start at their normalisers; see `service_rates`. f_i is the request's weight times ``fairness``.

Source: the supporting-direction rule of the fair-allocation reference; proportional fairness after Kelly, Maulloo
and Tan (1998, doi:10.1057/palgrave.jors.2600523).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fairlane.policies.choosing import Candidate, choose, oldest_first
from fairlane.policies.priced_prompts import PricedPrompt, best_prompts
from fairlane.policies.service_rates import (
    current_rates,
    measured_graphs,
    observed,
    price,
    projected,
    rates_of,
    row_tokens,
)
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.policy import Completion, Decision, Memory, PolicySpec, Running, Sees, View
from fairlane.reference.model.policy_parameter import PolicyParameter


@dataclass(frozen=True, slots=True, kw_only=True)
class FairGradient:
    """The policy; its memory holds the rate of every live request that was live at the last completion."""

    history_ms: float = 1000.0
    token_value: float = 0.0
    fairness: float = 1.0
    sees: frozenset[Sees] = frozenset()

    def initial(self, catalog: Catalog) -> Memory:
        """No rates."""
        return ()

    def decide(self, view: View, memory: Memory) -> Decision:
        """The best cohort of every graph at the current prices, then the best graph."""
        return choose(self._candidates(view, memory))

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        """Rates after the graph."""
        return observed(memory, completion, measured_graphs(completion.view), self.history_ms)

    def project(self, memory: Memory, running: Running) -> Memory:
        """Copies of the rates after a graph that still runs."""
        return projected(memory, running, measured_graphs(running.view), self.history_ms)

    def _candidates(self, view: View, memory: Memory) -> Iterator[Candidate]:
        graphs = measured_graphs(view)
        rates = current_rates(view, rates_of(memory), graphs)
        line = sorted(view.requests, key=oldest_first)
        q = {r.id: float(r.weight) * (self.token_value + price(self.fairness, rates[r.id].tokens_per_ms)) for r in line}
        waiting = [PricedPrompt(r, q[r.id], q[r.id]) for r in line if r.prompt > 0]
        streams = [r for r in line if r.prompt == 0]
        ranked = {}
        for graph, duration, order in graphs:
            prompts = best_prompts(graph, waiting)
            value = prompts.value
            decode = []
            if graph.decode_capacity and streams:
                if graph.width not in ranked:
                    rows = [(q[r.id] * row_tokens(r, graph.width), r) for r in streams]
                    ranked[graph.width] = sorted(rows, key=lambda row: -row[0])
                decode = ranked[graph.width][: graph.decode_capacity]
                value += sum(gain for gain, _ in decode)
            if prompts.requests or decode:
                yield Candidate(
                    graph=graph,
                    order=order,
                    prefill=prompts.requests,
                    decode=tuple(r for _, r in decode),
                    score=value / duration,
                )


POLICY = PolicySpec(
    name="fair-gradient",
    policy=FairGradient(),
    source="supporting direction of proportional fairness (Kelly, Maulloo, Tan 1998) at observed rates",
    assumes="known durations and acceptance; rates as doubles",
    parameters=(
        PolicyParameter(name="history_ms", meaning="time over which observed rates fade, ms", positive=True),
        PolicyParameter(name="token_value", meaning="value of a useful token beside fairness"),
        PolicyParameter(name="fairness", meaning="worth of a ms of service at the best token rate"),
    ),
)
