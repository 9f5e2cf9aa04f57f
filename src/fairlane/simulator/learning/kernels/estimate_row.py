"""One graph's estimate as a row of float64: columns, moments, blocks and belief.

The same arithmetic in the same order as `moments`, `posterior` and `retained`, so that both give the same doubles.
Every kernel takes the table and the graph's place in it; a view of a row would cost more than the arithmetic.
"""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee, kernel

# moments take three columns each: count, mean, sum of squared deviations
LIFETIME, GPU, HOST, ACTIVE, BLOCKS, PARTIAL = range(0, 18, 3)
COUNT, MEAN, SQUARES = range(3)
# belief after complete blocks; prior location, nan before the first valid timing
KAPPA, ALPHA, BETA, LOCATION, PRIOR = range(18, 23)
# operational mean (nan while unmeasured), exponential mean, wall time of the last valid completion
OPERATIONAL, EXPONENTIAL, LAST_VALID, RESETS, PENDING = range(23, 28)
# the last nine durations; the n-th stands in place n modulo nine
RECENT, N_RECENT = 28, 9
# log moments of a detector: count, first, last, total, squares, products
LOGS = 37
LOG_COUNT, LOG_FIRST, LOG_LAST, LOG_TOTAL, LOG_SQUARES, LOG_PRODUCTS = range(LOGS, LOGS + 6)
# what a detector remembers besides: its own columns, and durations in order of time
DETECTOR, N_DETECTOR = 43, 10
BUFFERED = 53
BUFFER = 54
# as many as a detector keeps, and room to sort
N_BUFFER = 128
N_COLUMNS = BUFFER + N_BUFFER

# kinds of operational mean
ARITHMETIC, EMA, MEDIAN9 = range(3)
# detectors
NO_DETECTOR, BLOCK_DETECTOR, LOG_DETECTOR, LOG_DETECTOR_ONCE, CUSUM_DETECTOR = range(5)
KAPPA_0, ALPHA_0 = 0.25, 2.0
EMA_WEIGHT = 0.125


@kernel
def clear(rows, g):
    """The row of a graph that was never measured."""
    for column in range(N_COLUMNS):
        rows[g, column] = 0.0
    rows[g, PRIOR] = math.nan
    rows[g, OPERATIONAL] = math.nan


@callee
def add(rows, g, moments, value):
    """One more number in three columns of moments."""
    count = rows[g, moments] + 1.0
    step = value - rows[g, moments + MEAN]
    mean = rows[g, moments + MEAN] + step / count
    rows[g, moments] = count
    rows[g, moments + MEAN] = mean
    rows[g, moments + SQUARES] += step * (value - mean)


@callee
def start_regime(rows, g):
    """An active regime without observations, its belief at the prior."""
    for column in range(ACTIVE, PARTIAL + 3):
        rows[g, column] = 0.0
    rows[g, KAPPA] = KAPPA_0
    rows[g, ALPHA] = ALPHA_0
    rows[g, BETA] = rows[g, PRIOR] * rows[g, PRIOR]
    rows[g, LOCATION] = rows[g, PRIOR]


@callee
def add_to_regime(rows, g, value, block_size):
    """One more duration in the active regime; a block that it completes is counted once."""
    add(rows, g, ACTIVE, value)
    add(rows, g, PARTIAL, value)
    if rows[g, PARTIAL] < block_size:
        return
    block = rows[g, PARTIAL + MEAN]
    add(rows, g, BLOCKS, block)
    kappa = rows[g, KAPPA]
    away = block - rows[g, LOCATION]
    rows[g, KAPPA] = kappa + 1.0
    rows[g, ALPHA] += 0.5
    rows[g, BETA] += kappa * away * away / (2.0 * (kappa + 1.0))
    rows[g, LOCATION] = (kappa * rows[g, LOCATION] + block) / (kappa + 1.0)
    rows[g, PARTIAL] = 0.0
    rows[g, PARTIAL + MEAN] = 0.0
    rows[g, PARTIAL + SQUARES] = 0.0


@callee
def belief(rows, g, block_size, partial_blocks, prior_ms):
    """Kappa, alpha, beta and m, the unfinished block included on demand; around ``prior_ms`` while unmeasured."""
    if rows[g, LIFETIME] == 0.0:
        return KAPPA_0, ALPHA_0, prior_ms * prior_ms, prior_ms
    kappa, alpha, beta, m = rows[g, KAPPA], rows[g, ALPHA], rows[g, BETA], rows[g, LOCATION]
    if not partial_blocks or rows[g, PARTIAL] == 0.0:
        return kappa, alpha, beta, m
    weight = rows[g, PARTIAL] / block_size
    mean = rows[g, PARTIAL + MEAN]
    away = mean - m
    return (
        kappa + weight,
        alpha + weight / 2.0,
        beta + kappa * weight * away * away / (2.0 * (kappa + weight)),
        (kappa * m + weight * mean) / (kappa + weight),
    )


@kernel
def mean_law(rows, g, block_size, partial_blocks, prior_ms):
    """Degrees of freedom, location and scale of the mean cost."""
    kappa, alpha, beta, m = belief(rows, g, block_size, partial_blocks, prior_ms)
    return 2.0 * alpha, m, math.sqrt(beta / (alpha * kappa))


@kernel
def execution_law(rows, g, block_size, partial_blocks, prior_ms, variance_blocks):
    """Degrees of freedom, location and scale of one more measurement; its variance is that many block variances."""
    kappa, alpha, beta, m = belief(rows, g, block_size, partial_blocks, prior_ms)
    return 2.0 * alpha, m, math.sqrt(beta * (variance_blocks + 1.0 / kappa) / alpha)


@callee
def add_log(rows, g, value):
    """One more number in the log moments."""
    count = rows[g, LOG_COUNT]
    rows[g, LOG_COUNT] = count + 1.0
    if count == 0.0:
        rows[g, LOG_FIRST] = value
        rows[g, LOG_LAST] = 0.0
        rows[g, LOG_TOTAL] = 0.0
        rows[g, LOG_SQUARES] = 0.0
        rows[g, LOG_PRODUCTS] = 0.0
        return
    away = value - rows[g, LOG_FIRST]
    rows[g, LOG_TOTAL] += away
    rows[g, LOG_SQUARES] += away * away
    rows[g, LOG_PRODUCTS] += rows[g, LOG_LAST] * away
    rows[g, LOG_LAST] = away


@callee
def log_mean(rows, g):
    """Mean of the log moments."""
    return rows[g, LOG_FIRST] + rows[g, LOG_TOTAL] / rows[g, LOG_COUNT]


@callee
def log_spread(rows, g):
    """Sum of squared deviations of the log moments."""
    spread = rows[g, LOG_SQUARES] - rows[g, LOG_TOTAL] * rows[g, LOG_TOTAL] / rows[g, LOG_COUNT]
    return spread if spread > 0.0 else 0.0


@callee
def lag_one(rows, g):
    """Biased lag-one autocorrelation of the log moments; 0 for numbers that are all the same."""
    spread = log_spread(rows, g)
    if spread == 0.0:
        return 0.0
    mean = rows[g, LOG_TOTAL] / rows[g, LOG_COUNT]
    ends = (rows[g, LOG_TOTAL] - rows[g, LOG_LAST]) + rows[g, LOG_TOTAL]
    neighbours = rows[g, LOG_PRODUCTS] - mean * ends + (rows[g, LOG_COUNT] - 1.0) * mean * mean
    return neighbours / spread
