"""The `ongoing` score in arrays: prices frozen at one decision, ranked rows, and cohorts at any cost.

Every sum is taken in the order of the readable policy, so that both give the same doubles.
"""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee, inner
from fairlane.simulator.learning.kernels.columns import (
    AGE,
    AGE_PRICE,
    AGE_VALUE,
    DECODE,
    DELIVERY_FAIR,
    DELIVERY_PRICE,
    GAIN,
    GENERATED,
    GROSS,
    GROSS_PER_MS,
    INTERVAL,
    LANE_FIRST,
    LANE_PROMPT,
    LANE_ROWS,
    MEAN_MS,
    N_LINE,
    N_OFFER,
    N_STREAMS,
    NOW,
    NOW_X,
    NOW_Z,
    OF_WIDTH,
    OFFER_COST,
    OUTPUT_PRICE,
    OUTPUT_VALUE,
    PREFILL,
    PROMPT,
    PROMPT_PRICE,
    PUBLISHED_AT,
    SCORE,
    SERVED_AGE,
    SERVED_PRICE,
    SIZE,
    SUM_AGE,
    SUM_GAIN,
    SUM_PRICE,
    T_KIND,
    T_LIMIT,
    TEMPLATE,
    TOKEN_FAIR,
    TOTAL_AGE,
    TOTAL_PRICE,
    UNIFORM,
    WIDTH,
    WORTH,
    X,
    Z,
)
from fairlane.simulator.learning.kernels.execution import (
    TICKS_PER_MS,
)

TIE = 1e-12


@inner
def row_tokens(fixed, live, i, width):
    """Expected output of a decode row, cut by its limit."""
    template = live.requests[i, TEMPLATE]
    kind = fixed.templates[template, T_KIND]
    if width == 1 or fixed.n_chances[kind] == 0:
        return 1.0
    left = fixed.templates[template, T_LIMIT] - live.requests[i, GENERATED]
    return fixed.yields[kind, min(width, left, fixed.n_yields[kind]) - 1]


@inner
def token_normaliser(fixed, live, i):
    """The best useful-token rate of a request's phase over measured graphs; 0 where there is none."""
    best = 0.0
    prompt = live.requests[i, PROMPT]
    for g in range(len(fixed.graphs)):
        t = live.knowledge[g, MEAN_MS]
        if math.isnan(t):
            continue
        if prompt > 0:
            if fixed.graphs[g, PREFILL] > 0:
                best = max(best, min(fixed.graphs[g, PREFILL], prompt) / t)
        elif fixed.graphs[g, DECODE] > 0:
            best = max(best, row_tokens(fixed, live, i, fixed.graphs[g, WIDTH]) / t)
    return best


@inner
def delivery_normaliser(fixed, live, n_decoding):
    """Delivery rate of each stream that shares the best batch; 0 where there is none."""
    n = max(n_decoding, 1)
    best = 0.0
    for g in range(len(fixed.graphs)):
        t = live.knowledge[g, MEAN_MS]
        if fixed.graphs[g, DECODE] > 0 and not math.isnan(t):
            best = max(best, min(fixed.graphs[g, DECODE], n) / (n * t))
    return best


@callee
def freeze(fixed, live):
    """Prices, ages and the line by phase, from the measured means of this decision."""
    counters, amounts, prices, options = live.counters, live.amounts, live.prices, fixed.options
    n_streams = 0
    n_waiting = 0
    for k in range(counters[N_LINE]):
        i = live.line[k]
        if live.requests[i, PROMPT] > 0:
            n_waiting += 1
            live.waiting[n_waiting] = i
        else:
            live.streams[n_streams] = i
            n_streams += 1
    live.waiting[0] = n_waiting
    counters[N_STREAMS] = n_streams
    delivery = delivery_normaliser(fixed, live, n_streams)
    amounts[INTERVAL] = 1.0 / delivery if delivery > 0.0 else 0.0
    total_price = 0.0
    total_age = 0.0
    uniform = True
    for k in range(counters[N_LINE]):
        i = live.line[k]
        weight = fixed.weights[live.requests[i, TEMPLATE]]
        x = prices[i, X]
        if math.isnan(x):
            x = token_normaliser(fixed, live, i)
        decoding = live.requests[i, PROMPT] == 0
        z = prices[i, Z]
        if decoding and math.isnan(z):
            z = delivery
        prices[i, NOW_X] = x
        prices[i, NOW_Z] = z
        fair = options[TOKEN_FAIR] / x if x != 0.0 else 0.0
        prices[i, PROMPT_PRICE] = weight * (1.0 + fair)
        prices[i, OUTPUT_PRICE] = weight * (options[OUTPUT_VALUE] + fair)
        prices[i, DELIVERY_PRICE] = weight * (options[DELIVERY_FAIR] / z if z != 0.0 and not math.isnan(z) else 0.0)
        prices[i, AGE_PRICE] = weight * options[AGE_VALUE]
        if decoding:
            prices[i, AGE] = (counters[NOW] - live.requests[i, PUBLISHED_AT]) / TICKS_PER_MS
            total_price += prices[i, AGE_PRICE]
            total_age += prices[i, AGE_PRICE] * prices[i, AGE]
            if prices[i, AGE_PRICE] != prices[live.streams[0], AGE_PRICE]:
                uniform = False
    amounts[TOTAL_PRICE] = total_price
    amounts[TOTAL_AGE] = total_age
    amounts[UNIFORM] = 1.0 if uniform else 0.0
    if uniform:
        for w in range(len(fixed.widths)):
            rank(fixed, live, w, fixed.widths[w], 0.0)


@callee
def rank(fixed, live, place, width, span):
    """Streams by what serving them changes into row ``place`` of the ranking; ties by least recent service."""
    prices, ranked, sums = live.prices, live.ranked, live.sums
    interval = live.amounts[INTERVAL]
    for k in range(live.counters[N_STREAMS]):
        i = live.streams[k]
        price = prices[i, AGE_PRICE]
        gain = row_gain(fixed, live, i, width)
        spared = interval * price * (prices[i, AGE] + span) if price != 0.0 else price
        prices[i, GAIN] = gain
        prices[i, WORTH] = gain + spared
        at = k
        while at > 0 and prices[ranked[place, at - 1], WORTH] < prices[i, WORTH]:
            ranked[place, at] = ranked[place, at - 1]
            at -= 1
        ranked[place, at] = i
    gains = 0.0
    served_age = 0.0
    served_price = 0.0
    for k in range(live.counters[N_STREAMS]):
        i = ranked[place, k]
        gains += prices[i, GAIN]
        served_age += prices[i, AGE_PRICE] * prices[i, AGE]
        served_price += prices[i, AGE_PRICE]
        sums[place, k, SUM_GAIN] = gains
        sums[place, k, SUM_AGE] = served_age
        sums[place, k, SUM_PRICE] = served_price


@inner
def row_gain(fixed, live, i, width):
    """Value of a decode row apart from ages."""
    return live.prices[i, OUTPUT_PRICE] * row_tokens(fixed, live, i, width) + live.prices[i, DELIVERY_PRICE]


@inner
def prompt_value(live, i, share):
    """Value of consuming a share of a prompt."""
    at_end = live.prices[i, OUTPUT_PRICE] if share >= live.requests[i, PROMPT] else 0.0
    return share * live.prices[i, PROMPT_PRICE] + at_end


@callee
def best_prompt(fixed, live, g, without):
    """The waiting request that earns most in a graph, -1 for none; the least recently served of equals.

    ``without`` is a request that is left out, -1 for none; ``waiting[0]`` is the number waiting.
    """
    capacity = fixed.graphs[g, PREFILL]
    found = -1
    most = 0.0
    if capacity > 0:
        for k in range(1, live.waiting[0] + 1):
            i = live.waiting[k]
            if i == without:
                continue
            value = prompt_value(live, i, min(capacity, live.requests[i, PROMPT]))
            if found < 0 or value > most:
                found = i
                most = value
    return found


@inner
def feasible(fixed, live, g):
    """Whether a graph can serve anybody now."""
    return (fixed.graphs[g, PREFILL] > 0 and live.waiting[0] > 0) or (
        fixed.graphs[g, DECODE] > 0 and live.counters[N_STREAMS] > 0
    )


@inner
def score_at(live, row, cost_ms):
    """The score of the cohort in a row of the offers, at a cost."""
    amounts, offers = live.amounts, live.offers
    age_cost = amounts[TOTAL_AGE] * cost_ms + amounts[TOTAL_PRICE] * cost_ms * cost_ms / 2.0
    change = 0.0
    if amounts[TOTAL_PRICE] != 0.0:
        left = amounts[TOTAL_PRICE] - offers[row, SERVED_PRICE]
        change = amounts[INTERVAL] * (offers[row, SERVED_AGE] - left * cost_ms)
    return (offers[row, GROSS] - age_cost + change) / cost_ms


@callee
def ranking(fixed, live, g, cost_ms):
    """The row of the ranking that holds for a graph at a cost."""
    if live.amounts[UNIFORM] != 0.0:
        return fixed.graphs[g, OF_WIDTH]
    # behind the rankings of uniform prices
    place = len(fixed.widths)
    rank(fixed, live, place, fixed.graphs[g, WIDTH], cost_ms)
    return place


@callee
def value_lanes(fixed, live, row, g, cost_ms):
    """The score of the lanes in a row of the offers, as a cohort of graph g at a cost."""
    lanes, prices = live.offer_lanes, live.prices
    gains = 0.0
    served_age = 0.0
    served_price = 0.0
    for k in range(lanes[row, LANE_ROWS]):
        i = lanes[row, LANE_FIRST + k]
        gains += row_gain(fixed, live, i, fixed.graphs[g, WIDTH])
        served_age += prices[i, AGE_PRICE] * prices[i, AGE]
        served_price += prices[i, AGE_PRICE]
    value(fixed, live, row, g, cost_ms, gains, served_age, served_price)


@callee
def value(fixed, live, row, g, cost_ms, gains, served_age, served_price):
    """The score of a row of the offers from the sums over its decode rows."""
    offers = live.offers
    gross = 0.0
    prompt = live.offer_lanes[row, LANE_PROMPT]
    if prompt >= 0:
        gross = prompt_value(live, prompt, min(fixed.graphs[g, PREFILL], live.requests[prompt, PROMPT]))
    gross += gains
    offers[row, GROSS] = gross
    offers[row, SERVED_AGE] = served_age
    offers[row, SERVED_PRICE] = served_price
    offers[row, OFFER_COST] = cost_ms
    offers[row, GROSS_PER_MS] = gross / cost_ms
    offers[row, SCORE] = score_at(live, row, cost_ms)


@callee
def offer(fixed, live, g, cost_ms):
    """The best cohort of a feasible graph at a cost, into its row of the offers."""
    lanes, sums = live.offer_lanes, live.sums
    lanes[g, LANE_PROMPT] = best_prompt(fixed, live, g, -1)
    n_rows = min(fixed.graphs[g, DECODE], live.counters[N_STREAMS])
    lanes[g, LANE_ROWS] = n_rows
    if n_rows == 0:
        value(fixed, live, g, g, cost_ms, 0.0, 0.0, 0.0)
        return
    place = ranking(fixed, live, g, cost_ms)
    for k in range(n_rows):
        lanes[g, LANE_FIRST + k] = live.ranked[place, k]
    # the first n rows added up one by one, which a running sum is
    k = n_rows - 1
    value(fixed, live, g, g, cost_ms, sums[place, k, SUM_GAIN], sums[place, k, SUM_AGE], sums[place, k, SUM_PRICE])


@callee
def copy_offer(live, source, target):
    """One row of the offers into another."""
    for column in range(N_OFFER):
        live.offers[target, column] = live.offers[source, column]
    for k in range(LANE_FIRST + live.offer_lanes[source, LANE_ROWS]):
        live.offer_lanes[target, k] = live.offer_lanes[source, k]


@callee
def line_place(live, i):
    """Place of a live request in the line."""
    k = 0
    while live.line[k] != i:
        k += 1
    return k


@callee
def places(live, offered, row):
    """Places in the line of the lanes in a row of the offers, ascending, into a row of the ranking; their number."""
    n = 0
    count = live.offer_lanes[offered, LANE_ROWS]
    for k in range(-1, count):
        i = live.offer_lanes[offered, LANE_PROMPT] if k < 0 else live.offer_lanes[offered, LANE_FIRST + k]
        if i < 0:
            continue
        place = line_place(live, i)
        at = n
        while at > 0 and live.ranked[row, at - 1] > place:
            live.ranked[row, at] = live.ranked[row, at - 1]
            at -= 1
        live.ranked[row, at] = place
        n += 1
    return n


@callee
def sign(fixed, live, new, old):
    """1 or -1 where one row of the offers is better or worse than another by score, then members; 0 for a tie."""
    a, b = live.offers[new, SCORE], live.offers[old, SCORE]
    if abs(a - b) > TIE * max(abs(a), abs(b)):
        return 1 if a > b else -1
    mine = len(fixed.widths) + 1
    theirs = mine + 1
    n_mine = places(live, new, mine)
    n_theirs = places(live, old, theirs)
    for k in range(min(n_mine, n_theirs)):
        if live.ranked[mine, k] != live.ranked[theirs, k]:
            return 1 if live.ranked[mine, k] < live.ranked[theirs, k] else -1
    return 0


@callee
def beats(fixed, live, new, old):
    """Whether the offer of one graph beats that of another; the one rule for ties."""
    first = sign(fixed, live, new, old)
    if first != 0:
        return first > 0
    if fixed.graphs[new, SIZE] != fixed.graphs[old, SIZE]:
        return fixed.graphs[new, SIZE] < fixed.graphs[old, SIZE]
    return new < old
