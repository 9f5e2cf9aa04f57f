"""``log-regime``: two groups of four log durations on one side of a frozen reference start a new regime.

After 64 active observations one observation outside the 99.99 % working interval, at least 10 % away from the raw
mean, nominates the graph and is the first of group one. Both groups of four must meet the same two conditions on the
same side, and all eight together a stricter test, whose two-sided allowance for the j-th reference is
0.0001 / (J (J + 1)) with J the next power of two >= j; over all j it sums to less than 0.0001. A failed group rejoins
the active regime. The counter j survives changes of regime.

The working correlation widens the intervals by F(n) = 1 + 2 sum_k (1 - k/n) rho^k. None of this promises coverage for
arbitrary timing noise: a rare outlier nominates and, beside seven ordinary observations, can pass a group of four.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from fairlane.simulator.learning.detector import Verdict
from fairlane.simulator.learning.estimate import Regime
from fairlane.simulator.learning.estimator import EstimatorOptions, EstimatorSpec, LogReference
from fairlane.simulator.learning.kernels.estimate_row import LOG_DETECTOR, LOG_DETECTOR_ONCE
from fairlane.simulator.learning.kernels.student_t import upper_quantile
from fairlane.simulator.learning.moments import LagMoments, plain_mean
from fairlane.simulator.learning.retained import RetainedEstimator

BEFORE = 64
GROUP = 4
CHANGE = 0.1
ALLOWANCE = 1e-4
MOST_CORRELATION = 0.99


def working_correlation(lag_one: float, count: int) -> float:
    """The correlation assumed after a lag-one correlation was measured on ``count`` observations."""
    return min(MOST_CORRELATION, max(0.0, lag_one) + 2.0 / math.sqrt(count - 3))


def variance_factor(n: int, rho: float) -> float:
    """F(n): by how much correlation rho^k at lag k inflates the variance of a mean of n."""
    # the sum of (1 - k/n) rho^k over k < n in closed form
    rest = 1.0 - rho
    return 1.0 + 2.0 * (rho / rest - rho * (1.0 - math.pow(rho, n)) / (n * rest * rest))


def degrees(effective: float) -> int:
    """Largest power of two not above the effective number of observations, minus one; at least one."""
    return max(1, 2 ** math.floor(math.log2(effective)) - 1) if effective >= 1.0 else 1


def lifetime_allowance(j: int) -> float:
    """Two-sided error allowance of the j-th reference, j >= 1.

    Examples
    --------
    >>> lifetime_allowance(1), lifetime_allowance(3)
    (5e-05, 5e-06)
    """
    power = 1 << (j - 1).bit_length()
    return ALLOWANCE / (power * (power + 1))


class Reference(NamedTuple):
    """What a graph is compared with: log mean and sample deviation, raw mean in ms, correlation, size, number."""

    log_mean: float
    deviation: float
    mean_ms: float
    rho: float
    size: int
    dof: int
    number: int

    def half_width(self, n: int, allowance: float) -> float:
        """Half-width of the working interval of a log-mean difference, for a group of n."""
        spread = variance_factor(n, self.rho) / n + variance_factor(self.size, self.rho) / self.size
        return float(upper_quantile(0.5 * allowance, self.dof)) * (self.deviation * math.sqrt(spread))

    def difference(self, durations_ms: Sequence[float]) -> float:
        """Log mean of a group minus the reference's."""
        return plain_mean([math.log(value) for value in durations_ms]) - self.log_mean

    def side(self, durations_ms: Sequence[float], allowance: float) -> int:
        """1 or -1 for a group above or below that meets both conditions, 0 for any other."""
        mean_ms = plain_mean(durations_ms)
        if abs(mean_ms - self.mean_ms) < CHANGE * self.mean_ms:
            return 0
        difference = self.difference(durations_ms)
        half = self.half_width(len(durations_ms), allowance)
        return int(difference > half) - int(difference < -half)


class Memory(NamedTuple):
    """Log moments of the active observations, the frozen reference, and the groups that wait for confirmation."""

    logs: LagMoments = LagMoments()
    reference: Reference | None = None
    number: int = 0
    side: int = 0
    durations_ms: tuple[float, ...] = ()


class LogDetector(NamedTuple):
    """The detector, with a reference frozen afresh at each nomination or once in a regime."""

    frozen: LogReference

    def start(self) -> Hashable:
        """Nothing seen."""
        return Memory()

    def reference(self, memory: Memory, regime: Regime) -> Reference:
        """A reference from the active observations, with the next number."""
        logs = memory.logs
        rho = working_correlation(logs.lag_one, logs.count)
        return Reference(
            log_mean=logs.mean,
            deviation=math.sqrt(logs.variance),
            mean_ms=regime.durations.mean,
            rho=rho,
            size=logs.count,
            dof=degrees(logs.count / variance_factor(logs.count, rho)),
            number=memory.number + 1,
        )

    def examine(self, memory: Hashable, duration_ms: float, regime: Regime) -> Verdict:
        """Conclusion from one more duration."""
        assert isinstance(memory, Memory)
        if memory.durations_ms:
            return self.with_group(memory, (*memory.durations_ms, duration_ms))
        if memory.logs.count >= BEFORE:
            reference = memory.reference if self.frozen is LogReference.ONCE else None
            if reference is None:
                reference = self.reference(memory, regime)
                if self.frozen is LogReference.ONCE:
                    memory = memory._replace(reference=reference, number=reference.number)
            side = reference.side((duration_ms,), ALLOWANCE)
            if side != 0:
                nominated = memory._replace(
                    reference=reference, number=reference.number, side=side, durations_ms=(duration_ms,)
                )
                return Verdict(nominated, True, ())
        return Verdict(memory._replace(logs=memory.logs.add(math.log(duration_ms))), False, ())

    def with_group(self, memory: Memory, durations_ms: tuple[float, ...]) -> Verdict:
        """Conclusion while groups wait, the newest duration included."""
        reference = memory.reference
        assert reference is not None
        if len(durations_ms) % GROUP != 0:
            return Verdict(memory._replace(durations_ms=durations_ms), True, ())
        passed = reference.side(durations_ms[-GROUP:], ALLOWANCE) == memory.side
        if passed and len(durations_ms) == GROUP:
            return Verdict(memory._replace(durations_ms=durations_ms), True, ())
        if passed and reference.side(durations_ms, lifetime_allowance(reference.number)) == memory.side:
            logs = LagMoments()
            for value in durations_ms:
                logs = logs.add(math.log(value))
            return Verdict(Memory(logs=logs, number=memory.number), False, durations_ms)
        logs = memory.logs
        for value in durations_ms:
            logs = logs.add(math.log(value))
        return Verdict(memory._replace(logs=logs, side=0, durations_ms=()), False, ())


def make(options: EstimatorOptions) -> RetainedEstimator:
    """The estimator with the detector on log durations."""
    return RetainedEstimator(options=options, detector=LogDetector(options.log_reference))


def row_detector(options: EstimatorOptions) -> int:
    """Number of the compiled detector."""
    return LOG_DETECTOR_ONCE if options.log_reference is LogReference.ONCE else LOG_DETECTOR


ESTIMATOR = EstimatorSpec(
    name="log-regime",
    make=make,
    source="two-sample t interval of log means with a first-order autoregressive variance factor",
    assumes="log durations close to normal, correlation at most the working one, no outliers",
    row_detector=row_detector,
)
