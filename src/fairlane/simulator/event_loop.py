"""The event loop: one execution resource, one graph in flight, output published at completion.

Every run of every policy goes through :class:`EventLoop`, the exhaustive replay included; only the compiled path
for `fixed-value` is a second implementation, and it is held to this one. Two frames in flight drive its parts in
another order, see `two_frames`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from fairlane.reference.errors import IdlesWithWork
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import (
    Choice,
    Completion,
    Decision,
    FunctionPolicy,
    LaneResult,
    Memory,
    Policy,
    View,
    branches,
    check_decision,
)
from fairlane.reference.model.request import Request
from fairlane.simulator.clock import Clock
from fairlane.simulator.draws import DrawSource, Timing
from fairlane.simulator.ledger import Ledger


class LaneRecord(NamedTuple):
    """What one lane of a launch delivered; drafts are counted before the cut by length and limit."""

    request: int
    consumed: int
    published: int
    proposed: int
    accepted: int
    finished: bool


class Launch(NamedTuple):
    """A graph with the requests in its lanes, all by index."""

    graph: int
    prefill: tuple[int, ...]
    decode: tuple[int, ...]


class Recorder(Protocol):
    """Who is told of every launch at its completion."""

    def record(self, launch: Launch, start: int, end: int, lanes: Sequence[LaneRecord]) -> None:
        """One launch from tick ``start`` to tick ``end``."""
        ...


class Stop(NamedTuple):
    """Why the loop has nothing to run now: the tick of the next arrival, or None when none is left."""

    next_arrival: int | None


class EventLoop:
    """One run in progress.

    Parameters
    ----------
    requests : sequence of Request
        In rank order.
    arrivals : sequence of int
        Ticks, never decreasing.
    admitted : sequence of bool
        False for requests that are turned away on arrival.
    catalog, objective, policy, source, clock
        What runs, what it is worth, who decides, where chance comes from, and the time grid.
    """

    def __init__(
        self,
        requests: Sequence[Request],
        arrivals: Sequence[int],
        admitted: Sequence[bool],
        catalog: Catalog,
        objective: Objective,
        policy: Policy,
        source: DrawSource,
        clock: Clock,
    ) -> None:
        self.ledger = Ledger(requests, arrivals, catalog, objective, clock)
        self.policy = policy
        self.source = source
        self.memory: Memory = policy.initial(catalog)
        self.dispatches = 0
        self._clock = clock
        self._arrivals = list(arrivals)
        self._admitted = list(admitted)
        self._next = 0
        self._graphs = catalog.graphs
        self._listed = [Timing(t, clock.show_ms(t)) for t in (clock.ticks(d) for d in catalog.durations_ms)]
        self._executions = [0] * len(catalog)
        self._graph_index = {g.name: k for k, g in enumerate(catalog.graphs)}
        self._rank = {r.id: i for i, r in enumerate(requests)}
        self._ids = [r.id for r in requests]
        # a plain function keeps no memory, so nothing need be told to it
        self.tells = not isinstance(policy, FunctionPolicy)

    def append(self, request: Request, arrival: int) -> None:
        """One more request, which arrives after all before it and is admitted."""
        assert not self._arrivals or self._arrivals[-1] <= arrival, "requests arrive by rank"
        self._rank[request.id] = len(self._ids)
        self._ids.append(request.id)
        self._arrivals.append(arrival)
        self._admitted.append(True)
        self.ledger.append(request, arrival)

    def admit_arrivals(self) -> None:
        """Make visible whatever has arrived by now; an arrival at this very instant is in."""
        ledger, arrivals = self.ledger, self._arrivals
        while self._next < len(arrivals) and arrivals[self._next] <= ledger.now:
            if self._admitted[self._next]:
                ledger.admit(self._next)
            self._next += 1

    def next_arrival(self) -> int | None:
        """Tick of the next arrival that will be admitted."""
        while self._next < len(self._arrivals) and not self._admitted[self._next]:
            self._next += 1
        return self._arrivals[self._next] if self._next < len(self._arrivals) else None

    def run(self, recorder: Recorder, *, horizon: int | None = None) -> None:
        """Run until nothing is left, or until the first decision at or after the horizon."""
        ledger = self.ledger
        while True:
            self.admit_arrivals()
            if horizon is not None and ledger.now >= horizon:
                return
            stop = self.advance(recorder)
            if stop is None:
                continue
            if stop.next_arrival is None:
                return
            ledger.now = stop.next_arrival

    def advance(self, recorder: Recorder) -> Stop | None:
        """Decide and run one graph to its completion; or say that there is nothing to run now."""
        if not self.ledger.live:
            return Stop(self.next_arrival())
        view = self.ledger.view()
        decision = self.pick(self.policy.decide(view, self.memory))
        self.dispatches += 1
        if isinstance(decision, Decision) and decision.graph is None:
            return Stop(self.idle_until(view))
        launch = self.checked(view, decision)
        start = self.ledger.now
        timing = self.timing(launch.graph)
        lanes = self.execute(launch, timing.ticks)
        recorder.record(launch, start, self.ledger.now, lanes)
        if self.tells:
            self.tell(view, decision, launch, timing, lanes)
        return None

    def listed_ticks(self, graph: int) -> int:
        """What the catalog says a graph takes."""
        return self._listed[graph].ticks

    def timing(self, graph: int) -> Timing:
        """How long a graph that starts now takes, drawn once a launch."""
        execution = self._executions[graph]
        self._executions[graph] = execution + 1
        return self.source.duration(graph, execution, self._listed[graph])

    def tell(self, view: View, decision: Decision, launch: Launch, timing: Timing, lanes: Sequence[LaneRecord]) -> None:
        """The policy observes a completion, now."""
        self.memory = self.policy.observe(
            self.memory,
            Completion(
                view=view,
                decision=decision,
                graph=self._graphs[launch.graph],
                ended_ms=self._clock.show_ms(self.ledger.now),
                elapsed_ms=self._clock.show_ms(timing.ticks),
                measured_ms=timing.measured_ms,
                lanes=tuple(
                    LaneResult(
                        id=self._ids[lane.request],
                        consumed=lane.consumed,
                        published=lane.published,
                        finished=lane.finished,
                    )
                    for lane in lanes
                ),
            ),
        )

    def pick(self, choice: Choice) -> Decision:
        """The one decision of a choice, drawn where it is randomised."""
        if isinstance(choice, Decision):
            return choice
        pairs = branches(choice)
        return pairs[self.source.choose(self.dispatches, [p for p, _ in pairs])][1]

    def idle_until(self, view: View) -> int:
        """Tick of the arrival that a policy waits for.

        Raises
        ------
        IdlesWithWork
            Nobody else will arrive.
        """
        arrival = self.next_arrival()
        if arrival is None:
            waiting = ", ".join(r.id for r in view.requests[:4])
            more = "" if len(view.requests) <= 4 else f" and {len(view.requests) - 4} more"
            raise IdlesWithWork(
                f"idles with work: nothing to do at {view.now_ms} ms while {waiting}{more} can be served "
                "and nobody else will arrive"
            )
        return arrival

    def checked(self, view: View, decision: Decision) -> Launch:
        """A legal decision by index; the cost does not depend on how many requests wait.

        Raises
        ------
        PolicyError
            The decision is not legal.
        """
        launch = self._launch(decision) if isinstance(decision, Decision) else None
        if launch is None:
            # the reference check finds the words for what is wrong
            check_decision(view, decision)
            raise AssertionError("the reference takes a decision that the simulator refuses")
        return launch

    def _launch(self, decision: Decision) -> Launch | None:
        index = self._graph_index.get(decision.graph or "")
        if index is None:
            return None
        graph, ledger = self._graphs[index], self.ledger
        names = (*decision.prefill, *decision.decode)
        ranks = [self._rank.get(name) for name in names]
        lanes = [i for i in ranks if i is not None and ledger.is_live(i)]
        if not lanes or len(lanes) < len(names) or len(set(lanes)) < len(lanes):
            return None
        n_prefill = len(decision.prefill)
        prefill, decode = tuple(lanes[:n_prefill]), tuple(sorted(lanes[n_prefill:]))
        if n_prefill > (graph.prefill_lanes if graph.prefill_capacity else 0) or len(decode) > graph.decode_capacity:
            return None
        left = graph.prefill_capacity
        for i in prefill:
            if ledger.prompt[i] == 0 or left == 0:
                return None
            left -= min(left, ledger.prompt[i])
        if any(ledger.prompt[i] for i in decode):
            return None
        return Launch(index, prefill, decode)

    def execute(self, launch: Launch, ticks: int) -> list[LaneRecord]:
        """Run a graph: the clock moves to its end, then every lane's delivery is drawn and booked."""
        graph, ledger, source = self._graphs[launch.graph], self.ledger, self.source
        before = ledger.now
        ledger.now += ticks
        assert ledger.now > before, "the clock only advances"
        lanes: list[LaneRecord] = []
        left = graph.prefill_capacity
        for i in launch.prefill:
            consumed = min(left, ledger.prompt[i])
            left -= consumed
            # the last prompt token publishes exactly one output token
            published = 1 if consumed == ledger.prompt[i] else 0
            finished = published == 1 and source.tokens_to_end(i, 0, 1) is not None
            ledger.serve(i, consumed=consumed, published=published, finished=finished)
            lanes.append(LaneRecord(i, consumed, published, 0, 0, finished))
        drafts = graph.width - 1
        for i in launch.decode:
            generated = ledger.generated[i]
            accepted = source.accepted_drafts(i, generated, drafts) if drafts else 0
            end = source.tokens_to_end(i, generated, 1 + accepted)
            published = 1 + accepted if end is None else end
            ledger.serve(i, consumed=0, published=published, finished=end is not None)
            lanes.append(LaneRecord(i, 0, published, drafts, accepted, end is not None))
        return lanes
