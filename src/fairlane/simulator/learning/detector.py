"""What a detector of changed timings offers to an estimator."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, Protocol

from fairlane.simulator.learning.estimate import Regime


class Verdict(NamedTuple):
    """What a detector concludes from one more valid duration.

    Attributes
    ----------
    memory : hashable
        What it remembers.
    pending : bool
        Whether evidence of a change waits for confirmation.
    seeds_ms : tuple of float
        On confirmation the last durations, oldest first, that the new regime starts from; empty otherwise.
    """

    memory: Hashable
    pending: bool
    seeds_ms: tuple[float, ...]


class Detector(Protocol):
    """Looks for a change in one graph's durations; pure, with an immutable memory."""

    def start(self) -> Hashable:
        """What it remembers before the first duration."""
        ...

    def examine(self, memory: Hashable, duration_ms: float, regime: Regime) -> Verdict:
        """Conclusion from one more valid duration, ms; ``regime`` is the present regime without it."""
        ...
