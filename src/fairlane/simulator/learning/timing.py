"""One completed execution as the dispatcher measured it, and which measurements count."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """A measurement of one completed execution of a physical graph.

    Attributes
    ----------
    completed_ms : float
        Wall time of the completion.
    duration_ms : float or None
        The measured duration that estimates learn from; None, zero or not finite where the measurement failed.
    gpu_ms, host_ms : float or None
        Its parts, execution on the GPU and handing over by the host; None where they were not measured.
    """

    completed_ms: float
    duration_ms: float | None
    gpu_ms: float | None = None
    host_ms: float | None = None

    @property
    def valid(self) -> bool:
        """Whether an estimate learns from it: finite and above zero, and so is the GPU part where it is given."""
        if self.duration_ms is None or not (math.isfinite(self.duration_ms) and self.duration_ms > 0):
            return False
        return self.gpu_ms is None or (math.isfinite(self.gpu_ms) and self.gpu_ms > 0)
