"""Small scenarios that tests of learning share."""

from __future__ import annotations

from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request
from fairlane.simulator.learning.costs import CostChange, CostLaw
from fairlane.simulator.learning.scenario import Pause, Scenario, Service

GRAPHS = Catalog(
    [
        Graph(name="p64", duration_ms=1, prefill_capacity=64),
        Graph(name="p256", duration_ms=1, prefill_capacity=256),
        Graph(name="d4", duration_ms=1, decode_capacity=4),
        Graph(name="d4w4", duration_ms=1, decode_capacity=4, width=4),
        Graph(name="m64d2", duration_ms=1, prefill_capacity=64, decode_capacity=2),
    ]
)


def mixed(*, busy_ms: float = 600.0) -> Scenario:
    """Prefill, decode and mixed graphs with noise, a change, a pause, lost timings and a first-use penalty."""
    return Scenario(
        name="mixed",
        group="stress",
        graphs=GRAPHS,
        laws=(
            CostLaw(gpu_ms=3.0, noise=0.05),
            CostLaw(gpu_ms=6.0, noise=0.05, first_use_ms=50.0, host_ms=0.5),
            CostLaw(gpu_ms=17.0, noise=0.1, correlation=0.5, zero_chance=0.05),
            CostLaw(gpu_ms=24.0, changes=(CostChange(at_busy_ms=busy_ms / 3, gpu_ms=15.0),), missing_chance=0.1),
            CostLaw(gpu_ms=19.0, noise=0.05, outlier_chance=0.02, occupancy=0.3, context_per_1000=0.2),
        ),
        templates=tuple(
            Request(id=f"r{i}", prompt=prompt, limit=limit, acceptance=("7/10", "5/10"), arrival_ms=arrival)
            for i, (prompt, limit, arrival) in enumerate([(300, 20, 0.0), (40, 12, 0.0), (0, 9, 7.5), (700, 3, 20.0)])
        ),
        pauses=(Pause(after_busy_ms=busy_ms / 2, idle_ms=31_000.0),),
        service=Service(age_price=0.001),
        learn_busy_ms=busy_ms / 4,
        measure_busy_ms=busy_ms / 2,
        drain_busy_ms=busy_ms / 4,
    )


def hidden_graph(*, busy_ms: float = 40_000.0) -> Scenario:
    """Two decode graphs of equal work: 20 ms; and 10 ms after a first use that takes 310 ms."""
    return Scenario(
        name="hidden",
        group="stress",
        graphs=Catalog(
            [
                Graph(name="plain", duration_ms=1, decode_capacity=4),
                Graph(name="hidden", duration_ms=1, decode_capacity=4),
            ]
        ),
        laws=(CostLaw(gpu_ms=20.0, noise=0.02), CostLaw(gpu_ms=10.0, noise=0.02, first_use_ms=300.0)),
        templates=tuple(Request(id=f"r{i}", prompt=0, limit=50) for i in range(4)),
        learn_busy_ms=0.0,
        measure_busy_ms=busy_ms,
        drain_busy_ms=0.0,
    )
