"""The lag of a run by kinds of requests against the ledger that keeps an account for each."""

from __future__ import annotations

import random

import numpy as np
import pytest

from fairlane.reference.allocation.lag import Lag, advance, deliver, open_ledger, reference_rates, revise
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.policy import Decision, View
from fairlane.reference.model.request import Request
from fairlane.simulator.run import Run, Status
from fairlane.simulator.service_lag import service_lag
from fairlane.simulator.simulate import simulate
from tests.counts import count

CATALOG = Catalog(
    [
        Graph(name="p4", duration_ms=2, prefill_capacity=4),
        Graph(name="d1w3", duration_ms=2, decode_capacity=1, width=3),
        Graph(name="d3", duration_ms=3, decode_capacity=3),
        Graph(name="mixed", duration_ms=4, prefill_capacity=3, prefill_lanes=2, decode_capacity=2),
    ]
)


def by_ledger(run: Run) -> dict[str, Lag]:
    """Lag at each request's end or at the boundary, event by event."""
    ends = {i: float(at) for i, at in enumerate(run.finished_ms) if not np.isnan(at)}
    prompt = {i: r.prompt for i, r in enumerate(run.requests) if run.status[i] != Status.REJECTED}
    launches = {float(end): k for k, end in enumerate(run.end_ms)}
    arrivals = {float(run.requests[i].arrival_ms) for i in prompt}
    ledger = open_ledger()
    for at in sorted(arrivals | set(launches) | {run.boundary_ms}):
        if at > run.boundary_ms:
            break
        ledger = advance(ledger, at)
        changed = set()
        if at in launches:
            k = launches[at]
            tokens = {}
            for lane in range(run.lane_offsets[k], run.lane_offsets[k + 1]):
                i = int(run.lane_request[lane])
                tokens[run.requests[i].id] = int(run.lane_consumed[lane] + run.lane_published[lane])
                prompt[i] -= int(run.lane_consumed[lane])
                if run.lane_consumed[lane] and prompt[i] == 0:
                    changed.add(run.requests[i].id)
            ledger = deliver(ledger, tokens)
        live = [i for i in prompt if run.requests[i].arrival_ms <= at < ends.get(i, np.inf)]
        now = [
            Request(id=run.requests[i].id, prompt=prompt[i], limit=1, acceptance=run.requests[i].acceptance)
            for i in live
        ]
        weights = {run.requests[i].id: run.requests[i].weight for i in live}
        rates = reference_rates(CATALOG, now, fairness_weights=weights)
        ledger = revise(ledger, rates, changed_phase=changed & rates.keys())
    return {**ledger.closed, **ledger.open}


@pytest.mark.parametrize("seed", range(count(60)))
def test_lag_by_kinds_is_the_ledgers(seed: int) -> None:
    rng = random.Random(seed)
    requests = [
        Request(
            id=f"r{i}",
            prompt=rng.choice([0, 0, 3, 9]),
            limit=rng.randint(1, 6),
            arrival_ms=rng.choice([0, 0, 1, 5, 12]),
            acceptance=rng.choice([(), ("1/2", "1/2")]),
            weight=rng.choice([1, 1, 3]),
        )
        for i in range(rng.randint(1, 5))
    ]

    def anything(view: View) -> Decision:
        prompts = [r.id for r in view.requests if not r.decoding]
        rows = [r.id for r in view.requests if r.decoding]
        if prompts and (not rows or rng.random() < 0.5):
            return Decision(graph=rng.choice(["p4", "mixed"]), prefill=(rng.choice(prompts),))
        return (
            Decision(graph="d3", decode=tuple(rows[:3]))
            if rng.random() < 0.6
            else Decision(graph="d1w3", decode=(rng.choice(rows),))
        )

    horizon = rng.choice([None, 15])
    run = simulate(requests, CATALOG, anything, decode_value=1, horizon_ms=horizon, seed=seed, name="anything")
    lag = service_lag(run)
    wanted = by_ledger(run)
    for rank, value in zip(lag.ranks.tolist(), lag.lag_tokens.tolist(), strict=True):
        assert value == pytest.approx(float(wanted[run.requests[rank].id].tokens), rel=1e-5, abs=1e-5)
