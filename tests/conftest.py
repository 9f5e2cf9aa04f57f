"""Settings shared by all tests: one derandomised hypothesis profile, no deadline."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from tests.counts import count

settings.register_profile(
    "fairlane",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=count(500),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("fairlane")

# plots are drawn without a screen
os.environ.setdefault("MPLBACKEND", "Agg")
