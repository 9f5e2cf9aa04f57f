"""A simulator of the model that is held to the exact oracle."""

from __future__ import annotations

from fairlane.simulator.replay import replay
from fairlane.simulator.run import Run
from fairlane.simulator.run_metrics import RunMetrics, measure_run
from fairlane.simulator.simulate import simulate
from fairlane.simulator.workloads import workload, workload_names

__all__ = ["Run", "RunMetrics", "measure_run", "replay", "simulate", "workload", "workload_names"]
