"""One completed execution enters a graph's row."""

from __future__ import annotations

import math
from typing import NamedTuple

from fairlane.compiling.flags import callee, kernel
from fairlane.simulator.learning.kernels.detectors import (
    examine_blocks,
    examine_logs,
    examine_sums,
    forget_detector,
)
from fairlane.simulator.learning.kernels.estimate_row import (
    ACTIVE,
    ARITHMETIC,
    BLOCK_DETECTOR,
    BUFFER,
    BUFFERED,
    CUSUM_DETECTOR,
    EMA,
    EMA_WEIGHT,
    EXPONENTIAL,
    GPU,
    HOST,
    LAST_VALID,
    LIFETIME,
    LOG_DETECTOR,
    LOG_DETECTOR_ONCE,
    MEAN,
    N_RECENT,
    OPERATIONAL,
    PRIOR,
    RECENT,
    RESETS,
    add,
    add_to_regime,
    start_regime,
)


class RowOptions(NamedTuple):
    """What a run of one configuration keeps fixed: detector, kind of mean, block size, partial blocks."""

    detector: int
    mean_kind: int
    block_size: int
    partial_blocks: bool


@callee
def valid(duration_ms, gpu_ms):
    """Whether a timing counts; nan stands for a GPU part that was not measured, or for a missing duration."""
    if not (math.isfinite(duration_ms) and duration_ms > 0.0):
        return False
    return math.isnan(gpu_ms) or (math.isfinite(gpu_ms) and gpu_ms > 0.0)


@callee
def median_of_recent(rows, g):
    """Median of the last nine durations, or of fewer at the beginning."""
    n = int(min(rows[g, LIFETIME], float(N_RECENT)))
    low = high = 0.0
    for i in range(n):
        value = rows[g, RECENT + i]
        rank = 0
        for k in range(n):
            other = rows[g, RECENT + k]
            rank += int(other < value or (other == value and k < i))
        if rank == (n - 1) // 2:
            low = value
        if rank == n // 2:
            high = value
    return high if n % 2 == 1 else (low + high) / 2.0


@callee
def examine(rows, g, duration_ms, detector, block_size):
    """How many of the last durations start a new regime."""
    if detector == BLOCK_DETECTOR:
        return examine_blocks(rows, g, duration_ms, block_size)
    if detector == LOG_DETECTOR:
        return examine_logs(rows, g, duration_ms, False)
    if detector == LOG_DETECTOR_ONCE:
        return examine_logs(rows, g, duration_ms, True)
    if detector == CUSUM_DETECTOR:
        return examine_sums(rows, g, duration_ms)
    return 0


@kernel
def observe(rows, g, options, duration_ms, gpu_ms, host_ms, completed_ms, expiry_ms, prior_ms):
    """One more completion; True where it confirmed a change. An invalid timing changes nothing.

    Parts that were not measured are nan; ``expiry_ms`` is infinite for an exponential mean that is never replaced.
    """
    if not valid(duration_ms, gpu_ms):
        return False
    first = rows[g, LIFETIME] == 0.0
    if first:
        rows[g, PRIOR] = prior_ms
        start_regime(rows, g)
    seeds = examine(rows, g, duration_ms, options.detector, options.block_size)
    if seeds > 0:
        rows[g, RESETS] += 1.0
        start_regime(rows, g)
        for k in range(seeds):
            add_to_regime(rows, g, rows[g, BUFFER + k], options.block_size)
        if options.detector == BLOCK_DETECTOR:
            forget_detector(rows, g)
        elif options.detector != CUSUM_DETECTOR:
            rows[g, BUFFERED] = 0.0
    else:
        add_to_regime(rows, g, duration_ms, options.block_size)
    rows[g, RECENT + int(rows[g, LIFETIME]) % N_RECENT] = duration_ms
    add(rows, g, LIFETIME, duration_ms)
    if not math.isnan(gpu_ms):
        add(rows, g, GPU, gpu_ms)
    if not math.isnan(host_ms):
        add(rows, g, HOST, host_ms)
    if first or completed_ms - rows[g, LAST_VALID] > expiry_ms:
        rows[g, EXPONENTIAL] = duration_ms
    else:
        rows[g, EXPONENTIAL] += EMA_WEIGHT * (duration_ms - rows[g, EXPONENTIAL])
    rows[g, LAST_VALID] = completed_ms
    if options.mean_kind == ARITHMETIC:
        rows[g, OPERATIONAL] = rows[g, ACTIVE + MEAN]
    elif options.mean_kind == EMA:
        rows[g, OPERATIONAL] = rows[g, EXPONENTIAL]
    else:
        rows[g, OPERATIONAL] = median_of_recent(rows, g)
    return seeds > 0
