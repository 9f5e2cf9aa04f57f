"""The readable engine: the simulator's event loop, with a learner that decides and a world that costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from fairlane.policies.ongoing import Ongoing
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Decision, View
from fairlane.reference.model.request import Request
from fairlane.simulator.clock import Clock
from fairlane.simulator.closed_system import fresh_copy
from fairlane.simulator.event_loop import EventLoop, LaneRecord, Launch
from fairlane.simulator.learning.config import LearningConfig
from fairlane.simulator.learning.costs import TICKS_PER_MS, history_of
from fairlane.simulator.learning.learner import Learner, Settled
from fairlane.simulator.learning.outcome import KINDS, REASONS, GraphOutcome, LearningRun, Totals
from fairlane.simulator.learning.scenario import Scenario, Service
from fairlane.simulator.learning.world import World


def ordinary_rule(service: Service) -> Ongoing:
    """The ordinary score of a scenario."""
    return Ongoing(
        history_ms=service.history_ms,
        output_value=service.output_value,
        token_fairness=service.token_fairness,
        delivery_fairness=service.delivery_fairness,
        age_price=service.age_price,
    )


class _Loop(EventLoop):
    """The event loop, which tells the world what is about to run."""

    source: World

    def checked(self, view: View, decision: Decision) -> Launch:
        """A legal decision; its lanes decide its duration."""
        launch = super().checked(view, decision)
        self.source.starts(launch, self.ledger)
        return launch


class _Recorder:
    """Rows of a run as they come, and fresh copies of templates."""

    def __init__(self, loop: _Loop, scenario: Scenario, world: World) -> None:
        self._loop = loop
        self._world = world
        self._templates = scenario.templates
        self._copies = [0] * len(scenario.templates)
        self._coming = sorted((int(t.arrival_ms * TICKS_PER_MS), k) for k, t in enumerate(scenario.templates))
        self.replenishes = True
        self.drains = False
        self.withheld: list[int] = []
        self.template: list[int] = []
        self.arrival: list[int] = []
        self.finished: list[int | None] = []
        self.graph: list[int] = []
        self.start: list[int] = []
        self.end: list[int] = []
        self.offsets = [0]
        self.lanes: list[LaneRecord] = []

    def arrive(self, tick: int) -> None:
        """The first copies that have arrived by a tick; later ones wait, so that ranks follow arrivals."""
        while self._coming and self._coming[0][0] <= tick:
            arrival, template = self._coming.pop(0)
            self.send(template, arrival)

    def next_arrival(self) -> int | None:
        """Tick of the next first copy."""
        return self._coming[0][0] if self._coming else None

    def send(self, template: int, tick: int) -> None:
        """The next copy of a template arrives."""
        request: Request = fresh_copy(self._templates[template], self._copies[template], Fraction(tick, TICKS_PER_MS))
        self._copies[template] += 1
        self.template.append(template)
        self.arrival.append(tick)
        self.finished.append(None)
        self._world.append(request)
        self._loop.append(request, tick)

    def record(self, launch: Launch, start: int, end: int, lanes: Sequence[LaneRecord]) -> None:
        """One launch, and the copies that follow from it."""
        self.arrive(end)
        self.graph.append(launch.graph)
        self.start.append(start)
        self.end.append(end)
        self.lanes.extend(lanes)
        self.offsets.append(len(self.lanes))
        for lane in lanes:
            if lane.finished:
                self.finished[lane.request] = end
                if self.replenishes:
                    self.send(self.template[lane.request], end)
                elif not self.drains:
                    self.withheld.append(self.template[lane.request])


def run_readable(
    config: LearningConfig, scenario: Scenario, seed: int, on_settled: Callable[[Settled], None] | None = None
) -> LearningRun:
    """A run by the event loop; see `fairlane.simulator.learning.run`."""
    geometry = scenario.geometry()
    world = World(scenario, seed)
    kinds: list[int] = []
    reasons: list[int] = []
    measured: list[float] = []
    credit: list[float] = []

    def keep(settled: Settled) -> None:
        kinds.append(KINDS.index(settled.plan.kind))
        reasons.append(REASONS.index(settled.plan.reason))
        shown = settled.timing.duration_ms
        measured.append(float("nan") if shown is None else shown)
        credit.append(settled.credit_ms)
        if on_settled is not None:
            on_settled(settled)

    learner = Learner(
        config,
        ordinary_rule(scenario.service),
        geometry,
        seed,
        parts=lambda: world.parts,
        told_ms=world.conditional_means_ms if config.spec.told else None,
        on_settled=keep,
    )
    if scenario.history:
        for g, durations in enumerate(history_of(scenario.laws, seed, scenario.history)):
            learner.mature(g, durations.tolist())
    clock = Clock(TICKS_PER_MS)
    objective = Objective(decode_value=scenario.service.output_value)
    loop = _Loop((), (), (), geometry, objective, learner, world, clock)
    recorder = _Recorder(loop, scenario, world)
    learned_from, drain_from = _drive(loop, learner, recorder, scenario, world)
    credit_account, delay = learner.accounts.credit, learner.accounts.delay
    phases = () if delay is None else (delay.prefill, delay.decode)
    lanes = np.array([lane[:3] for lane in recorder.lanes], dtype=np.int64).reshape(-1, 3)
    return LearningRun(
        config=config,
        scenario=scenario,
        seed=seed,
        graph=np.array(recorder.graph, dtype=np.int64),
        start_ms=np.array(recorder.start, dtype=np.int64) / TICKS_PER_MS,
        end_ms=np.array(recorder.end, dtype=np.int64) / TICKS_PER_MS,
        kind=np.array(kinds, dtype=np.int64),
        reason=np.array(reasons, dtype=np.int64),
        measured_ms=np.array(measured, dtype=np.float64),
        credit_ms=np.array(credit, dtype=np.float64),
        lane_offsets=np.array(recorder.offsets, dtype=np.int64),
        lane_request=lanes[:, 0].copy(),
        lane_consumed=lanes[:, 1].copy(),
        lane_published=lanes[:, 2].copy(),
        template=np.array(recorder.template, dtype=np.int64),
        arrival_ms=np.array(recorder.arrival, dtype=np.int64) / TICKS_PER_MS,
        finished_ms=np.array([np.nan if t is None else t / TICKS_PER_MS for t in recorder.finished]),
        measured_from=learned_from,
        drain_from=drain_from,
        graphs=tuple(_graph_outcome(learner, g) for g in range(len(geometry))),
        totals=Totals(
            foreground_ms=credit_account.foreground_ms,
            exploration_ms=credit_account.spent_ms,
            latest_probe_ms=credit_account.latest_ms,
            bootstrap_ms=learner.accounts.bootstrap_ms,
            credit_ms=credit_account.balance_ms,
            opportunities=learner.accounts.opportunities,
            delay_earned=tuple(phase.earned for phase in phases),
            delay_charged=tuple(phase.charged for phase in phases),
        ),
    )


def _drive(loop: _Loop, learner: Learner, recorder: _Recorder, scenario: Scenario, world: World) -> tuple[int, int]:
    """Learning, measuring and draining; the first launches of the latter two."""
    ends = [
        int(t * TICKS_PER_MS)
        for t in (
            scenario.learn_busy_ms,
            scenario.learn_busy_ms + scenario.measure_busy_ms,
            scenario.learn_busy_ms + scenario.measure_busy_ms + scenario.drain_busy_ms,
        )
    ]
    pauses = list(scenario.pauses)
    idle = 0
    firsts = [-1, -1]
    while True:
        recorder.arrive(loop.ledger.now)
        loop.admit_arrivals()
        for k in range(2):
            if firsts[k] < 0 and world.busy >= ends[k]:
                firsts[k] = len(recorder.graph)
        recorder.drains = world.busy >= ends[1]
        if pauses and not idle and world.busy >= int(pauses[0].after_busy_ms * TICKS_PER_MS):
            idle = int(pauses.pop(0).idle_ms * TICKS_PER_MS)
        recorder.replenishes = not idle and not recorder.drains
        if world.busy >= ends[2]:
            break
        if loop.advance(recorder) is None:
            continue
        # nobody is live
        arrival = recorder.next_arrival()
        if recorder.drains:
            break
        learner.idle()
        if arrival is not None:
            loop.ledger.now = arrival
            continue
        assert idle, "templates are replenished except in a pause"
        loop.ledger.now += idle
        idle = 0
        for template in sorted(recorder.withheld):
            recorder.send(template, loop.ledger.now)
        recorder.withheld.clear()
    n = len(recorder.graph)
    return (firsts[0] if firsts[0] >= 0 else n), (firsts[1] if firsts[1] >= 0 else n)


def _graph_outcome(learner: Learner, graph: int) -> GraphOutcome:
    estimate = learner.records[graph].estimate
    known = estimate.measured
    return GraphOutcome(
        count=estimate.lifetime.count,
        mean_ms=estimate.lifetime.mean if known else None,
        active_count=estimate.active.count,
        active_mean_ms=estimate.active.mean if known else None,
        operational_ms=learner.estimator.mean_ms(estimate),
        resets=estimate.resets,
    )
