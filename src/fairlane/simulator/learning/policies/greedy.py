"""``greedy``: the retained arithmetic mean; bootstraps only while no productive measured choice exists."""

from __future__ import annotations

from fairlane.simulator.learning.kernels import columns
from fairlane.simulator.learning.policies.spec import LearningPolicySpec

POLICY = LearningPolicySpec(
    name="greedy",
    source="retained arithmetic mean, no exploration",
    means=("arithmetic",),
    refreshes=False,
    compiled=columns.NONE,
)
