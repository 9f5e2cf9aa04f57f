"""Nominations of the sampling and refreshing policies in arrays, held to the files in `policies`."""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee
from fairlane.simulator.learning.kernels.columns import (
    ANNEAL,
    ATTEMPT,
    EPSILON,
    FEASIBLE,
    INCUMBENT,
    MEAN_MS,
    NOW,
    OPPORTUNITIES,
    OPTIMISTIC,
    PREDICTIVE,
    SCORE,
    TEMPERATURE,
    TTL,
)
from fairlane.simulator.learning.kernels.estimate_row import (
    LAST_VALID,
)
from fairlane.simulator.learning.kernels.execution import (
    TICKS_PER_MS,
)
from fairlane.simulator.learning.kernels.knowledge import (
    graph_uniform,
    law_quantile,
    nominal_ms,
    optimistic_ms,
    uniform,
)
from fairlane.simulator.learning.kernels.scores import (
    beats,
    feasible,
    offer,
)


@callee
def longest_ago(fixed, live, wanted):
    """The alternative attempted longest ago among those marked ``wanted`` (any for a negative one), -1 for none."""
    n = len(fixed.graphs)
    found = -1
    for g in range(n):
        if g == live.counters[INCUMBENT] or not feasible(fixed, live, g):
            continue
        if wanted >= 0.0 and live.draws[n + g] != wanted:
            continue
        if found < 0 or live.knowledge[g, ATTEMPT] < live.knowledge[found, ATTEMPT]:
            found = g
    return found


@callee
def nominate_sampled(fixed, live, policy):
    """The best graph at one cost each: a lower quantile, a draw of the mean or of an execution."""
    found = -1
    for g in range(len(fixed.graphs)):
        if not feasible(fixed, live, g):
            continue
        if policy == OPTIMISTIC:
            cost = optimistic_ms(fixed, live, g)
        else:
            cost = law_quantile(fixed, live, g, graph_uniform(fixed, live, g), policy == PREDICTIVE)
        offer(fixed, live, g, cost)
        if found < 0 or beats(fixed, live, g, found):
            found = g
    return found


@callee
def nominate_softmax(fixed, live):
    """A graph drawn by utility under nominal costs."""
    n = len(fixed.graphs)
    temperature = fixed.options[TEMPERATURE]
    if fixed.flags[ANNEAL]:
        temperature = temperature / math.sqrt(1.0 + live.counters[OPPORTUNITIES] / 100.0)
    high = -math.inf
    low = math.inf
    last = -1
    for g in range(n):
        if feasible(fixed, live, g):
            offer(fixed, live, g, nominal_ms(fixed, live, g))
            high = max(high, live.offers[g, SCORE])
            low = min(low, live.offers[g, SCORE])
            last = g
    total = 0.0
    for g in range(n):
        if feasible(fixed, live, g):
            weight = 1.0
            if high != low:
                weight = math.exp((live.offers[g, SCORE] - high) / (temperature * (high - low)))
            live.draws[g] = weight
            total += weight
    u = uniform(fixed, live, 0)
    for g in range(n):
        if feasible(fixed, live, g):
            u -= live.draws[g] / total
            if u < 0.0:
                return g
    return last


@callee
def nominate_random(fixed, live):
    """With chance epsilon a feasible graph, -1 otherwise."""
    if uniform(fixed, live, 0) >= fixed.options[EPSILON]:
        return -1
    k = int(uniform(fixed, live, 1) * live.counters[FEASIBLE])
    for g in range(len(fixed.graphs)):
        if feasible(fixed, live, g):
            if k == 0:
                offer(fixed, live, g, nominal_ms(fixed, live, g))
                return g
            k -= 1
    return -1


@callee
def nominate_stale(fixed, live):
    """The stale alternative touched longest ago, -1 for none; equal times by score."""
    now_ms = live.counters[NOW] / TICKS_PER_MS
    found = -1
    oldest = math.inf
    for g in range(len(fixed.graphs)):
        if g == live.counters[INCUMBENT] or not feasible(fixed, live, g) or math.isnan(live.knowledge[g, MEAN_MS]):
            continue
        if not now_ms - live.estimates[g, LAST_VALID] > fixed.options[TTL]:
            continue
        touched = max(live.estimates[g, LAST_VALID], live.knowledge[g, ATTEMPT])
        if touched > oldest:
            continue
        offer(fixed, live, g, nominal_ms(fixed, live, g))
        if touched < oldest or beats(fixed, live, g, found):
            found = g
        oldest = touched
    return found
