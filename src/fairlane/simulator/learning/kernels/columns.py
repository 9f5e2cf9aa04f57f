"""How a run stands in arrays: named columns, and the tuples of arrays that kernels hand to each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fairlane.simulator.learning.kernels.observe import RowOptions

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

# counters: ticks, numbers of rows, flags
NOW, BUSY, N_REQUESTS, N_LINE, N_NEVER, N_COMING, N_LAUNCHES, N_LANES = range(8)
OPPORTUNITIES, CONTENTION, REPLENISHES, DRAINS, IDLE, N_PAUSES, N_WITHHELD, MEASURED_FROM, DRAIN_FROM = range(8, 17)
N_STREAMS, FEASIBLE, INCUMBENT, KIND, REASON, OPPORTUNITY, CONTENDED, N_CHOSEN, N_CHOSEN_PREFILL = range(17, 26)
CHOSEN_SPAN, N_EXPOSED = range(26, 28)
N_COUNTERS = 28
# amounts: accounts in ms, then what is frozen in one decision
CREDIT, FOREGROUND, SPENT, LATEST, BOOTSTRAP, BUSY_MS = range(6)
INTERVAL, TOTAL_PRICE, TOTAL_AGE, UNIFORM, COST = range(6, 11)
# delay: balance, earned, charged, latest of prefill, then of decode
DELAY, N_DELAY = 11, 4
BALANCE, EARNED, CHARGED, EXPOSED = range(4)
N_AMOUNTS = 19
# request columns
TEMPLATE, ARRIVAL, PROMPT, GENERATED, LENGTH, PUBLISHED_AT, SERVED_AT, FINISHED_AT = range(8)
N_REQUEST = 8
# request columns of doubles: rates (nan where unknown), rates of this decision, prices of this decision, age in ms
X, Z, NOW_X, NOW_Z, PROMPT_PRICE, OUTPUT_PRICE, DELIVERY_PRICE, AGE_PRICE, AGE, GAIN, WORTH = range(11)
N_PRICE = 11
# template columns
T_PROMPT, T_GENERATED, T_LIMIT, T_KIND, T_LENGTH, T_PRIOR = range(6)
N_TEMPLATE = 6
# graph columns
PREFILL, DECODE, WIDTH, SIZE, FAMILY, OF_WIDTH = range(6)
N_GRAPH = 6
# knowledge of a graph beside its estimate
MEAN_MS, VALID_BUSY, ATTEMPT, AWAITING, LIFETIME_MS = range(5)
# the belief whose lower quantile is kept
KEPT_DOF, KEPT_LOCATION, KEPT_SCALE, KEPT_QUANTILE = range(5, 9)
N_KNOWLEDGE = 9
# offers of a graph
SCORE, GROSS, GROSS_PER_MS, SERVED_AGE, SERVED_PRICE, OFFER_COST = range(6)
N_OFFER = 6
# rows of the offers beside one a graph: the incumbent's, one that is being tried, and the best of those so far
KEPT_ROW, TRIED_ROW, BEST_ROW = range(3)
N_EXTRA_ROWS = 3
# lanes of an offer: prompt (-1 for none), number of rows, rows
LANE_PROMPT, LANE_ROWS, LANE_FIRST = range(3)
# running sums over the first rows of a ranking
SUM_GAIN, SUM_AGE, SUM_PRICE, N_SUMS = range(4)
# the incumbent's lanes against a probe's: phase (0 prefill, 1 decode), and whether the probe serves the same
PHASE, SAME = range(2)
# options; no earning rate of delay and no limit of it are nan
RATE, CAP, TTL, EPSILON, TEMPERATURE, QUANTILE, EXTRA, LOSS, REFRESH_BUSY, HISTORY = range(10)
OUTPUT_VALUE, TOKEN_FAIR, DELIVERY_FAIR, AGE_VALUE, VARIANCE_BLOCKS, HARM_RATE, HARM_LIMIT = range(10, 17)
N_OPTIONS = 17
POLICY, FUNDED, REFRESH_EVERY, ANNEAL, NATIVE, UNKNOWN_FIRST, LIFETIME_KIND, FRESH, AUDIT, TOLD = range(10)
N_FLAGS = 10
# how a policy nominates
NONE, RANDOM, SOFTMAX, OPTIMISTIC, THOMPSON, PREDICTIVE, TARGETED, STALE = range(8)
KEPT, EXPIRING, JITTERED = range(3)
# hash states of the streams
ACCEPTANCE, TIMING, LENGTHS, PLAIN, OF_GRAPH, OF_LIFETIME = range(6)
# launch columns
L_GRAPH, L_START, L_END, L_KIND, L_REASON, L_OFFSET = range(6)
N_LAUNCH = 6
# accounts and reasons, in the order of the readable enumerations
ORDINARY, PROBE, BOOT = range(3)
(R_ORDINARY, R_BOOTSTRAP, R_DISCOVERY, R_REFRESH, R_RANDOM, R_SOFTMAX, R_OPTIMISTIC, R_THOMPSON, R_PREDICTIVE) = range(
    9
)
R_CONFIRMATION, R_CHECK, R_CHALLENGER, R_STALE = range(9, 13)
# why a kernel returns
FINISHED, FULL, BROKEN_CREDIT, BROKEN_DELAY = range(4)


class Fixed(NamedTuple):
    """What a run never changes.

    ``boundaries`` are ticks of occupied time: end of learning, of measuring, of draining; ``pauses`` rows of
    occupied ticks and idle ticks; ``thresholds`` whole numbers of 2^-53 below which a prior's draw falls.
    """

    graphs: Integers
    widths: Integers
    yields: Floats
    n_yields: Integers
    chances: Floats
    n_chances: Integers
    templates: Integers
    weights: Floats
    thresholds: Integers
    lengths: Integers
    coming: Integers
    pauses: Integers
    boundaries: Integers
    laws: Floats
    changes: Floats
    options: Floats
    flags: Integers
    streams: Words
    rows: RowOptions


class Live(NamedTuple):
    """What a run changes. ``line`` holds live requests, least recently served first; the never served in front."""

    counters: Integers
    amounts: Floats
    requests: Integers
    prices: Floats
    line: Integers
    waiting: Integers
    streams: Integers
    ranked: Integers
    sums: Floats
    estimates: Floats
    knowledge: Floats
    offers: Floats
    offer_lanes: Integers
    draws: Floats
    exposed: Integers
    noise: Floats
    counts: Integers
    parts: Floats
    chosen: Integers
    withheld: Integers
    launches: Integers
    launch_ms: Floats
    lanes: Integers
