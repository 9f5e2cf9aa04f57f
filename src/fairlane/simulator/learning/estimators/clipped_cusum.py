"""``clipped-cusum``: two cumulative sums of clipped log-likelihood ratios, against correlation and rare outliers.

The reference is the mean and variance of log durations: of the first 64 of a regime, clipped at three robust
deviations around their median, and of each later one, clipped at three deviations, once it is 32 observations old, so
that a change under examination is not part of what it is compared with. Each duration adds to two sums, kept at or
above zero, the log-likelihood ratio of a change by +20 % or by -20 % against none,

    (delta / v) (log x - mean - delta / 2),   delta = log 1.2 or log 0.8,

where v is the variance times (1 + rho) / (1 - rho), the long-run variance of first-order correlated noise, with rho a
measured lag-one correlation plus 1.5 / sqrt(N - 3). Each term is clipped to 2/7 of the threshold in both directions,
so that no fewer than four durations confirm a change, however far out they lie. A sum that reaches 16 confirms; the
durations since it last was zero, 33 at most, seed the new regime.

The threshold was calibrated by simulation (`benchmarks/detectors.py`) for log-normal noise of 2 to 20 %, correlation
up to 0.3, and independent outliers. It promises nothing for outliers that come in bursts of four, for noise that
wanders slowly, for changes smaller than about 10 %, which it is built to pass over, nor for a change within the first
64 durations.

Sources: E. S. Page, "Continuous inspection schemes", Biometrika 41 (1954), doi:10.1093/biomet/41.1-2.100.
P. J. Huber, "A robust version of the probability ratio test", Annals of Mathematical Statistics 36 (1965),
doi:10.1214/aoms/1177699803: clipped likelihood ratios are minimax for contaminated hypotheses.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import median
from typing import NamedTuple

from fairlane.simulator.learning.detector import Verdict
from fairlane.simulator.learning.estimate import Regime
from fairlane.simulator.learning.estimator import EstimatorOptions, EstimatorSpec
from fairlane.simulator.learning.kernels.estimate_row import CUSUM_DETECTOR
from fairlane.simulator.learning.moments import LagMoments
from fairlane.simulator.learning.retained import RetainedEstimator

WARM_UP = 64
LAG = 32
THRESHOLD = 16.0
MOST_EVIDENCE = THRESHOLD / 3.5
CLIP = 3.0
MARGIN = 1.5
MOST_CORRELATION = 0.99
# deviation of normal noise over its median absolute deviation
NORMAL_MAD = 1.482602218505602
# relative noise below 0.01 % is taken for 0.01 %: durations that repeat exactly have none
LEAST_VARIANCE = 1e-8
FASTER, SLOWER = math.log(0.8), math.log(1.2)


class Sum(NamedTuple):
    """Evidence of a change in one direction, in nats, and the durations since it last was zero."""

    nats: float = 0.0
    run: int = 0

    def add(self, away: float, shift: float, variance: float) -> Sum:
        """The sum after a log duration ``away`` from the reference, for a change by ``shift``."""
        ratio = shift / variance * (away - 0.5 * shift)
        nats = self.nats + min(max(ratio, -MOST_EVIDENCE), MOST_EVIDENCE)
        return Sum(nats, self.run + 1) if nats > 0.0 else Sum()


class Memory(NamedTuple):
    """The reference, both sums, and the durations in ms that are not in the reference yet, oldest first."""

    logs: LagMoments = LagMoments()
    slower: Sum = Sum()
    faster: Sum = Sum()
    recent_ms: tuple[float, ...] = ()


def first_reference(durations_ms: Sequence[float]) -> LagMoments:
    """Moments of log durations, clipped around their median."""
    logs = [math.log(value) for value in durations_ms]
    middle = median(logs)
    most = CLIP * (NORMAL_MAD * median([abs(value - middle) for value in logs]))
    moments = LagMoments()
    for value in logs:
        moments = moments.add(middle + min(max(value - middle, -most), most))
    return moments


def long_run_variance(logs: LagMoments) -> float:
    """Variance of a sum of correlated log durations, per duration."""
    rho = min(MOST_CORRELATION, max(0.0, logs.lag_one) + MARGIN / math.sqrt(logs.count - 3))
    return max(logs.variance, LEAST_VARIANCE) * ((1.0 + rho) / (1.0 - rho))


def with_aged(logs: LagMoments, duration_ms: float) -> LagMoments:
    """The reference with one more duration, clipped around its mean."""
    mean = logs.mean
    most = CLIP * math.sqrt(max(logs.variance, LEAST_VARIANCE))
    return logs.add(mean + min(max(math.log(duration_ms) - mean, -most), most))


class CusumDetector(NamedTuple):
    """The detector; it has no options."""

    def start(self) -> Hashable:
        """Nothing seen."""
        return Memory()

    def examine(self, memory: Hashable, duration_ms: float, regime: Regime) -> Verdict:
        """Conclusion from one more duration."""
        assert isinstance(memory, Memory)
        logs = memory.logs
        recent = (*memory.recent_ms, duration_ms)
        if logs.count == 0:
            if len(recent) < WARM_UP:
                return Verdict(memory._replace(recent_ms=recent), False, ())
            return Verdict(Memory(logs=first_reference(recent)), False, ())
        variance = long_run_variance(logs)
        away = math.log(duration_ms) - logs.mean
        slower = memory.slower.add(away, SLOWER, variance)
        faster = memory.faster.add(away, FASTER, variance)
        for evidence in (slower, faster):
            if evidence.nats >= THRESHOLD:
                seeds = recent[-evidence.run :]
                return Verdict(Memory(recent_ms=seeds), False, seeds)
        if len(recent) > LAG:
            logs, recent = with_aged(logs, recent[0]), recent[1:]
        # one duration far out is evidence that waits for the next ones
        pending = max(slower.nats, faster.nats) >= MOST_EVIDENCE
        return Verdict(Memory(logs, slower, faster, recent), pending, ())


def make(options: EstimatorOptions) -> RetainedEstimator:
    """The estimator with clipped cumulative sums."""
    return RetainedEstimator(options=options, detector=CusumDetector())


ESTIMATOR = EstimatorSpec(
    name="clipped-cusum",
    make=make,
    source="CUSUM (Page 1954) of clipped likelihood ratios (Huber 1965) with a long-run variance",
    assumes="log durations close to normal, first-order correlation, outliers rare and independent",
    row_detector=lambda options: CUSUM_DETECTOR,
)
