"""What the episode objective makes of one run: the value that the exact oracle gives the expectation of."""

from __future__ import annotations

import numpy as np

from fairlane.reference.model.pricing import launch_cost
from fairlane.simulator.run import Run, Status, publications


def realised_value(run: Run) -> float:
    """Value of a run under its objective, waiting counted from each arrival to the boundary at most.

    Parameters
    ----------
    run : Run
        Of any length; rejected requests and those that had not arrived count for nothing.

    Returns
    -------
    float
        For an episode, whose requests are all present at 0, its mean over seeds estimates the exact value of the
        policy. Cost O(lanes).
    """
    prices = run.objective
    weight = np.array([float(r.weight) for r in run.requests])
    arrival = np.array([float(r.arrival_ms) for r in run.requests])
    prompt = np.array([r.prompt for r in run.requests])
    live = np.isin(run.status, (Status.FINISHED, Status.UNFINISHED))
    end = np.where(np.isnan(run.finished_ms), run.boundary_ms, run.finished_ms)
    work = float(prices.prefill_value) * run.lane_consumed + float(prices.decode_value) * run.lane_published
    value = float((weight[run.lane_request] * work).sum())
    launches = np.bincount(run.graph, minlength=len(run.catalog))
    value -= float(launches @ np.array([float(launch_cost(prices, graph)) for graph in run.catalog]))
    value -= float(prices.time_price) * _covered_ms(arrival[live], end[live])
    value -= float(prices.completion_price) * float((weight * (end - arrival))[live].sum())

    table = publications(run)
    some = np.diff(table.offsets) > 0
    first = np.where(some, table.at_ms[np.minimum(table.offsets[:-1], len(table.at_ms) - 1)], end) if len(some) else end
    waits = live & (prompt > 0)
    value -= float(prices.first_output_price) * float((weight * (first - arrival))[waits].sum())

    # the area of an age that grows from 0 over a gap is half its square
    opens = np.where(prompt == 0, arrival, first)
    owner = np.repeat(np.arange(run.n_requests), np.diff(table.offsets))
    before = np.concatenate(([np.nan], table.at_ms[:-1])) if len(owner) else np.empty(0)
    heads = table.offsets[:-1][some]
    before[heads] = opens[some]
    area = np.bincount(owner, weights=(table.at_ms - before) ** 2 / 2, minlength=run.n_requests)
    last = np.where(some, table.at_ms[np.maximum(table.offsets[1:] - 1, 0)] if len(owner) else opens, opens)
    still_open = live & np.isnan(run.finished_ms) & ((prompt == 0) | some)
    area = area + np.where(still_open, (end - last) ** 2 / 2, 0.0)
    return value - float(prices.age_price) * float((weight * area)[live].sum())


def _covered_ms(starts: np.ndarray, ends: np.ndarray) -> float:
    """Length of the union of intervals: the time in which any request is unfinished."""
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order]) if len(ends) else ends
    if len(starts) == 0:
        return 0.0
    fresh = np.maximum(starts, np.concatenate(([-np.inf], ends[:-1])))
    return float(np.maximum(ends - fresh, 0.0).sum())
