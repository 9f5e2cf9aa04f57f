"""``ttl``: a fresh exponential mean of weight 1/8 that is unknown again strictly later than ttl_ms after it was fed."""

from __future__ import annotations

from fairlane.simulator.learning.kernels import columns
from fairlane.simulator.learning.policies.spec import LearningPolicySpec, Lifetime

POLICY = LearningPolicySpec(
    name="ttl",
    source="timing expiry, unknown graphs first",
    means=("ema",),
    unknown_first=True,
    lifetime=Lifetime.TTL,
    fresh_ttl=True,
    refreshes=False,
    compiled=columns.NONE,
)
