"""A closed system, simulated: a request that finishes is replaced at once by a fresh copy of its own template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction
from fairlane.reference.model.instance import Instance, Regenerates
from fairlane.reference.model.policy import as_policy
from fairlane.reference.model.request import Request
from fairlane.simulator.clock import Clock, clock_for
from fairlane.simulator.draws import KeyedDraws, checked_seed
from fairlane.simulator.event_loop import EventLoop, LaneRecord, Launch
from fairlane.simulator.realised import realised_value
from fairlane.simulator.run import Floats, Integers, Run
from fairlane.simulator.simulate import assemble, policy_label
from fairlane.simulator.stage import Recording, Stage


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClosedRun:
    """A run of a closed system.

    Attributes
    ----------
    run : Run
        Every copy is a request of its own, ``a``, ``a#1``, ``a#2``, ...
    template : int64, shape (n_requests,)
        Index of each copy's template.
    reward_per_ms : float
        The objective's value over the whole run, per ms.
    tokens_per_ms : float64, shape (n_templates,)
        Useful tokens of each template's copies, per ms.
    """

    run: Run
    template: Integers
    reward_per_ms: float
    tokens_per_ms: Floats


class _Replacing:
    """A recorder that sends in the next copy when one finishes."""

    def __init__(
        self, loop: EventLoop, recording: Recording, workload: Instance, source: KeyedDraws, clock: Clock
    ) -> None:
        self._loop = loop
        self._recording = recording
        self._templates = workload.requests
        self._source = source
        self._per_ms = clock.per_ms
        self._copies = [0] * len(workload.requests)
        self.requests: list[Request] = []
        self.arrivals: list[int] = []
        self.template: list[int] = []

    def send(self, template: int, tick: int) -> None:
        """The next copy of a template arrives."""
        arrival = Fraction(tick, self._per_ms)
        request = fresh_copy(self._templates[template], self._copies[template], arrival)
        self._copies[template] += 1
        self.requests.append(request)
        self.arrivals.append(tick)
        self.template.append(template)
        self._source.append(request)
        self._loop.append(request, tick)

    def record(self, launch: Launch, start: int, end: int, lanes: Sequence[LaneRecord]) -> None:
        """One launch, and the copies that follow from it."""
        self._recording.record(launch, start, end, lanes)
        for lane in lanes:
            if lane.finished:
                self.send(self.template[lane.request], end)


def fresh_copy(template: Request, number: int, arrival_ms: Fraction) -> Request:
    """A copy whose length is drawn anew from the belief."""
    return Request(
        id=f"{template.id}#{number}" if number else template.id,
        arrival_ms=arrival_ms,
        prompt=template.prompt,
        generated=template.generated,
        limit=template.limit,
        length_prior=template.length_prior,
        acceptance=template.acceptance,
        weight=template.weight,
    )


def simulate_closed(workload: Instance, policy: object, *, horizon_ms: Real | str, seed: int = 0) -> ClosedRun:
    """Run a closed system up to a horizon.

    Parameters
    ----------
    workload : Instance
        Templates with ``regenerates`` "request"; all are present at the start. Ages are not capped.
    policy : Policy, PolicySpec or callable
        Who decides.
    horizon_ms : number
        No graph starts at or after it, > 0.
    seed : int
        Of every draw.

    Returns
    -------
    ClosedRun
        The reward rate tends to the policy's long-run rate as the horizon grows; the start and the open end weigh
        in with the inverse of the horizon.

    Raises
    ------
    InvalidInstance
        A workload that regenerates as a whole, or a horizon that is not > 0.
    """
    if workload.regenerates is not Regenerates.REQUEST:
        raise InvalidInstance('regenerates is "episode"; a closed system needs "request"')
    horizon = as_fraction(horizon_ms, "horizon_ms")
    if horizon <= 0:
        raise InvalidInstance(f"horizon_ms is {horizon}; need > 0")
    clock = clock_for([horizon, *(g.duration_ms for g in workload.graphs)])
    source = KeyedDraws((), checked_seed(seed))
    loop = EventLoop((), (), (), workload.graphs, workload.objective, as_policy(policy), source, clock)
    recording = Recording(clock)
    replacing = _Replacing(loop, recording, workload, source, clock)
    for k in range(len(workload.requests)):
        replacing.send(k, 0)
    loop.run(replacing, horizon=clock.ticks(horizon))
    ready = Stage(
        requests=tuple(replacing.requests),
        arrivals=replacing.arrivals,
        admitted=[True] * len(replacing.requests),
        rejections=(),
        clock=clock,
        horizon=clock.ticks(horizon),
        warnings=(),
    )
    run = assemble(
        ready,
        recording.columns(),
        np.array(loop.ledger.prompt, dtype=np.int64),
        np.array(loop.ledger.generated, dtype=np.int64),
        catalog=workload.graphs,
        objective=workload.objective,
        label=policy_label(policy),
        seed=seed,
    )
    template = np.array(replacing.template, dtype=np.int64)
    tokens = np.bincount(
        template[run.lane_request],
        weights=run.lane_consumed + run.lane_published,
        minlength=len(workload.requests),
    )
    return ClosedRun(
        run=run,
        template=template,
        reward_per_ms=realised_value(run) / run.boundary_ms,
        tokens_per_ms=tokens / run.boundary_ms,
    )
