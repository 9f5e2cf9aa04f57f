"""What is known about the timing of one physical graph: plain values, replaced and never changed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from fairlane.simulator.learning.moments import Moments
from fairlane.simulator.learning.posterior import NormalInverseGamma

NOTHING = Moments()


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """Statistics of the durations since the last confirmed change, in ms.

    Attributes
    ----------
    durations : Moments
        Of every valid duration.
    blocks : Moments
        Of the means of complete blocks.
    posterior : NormalInverseGamma or None
        Belief after the complete blocks; None before the first valid timing, when there is no prior location yet.
    partial : Moments
        Of the durations in the unfinished block.
    """

    durations: Moments = NOTHING
    blocks: Moments = NOTHING
    posterior: NormalInverseGamma | None = None
    partial: Moments = NOTHING


UNMEASURED = Regime()


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What is known about one physical graph.

    Attributes
    ----------
    lifetime, gpu, host : Moments
        Of every valid duration there ever was, and of its parts where they were measured, in ms.
    regime : Regime
        Statistics of the present regime.
    prior_ms : float or None
        The prior location m0, frozen at the first valid timing; None before it.
    exponential_ms : float or None
        The retained exponential mean.
    recent_ms : tuple of float
        The last nine valid durations, oldest first.
    last_valid_ms : float or None
        Wall time of the last valid completion.
    resets : int
        Confirmed changes of regime.
    pending : bool
        Whether evidence of a change waits for confirmation.
    memory : hashable
        What the estimator's detector remembers.
    """

    lifetime: Moments = NOTHING
    gpu: Moments = NOTHING
    host: Moments = NOTHING
    regime: Regime = UNMEASURED
    prior_ms: float | None = None
    exponential_ms: float | None = None
    recent_ms: tuple[float, ...] = ()
    last_valid_ms: float | None = None
    resets: int = 0
    pending: bool = False
    memory: Hashable = None

    @property
    def measured(self) -> bool:
        """Whether there was a valid timing."""
        return self.lifetime.count > 0

    @property
    def active(self) -> Moments:
        """Moments of the durations of the present regime, ms."""
        return self.regime.durations
