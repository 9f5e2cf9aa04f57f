"""What a completion teaches and costs, in arrays: estimates, lifetimes, accounts."""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee, kernel
from fairlane.simulator.learning.kernels.columns import (
    ATTEMPT,
    AWAITING,
    BOOT,
    BOOTSTRAP,
    BROKEN_CREDIT,
    BROKEN_DELAY,
    BUSY_MS,
    CAP,
    CREDIT,
    EXPIRING,
    FINISHED,
    FOREGROUND,
    FRESH,
    FUNDED,
    HARM_RATE,
    JITTERED,
    KIND,
    LATEST,
    LIFETIME_KIND,
    LIFETIME_MS,
    OF_LIFETIME,
    PROBE,
    R_CONFIRMATION,
    RATE,
    REASON,
    SPENT,
    TTL,
    VALID_BUSY,
)
from fairlane.simulator.learning.kernels.delays import (
    FULL_TOLERANCE_MS,
    settle_delay,
)
from fairlane.simulator.learning.kernels.estimate_row import (
    LIFETIME,
)
from fairlane.simulator.learning.kernels.execution import (
    absorb,
    unit,
)
from fairlane.simulator.learning.kernels.knowledge import (
    prior_ms,
)
from fairlane.simulator.learning.kernels.observe import (
    observe,
    valid,
)

# jittered lifetimes
SHORTEST, LONGEST = 0.8, 1.2


@callee
def learn(fixed, live, g, start_ms, end_ms, duration_ms):
    """The graph's estimate, attempts and lifetime after a completion; whether its timing was valid."""
    knowledge = live.knowledge
    knowledge[g, ATTEMPT] = start_ms
    if not valid(duration_ms, live.parts[0]):
        if live.counters[REASON] == R_CONFIRMATION:
            knowledge[g, AWAITING] = 1.0
        return False
    expiry = math.inf
    if fixed.flags[FRESH]:
        expiry = fixed.options[TTL]
        if fixed.flags[LIFETIME_KIND] == JITTERED and live.estimates[g, LIFETIME] > 0.0:
            expiry = knowledge[g, LIFETIME_MS]
    m0 = prior_ms(fixed, live, g) if live.estimates[g, LIFETIME] == 0.0 else 0.0
    observe(live.estimates, g, fixed.rows, duration_ms, live.parts[0], live.parts[1], end_ms, expiry, m0)
    knowledge[g, AWAITING] = 0.0
    knowledge[g, VALID_BUSY] = live.amounts[BUSY_MS]
    live_on(fixed, live, g)
    return True


@callee
def live_on(fixed, live, g):
    """When the measurement that was just made expires."""
    kind = fixed.flags[LIFETIME_KIND]
    if kind == EXPIRING:
        live.knowledge[g, LIFETIME_MS] = fixed.options[TTL]
    elif kind == JITTERED:
        count = int(live.estimates[g, LIFETIME])
        u = unit(absorb(absorb(fixed.streams[OF_LIFETIME], g), count))
        live.knowledge[g, LIFETIME_MS] = fixed.options[TTL] * (SHORTEST + (LONGEST - SHORTEST) * u)


@callee
def settle(fixed, live, span_ms, timed):
    """The accounts after a completion; which bound is broken, FINISHED for none."""
    amounts, options = live.amounts, fixed.options
    kind = live.counters[KIND]
    if kind == BOOT:
        amounts[BOOTSTRAP] += span_ms
    elif kind == PROBE:
        amounts[SPENT] += span_ms
        amounts[LATEST] = span_ms
        amounts[CREDIT] -= span_ms
    elif timed:
        amounts[FOREGROUND] += span_ms
        amounts[CREDIT] = min(options[CAP], amounts[CREDIT] + options[RATE] * span_ms)
    bound = options[RATE] * amounts[FOREGROUND] + amounts[LATEST]
    broken = fixed.flags[FUNDED] and amounts[SPENT] > bound + FULL_TOLERANCE_MS + 1e-12 * bound
    if broken:
        return BROKEN_CREDIT
    if not math.isnan(options[HARM_RATE]) and not settle_delay(fixed, live, span_ms):
        return BROKEN_DELAY
    return FINISHED


@kernel
def mature(fixed, live, g, durations_ms):
    """Observations of a graph before the run, completed at time 0."""
    for k in range(len(durations_ms)):
        observe(live.estimates, g, fixed.rows, durations_ms[k], math.nan, math.nan, 0.0, math.inf, durations_ms[0])
    live.knowledge[g, VALID_BUSY] = 0.0
    live_on(fixed, live, g)
