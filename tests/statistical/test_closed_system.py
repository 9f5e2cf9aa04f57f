"""Simulated closed systems against exact long-run rates.

Each check allows five standard errors over independent seeds, plus the share of one request's reward that the open
end can hold; with a right simulator a check fails with a probability below 1e-5 (Student's t with 15 degrees).
"""

from __future__ import annotations

import numpy as np
import pytest

from fairlane import policies
from fairlane.oracle.average.long_run import policy_rate
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance, Regenerates
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.simulator.closed_system import simulate_closed
from tests.counts import count

GRAPHS = (
    Graph(name="p", duration_ms=4, prefill_capacity=3),
    Graph(name="d1", duration_ms=2, decode_capacity=1, width=2),
    Graph(name="d2", duration_ms=3, decode_capacity=2),
)


def workload(**prices: int | str) -> Instance:
    return Instance(
        graphs=GRAPHS,
        requests=[
            Request(id="a", prompt=4, limit=3, length_prior={1: "1/2", 3: "1/2"}, acceptance=["1/2"], weight=2),
            Request(id="b", prompt=0, limit=2, acceptance=["1/4"]),
        ],
        objective=Objective(decode_value=5, **prices),  # type: ignore[arg-type]  # names of prices
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fixed-value", "decode-first", "round-robin"])
def test_the_simulated_rate_is_the_exact_one(name: str) -> None:
    system = workload(completion_price="1/3", first_output_price="1/7", time_price=1)
    rule = policies.spec(name).policy
    exact = float(policy_rate(system, rule).rate)
    horizon = count(15_000)
    rates = np.array([simulate_closed(system, rule, horizon_ms=horizon, seed=s).reward_per_ms for s in range(16)])
    assert abs(rates.mean() - exact) <= 5 * rates.std(ddof=1) / 4 + 60 / horizon


def test_a_system_without_chance_by_hand() -> None:
    # one stream of two tokens, rows of 2 ms, output value 5, completion price 1: 5 / 2 - 1 a ms, every copy 4 ms
    system = Instance(
        graphs=[Graph(name="d", duration_ms=2, decode_capacity=1)],
        requests=[Request(id="a", prompt=0, limit=2)],
        objective=Objective(decode_value=5, completion_price=1),
    )
    closed = simulate_closed(system, policies.spec("fixed-value"), horizon_ms=40)
    assert closed.reward_per_ms == 1.5
    assert closed.tokens_per_ms.tolist() == [0.5]
    assert [r.id for r in closed.run.requests][:3] == ["a", "a#1", "a#2"]
    assert closed.run.finished_ms[:3].tolist() == [4, 8, 12]


def test_bad_workloads_are_named() -> None:
    whole = Instance(
        graphs=GRAPHS,
        requests=[Request(id="a", prompt=0, limit=2)],
        objective=Objective(decode_value=1),
        regenerates=Regenerates.EPISODE,
    )
    with pytest.raises(InvalidInstance, match="regenerates"):
        simulate_closed(whole, policies.spec("fixed-value"), horizon_ms=10)
    with pytest.raises(InvalidInstance, match="horizon_ms is 0"):
        simulate_closed(workload(), policies.spec("fixed-value"), horizon_ms=0)
