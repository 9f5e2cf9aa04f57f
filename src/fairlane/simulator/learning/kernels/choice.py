"""One decision in arrays: the ordinary choice, discovery, and when exploration is open.

The counterpart of `planning`, held to it by a differential test.
"""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee
from fairlane.simulator.learning.kernels.columns import (
    BOOT,
    CAP,
    CONTENDED,
    CREDIT,
    DECODE,
    FEASIBLE,
    FUNDED,
    GROSS_PER_MS,
    HARM_RATE,
    INCUMBENT,
    KEPT_ROW,
    KIND,
    MEAN_MS,
    NATIVE,
    NONE,
    OFFER_COST,
    OPPORTUNITIES,
    OPPORTUNITY,
    OPTIMISTIC,
    ORDINARY,
    POLICY,
    PREFILL,
    PROBE,
    PROMPT,
    R_BOOTSTRAP,
    R_DISCOVERY,
    R_OPTIMISTIC,
    R_ORDINARY,
    R_PREDICTIVE,
    R_RANDOM,
    R_REFRESH,
    R_SOFTMAX,
    R_STALE,
    R_THOMPSON,
    RANDOM,
    REASON,
    REFRESH_EVERY,
    SCORE,
    SOFTMAX,
    STALE,
    TARGETED,
    THOMPSON,
    UNKNOWN_FIRST,
    WIDTH,
)
from fairlane.simulator.learning.kernels.delays import (
    FULL_TOLERANCE_MS,
    allowed,
    expose,
)
from fairlane.simulator.learning.kernels.knowledge import (
    know,
    never_measured,
    nominal_ms,
)
from fairlane.simulator.learning.kernels.nominations import (
    longest_ago,
    nominate_random,
    nominate_sampled,
    nominate_softmax,
    nominate_stale,
)
from fairlane.simulator.learning.kernels.scores import (
    beats,
    best_prompt,
    copy_offer,
    feasible,
    freeze,
    offer,
)
from fairlane.simulator.learning.kernels.targeting import (
    nominate_targeted,
)


@callee
def consumed(fixed, live, g):
    """Prompt tokens that a graph's best prompt would consume."""
    prompt = best_prompt(fixed, live, g, -1)
    return min(fixed.graphs[g, PREFILL], live.requests[prompt, PROMPT]) if prompt >= 0 else 0


@callee
def padded(fixed, live, graph):
    """Whether a smaller prefill graph of the same rows and width would consume as much."""
    mine = fixed.graphs[graph, PREFILL]
    if mine == 0 or live.waiting[0] == 0:
        return False
    tokens = consumed(fixed, live, graph)
    width = fixed.graphs[graph, WIDTH]
    for g in range(len(fixed.graphs)):
        alike = fixed.graphs[g, DECODE] == fixed.graphs[graph, DECODE] and fixed.graphs[g, WIDTH] == width
        if alike and 0 < fixed.graphs[g, PREFILL] < mine and consumed(fixed, live, g) >= tokens:
            return True
    return False


@callee
def choose_measured(fixed, live):
    """The ordinary choice among measured graphs, -1 for none, and how many graphs are feasible."""
    n = 0
    found = -1
    for g in range(len(fixed.graphs)):
        if not feasible(fixed, live, g):
            continue
        n += 1
        mean = live.knowledge[g, MEAN_MS]
        if math.isnan(mean):
            continue
        offer(fixed, live, g, mean)
        if found < 0 or beats(fixed, live, g, found):
            found = g
    live.counters[FEASIBLE] = n
    live.counters[INCUMBENT] = found
    if found >= 0:
        copy_offer(live, found, len(fixed.graphs) + KEPT_ROW)


@callee
def discover(fixed, live, everything):
    """The unknown graph of most useful value, -1 where none goes first; with ``everything`` any unknown one."""
    found = -1
    for g in range(len(fixed.graphs)):
        if not feasible(fixed, live, g) or not math.isnan(live.knowledge[g, MEAN_MS]):
            continue
        if not everything:
            if not fixed.flags[UNKNOWN_FIRST] and not (fixed.flags[NATIVE] and never_measured(live, g)):
                continue
            if padded(fixed, live, g):
                continue
        offer(fixed, live, g, nominal_ms(fixed, live, g))
        live.offers[g, SCORE] = live.offers[g, GROSS_PER_MS] * live.offers[g, OFFER_COST]
        if found < 0 or beats(fixed, live, g, found):
            found = g
    return found


@callee
def nominate(fixed, live):
    """What the policy would rather run, -1 for nothing; its reason among the counters."""
    counters = live.counters
    policy = fixed.flags[POLICY]
    every = fixed.flags[REFRESH_EVERY]
    if every > 0 and (counters[OPPORTUNITIES] + 1) % every == 0:
        counters[REASON] = R_REFRESH
        g = longest_ago(fixed, live, -1.0)
        offer(fixed, live, g, nominal_ms(fixed, live, g))
        return g
    if policy == RANDOM:
        counters[REASON] = R_RANDOM
        return nominate_random(fixed, live)
    if policy == SOFTMAX:
        counters[REASON] = R_SOFTMAX
        return nominate_softmax(fixed, live)
    if policy == STALE:
        counters[REASON] = R_STALE
        return nominate_stale(fixed, live)
    if policy == TARGETED:
        return nominate_targeted(fixed, live)
    counters[REASON] = R_OPTIMISTIC if policy == OPTIMISTIC else (R_THOMPSON if policy == THOMPSON else R_PREDICTIVE)
    return nominate_sampled(fixed, live, policy)


@callee
def decide(fixed, live):
    """The place among the offers of what runs next, the last for the incumbent; kind and reason among the counters."""
    counters = live.counters
    n = len(fixed.graphs) + KEPT_ROW
    counters[OPPORTUNITY] = 0
    counters[CONTENDED] = 0
    counters[INCUMBENT] = -1
    know(fixed, live)
    freeze(fixed, live)
    choose_measured(fixed, live)
    found = discover(fixed, live, False) if fixed.flags[UNKNOWN_FIRST] or fixed.flags[NATIVE] else -1
    counters[REASON] = R_DISCOVERY
    if found < 0 and counters[INCUMBENT] < 0:
        counters[REASON] = R_BOOTSTRAP
        found = discover(fixed, live, True)
    if found >= 0:
        # trying a graph again whose measurement has expired is ordinary service
        counters[KIND] = BOOT if never_measured(live, found) else ORDINARY
        return found
    counters[KIND] = ORDINARY
    counters[REASON] = R_ORDINARY
    if fixed.flags[POLICY] == NONE or counters[FEASIBLE] < 2:
        return n
    if fixed.flags[FUNDED] and live.amounts[CREDIT] < fixed.options[CAP] - FULL_TOLERANCE_MS:
        return n
    earns = not math.isnan(fixed.options[HARM_RATE])
    if earns and not allowed(fixed, live):
        return n
    counters[OPPORTUNITY] = 1
    found = nominate(fixed, live)
    if found < 0:
        counters[REASON] = R_ORDINARY
        return n
    if found == counters[INCUMBENT]:
        return n
    counters[KIND] = BOOT if never_measured(live, found) and fixed.flags[NATIVE] else PROBE
    if earns:
        expose(fixed, live, found, found)
    return found
