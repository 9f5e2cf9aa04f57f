"""Running the chosen graph in arrays: its lanes, time and deliveries, and fresh copies of who finished."""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee
from fairlane.simulator.learning.kernels.columns import (
    ACCEPTANCE,
    BUSY,
    BUSY_MS,
    CHOSEN_SPAN,
    CONTENDED,
    CONTENTION,
    CREDIT,
    DECODE,
    DRAINS,
    FINISHED_AT,
    GENERATED,
    KIND,
    L_END,
    L_GRAPH,
    L_KIND,
    L_OFFSET,
    L_REASON,
    L_START,
    LANE_FIRST,
    LANE_PROMPT,
    LANE_ROWS,
    LENGTH,
    N_CHOSEN,
    N_CHOSEN_PREFILL,
    N_LANES,
    N_LAUNCHES,
    N_WITHHELD,
    NOW,
    OPPORTUNITIES,
    OPPORTUNITY,
    PREFILL,
    PROMPT,
    PUBLISHED_AT,
    REASON,
    REPLENISHES,
    SERVED_AT,
    T_KIND,
    T_PROMPT,
    TEMPLATE,
    TIMING,
    WIDTH,
)
from fairlane.simulator.learning.kernels.execution import (
    NOTHING,
    SHOWN,
    TICKS_PER_MS,
    absorb,
    execute,
    unit,
)
from fairlane.simulator.learning.kernels.queue import (
    arrive,
    move_up,
    send,
)
from fairlane.simulator.learning.kernels.rates import (
    fade,
)
from fairlane.simulator.learning.kernels.settling import (
    learn,
    settle,
)


@callee
def take(live, place):
    """The lanes of an offer: the prompt, then decode rows by rank."""
    chosen, lanes = live.chosen, live.offer_lanes
    n = 0
    if lanes[place, LANE_PROMPT] >= 0:
        chosen[0] = lanes[place, LANE_PROMPT]
        n = 1
    live.counters[N_CHOSEN_PREFILL] = n
    first = n
    for k in range(lanes[place, LANE_ROWS]):
        i = lanes[place, LANE_FIRST + k]
        at = n
        while at > first and chosen[at - 1] > i:
            chosen[at] = chosen[at - 1]
            at -= 1
        chosen[at] = i
        n += 1
    live.counters[N_CHOSEN] = n


@callee
def span_of(fixed, live, g):
    """The graph's next execution in ticks; its parts in ms stand in ``parts``; what its timer shows."""
    counters = live.counters
    rows = counters[N_CHOSEN] - counters[N_CHOSEN_PREFILL]
    filled = rows
    if counters[N_CHOSEN_PREFILL]:
        filled += min(fixed.graphs[g, PREFILL], live.requests[live.chosen[0], PROMPT])
    tokens = 0
    for k in range(counters[N_CHOSEN_PREFILL], counters[N_CHOSEN]):
        i = live.chosen[k]
        tokens += fixed.templates[live.requests[i, TEMPLATE], T_PROMPT] + live.requests[i, GENERATED]
    shown = execute(
        fixed.streams[TIMING],
        fixed.laws,
        fixed.changes,
        live.noise,
        live.counts,
        g,
        counters[BUSY] / TICKS_PER_MS,
        filled / (fixed.graphs[g, PREFILL] + fixed.graphs[g, DECODE]),
        tokens / rows if rows > 0 else 0.0,
        live.parts,
    )
    gpu = max(1, int(live.parts[0] * TICKS_PER_MS + 0.5))
    host = int(live.parts[1] * TICKS_PER_MS + 0.5)
    counters[CHOSEN_SPAN] = gpu + host
    if shown == SHOWN:
        live.parts[0] = gpu / TICKS_PER_MS
    else:
        live.parts[0] = math.nan if shown == NOTHING else 0.0
    live.parts[1] = host / TICKS_PER_MS
    return shown


@callee
def deliver(fixed, live, g):
    """Draw and book every lane at the completion; the clock stands at its end."""
    counters, requests = live.counters, live.requests
    drafts = fixed.graphs[g, WIDTH] - 1
    for k in range(counters[N_CHOSEN]):
        i = live.chosen[k]
        row = counters[N_LANES]
        live.lanes[row, 0] = i
        left = requests[i, LENGTH] - requests[i, GENERATED]
        published = 0
        eaten = 0
        if k < counters[N_CHOSEN_PREFILL]:
            eaten = min(fixed.graphs[g, PREFILL], requests[i, PROMPT])
            if eaten == requests[i, PROMPT]:
                published = 1
        else:
            kind = fixed.templates[requests[i, TEMPLATE], T_KIND]
            key = absorb(absorb(fixed.streams[ACCEPTANCE], i), requests[i, GENERATED])
            accepted = 0
            while accepted < drafts and accepted < fixed.n_chances[kind]:
                if unit(absorb(key, accepted)) >= fixed.chances[kind, accepted]:
                    break
                accepted += 1
            published = min(1 + accepted, left)
        requests[i, PROMPT] -= eaten
        requests[i, GENERATED] += published
        requests[i, SERVED_AT] = counters[NOW]
        if published > 0:
            requests[i, PUBLISHED_AT] = counters[NOW]
            if published == left:
                requests[i, FINISHED_AT] = counters[NOW]
        live.lanes[row, 1] = eaten
        live.lanes[row, 2] = published
        counters[N_LANES] = row + 1


@callee
def run_graph(fixed, live, g, place):
    """Run graph g with the lanes of an offer to its completion; which bound is broken, FINISHED for none."""
    counters, amounts = live.counters, live.amounts
    take(live, place)
    start = counters[NOW]
    shown = span_of(fixed, live, g)
    span = counters[CHOSEN_SPAN]
    counters[NOW] = start + span
    counters[BUSY] += span
    span_ms = span / TICKS_PER_MS
    amounts[BUSY_MS] += span_ms
    first_lane = counters[N_LANES]
    deliver(fixed, live, g)
    counters[OPPORTUNITIES] += counters[OPPORTUNITY]
    counters[CONTENTION] += counters[CONTENDED]
    duration_ms = span_ms
    if shown != SHOWN:
        duration_ms = math.nan if shown == NOTHING else 0.0
    timed = learn(fixed, live, g, start / TICKS_PER_MS, counters[NOW] / TICKS_PER_MS, duration_ms)
    broken = settle(fixed, live, span_ms, timed)
    fade(fixed, live, first_lane, span_ms)
    row = counters[N_LAUNCHES]
    live.launches[row, L_GRAPH] = g
    live.launches[row, L_START] = start
    live.launches[row, L_END] = counters[NOW]
    live.launches[row, L_KIND] = counters[KIND]
    live.launches[row, L_REASON] = counters[REASON]
    live.launches[row, L_OFFSET] = counters[N_LANES]
    live.launch_ms[row, 0] = duration_ms
    live.launch_ms[row, 1] = amounts[CREDIT]
    counters[N_LAUNCHES] = row + 1
    move_up(live)
    arrive(fixed, live)
    for k in range(counters[N_CHOSEN]):
        i = live.chosen[k]
        if live.requests[i, FINISHED_AT] >= 0:
            template = live.requests[i, TEMPLATE]
            if counters[REPLENISHES]:
                send(fixed, live, template, counters[NOW])
            elif not counters[DRAINS]:
                live.withheld[counters[N_WITHHELD]] = template
                counters[N_WITHHELD] += 1
    return broken
