"""Figures of a simulated run: what its publications show, and what only its launches show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairlane.simulator.draft_positions import draft_positions
from fairlane.simulator.goodput import NO_TARGETS, MissingTarget, Targets
from fairlane.simulator.metrics import Metrics, measure
from fairlane.simulator.percentiles import PercentileMethod
from fairlane.simulator.publication_table import Floats, Integers, Outcome, PublicationTable, TargetKind
from fairlane.simulator.run import Run, Status, lane_launch, publications
from fairlane.simulator.starvation import DEFAULT_FACTOR, Service, starved


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunMetrics:
    """Figures of one run; None is "n/a".

    Attributes
    ----------
    publications : Metrics
        Everything defined on publications, requests that had arrived by the boundary only.
    table : PublicationTable
        What it was measured on.
    ranks : int64, shape (n_arrived,)
        Index in ``Run.requests`` of each row of the table.
    n_not_arrived : int
        Requests that would have arrived after the boundary; they are in no other count.
    n_launches : int
        Graphs that ran.
    busy_ms : float
        Time in which a graph ran: use of the execution resource, not of its arithmetic units.
    energy_j : float or None
        Energy of all launches, as the catalog gives it; None where it gives none.
    prompt_tokens : int
        Prompt tokens consumed.
    useful_tokens_per_busy_ms, useful_tokens_per_elapsed_ms : float or None
        Prompt tokens consumed plus output tokens published, over busy and over elapsed time.
    output_tokens_per_busy_ms : float or None
        Output tokens alone.
    useful_tokens_per_j : float or None
        Prompt tokens consumed plus output tokens published, over the energy.
    padded_rows, offered_rows : int
        Decode rows that ran empty, of all rows of the graphs that ran.
    padded_prompt_tokens, offered_prompt_tokens : int
        Prompt capacity that ran empty, of all of it.
    starved : bool, shape (n_arrived,)
        By the definition of :mod:`~fairlane.simulator.starvation`.
    starvation_factor : float
        The factor in that definition.
    """

    publications: Metrics
    table: PublicationTable
    ranks: Integers
    n_not_arrived: int
    n_launches: int
    busy_ms: float
    energy_j: float | None
    prompt_tokens: int
    useful_tokens_per_busy_ms: float | None
    useful_tokens_per_elapsed_ms: float | None
    output_tokens_per_busy_ms: float | None
    useful_tokens_per_j: float | None
    padded_rows: int
    offered_rows: int
    padded_prompt_tokens: int
    offered_prompt_tokens: int
    starved: npt.NDArray[np.bool_]
    starvation_factor: float

    @property
    def n_starved(self) -> int:
        """How many requests had a wait beyond the bound."""
        return int(self.starved.sum())


def measure_run(
    run: Run,
    *,
    targets: Targets = NO_TARGETS,
    missing: MissingTarget = MissingTarget.NOT_MET,
    method: PercentileMethod = PercentileMethod.LINEAR,
    starvation_factor: float = DEFAULT_FACTOR,
) -> RunMetrics:
    """All figures of a run.

    Parameters
    ----------
    run : Run
        Its boundary closes the measurement.
    targets, missing, method
        As for :func:`~fairlane.simulator.metrics.measure`.
    starvation_factor : float
        > 0.

    Returns
    -------
    RunMetrics
        Cost O(s log s) in the lanes of the run.
    """
    arrived = np.flatnonzero(run.status != Status.NOT_ARRIVED)
    table = publication_table(run, arrived)
    figures = measure(table, targets=targets, missing=missing, method=method)
    waits = starved(_service(run), factor=starvation_factor)[arrived]
    prefill_capacity = np.array([g.prefill_capacity for g in run.catalog], dtype=np.int64)[run.graph]
    decode_capacity = np.array([g.decode_capacity for g in run.catalog], dtype=np.int64)[run.graph]
    prompt_tokens = int(run.lane_consumed.sum())
    rows = int((run.lane_consumed == 0).sum())
    busy = float((run.end_ms - run.start_ms).sum())
    useful = prompt_tokens + figures.output_tokens
    energies = np.array([float(g.energy_j) for g in run.catalog])
    energy = float(energies[run.graph].sum()) if energies.any() else None
    elapsed = figures.elapsed_ms
    return RunMetrics(
        publications=figures,
        table=table,
        ranks=arrived,
        n_not_arrived=run.n_requests - len(arrived),
        n_launches=run.n_launches,
        busy_ms=busy,
        energy_j=energy,
        prompt_tokens=prompt_tokens,
        useful_tokens_per_busy_ms=useful / busy if busy > 0 else None,
        useful_tokens_per_elapsed_ms=useful / elapsed if elapsed > 0 else None,
        output_tokens_per_busy_ms=figures.output_tokens / busy if busy > 0 else None,
        useful_tokens_per_j=useful / energy if energy else None,
        padded_rows=int(decode_capacity.sum()) - rows,
        offered_rows=int(decode_capacity.sum()),
        padded_prompt_tokens=int(prefill_capacity.sum()) - prompt_tokens,
        offered_prompt_tokens=int(prefill_capacity.sum()),
        starved=waits,
        starvation_factor=starvation_factor,
    )


def publication_table(run: Run, ranks: Integers) -> PublicationTable:
    """The publications of the requests of these ranks, from time 0 to the boundary of the run."""
    all_of = publications(run)
    counts = np.diff(all_of.offsets)[ranks]
    kept = np.zeros(run.n_requests, dtype=bool)
    kept[ranks] = True
    owned = np.repeat(kept, np.diff(all_of.offsets))
    outcome = {
        Status.FINISHED: Outcome.FINISHED,
        Status.UNFINISHED: Outcome.UNFINISHED,
        Status.REJECTED: Outcome.REJECTED,
    }
    drafts = [
        np.bincount(run.lane_request, weights=lanes, minlength=run.n_requests).astype(np.int64)[ranks]
        for lanes in (run.lane_proposed, run.lane_accepted)
    ]
    return PublicationTable(
        ids=tuple(run.requests[i].id for i in ranks),
        arrival_ms=_arrivals(run)[ranks],
        offsets=np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts))),
        at_ms=all_of.at_ms[owned],
        tokens=all_of.tokens[owned],
        outcome=np.array([outcome[Status(int(code))] for code in run.status[ranks]], dtype=np.int64),
        prompt_tokens=np.array([run.requests[i].prompt for i in ranks], dtype=np.int64),
        target_ms=np.full((len(ranks), len(TargetKind)), np.nan),
        proposed_drafts=drafts[0],
        accepted_drafts=drafts[1],
        draft_positions=draft_positions(run.lane_proposed, run.lane_accepted),
        start_ms=0.0,
        boundary_ms=run.boundary_ms,
    )


def _arrivals(run: Run) -> Floats:
    return np.array([float(request.arrival_ms) for request in run.requests], dtype=np.float64)


def _service(run: Run) -> Service:
    launch = lane_launch(run)
    arrival = _arrivals(run)
    decoding = np.full(run.n_requests, np.inf)
    filled = run.lane_consumed > 0
    # lanes are in the order of time, so that the last assignment to a request stays
    decoding[run.lane_request[filled]] = run.end_ms[launch[filled]]
    decoding[run.prompt_left > 0] = np.inf
    prompts = np.array([request.prompt for request in run.requests], dtype=np.int64)
    decoding = np.where(prompts == 0, arrival, decoding)
    prefill = [float(g.duration_ms) for g in run.catalog if g.prefill_capacity]
    decode = [float(g.duration_ms) for g in run.catalog if g.decode_capacity]
    return Service(
        request=run.lane_request,
        start_ms=run.start_ms[launch],
        end_ms=run.end_ms[launch],
        arrival_ms=arrival,
        decoding_ms=decoding,
        finished_ms=np.where(run.status == Status.FINISHED, run.finished_ms, np.inf),
        served=(run.status == Status.FINISHED) | (run.status == Status.UNFINISHED),
        shortest_prefill_ms=min(prefill, default=0.0),
        shortest_decode_ms=min(decode, default=0.0),
        boundary_ms=run.boundary_ms,
    )
