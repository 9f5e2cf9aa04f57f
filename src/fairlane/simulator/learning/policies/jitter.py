"""``jitter``: `ttl` with a lifetime drawn for each measurement, uniform between 4/5 and 6/5 of ttl_ms (24 to 36 s)."""

from __future__ import annotations

from fairlane.simulator.learning.kernels import columns
from fairlane.simulator.learning.policies.spec import LearningPolicySpec, Lifetime

POLICY = LearningPolicySpec(
    name="jitter",
    source="timing expiry at random, so that graphs do not expire together",
    means=("ema",),
    unknown_first=True,
    lifetime=Lifetime.JITTERED,
    fresh_ttl=True,
    refreshes=False,
    compiled=columns.NONE,
)
