"""Detectors of changed timings on the same streams: false resets, delay and misses, with confidence intervals.

    python benchmarks/detectors.py --write        # benchmarks/results/detectors.md

Durations are log-normal around 20 ms with first-order correlated noise; an outlier multiplies one by five,
independently with p = 0.5 %. A false reset is any alarm in a stationary stream of 10,000; the delay counts the
observations from the change to the alarm, both included; a miss is no alarm within 500. Streams with an alarm before
the change are left out of delays and misses. Intervals are 95 %: Clopper and Pearson for rates, order statistics for
quantiles. river's detectors (extra ``bench``) have their default parameters; ADWIN sees log durations, Page-Hinkley
log durations standardised by the first 64 of the stream, since its threshold has their unit.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from river.drift import ADWIN, PageHinkley
from scipy.signal import lfilter
from scipy.stats import binom, binomtest

from fairlane.simulator.learning.estimate_table import row_options, unmeasured_rows
from fairlane.simulator.learning.estimator import EstimatorOptions, LogReference
from fairlane.simulator.learning.kernels.observe import RowOptions, observe

Floats = npt.NDArray[np.float64]
LENGTH, AFTER, WARM_UP = 10_000, 500, 64
RESULTS = Path(__file__).parent / "results" / "detectors.md"


class Noise(NamedTuple):
    """Coefficient of variation, correlation, outliers per observation, and how many fall together."""

    cv: float
    rho: float = 0.0
    outliers: float = 0.0
    burst: int = 1
    heavy: bool = False

    def __str__(self) -> str:
        text = f"{100 * self.cv:g} % noise"
        text += f", correlation {self.rho:g}" if self.rho else ""
        text += ", Student-t of 3 degrees" if self.heavy else ""
        if self.outliers:
            text += f", outliers {100 * self.outliers:g} %" + (f" in bursts of {self.burst}" if self.burst > 1 else "")
        return text


def stream(seed: int, n: int, noise: Noise) -> Floats:
    """Durations in ms without a change."""
    rng = np.random.default_rng(seed)
    normal = rng.standard_t(3.0, n) / math.sqrt(3.0) if noise.heavy else rng.standard_normal(n)
    away = normal.copy()
    if noise.rho:
        away[1:] *= math.sqrt(1.0 - noise.rho**2)
        away = lfilter([1.0], [1.0, -noise.rho], away)
    deviation = math.sqrt(math.log1p(noise.cv**2))
    values = 20.0 * np.exp(deviation * away - 0.5 * deviation**2)
    for start in np.flatnonzero(rng.random(n) < noise.outliers / noise.burst):
        values[start : start + noise.burst] *= 5.0
    return values


@njit(cache=True)
def first_reset(rows: Floats, options: RowOptions, values: Floats, start: int) -> int:
    for k in range(start, len(values)):
        if observe(rows, 0, options, values[k], math.nan, math.nan, 20.0 * k, math.inf, 20.0):
            return k
    return -1


def ours(name: str, options: EstimatorOptions) -> Callable[[Floats], int]:
    told = row_options(name, options)
    return lambda values: int(first_reset(unmeasured_rows(1), told, values, 0))


def adwin(values: Floats) -> int:
    detector = ADWIN()
    for k, value in enumerate(np.log(values).tolist()):
        detector.update(value)
        if detector.drift_detected:
            return k
    return -1


def page_hinkley(values: Floats) -> int:
    logs = np.log(values)
    logs = (logs - logs[:WARM_UP].mean()) / logs[:WARM_UP].std(ddof=1)
    detector = PageHinkley()
    for k, value in enumerate(logs.tolist()):
        detector.update(value)
        if detector.drift_detected:
            return k
    return -1


OWN = "clipped-cusum"
DETECTORS: dict[str, Callable[[Floats], int]] = {
    "regime": ours("regime", EstimatorOptions()),
    "log-regime": ours("log-regime", EstimatorOptions()),
    "log-regime, frozen once": ours("log-regime", EstimatorOptions(log_reference=LogReference.ONCE)),
    OWN: ours(OWN, EstimatorOptions()),
    "ADWIN (river)": adwin,
    "Page-Hinkley (river)": page_hinkley,
}
STATIONARY = (
    Noise(0.05),
    Noise(0.1),
    Noise(0.05, rho=0.3),
    Noise(0.1, rho=0.3),
    Noise(0.05, rho=0.7),
    Noise(0.1, rho=0.7),
    Noise(0.02, outliers=0.005),
    Noise(0.05, outliers=0.005),
    Noise(0.1, outliers=0.005),
)
STRESS = (
    Noise(0.2, rho=0.3),
    Noise(0.4),
    Noise(0.1, rho=0.9),
    Noise(0.1, heavy=True),
    Noise(0.1, outliers=0.02),
    Noise(0.05, outliers=0.005, burst=4),
)


def rate(hits: int, n: int) -> str:
    """A rate with its interval, in percent."""
    if n == 0:
        return "–"
    low, high = binomtest(hits, n).proportion_ci(0.95, method="exact")
    return f"{100 * hits / n:.1f} % ({100 * low:.1f}–{100 * high:.1f})"


def quantile(values: list[int], p: float) -> str:
    """A quantile with the order statistics around it; misses count as infinite."""
    ranked = sorted(values)
    n = len(ranked)
    if n == 0:
        return "–"

    def at(rank: float) -> str:
        value = ranked[min(max(int(rank), 1), n) - 1]
        return "never" if value > AFTER else str(value)

    low, high = binom.ppf(0.025, n, p), binom.ppf(0.975, n, p) + 1
    return f"{at(math.ceil(n * p))} ({at(low)}–{at(high)})"


def false_resets(noises: tuple[Noise, ...], names: tuple[str, ...], streams: int) -> Iterator[str]:
    yield "| stream | " + " | ".join(names) + " |"
    yield "|---|" + "---|" * len(names)
    for row, noise in enumerate(noises):
        hits = dict.fromkeys(names, 0)
        for k in range(streams):
            values = stream(1_000_000 * row + k, LENGTH, noise)
            for name in names:
                hits[name] += DETECTORS[name](values) >= 0
        yield f"| {noise} | " + " | ".join(rate(hits[name], streams) for name in names) + " |"


def delays(cases: list[tuple[Noise, int, float]], names: tuple[str, ...], streams: int) -> Iterator[str]:
    yield "| stream | detector | delay p50 | delay p90 | missed | alarm before |"
    yield "|---|---|---|---|---|---|"
    for row, (noise, change, factor) in enumerate(cases):
        found: dict[str, list[int]] = {name: [] for name in names}
        early = dict.fromkeys(names, 0)
        for k in range(streams):
            values = stream(500_000_000 + 1_000_000 * row + k, change + AFTER, noise)
            values[change:] *= factor
            for name in names:
                alarm = DETECTORS[name](values)
                if 0 <= alarm < change:
                    early[name] += 1
                else:
                    found[name].append(alarm - change + 1 if alarm >= 0 else AFTER + 1)
        for name in names:
            waits = found[name]
            missed = rate(sum(wait > AFTER for wait in waits), len(waits))
            yield (
                f"| {noise}, ×{factor:g} at {change} | {name} | {quantile(waits, 0.5)} | {quantile(waits, 0.9)} "
                f"| {missed} | {rate(early[name], streams)} |"
            )


def report(streams: int) -> Iterator[str]:
    everyone = tuple(DETECTORS)
    yield "# Detectors of changed timings"
    yield ""
    yield (__doc__ or "").split("\n\n", 2)[2].strip()
    yield ""
    yield f"## False resets in {streams} stationary streams of {LENGTH:,}"
    yield ""
    yield from false_resets(STATIONARY, everyone, streams)
    yield ""
    yield f"## Delay after a change of 20 %, {streams} streams each"
    yield ""
    changes = [(Noise(cv), change, factor) for change in (200, 1000) for cv in (0.05, 0.1) for factor in (1.2, 0.8)]
    yield from delays(changes, everyone, streams)
    yield ""
    yield f"## {OWN} beside its assumptions, {4 * streams} streams"
    yield ""
    yield from false_resets(STATIONARY[:4] + STATIONARY[6:] + STRESS, (OWN,), 4 * streams)
    yield ""
    hard = [(Noise(0.1), 100, factor) for factor in (1.2, 0.8)]
    hard += [(Noise(0.1, rho=0.3), 200, 1.2), (Noise(0.1, rho=0.7), 1000, 1.2), (Noise(0.05, outliers=0.005), 200, 1.2)]
    hard += [(Noise(0.05), 1000, factor) for factor in (1.05, 1.1, 0.9, 5.0)]
    yield from delays(hard, (OWN,), 4 * streams)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=256, help="streams for each row (default 256)")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name} beside printing")
    arguments = parser.parse_args()
    lines = []
    for line in report(arguments.streams):
        print(line)
        sys.stdout.flush()
        lines.append(line)
    if arguments.write:
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
