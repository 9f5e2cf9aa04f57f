"""``cumulative``: every observation stays in the active mean; nothing is ever taken for a change."""

from __future__ import annotations

from fairlane.simulator.learning.estimator import EstimatorOptions, EstimatorSpec
from fairlane.simulator.learning.kernels.estimate_row import NO_DETECTOR
from fairlane.simulator.learning.retained import RetainedEstimator


def make(options: EstimatorOptions) -> RetainedEstimator:
    """The estimator without a detector."""
    return RetainedEstimator(options=options, detector=None)


ESTIMATOR = EstimatorSpec(
    name="cumulative",
    make=make,
    source="sample mean (Welford 1962)",
    assumes="durations that do not change",
    row_detector=lambda options: NO_DETECTOR,
)
