"""Requests in arrays: how they arrive, stand in line, and leave."""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee
from fairlane.simulator.learning.kernels.columns import (
    ARRIVAL,
    FINISHED_AT,
    GENERATED,
    LENGTH,
    LENGTHS,
    N_CHOSEN,
    N_COMING,
    N_LINE,
    N_NEVER,
    N_REQUESTS,
    NOW,
    PROMPT,
    PUBLISHED_AT,
    SERVED_AT,
    T_GENERATED,
    T_LENGTH,
    T_PRIOR,
    T_PROMPT,
    TEMPLATE,
    X,
    Z,
)
from fairlane.simulator.learning.kernels.execution import (
    S11,
    absorb,
)


@callee
def send(fixed, live, template, tick):
    """The next copy of a template arrives and stands behind all that were never served."""
    counters, requests, prices = live.counters, live.requests, live.prices
    i = counters[N_REQUESTS]
    counters[N_REQUESTS] = i + 1
    requests[i, TEMPLATE] = template
    requests[i, ARRIVAL] = tick
    requests[i, PROMPT] = fixed.templates[template, T_PROMPT]
    requests[i, GENERATED] = fixed.templates[template, T_GENERATED]
    length = fixed.templates[template, T_LENGTH]
    if fixed.templates[template, T_PRIOR] > 0:
        word = absorb(fixed.streams[LENGTHS], i) >> S11
        k = 0
        while k < fixed.templates[template, T_PRIOR] - 1 and word >= fixed.thresholds[template, k]:
            k += 1
        length = fixed.lengths[template, k]
    requests[i, LENGTH] = length
    requests[i, PUBLISHED_AT] = -1 if requests[i, PROMPT] > 0 else tick
    requests[i, SERVED_AT] = -1
    requests[i, FINISHED_AT] = -1
    prices[i, X] = math.nan
    prices[i, Z] = math.nan
    for k in range(counters[N_LINE], counters[N_NEVER], -1):
        live.line[k] = live.line[k - 1]
    live.line[counters[N_NEVER]] = i
    counters[N_NEVER] += 1
    counters[N_LINE] += 1


@callee
def arrive(fixed, live):
    """First copies that have arrived by now."""
    counters = live.counters
    while counters[N_COMING] < len(fixed.coming) and fixed.coming[counters[N_COMING], 0] <= counters[NOW]:
        k = counters[N_COMING]
        counters[N_COMING] = k + 1
        send(fixed, live, fixed.coming[k, 1], fixed.coming[k, 0])


@callee
def move_up(live):
    """The line after a launch: who was served goes to the end by rank, who finished leaves."""
    counters, line = live.counters, live.line
    n = 0
    never = 0
    for k in range(counters[N_LINE]):
        i = line[k]
        if live.requests[i, SERVED_AT] != counters[NOW]:
            line[n] = i
            n += 1
            never += int(live.requests[i, SERVED_AT] < 0)
    first = n
    for k in range(counters[N_CHOSEN]):
        i = live.chosen[k]
        if live.requests[i, FINISHED_AT] >= 0:
            continue
        at = n
        while at > first and line[at - 1] > i:
            line[at] = line[at - 1]
            at -= 1
        line[at] = i
        n += 1
    counters[N_LINE] = n
    counters[N_NEVER] = never
