"""The world of a readable run: keyed acceptance draws as in every simulation, and durations from the executor."""

from __future__ import annotations

from collections.abc import Sequence

from fairlane.reference.model.policy import View
from fairlane.reference.model.request import Request
from fairlane.simulator.draws import KeyedDraws, Timing
from fairlane.simulator.event_loop import Launch
from fairlane.simulator.learning.costs import TICKS_PER_MS, Executor
from fairlane.simulator.learning.learner import Parts
from fairlane.simulator.learning.scenario import Scenario
from fairlane.simulator.ledger import Ledger


class World(KeyedDraws):
    """A draw source whose durations are those of an executor."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        super().__init__((), seed)
        self.executor = Executor(scenario.laws, seed)
        self.busy = 0
        self.parts = Parts(None, 0.0)
        self._graphs = scenario.graphs.graphs
        self._prompts: list[int] = []
        self._filled = 1.0
        self._context = 0.0

    def append(self, request: Request) -> None:
        """One more request, of the next rank."""
        super().append(request)
        self._prompts.append(request.prompt)

    def starts(self, launch: Launch, ledger: Ledger) -> None:
        """A launch is about to run; its lanes decide what the geometry does not."""
        graph = self._graphs[launch.graph]
        prompt = min(graph.prefill_capacity, sum(ledger.prompt[i] for i in launch.prefill))
        self._filled = (prompt + len(launch.decode)) / (graph.prefill_capacity + graph.decode_capacity)
        self._context = self._mean_context(launch.decode, ledger.generated)

    def duration(self, graph: int, execution: int, listed: Timing) -> Timing:
        """The executor's, and what its timer shows."""
        ran = self.executor.execute(
            graph, busy_ms=self.busy / TICKS_PER_MS, occupancy=self._filled, context_tokens=self._context
        )
        self.busy += ran.ticks
        self.parts = Parts(ran.gpu_ms, ran.host_ms)
        if ran.gpu_ms:
            return Timing(ran.ticks, ran.ticks / TICKS_PER_MS)
        return Timing(ran.ticks, ran.gpu_ms)

    def conditional_means_ms(self, view: View) -> list[float]:
        """Expected costs of every graph now, for the reference: lanes as full as the live requests allow."""
        streams = [r for r in view.requests if r.decoding]
        longest = max((r.prompt for r in view.requests), default=0)
        context = self._mean_context([r.index for r in streams], {r.index: r.generated for r in streams})
        means = []
        for g, graph in enumerate(self._graphs):
            filled = min(graph.prefill_capacity, longest) + min(graph.decode_capacity, len(streams))
            means.append(
                self.executor.conditional_mean_ms(
                    g,
                    busy_ms=self.busy / TICKS_PER_MS,
                    occupancy=filled / (graph.prefill_capacity + graph.decode_capacity),
                    context_tokens=context,
                )
            )
        return means

    def _mean_context(self, rows: Sequence[int], generated: Sequence[int] | dict[int, int]) -> float:
        if not rows:
            return 0.0
        return sum(self._prompts[i] + generated[i] for i in rows) / len(rows)
