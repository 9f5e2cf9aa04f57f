"""The detectors of `estimators`, compiled: each examines one duration, before it enters the regime.

Each returns how many of the last durations, at the end of the row's buffer, start a new regime; 0 for none. It sets
the row's PENDING. Arithmetic and order are those of the readable detectors.
"""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee
from fairlane.simulator.learning.kernels.estimate_row import (
    ACTIVE,
    ALPHA,
    BETA,
    BLOCKS,
    BUFFER,
    BUFFERED,
    COUNT,
    DETECTOR,
    KAPPA,
    LOCATION,
    LOG_COUNT,
    MEAN,
    N_DETECTOR,
    PARTIAL,
    PENDING,
    add_log,
    lag_one,
    log_mean,
    log_spread,
)
from fairlane.simulator.learning.kernels.student_t import upper_quantile

CHANGE = 0.1
MOST_CORRELATION = 0.99
# columns of the block detector
SUSPECTS, SUSPECT_SIDE, LOW, HIGH, RAW = range(DETECTOR, DETECTOR + 5)
BLOCKS_BEFORE, N_SUSPECTS, BLOCK_TAIL = 8.0, 3.0, 0.5 * (1.0 - 0.99)
# columns of the log detector
HELD, NUMBER, SIDE, CENTRE, DEVIATION, RAW_MEAN, RHO, SIZE, DOF = range(DETECTOR, DETECTOR + 9)
BEFORE, GROUP, ALLOWANCE = 64, 4, 1e-4
# columns of the clipped cumulative sums
SLOWER, SLOWER_RUN, FASTER, FASTER_RUN = range(DETECTOR, DETECTOR + 4)
WARM_UP, LAG, THRESHOLD, CLIP, MARGIN = 64, 32, 16.0, 3.0, 1.5
MOST_EVIDENCE = THRESHOLD / 3.5
NORMAL_MAD, LEAST_VARIANCE = 1.482602218505602, 1e-8
LOG_FASTER, LOG_SLOWER = math.log(0.8), math.log(1.2)


@callee
def keep(rows, g, value):
    """One more duration at the end of the buffer."""
    n = int(rows[g, BUFFERED])
    rows[g, BUFFER + n] = value
    rows[g, BUFFERED] = n + 1.0


@callee
def forget_detector(rows, g):
    """Nothing remembered but the log moments."""
    for column in range(DETECTOR, DETECTOR + N_DETECTOR):
        rows[g, column] = 0.0
    rows[g, BUFFERED] = 0.0
    rows[g, PENDING] = 0.0


@callee
def block_side(rows, g, block):
    """1 or -1 for a block mean above or below the reference, 0 for no suspect."""
    if abs(block - rows[g, RAW]) < CHANGE * rows[g, RAW]:
        return 0.0
    if block > rows[g, HIGH]:
        return 1.0
    return -1.0 if block < rows[g, LOW] else 0.0


@callee
def examine_blocks(rows, g, value, block_size):
    """The detector of `estimators.regime`."""
    keep(rows, g, value)
    count = rows[g, PARTIAL + COUNT] + 1.0
    if count < block_size:
        return 0
    step = value - rows[g, PARTIAL + MEAN]
    block = rows[g, PARTIAL + MEAN] + step / count
    if rows[g, SUSPECTS] > 0.0 and block_side(rows, g, block) == rows[g, SUSPECT_SIDE]:
        rows[g, SUSPECTS] += 1.0
        if rows[g, SUSPECTS] == N_SUSPECTS:
            return int(rows[g, BUFFERED])
        return 0
    # no suspect before, or a broken run: the present regime has its suspects already
    side = 0.0
    if rows[g, BLOCKS] >= BLOCKS_BEFORE:
        kappa, alpha = rows[g, KAPPA], rows[g, ALPHA]
        scale = math.sqrt(rows[g, BETA] * (1.0 + 1.0 / kappa) / alpha)
        half = scale * upper_quantile(BLOCK_TAIL, 2.0 * alpha)
        rows[g, LOW] = rows[g, LOCATION] - half
        rows[g, HIGH] = rows[g, LOCATION] + half
        rows[g, RAW] = rows[g, BLOCKS + MEAN]
        side = block_side(rows, g, block)
    if side == 0.0:
        forget_detector(rows, g)
        return 0
    first = int(rows[g, BUFFERED]) - block_size
    for k in range(block_size):
        rows[g, BUFFER + k] = rows[g, BUFFER + first + k]
    rows[g, BUFFERED] = block_size
    rows[g, SUSPECTS] = 1.0
    rows[g, SUSPECT_SIDE] = side
    rows[g, PENDING] = 1.0
    return 0


@callee
def variance_factor(n, rho):
    """F(n) of the log detector."""
    rest = 1.0 - rho
    return 1.0 + 2.0 * (rho / rest - rho * (1.0 - math.pow(rho, n)) / (n * rest * rest))


@callee
def freeze(rows, g):
    """A reference of the log detector from the active observations, with the next number."""
    count = rows[g, LOG_COUNT]
    rho = min(MOST_CORRELATION, max(0.0, lag_one(rows, g)) + 2.0 / math.sqrt(count - 3.0))
    effective = count / variance_factor(count, rho)
    power = 1.0
    while 2.0 * power <= effective:
        power *= 2.0
    rows[g, CENTRE] = log_mean(rows, g)
    rows[g, DEVIATION] = math.sqrt(log_spread(rows, g) / (count - 1.0))
    rows[g, RAW_MEAN] = rows[g, ACTIVE + MEAN]
    rows[g, RHO] = rho
    rows[g, SIZE] = count
    rows[g, DOF] = max(1.0, power - 1.0)
    rows[g, NUMBER] += 1.0
    rows[g, HELD] = 1.0


@callee
def log_side(rows, g, first, n, allowance):
    """1 or -1 for n buffered durations above or below the frozen reference, 0 for no change."""
    total = 0.0
    for k in range(first, first + n):
        total += rows[g, BUFFER + k]
    if abs(total / n - rows[g, RAW_MEAN]) < CHANGE * rows[g, RAW_MEAN]:
        return 0.0
    total = 0.0
    for k in range(first, first + n):
        total += math.log(rows[g, BUFFER + k])
    difference = total / n - rows[g, CENTRE]
    size = rows[g, SIZE]
    spread = variance_factor(float(n), rows[g, RHO]) / n + variance_factor(size, rows[g, RHO]) / size
    half = upper_quantile(0.5 * allowance, rows[g, DOF]) * (rows[g, DEVIATION] * math.sqrt(spread))
    if difference > half:
        return 1.0
    return -1.0 if difference < -half else 0.0


@callee
def log_buffer(rows, g):
    """Buffered durations enter the log moments, and the buffer is empty."""
    for k in range(int(rows[g, BUFFERED])):
        add_log(rows, g, math.log(rows[g, BUFFER + k]))
    rows[g, BUFFERED] = 0.0


@callee
def lifetime_allowance(j):
    """Two-sided allowance of the j-th reference."""
    power = 1.0
    while power < j:
        power *= 2.0
    return ALLOWANCE / (power * (power + 1.0))


@callee
def examine_logs(rows, g, value, once):
    """The detector of `estimators.log_regime`."""
    keep(rows, g, value)
    n = int(rows[g, BUFFERED])
    if n == 1:
        if rows[g, LOG_COUNT] < BEFORE:
            log_buffer(rows, g)
            return 0
        if once and rows[g, HELD] == 0.0:
            freeze(rows, g)
        raw = rows[g, RAW_MEAN] if once else rows[g, ACTIVE + MEAN]
        if abs(value - raw) < CHANGE * raw:
            log_buffer(rows, g)
            return 0
        if not once:
            # a reference counts only if its graph is nominated
            freeze(rows, g)
            rows[g, NUMBER] -= 1.0
        side = log_side(rows, g, 0, 1, ALLOWANCE)
        if side == 0.0:
            log_buffer(rows, g)
            return 0
        if not once:
            rows[g, NUMBER] += 1.0
        rows[g, SIDE] = side
        rows[g, PENDING] = 1.0
        return 0
    if n % GROUP != 0:
        return 0
    passed = log_side(rows, g, n - GROUP, GROUP, ALLOWANCE) == rows[g, SIDE]
    if passed and n == GROUP:
        return 0
    rows[g, PENDING] = 0.0
    if passed and log_side(rows, g, 0, n, lifetime_allowance(rows[g, NUMBER])) == rows[g, SIDE]:
        number = rows[g, NUMBER]
        forget_detector(rows, g)
        rows[g, NUMBER] = number
        rows[g, LOG_COUNT] = 0.0
        rows[g, BUFFERED] = n
        log_buffer(rows, g)
        return n
    log_buffer(rows, g)
    return 0


@callee
def sorted_middle(rows, g, first, n):
    """Median of n numbers of the buffer from ``first`` on, which are sorted in place."""
    for k in range(first + 1, first + n):
        value = rows[g, BUFFER + k]
        j = k - 1
        while j >= first and rows[g, BUFFER + j] > value:
            rows[g, BUFFER + j + 1] = rows[g, BUFFER + j]
            j -= 1
        rows[g, BUFFER + j + 1] = value
    upper = rows[g, BUFFER + first + n // 2]
    return upper if n % 2 == 1 else (rows[g, BUFFER + first + n // 2 - 1] + upper) / 2.0


@callee
def first_reference(rows, g):
    """Log moments of the warm-up, clipped around their median; the buffer is empty afterwards."""
    for k in range(WARM_UP):
        rows[g, BUFFER + WARM_UP + k] = math.log(rows[g, BUFFER + k])
    middle = sorted_middle(rows, g, WARM_UP, WARM_UP)
    for k in range(WARM_UP):
        rows[g, BUFFER + WARM_UP + k] = abs(math.log(rows[g, BUFFER + k]) - middle)
    most = CLIP * (NORMAL_MAD * sorted_middle(rows, g, WARM_UP, WARM_UP))
    for k in range(WARM_UP):
        away = math.log(rows[g, BUFFER + k]) - middle
        add_log(rows, g, middle + min(max(away, -most), most))
    rows[g, BUFFERED] = 0.0


@callee
def add_evidence(rows, g, evidence, away, shift, variance):
    """One more term in a cumulative sum and its run."""
    ratio = shift / variance * (away - 0.5 * shift)
    nats = rows[g, evidence] + min(max(ratio, -MOST_EVIDENCE), MOST_EVIDENCE)
    if nats > 0.0:
        rows[g, evidence] = nats
        rows[g, evidence + 1] += 1.0
    else:
        rows[g, evidence] = 0.0
        rows[g, evidence + 1] = 0.0


@callee
def examine_sums(rows, g, value):
    """The detector of `estimators.clipped_cusum`."""
    keep(rows, g, value)
    n = int(rows[g, BUFFERED])
    count = rows[g, LOG_COUNT]
    if count == 0.0:
        if n == WARM_UP:
            first_reference(rows, g)
        return 0
    rho = min(MOST_CORRELATION, max(0.0, lag_one(rows, g)) + MARGIN / math.sqrt(count - 3.0))
    plain = max(log_spread(rows, g) / (count - 1.0), LEAST_VARIANCE)
    variance = plain * ((1.0 + rho) / (1.0 - rho))
    mean = log_mean(rows, g)
    away = math.log(value) - mean
    add_evidence(rows, g, SLOWER, away, LOG_SLOWER, variance)
    add_evidence(rows, g, FASTER, away, LOG_FASTER, variance)
    for evidence in (SLOWER, FASTER):
        if rows[g, evidence] >= THRESHOLD:
            run = min(n, int(rows[g, evidence + 1]))
            forget_detector(rows, g)
            # the seeds are also the first of the next warm-up
            for k in range(run):
                rows[g, BUFFER + k] = rows[g, BUFFER + n - run + k]
            rows[g, BUFFERED] = run
            rows[g, LOG_COUNT] = 0.0
            return run
    if n > LAG:
        most = CLIP * math.sqrt(plain)
        add_log(rows, g, mean + min(max(math.log(rows[g, BUFFER]) - mean, -most), most))
        for k in range(n - 1):
            rows[g, BUFFER + k] = rows[g, BUFFER + k + 1]
        rows[g, BUFFERED] = n - 1.0
    rows[g, PENDING] = 1.0 if max(rows[g, SLOWER], rows[g, FASTER]) >= MOST_EVIDENCE else 0.0
    return 0
