"""Two frames in flight: while one graph runs, the next is chosen and queued behind it.

A graph is chosen as soon as it can be: the first one when there is work, each further one at the start of the graph
ahead of it. It starts at

    max(completion of the graph ahead, choice + launch gap),

the launch gap being the host's time between a choice and a start; with the gap of 0, a queued graph starts at the
completion itself. Completions, histories, draws and books are those of `event_loop`; only the order of choices differs.

What the second choice sees
    Nothing of the running graph has been delivered. Prompt tokens in it are certain, so a prompt with tokens left
    after its chunk is shown with what is left, and may be queued again. Everything else in the running graph is a
    feedback dependency: a decode row, since its next input is what it publishes, and a prompt's last chunk, whose
    first output is the next input. Those requests stand in ``View.in_flight`` and can be in no lane. One that must
    reach its limit in the running graph is shown nowhere.
Prices
    A policy with `project` (`ongoing`, `fair-gradient`) decides on copies: its memory moved forward by the expected
    service, the clock, ages and service order as at the running graph's completion. Every other policy sees the
    clock, ages and service order as they have been observed, since it has no expectation to put in their place.
History
    `observe` is called at completions alone, with the view at the start of the graph that completed. A schedule
    therefore leaves the same history whether its graphs were queued or not.
Pauses
    Where no request is left that could be in a lane, or the policy would rather do nothing, nothing is queued. The
    question is put again at each arrival before the running graph ends, and in any case at its completion, then with
    its outcome known. An arrival never changes a graph that is queued.
Horizon
    No graph starts at or after it, so none is queued that would.

Source: the runtime policy choices of the source: at most two frames, prices projected in copies, dispatch paused at
feedback dependencies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from fairlane.reference.errors import PolicyError
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.policy import (
    Decision,
    Memory,
    Policy,
    Projects,
    RequestView,
    Running,
    View,
    check_decision,
)
from fairlane.simulator.event_loop import EventLoop, Launch, Recorder, Stop

MAX_FRAMES = 2


class Frame(NamedTuple):
    """A graph that was chosen at a tick and has not started."""

    launch: Launch
    decision: Decision
    chosen: int


class FrameLoop:
    """A run in progress with a queue of frames over an :class:`EventLoop`.

    Parameters
    ----------
    loop : EventLoop
        Keeps the books; its own `run` and `advance` are not used.
    catalog : Catalog
        The loop's graphs.
    policy : Policy
        Who decides behind a running graph; the loop's own, or what it stands for.
    frames : int
        1 never queues, 2 queues one graph behind the one that runs.
    gap : int
        Ticks from a choice to the earliest start, >= 0.
    """

    def __init__(self, loop: EventLoop, catalog: Catalog, policy: Policy, *, frames: int, gap: int = 0) -> None:
        assert frames in (1, MAX_FRAMES), "one or two frames"
        self.loop = loop
        self.queued: Frame | None = None
        # ticks at which the launches of `run` were chosen
        self.chosen: list[int] = []
        self._chosen_at = 0
        self._policy = policy
        self._projects = policy if isinstance(policy, Projects) else None
        self._catalog = catalog
        self._graphs = catalog.graphs
        self._index = {g.name: k for k, g in enumerate(catalog.graphs)}
        self._frames = frames
        self._gap = gap

    def run(self, recorder: Recorder, *, horizon: int | None = None) -> None:
        """Run until nothing is left, or until no graph would start before the horizon."""
        loop, ledger = self.loop, self.loop.ledger
        while True:
            loop.admit_arrivals()
            # a queued graph was seen to start in time
            if self.queued is None and horizon is not None and ledger.now + self._gap >= horizon:
                return
            stop = self.advance(recorder, horizon=horizon)
            if stop is None:
                self.chosen.append(self._chosen_at)
                continue
            if stop.next_arrival is None:
                return
            ledger.now = stop.next_arrival

    def advance(self, recorder: Recorder, *, horizon: int | None = None) -> Stop | None:
        """Run one graph to its completion, and choose the next one meanwhile; or say that there is nothing to run."""
        loop, ledger = self.loop, self.loop.ledger
        frame, self.queued = self.queued, None
        view: View | None = None
        if frame is None:
            if not ledger.live:
                return Stop(loop.next_arrival())
            view = ledger.view()
            decision = loop.pick(loop.policy.decide(view, loop.memory))
            loop.dispatches += 1
            if isinstance(decision, Decision) and decision.graph is None:
                return Stop(loop.idle_until(view))
            frame = Frame(loop.checked(view, decision), decision, ledger.now)
        start = max(ledger.now, frame.chosen + self._gap)
        if start > ledger.now:
            ledger.now = start
            loop.admit_arrivals()
            view = None
        if view is None and (loop.tells or self._frames > 1):
            view = ledger.view()
        timing = loop.timing(frame.launch.graph)
        if self._frames > 1:
            assert view is not None, "the view at the start"
            self.queued = self._choose_behind(frame, view, timing.ticks, horizon)
            ledger.now = start
        lanes = loop.execute(frame.launch, timing.ticks)
        recorder.record(frame.launch, start, ledger.now, lanes)
        self._chosen_at = frame.chosen
        if loop.tells:
            assert view is not None, "the view at the start"
            loop.tell(view, frame.decision, frame.launch, timing, lanes)
        return None

    def _choose_behind(self, frame: Frame, view: View, ticks: int, horizon: int | None) -> Frame | None:
        """The graph to run after one that starts now, chosen now or at an arrival before it ends."""
        loop, ledger = self.loop, self.loop.ledger
        end = ledger.now + ticks
        # nobody who decides knows how long the running graph takes this time
        expected = ledger.now + loop.listed_ticks(frame.launch.graph)
        running = Running(view=view, decision=frame.decision, graph=self._graphs[frame.launch.graph])
        memory: Memory = loop.memory
        if self._projects is not None:
            memory = self._projects.project(memory, running)
        while horizon is None or max(end, ledger.now + self._gap) < horizon:
            seen = self._view_behind(frame.launch, max(expected, ledger.now))
            if seen.requests:
                decision = loop.pick(self._policy.decide(seen, memory))
                loop.dispatches += 1
                if not (isinstance(decision, Decision) and decision.graph is None):
                    return Frame(self._checked(seen, frame.decision, decision), decision, ledger.now)
            arrival = loop.next_arrival()
            if arrival is None or arrival >= end:
                break
            ledger.now = arrival
            loop.admit_arrivals()
        return None

    def _view_behind(self, running: Launch, end: int) -> View:
        """What is shown now of the state behind a running graph; see the module docstring."""
        ledger = self.loop.ledger
        expects = self._projects is not None
        view = ledger.view_at(end) if expects else ledger.view()
        at_end = view.now_ms
        left = self._graphs[running.graph].prefill_capacity
        chunk: dict[int, int] = {}
        for i in running.prefill:
            chunk[i] = min(left, ledger.prompt[i])
            left -= chunk[i]
        busy = {*running.prefill, *running.decode}
        free: list[RequestView] = []
        waits: list[RequestView] = []
        for row in view.requests:
            if row.index not in busy:
                free.append(row)
            elif row.prompt > chunk.get(row.index, row.prompt):
                served = at_end if expects else row.last_service_ms
                free.append(replace(row, prompt=row.prompt - chunk[row.index], last_service_ms=served))
            elif row.limit - row.generated > 1:
                waits.append(_delivered(row, view) if expects else row)
        return replace(view, requests=tuple(free), in_flight=tuple(waits))

    def _checked(self, view: View, running: Decision, decision: object) -> Launch:
        """A legal decision behind a running graph.

        Raises
        ------
        PolicyError
            The decision is not legal, or names a request whose next input is not known.
        """
        if isinstance(decision, Decision):
            busy = {*running.prefill, *running.decode} - {r.id for r in view.requests}
            for name in (*decision.prefill, *decision.decode):
                if name in busy:
                    raise PolicyError(
                        f"decision names {name!r} in {decision.graph!r}; its next input depends on {running.graph!r}, "
                        "which runs; need a request of view.requests"
                    )
        graph, prefill, decode = check_decision(view, decision)
        return Launch(self._index[graph.name], tuple(r.index for r in prefill), tuple(sorted(r.index for r in decode)))


def _delivered(row: RequestView, view: View) -> RequestView:
    """A request of the running graph as its completion is sure to leave it: it decodes, and its age starts anew."""
    first = 1 if row.prompt else 0
    zero = row.age_ms * 0 if row.age_ms is not None else view.now_ms * 0
    return replace(row, prompt=0, generated=row.generated + first, age_ms=zero, last_service_ms=view.now_ms)
