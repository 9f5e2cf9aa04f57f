"""Nominations of `policies.targeted` in arrays."""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee
from fairlane.simulator.learning.kernels.columns import (
    AUDIT,
    AWAITING,
    BUSY_MS,
    CONTENDED,
    CONTENTION,
    EXTRA,
    GROSS_PER_MS,
    HARM_LIMIT,
    HARM_RATE,
    INCUMBENT,
    KEPT_ROW,
    LOSS,
    N_LINE,
    OFFER_COST,
    R_CHALLENGER,
    R_CHECK,
    R_CONFIRMATION,
    REASON,
    REFRESH_BUSY,
    SCORE,
    VALID_BUSY,
)
from fairlane.simulator.learning.kernels.delays import (
    search_cohorts,
)
from fairlane.simulator.learning.kernels.estimate_row import (
    PENDING,
)
from fairlane.simulator.learning.kernels.knowledge import (
    never_measured,
    nominal_ms,
    optimistic_ms,
)
from fairlane.simulator.learning.kernels.nominations import (
    longest_ago,
)
from fairlane.simulator.learning.kernels.scores import (
    beats,
    feasible,
    offer,
    score_at,
)

# marks of alternatives
CONFIRM, CHECK, REFUSED = 1.0, 2.0, 4.0


@callee
def within_limit(fixed, live, g, cost_ms):
    """Whether a cohort of a graph is within the hard limit of delay; the most valuable one stands in its offers."""
    if math.isnan(fixed.options[HARM_LIMIT]) or live.counters[N_LINE] == 1:
        offer(fixed, live, g, cost_ms)
        return True
    if never_measured(live, g):
        return False
    return search_cohorts(fixed, live, g, cost_ms, nominal_ms(fixed, live, g), fixed.options[HARM_LIMIT])


@callee
def admitted(fixed, live, g):
    """Whether a graph challenges; its offer stands at the optimistic cost afterwards."""
    kept = len(fixed.graphs) + KEPT_ROW
    incumbent_score = live.offers[kept, SCORE]
    if not within_limit(fixed, live, g, optimistic_ms(fixed, live, g)):
        return False
    if live.offers[g, SCORE] <= incumbent_score:
        return False
    if never_measured(live, g):
        return True
    mean = nominal_ms(fixed, live, g)
    lost = max(0.0, incumbent_score - score_at(live, g, mean)) * mean / live.offers[kept, GROSS_PER_MS]
    return not (mean - live.offers[kept, OFFER_COST] > fixed.options[EXTRA] or lost > fixed.options[LOSS])


@callee
def remeasure(fixed, live, mark):
    """The graph attempted longest ago among those of a mark that a delay limit lets run, -1 for none."""
    n = len(fixed.graphs)
    while True:
        g = longest_ago(fixed, live, mark)
        if g < 0:
            return -1
        cost = nominal_ms(fixed, live, g)
        if not math.isnan(fixed.options[HARM_RATE]):
            search_cohorts(fixed, live, g, cost, cost, math.nan)
            return g
        if within_limit(fixed, live, g, cost):
            return g
        live.draws[n + g] = mark + REFUSED


@callee
def sort_out(fixed, live):
    """Mark every alternative that asks for a confirmation or for a check."""
    n = len(fixed.graphs)
    for g in range(n):
        live.draws[n + g] = 0.0
        if g == live.counters[INCUMBENT] or not feasible(fixed, live, g):
            continue
        measured = not never_measured(live, g)
        awaiting = live.knowledge[g, AWAITING] != 0.0
        age_ms = live.amounts[BUSY_MS] - live.knowledge[g, VALID_BUSY]
        if live.estimates[g, PENDING] != 0.0 and measured and not awaiting:
            live.draws[n + g] = CONFIRM
        elif awaiting or (measured and age_ms >= fixed.options[REFRESH_BUSY]):
            live.draws[n + g] = CHECK


@callee
def nominate_targeted(fixed, live):
    """A confirmation, a due check or a challenger, with its reason; -1 for none."""
    n = len(fixed.graphs)
    counters = live.counters
    sort_out(fixed, live)
    confirmed = remeasure(fixed, live, CONFIRM)
    if confirmed >= 0:
        counters[REASON] = R_CONFIRMATION
        return confirmed
    check = remeasure(fixed, live, CHECK)
    challenger = -1
    for g in range(n):
        mark = live.draws[n + g]
        if g == counters[INCUMBENT] or not feasible(fixed, live, g) or mark == CHECK or mark == CHECK + REFUSED:
            continue
        if admitted(fixed, live, g) and (challenger < 0 or beats(fixed, live, g, challenger)):
            challenger = g
    counters[REASON] = R_CHALLENGER
    if check < 0:
        return challenger
    if challenger >= 0:
        counters[CONTENDED] = 1
        audits = fixed.flags[AUDIT]
        if audits > 0 and (counters[CONTENTION] + 1) % audits != 0:
            return challenger
    counters[REASON] = R_CHECK
    return check
