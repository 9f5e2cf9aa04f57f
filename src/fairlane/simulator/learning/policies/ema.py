"""``ema``: a retained exponential mean; bootstraps only while no productive measured choice exists."""

from __future__ import annotations

from fairlane.simulator.learning.kernels import columns
from fairlane.simulator.learning.policies.spec import LearningPolicySpec

POLICY = LearningPolicySpec(
    name="ema", source="retained exponential mean, weight 1/8", means=("ema",), refreshes=False, compiled=columns.NONE
)
