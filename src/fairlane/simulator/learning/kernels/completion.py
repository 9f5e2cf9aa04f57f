"""Running the chosen graph in arrays: its time, deliveries, service rates, estimates, accounts, and fresh copies."""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee, inner, kernel
from fairlane.simulator.learning.kernels.choice import FULL_TOLERANCE_MS, prior_ms
from fairlane.simulator.learning.kernels.columns import (
    ACCEPTANCE,
    ARRIVAL,
    ATTEMPT,
    AWAITING,
    BOOT,
    BOOTSTRAP,
    BUSY,
    BUSY_MS,
    CAP,
    CHOSEN_SPAN,
    CONTENDED,
    CONTENTION,
    CREDIT,
    DECODE,
    DRAINS,
    EXPIRING,
    FINISHED_AT,
    FOREGROUND,
    FRESH,
    GENERATED,
    HISTORY,
    JITTERED,
    KIND,
    L_END,
    L_GRAPH,
    L_KIND,
    L_OFFSET,
    L_REASON,
    L_START,
    LATEST,
    LENGTH,
    LENGTHS,
    LIFETIME_KIND,
    LIFETIME_MS,
    N_CHOSEN,
    N_CHOSEN_PREFILL,
    N_COMING,
    N_LANES,
    N_LAUNCHES,
    N_LINE,
    N_NEVER,
    N_REQUESTS,
    N_WITHHELD,
    NOW,
    NOW_X,
    NOW_Z,
    OF_LIFETIME,
    OPPORTUNITIES,
    OPPORTUNITY,
    PREFILL,
    PROBE,
    PROMPT,
    PUBLISHED_AT,
    R_CONFIRMATION,
    RATE,
    REASON,
    REPLENISHES,
    SERVED_AT,
    SPENT,
    T_GENERATED,
    T_KIND,
    T_LENGTH,
    T_PRIOR,
    T_PROMPT,
    TEMPLATE,
    TIMING,
    TTL,
    VALID_BUSY,
    WIDTH,
    X,
    Z,
)
from fairlane.simulator.learning.kernels.estimate_row import LIFETIME
from fairlane.simulator.learning.kernels.execution import NOTHING, S11, SHOWN, TICKS_PER_MS, absorb, execute, unit
from fairlane.simulator.learning.kernels.observe import observe, valid
from fairlane.simulator.learning.kernels.scores import (
    LANE_FIRST,
    LANE_PROMPT,
    LANE_ROWS,
    delivery_normaliser,
)

# jittered lifetimes
SHORTEST, LONGEST = 0.8, 1.2


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


@inner
def faded(rate, amount, span_ms, history_ms):
    """A service rate after a graph."""
    return math.exp(-span_ms / history_ms) * rate - math.expm1(-span_ms / history_ms) * amount / span_ms


@callee
def fade(fixed, live, first_lane, span_ms):
    """Service rates of all who were live; lanes of the launch begin at ``first_lane``."""
    counters, requests, prices = live.counters, live.requests, live.prices
    history = fixed.options[HISTORY]
    n_decoding = 0
    for k in range(counters[N_LINE]):
        i = live.line[k]
        # a prompt that ended has published, and who finished counts no more
        n_decoding += int(requests[i, PROMPT] == 0 and requests[i, FINISHED_AT] < 0)
    delivery = delivery_normaliser(fixed, live, n_decoding)
    for k in range(counters[N_LINE]):
        i = live.line[k]
        tokens = 0
        published = 0
        served = requests[i, SERVED_AT] == counters[NOW]
        if served:
            row = first_lane
            while live.lanes[row, 0] != i:
                row += 1
            tokens = live.lanes[row, 1] + live.lanes[row, 2]
            published = live.lanes[row, 2]
        x = prices[i, NOW_X]
        z = prices[i, NOW_Z]
        after = math.nan
        if not math.isnan(z):
            if z != 0.0:
                after = faded(z, 1.0 if served else 0.0, span_ms, history)
        elif published > 0 and delivery > 0.0:
            after = delivery
        if x == 0.0:
            prices[i, X] = math.nan
            prices[i, Z] = math.nan
        else:
            prices[i, X] = faded(x, tokens, span_ms, history)
            prices[i, Z] = after


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
    """The exploration account after a completion; whether its bound stands."""
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
    allowed = options[RATE] * amounts[FOREGROUND] + amounts[LATEST]
    return amounts[SPENT] <= allowed + FULL_TOLERANCE_MS + 1e-12 * allowed


@callee
def run_graph(fixed, live, g, place):
    """Run graph g with the lanes of an offer to its completion; whether the exploration bound stands."""
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
    holds = settle(fixed, live, span_ms, timed)
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
    return holds


@kernel
def mature(fixed, live, g, durations_ms):
    """Observations of a graph before the run, completed at time 0."""
    for k in range(len(durations_ms)):
        observe(live.estimates, g, fixed.rows, durations_ms[k], math.nan, math.nan, 0.0, math.inf, durations_ms[0])
    live.knowledge[g, VALID_BUSY] = 0.0
    live_on(fixed, live, g)
