"""Experiments that hold policies beside exact optima, fair allocations and real traces."""

from __future__ import annotations

from fairlane.simulator.experiments.closed_systems import closed_systems
from fairlane.simulator.experiments.ongoing_distance import OngoingDistance, RateEstimate, ongoing_distance
from fairlane.simulator.experiments.regret import PolicyRegret, suite_regret
from fairlane.simulator.experiments.trace_behaviour import TraceBehaviour, trace_behaviour

__all__ = [
    "OngoingDistance",
    "PolicyRegret",
    "RateEstimate",
    "TraceBehaviour",
    "closed_systems",
    "ongoing_distance",
    "suite_regret",
    "trace_behaviour",
]
