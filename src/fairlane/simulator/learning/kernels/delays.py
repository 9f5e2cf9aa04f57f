"""Service delay in arrays: what a probe delays, the cohort search, and the balances.

The counterpart of `service_delay` and of the searches in `policies.targeted`.
"""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee
from fairlane.simulator.learning.kernels.columns import (
    BALANCE,
    BEST_ROW,
    CHARGED,
    DECODE,
    DELAY,
    EARNED,
    EXPOSED,
    HARM_RATE,
    INCUMBENT,
    KEPT_ROW,
    KIND,
    LANE_FIRST,
    LANE_PROMPT,
    LANE_ROWS,
    N_CHOSEN,
    N_CHOSEN_PREFILL,
    N_DELAY,
    N_EXPOSED,
    N_STREAMS,
    OFFER_COST,
    ORDINARY,
    PHASE,
    PREFILL,
    PROBE,
    PROMPT,
    SAME,
    TRIED_ROW,
)
from fairlane.simulator.learning.kernels.scores import (
    best_prompt,
    copy_offer,
    ranking,
    sign,
    value_lanes,
)

FULL_TOLERANCE_MS = 1e-9
CAP_REQUEST_MS = 1.0


@callee
def expose(fixed, live, row, g):
    """What a probe of graph g with the lanes of a row serves of the incumbent: phase and sameness of each lane."""
    kept = len(fixed.graphs) + KEPT_ROW
    lanes, exposed = live.offer_lanes, live.exposed
    n = 0
    theirs = lanes[kept, LANE_PROMPT]
    if theirs >= 0:
        left = live.requests[theirs, PROMPT]
        progress = min(fixed.graphs[live.counters[INCUMBENT], PREFILL], left)
        exposed[n, PHASE] = 0
        exposed[n, SAME] = int(lanes[row, LANE_PROMPT] == theirs and min(fixed.graphs[g, PREFILL], left) >= progress)
        n += 1
    for k in range(lanes[kept, LANE_ROWS]):
        exposed[n, PHASE] = 1
        exposed[n, SAME] = 0
        for j in range(lanes[row, LANE_ROWS]):
            if lanes[row, LANE_FIRST + j] == lanes[kept, LANE_FIRST + k]:
                exposed[n, SAME] = 1
        n += 1
    live.counters[N_EXPOSED] = n


@callee
def delay(fixed, live, phase, probe_ms):
    """Summed delay of the incumbent's lanes of a phase, at a probe's duration."""
    extra = max(0.0, probe_ms - live.offers[len(fixed.graphs) + KEPT_ROW, OFFER_COST])
    total = 0.0
    for k in range(live.counters[N_EXPOSED]):
        if live.exposed[k, PHASE] == phase:
            total += extra if live.exposed[k, SAME] else probe_ms
    return total


@callee
def allowed(fixed, live):
    """Whether the balances of every phase of the incumbent are full."""
    kept = len(fixed.graphs) + KEPT_ROW
    full = CAP_REQUEST_MS - FULL_TOLERANCE_MS
    if live.offer_lanes[kept, LANE_PROMPT] >= 0 and live.amounts[DELAY + BALANCE] < full:
        return False
    return live.offer_lanes[kept, LANE_ROWS] == 0 or live.amounts[DELAY + N_DELAY + BALANCE] >= full


@callee
def is_theirs(fixed, live, i):
    """Whether a stream is in the incumbent's cohort."""
    kept = len(fixed.graphs) + KEPT_ROW
    found = False
    for k in range(live.offer_lanes[kept, LANE_ROWS]):
        found = found or live.offer_lanes[kept, LANE_FIRST + k] == i
    return found


@callee
def try_rows(fixed, live, g, place, prompt, n_kept):
    """A cohort into the row that is tried: so many of the incumbent's rows, then the best of the others."""
    row = len(fixed.graphs) + TRIED_ROW
    lanes = live.offer_lanes
    lanes[row, LANE_PROMPT] = prompt
    n = 0
    for turn in range(2):
        most = n_kept if turn == 0 else fixed.graphs[g, DECODE] - n_kept
        for k in range(live.counters[N_STREAMS]):
            if most == 0:
                break
            i = live.ranked[place, k]
            if is_theirs(fixed, live, i) == (turn == 0):
                lanes[row, LANE_FIRST + n] = i
                n += 1
                most -= 1
    lanes[row, LANE_ROWS] = n


@callee
def search_cohorts(fixed, live, g, cost_ms, probe_ms, limit):
    """The best cohort within a limit of delay, or for a nan the one of least delay, into the graph's offers.

    Delays are those of a probe that takes ``probe_ms``. Whether there is one.
    """
    n = len(fixed.graphs)
    tried, best = n + TRIED_ROW, n + BEST_ROW
    place = 0
    n_theirs = 0
    if fixed.graphs[g, DECODE] > 0 and live.counters[N_STREAMS] > 0:
        place = ranking(fixed, live, g, cost_ms)
        for k in range(live.counters[N_STREAMS]):
            n_theirs += int(is_theirs(fixed, live, live.ranked[place, k]))
    theirs = live.offer_lanes[n + KEPT_ROW, LANE_PROMPT]
    first = best_prompt(fixed, live, g, -1)
    others = best_prompt(fixed, live, g, theirs)
    least = math.inf
    found = False
    for choice in range(3):
        prompt = first
        if choice == 1:
            prompt = theirs if fixed.graphs[g, PREFILL] > 0 else -1
        elif choice == 2:
            prompt = others
        # each prompt once; none at all only where the graph can take none
        if choice > 0 and (prompt < 0 or prompt == first):
            continue
        for n_kept in range(min(n_theirs, fixed.graphs[g, DECODE]) + 1):
            try_rows(fixed, live, g, place, prompt, n_kept)
            if prompt < 0 and live.offer_lanes[tried, LANE_ROWS] == 0:
                continue
            expose(fixed, live, tried, g)
            total = delay(fixed, live, 0, probe_ms) + delay(fixed, live, 1, probe_ms)
            if total > limit or (math.isnan(limit) and total > least):
                continue
            value_lanes(fixed, live, tried, g, cost_ms)
            nearer = math.isnan(limit) and total < least
            if not found or nearer or sign(fixed, live, tried, best) > 0:
                copy_offer(live, tried, best)
                found = True
            least = min(least, total)
    if found:
        copy_offer(live, best, g)
    return found


@callee
def settle_delay(fixed, live, span_ms):
    """The balances after a completion; whether their bounds stand."""
    amounts, counters = live.amounts, live.counters
    holds = True
    n_prefill = counters[N_CHOSEN_PREFILL]
    for phase in range(2):
        at = DELAY + phase * N_DELAY
        lanes = n_prefill if phase == 0 else counters[N_CHOSEN] - n_prefill
        if counters[KIND] == ORDINARY and lanes > 0:
            amount = fixed.options[HARM_RATE] * span_ms * lanes
            amounts[at + EARNED] += amount
            amounts[at + BALANCE] = min(CAP_REQUEST_MS, amounts[at + BALANCE] + amount)
        elif counters[KIND] == PROBE:
            shown = False
            for k in range(counters[N_EXPOSED]):
                shown = shown or live.exposed[k, PHASE] == phase
            if shown:
                amount = delay(fixed, live, phase, span_ms)
                amounts[at + CHARGED] += amount
                amounts[at + EXPOSED] = amount
                amounts[at + BALANCE] -= amount
        bound = amounts[at + EARNED] + amounts[at + EXPOSED]
        holds = holds and amounts[at + CHARGED] <= bound + FULL_TOLERANCE_MS + 1e-12 * bound
    return holds
