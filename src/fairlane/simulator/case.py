"""A simulated case: a run, what it measures, and the label that says which."""

from __future__ import annotations

from dataclasses import dataclass

from fairlane.simulator.run import Run
from fairlane.simulator.run_metrics import RunMetrics
from fairlane.simulator.service_lag import ServiceLag


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredCase:
    """One run with its metrics; ``label`` says which, such as its workload; without ``lag`` no shares are drawn."""

    label: str
    run: Run
    metrics: RunMetrics
    lag: ServiceLag | None = None
