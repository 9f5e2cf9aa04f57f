"""``simulate``: requests, graphs and a policy in, a :class:`~fairlane.simulator.run.Run` out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Policy, PolicySpec, as_policy
from fairlane.reference.model.request import Request
from fairlane.simulator.draws import KeyedDraws, checked_seed
from fairlane.simulator.event_loop import EventLoop, LaneRecord
from fairlane.simulator.fast_loops import Path, run_fast_loop
from fairlane.simulator.run import Floats, Integers, Run, Status
from fairlane.simulator.stage import Columns, Recording, Stage, stage
from fairlane.simulator.two_frames import MAX_FRAMES, FrameLoop


def simulate(
    requests: Sequence[Request],
    catalog: Catalog,
    policy: object,
    *,
    decode_value: Real | str | None = None,
    objective: Objective | None = None,
    horizon_ms: Real | str | None = None,
    seed: int = 0,
    name: str | None = None,
    exact_times: bool = False,
    path: Path = Path.BY_SIZE,
    two_frames: bool = False,
    launch_gap_ms: Real | str = 0,
) -> Run:
    """Run a policy on requests that arrive over time.

    Parameters
    ----------
    requests : sequence of Request
        In any order; sorted by arrival, stably. ``output_length`` is the hidden length; where it is missing the
        length is drawn from ``length_prior``, and where that is missing too it is the limit.
    catalog : Catalog
        The graphs.
    policy : Policy, PolicySpec, or callable
        Who decides.
    decode_value : number
        Value of an output token; this or ``objective``, exactly one of them.
    objective : Objective or None
        Everything the policy is shown of what counts.
    horizon_ms : number or None
        No graph starts at or after it, milliseconds, > 0; a graph in flight then finishes in full. None goes on
        until every request has finished or was rejected.
    seed : int
        Of every draw, 0 <= seed < 2^63.
    name : str or None
        Label of the policy in the result.
    exact_times : bool
        Show a policy times as Fractions rather than doubles; for policies that look their state up in exact tables.
    path : Path
        Which loop runs a policy that has fast ones; the result is the same. Two frames or a gap need the event loop.
    two_frames : bool
        Choose the next graph while one runs and queue it; the rules are in `two_frames`.
    launch_gap_ms : number
        Least time from a choice to the start of its graph, milliseconds, >= 0.

    Returns
    -------
    Run
        The same input and seed give the same run, byte for byte.

    Raises
    ------
    InvalidInstance
        A value outside its domain.
    PolicyError
        An illegal decision, or nothing to do while someone waits and nobody else will arrive.

    Notes
    -----
    Time is kept in whole ticks of a grid that holds every duration and arrival, so no event is misplaced by
    rounding. A policy may do nothing until the next arrival. Conservation is asserted at every completion.

    Examples
    --------
    >>> from fairlane.reference.model.graph import Graph
    >>> from fairlane.reference.model.policy import Decision
    >>> graphs = Catalog([Graph(name="p512", duration_ms=50, prefill_capacity=512)])
    >>> one = Request(id="a", prompt=1000, limit=1)
    >>> run = simulate([one], graphs, lambda view: Decision(graph="p512", prefill=("a",)), decode_value=1)
    >>> run.finished_ms.tolist(), run.n_launches
    ([100.0], 2)
    """
    if (decode_value is None) == (objective is None):
        raise InvalidInstance("decode_value and objective: need exactly one of them")
    prices = objective if objective is not None else Objective(decode_value=decode_value)  # type: ignore[arg-type]  # one is given
    rule = as_policy(policy)
    label = name if name is not None else policy_label(policy)
    ready = stage(requests, catalog, horizon_ms=horizon_ms, gap_ms=launch_gap_ms, exact=exact_times)
    source = KeyedDraws(ready.requests, checked_seed(seed))
    if two_frames or ready.gap:
        if path not in (Path.BY_SIZE, Path.READABLE):
            raise InvalidInstance(f"path is {path.value!r} with two frames or a launch gap; need the event loop")
        frames = MAX_FRAMES if two_frames else 1
        return _run_frames(ready, catalog, prices, rule, source, frames=frames, label=label)
    outcome = run_fast_loop(rule, ready, catalog, prices, source, path)
    if outcome is not None:
        return assemble(ready, *outcome, catalog=catalog, objective=prices, label=label, seed=seed)
    loop = EventLoop(ready.requests, ready.arrivals, ready.admitted, catalog, prices, rule, source, ready.clock)
    recording = Recording(ready.clock)
    loop.run(recording, horizon=ready.horizon)
    prompt_left = np.array(loop.ledger.prompt, dtype=np.int64)
    generated = np.array(loop.ledger.generated, dtype=np.int64)
    return assemble(
        ready,
        recording.columns(),
        prompt_left,
        generated,
        catalog=catalog,
        objective=prices,
        label=label,
        seed=seed,
    )


def _run_frames(
    ready: Stage, catalog: Catalog, objective: Objective, rule: Policy, source: KeyedDraws, *, frames: int, label: str
) -> Run:
    loop = EventLoop(ready.requests, ready.arrivals, ready.admitted, catalog, objective, rule, source, ready.clock)
    queueing = FrameLoop(loop, catalog, rule, frames=frames, gap=ready.gap)
    recording = Recording(ready.clock)
    queueing.run(recording, horizon=ready.horizon)
    per_ms = ready.clock.per_ms
    run = assemble(
        ready,
        recording.columns(),
        np.array(loop.ledger.prompt, dtype=np.int64),
        np.array(loop.ledger.generated, dtype=np.int64),
        catalog=catalog,
        objective=objective,
        label=label,
        seed=source.seed,
    )
    return replace(
        run,
        frames_in_flight=frames,
        launch_gap_ms=Fraction(ready.gap, per_ms),
        chosen_ms=np.array([tick / per_ms for tick in queueing.chosen], dtype=np.float64),
    )


def policy_label(policy: object) -> str:
    """How a policy is called when nobody named it."""
    if isinstance(policy, PolicySpec):
        return policy.name
    label = getattr(policy, "__qualname__", None) or getattr(policy, "name", None) or type(policy).__qualname__
    return str(label)


def assemble(
    ready: Stage,
    columns: Columns,
    prompt_left: Integers,
    generated: Integers,
    *,
    catalog: Catalog,
    objective: Objective,
    label: str,
    seed: int,
) -> Run:
    """A run from what was recorded; conservation is checked once more over the whole of it."""
    lanes = columns.lanes
    done = np.flatnonzero(lanes[:, LaneRecord._fields.index("finished")])
    launch = np.repeat(np.arange(len(columns.graph)), np.diff(columns.offsets))
    assert len(np.unique(lanes[done, 0])) == len(done), "one completion a request"
    finished_ms = np.full(len(ready.requests), np.nan)
    finished_ms[lanes[done, 0]] = columns.end_ms[launch[done]]
    _check_conservation(ready, lanes, prompt_left, generated)
    boundary = _boundary(ready, columns.last_end)
    status = _status(ready, finished_ms, boundary)
    per_ms = ready.clock.per_ms
    return Run(
        requests=ready.requests,
        catalog=catalog,
        policy=label,
        objective=objective,
        seed=seed,
        horizon_ms=None if ready.horizon is None else Fraction(ready.horizon, per_ms),
        boundary_ms=boundary / per_ms,
        graph=columns.graph,
        start_ms=columns.start_ms,
        end_ms=columns.end_ms,
        lane_offsets=columns.offsets,
        lane_request=lanes[:, 0].copy(),
        lane_consumed=lanes[:, 1].copy(),
        lane_published=lanes[:, 2].copy(),
        lane_proposed=lanes[:, 3].copy(),
        lane_accepted=lanes[:, 4].copy(),
        status=status,
        finished_ms=finished_ms,
        prompt_left=prompt_left,
        generated=generated,
        rejections=tuple(r for r in ready.rejections if status[r.request] == Status.REJECTED),
        warnings=ready.warnings,
    )


def _check_conservation(ready: Stage, lanes: Integers, prompt_left: Integers, generated: Integers) -> None:
    """Over the whole run once more, from the lanes alone: work in = consumed + left, for both kinds of work."""
    n = len(ready.requests)
    consumed = np.bincount(lanes[:, 0], weights=lanes[:, 1], minlength=n).astype(np.int64)
    published = np.bincount(lanes[:, 0], weights=lanes[:, 2], minlength=n).astype(np.int64)
    prompt = np.array([r.prompt for r in ready.requests], dtype=np.int64)
    before = np.array([r.generated for r in ready.requests], dtype=np.int64)
    assert (prompt == consumed + prompt_left).all(), "prompt tokens in = consumed + left"
    assert (before + published == generated).all(), "output = what was there + published"


def _boundary(ready: Stage, last_end: int) -> int:
    if ready.horizon is not None:
        return max(ready.horizon, last_end)
    return max(last_end, ready.arrivals[-1] if ready.arrivals else 0)


def _status(ready: Stage, finished_ms: Floats, boundary: int) -> Integers:
    status = np.where(np.isnan(finished_ms), int(Status.UNFINISHED), int(Status.FINISHED)).astype(np.int64)
    for rejection in ready.rejections:
        status[rejection.request] = Status.REJECTED
    status[[i for i, t in enumerate(ready.arrivals) if t > boundary]] = Status.NOT_ARRIVED
    return status
