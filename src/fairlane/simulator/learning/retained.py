"""Retained estimates: lifetime and active statistics, blocks, belief and operational mean, around any detector."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median

from fairlane.simulator.learning.detector import Detector
from fairlane.simulator.learning.estimate import Estimate, Regime
from fairlane.simulator.learning.estimator import EstimatorOptions, MeanKind, PredictiveKind
from fairlane.simulator.learning.posterior import NormalInverseGamma, prior_belief
from fairlane.simulator.learning.student_t import StudentT
from fairlane.simulator.learning.timing import Timing

EMA_WEIGHT = 0.125
RECENT = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class RetainedEstimator:
    """The estimator made of the shared statistics and one detector of change.

    Attributes
    ----------
    options : EstimatorOptions
        Blocks, operational mean, expiry.
    detector : Detector or None
        What replaces the active regime; None keeps every observation active.
    """

    options: EstimatorOptions
    detector: Detector | None

    def initial(self) -> Estimate:
        """What is known of a graph that was never measured."""
        return Estimate(memory=None if self.detector is None else self.detector.start())

    def observe(self, estimate: Estimate, timing: Timing, *, prior_ms: float) -> Estimate:
        """What is known after one more completion; see `Estimator.observe`."""
        if not timing.valid:
            return estimate
        duration_ms = timing.duration_ms
        assert duration_ms is not None
        m0 = prior_ms if estimate.prior_ms is None else estimate.prior_ms
        memory, pending, resets = estimate.memory, False, estimate.resets
        regime = estimate.regime
        if regime.posterior is None:
            regime = replace(regime, posterior=prior_belief(m0))
        seeds: tuple[float, ...] = ()
        if self.detector is not None:
            memory, pending, seeds = self.detector.examine(memory, duration_ms, regime)
        if seeds:
            resets += 1
            regime = Regime(posterior=prior_belief(m0))
        for value in seeds or (duration_ms,):
            regime = self.with_duration(regime, value)
        return Estimate(
            lifetime=estimate.lifetime.add(duration_ms),
            gpu=estimate.gpu if timing.gpu_ms is None else estimate.gpu.add(timing.gpu_ms),
            host=estimate.host if timing.host_ms is None else estimate.host.add(timing.host_ms),
            regime=regime,
            prior_ms=m0,
            exponential_ms=self.exponential_mean(estimate, duration_ms, timing.completed_ms),
            recent_ms=(*estimate.recent_ms, duration_ms)[-RECENT:],
            last_valid_ms=timing.completed_ms,
            resets=resets,
            pending=pending,
            memory=memory,
        )

    def with_duration(self, regime: Regime, duration_ms: float) -> Regime:
        """The regime with one more duration; a block that it completes is counted once and empties the partial."""
        assert regime.posterior is not None
        durations = regime.durations.add(duration_ms)
        partial = regime.partial.add(duration_ms)
        if partial.count < self.options.block_size:
            return replace(regime, durations=durations, partial=partial)
        return Regime(
            durations=durations,
            blocks=regime.blocks.add(partial.mean),
            posterior=regime.posterior.with_block(partial.mean),
        )

    def exponential_mean(self, estimate: Estimate, duration_ms: float, completed_ms: float) -> float:
        """The retained exponential mean after one more valid duration, ms."""
        mean_ms, last_ms, expiry_ms = estimate.exponential_ms, estimate.last_valid_ms, self.options.expiry_ms
        if mean_ms is None or last_ms is None:
            return duration_ms
        if expiry_ms is not None and completed_ms - last_ms > expiry_ms:
            return duration_ms
        return mean_ms + EMA_WEIGHT * (duration_ms - mean_ms)

    def mean_ms(self, estimate: Estimate) -> float | None:
        """The operational mean, ms; None while unmeasured."""
        if not estimate.measured:
            return None
        match self.options.mean_estimator:
            case MeanKind.ARITHMETIC:
                return estimate.active.mean
            case MeanKind.EMA:
                return estimate.exponential_ms
            case MeanKind.MEDIAN9:
                return median(estimate.recent_ms)

    def belief(self, estimate: Estimate, *, prior_ms: float) -> NormalInverseGamma:
        """Belief about the mean cost, the unfinished block included where the options say so."""
        regime = estimate.regime
        if regime.posterior is None:
            return prior_belief(prior_ms)
        partial = regime.partial
        if not self.options.partial_blocks or partial.count == 0:
            return regime.posterior
        return regime.posterior.with_block(partial.mean, weight=partial.count / self.options.block_size)

    def mean_law(self, estimate: Estimate, *, prior_ms: float) -> StudentT:
        """Belief about the mean cost, ms; ``prior_ms`` counts only while unmeasured."""
        return self.belief(estimate, prior_ms=prior_ms).mean_law()

    def execution_law(self, estimate: Estimate, *, prior_ms: float) -> StudentT:
        """Belief about the next execution, ms."""
        one = self.options.predictive is PredictiveKind.EXECUTION
        return self.belief(estimate, prior_ms=prior_ms).predictive_law(float(self.options.block_size) if one else 1.0)
