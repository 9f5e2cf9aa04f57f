"""One decision in arrays: the ordinary choice, discovery, and every policy's nomination.

The counterpart of `planning` and of the files in `policies`, held to them by a differential test.
"""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee, inner
from fairlane.simulator.learning.kernels.columns import (
    ANNEAL,
    ATTEMPT,
    AUDIT,
    AWAITING,
    BOOT,
    BUSY,
    BUSY_MS,
    CAP,
    CONTENDED,
    CONTENTION,
    CREDIT,
    DECODE,
    EPSILON,
    EXTRA,
    FAMILY,
    FEASIBLE,
    FUNDED,
    GENERATED,
    GROSS_PER_MS,
    INCUMBENT,
    KEPT,
    KEPT_DOF,
    KEPT_LOCATION,
    KEPT_QUANTILE,
    KEPT_SCALE,
    KIND,
    LIFETIME_KIND,
    LIFETIME_MS,
    LOSS,
    MEAN_MS,
    N_LINE,
    N_OFFER,
    NATIVE,
    NONE,
    NOW,
    OF_GRAPH,
    OFFER_COST,
    OPPORTUNITIES,
    OPPORTUNITY,
    OPTIMISTIC,
    ORDINARY,
    PLAIN,
    POLICY,
    PREDICTIVE,
    PREFILL,
    PROBE,
    PROMPT,
    QUANTILE,
    R_BOOTSTRAP,
    R_CHALLENGER,
    R_CHECK,
    R_CONFIRMATION,
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
    REFRESH_BUSY,
    REFRESH_EVERY,
    SCORE,
    SOFTMAX,
    STALE,
    T_PROMPT,
    TARGETED,
    TEMPERATURE,
    TEMPLATE,
    THOMPSON,
    TOLD,
    TTL,
    UNKNOWN_FIRST,
    VALID_BUSY,
    VARIANCE_BLOCKS,
    WIDTH,
)
from fairlane.simulator.learning.kernels.estimate_row import (
    ACTIVE,
    LAST_VALID,
    LIFETIME,
    MEAN,
    OPERATIONAL,
    PENDING,
    execution_law,
    mean_law,
)
from fairlane.simulator.learning.kernels.execution import TICKS_PER_MS, absorb, conditional_mean, unit
from fairlane.simulator.learning.kernels.scores import (
    LANE_FIRST,
    LANE_ROWS,
    beats,
    best_prompt,
    feasible,
    freeze,
    offer,
    score_at,
)
from fairlane.simulator.learning.kernels.student_t import positive_quantile

FULL_TOLERANCE_MS = 1e-9
FALLBACK_MS = 1.0


@inner
def never_measured(live, g):
    """Whether a graph has no valid timing."""
    return live.estimates[g, LIFETIME] == 0.0


@callee
def know(fixed, live):
    """What stands of every graph's mean at this instant: told, measured, or nan where it is unknown or expired."""
    now_ms = live.counters[NOW] / TICKS_PER_MS
    if fixed.flags[TOLD]:
        tell(fixed, live)
        return
    for g in range(len(fixed.graphs)):
        mean = live.estimates[g, OPERATIONAL]
        age_ms = now_ms - live.estimates[g, LAST_VALID]
        if fixed.flags[LIFETIME_KIND] != KEPT and age_ms > live.knowledge[g, LIFETIME_MS]:
            mean = math.nan
        live.knowledge[g, MEAN_MS] = mean


@callee
def tell(fixed, live):
    """Conditional means of every graph, with lanes as full as the live requests allow."""
    longest = 0
    tokens = 0
    n_streams = 0
    for k in range(live.counters[N_LINE]):
        i = live.line[k]
        if live.requests[i, PROMPT] == 0:
            n_streams += 1
            tokens += fixed.templates[live.requests[i, TEMPLATE], T_PROMPT] + live.requests[i, GENERATED]
        else:
            longest = max(longest, live.requests[i, PROMPT])
    context = tokens / n_streams if n_streams > 0 else 0.0
    for g in range(len(fixed.graphs)):
        filled = min(fixed.graphs[g, PREFILL], longest) + min(fixed.graphs[g, DECODE], n_streams)
        live.knowledge[g, MEAN_MS] = conditional_mean(
            fixed.laws,
            fixed.changes,
            live.noise,
            live.counts,
            g,
            live.counters[BUSY] / TICKS_PER_MS,
            filled / (fixed.graphs[g, PREFILL] + fixed.graphs[g, DECODE]),
            context,
        )


@callee
def prior_ms(fixed, live, graph):
    """The prior location of a graph: the family's median active mean, the incumbent's mean, or 1 ms."""
    n = 0
    for g in range(len(fixed.graphs)):
        if g != graph and live.estimates[g, LIFETIME] > 0.0 and fixed.graphs[g, FAMILY] == fixed.graphs[graph, FAMILY]:
            value = live.estimates[g, ACTIVE + MEAN]
            at = n
            while at > 0 and live.draws[at - 1] > value:
                live.draws[at] = live.draws[at - 1]
                at -= 1
            live.draws[at] = value
            n += 1
    if n > 0:
        return live.draws[n // 2] if n % 2 == 1 else (live.draws[n // 2 - 1] + live.draws[n // 2]) / 2.0
    if live.counters[INCUMBENT] >= 0:
        return live.offers[len(fixed.graphs), OFFER_COST]
    return FALLBACK_MS


@callee
def nominal_ms(fixed, live, g):
    """The operational mean, an expired one too; the prior location where there is none."""
    mean = live.knowledge[g, MEAN_MS]
    if math.isnan(mean):
        mean = live.estimates[g, OPERATIONAL]
    return prior_ms(fixed, live, g) if math.isnan(mean) else mean


@callee
def law_quantile(fixed, live, g, u, execution):
    """Quantile of the belief about a graph's mean, or about its next execution, given that it is positive."""
    m0 = prior_ms(fixed, live, g) if never_measured(live, g) else 0.0
    rows = fixed.rows
    if execution:
        dof, location, scale = execution_law(
            live.estimates, g, rows.block_size, rows.partial_blocks, m0, fixed.options[VARIANCE_BLOCKS]
        )
    else:
        dof, location, scale = mean_law(live.estimates, g, rows.block_size, rows.partial_blocks, m0)
    return positive_quantile(u, dof, location, scale)


@callee
def optimistic_ms(fixed, live, g):
    """The lower quantile of a graph's mean cost, worked out again only when the belief has changed."""
    rows, kept = fixed.rows, live.knowledge
    m0 = prior_ms(fixed, live, g) if never_measured(live, g) else 0.0
    dof, location, scale = mean_law(live.estimates, g, rows.block_size, rows.partial_blocks, m0)
    if kept[g, KEPT_DOF] != dof or kept[g, KEPT_LOCATION] != location or kept[g, KEPT_SCALE] != scale:
        kept[g, KEPT_DOF] = dof
        kept[g, KEPT_LOCATION] = location
        kept[g, KEPT_SCALE] = scale
        kept[g, KEPT_QUANTILE] = positive_quantile(fixed.options[QUANTILE], dof, location, scale)
    return kept[g, KEPT_QUANTILE]


@inner
def uniform(fixed, live, word):
    """The number of this opportunity and a word."""
    return unit(absorb(absorb(fixed.streams[PLAIN], live.counters[OPPORTUNITIES] + 1), word))


@inner
def graph_uniform(fixed, live, g):
    """The number of this opportunity and a graph."""
    return unit(absorb(absorb(fixed.streams[OF_GRAPH], live.counters[OPPORTUNITIES] + 1), g))


@callee
def consumed(fixed, live, g):
    """Prompt tokens that a graph's best prompt would consume."""
    prompt = best_prompt(fixed, live, g)
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
def keep_incumbent(fixed, live, graph):
    """The offer of the ordinary choice, kept while other costs are tried."""
    kept = len(fixed.graphs)
    for column in range(N_OFFER):
        live.offers[kept, column] = live.offers[graph, column]
    for k in range(LANE_FIRST + live.offer_lanes[graph, LANE_ROWS]):
        live.offer_lanes[kept, k] = live.offer_lanes[graph, k]


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
        keep_incumbent(fixed, live, found)


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
def longest_ago(fixed, live, wanted):
    """The alternative attempted longest ago among those whose draw column is ``wanted`` (any for a negative one)."""
    found = -1
    for g in range(len(fixed.graphs)):
        if g == live.counters[INCUMBENT] or not feasible(fixed, live, g):
            continue
        if wanted >= 0.0 and live.draws[len(fixed.graphs) + g] != wanted:
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


@callee
def admitted(fixed, live, g):
    """Whether a graph challenges; its offer stands at the optimistic cost afterwards."""
    n = len(fixed.graphs)
    incumbent_score = live.offers[n, SCORE]
    offer(fixed, live, g, optimistic_ms(fixed, live, g))
    if live.offers[g, SCORE] <= incumbent_score:
        return False
    if never_measured(live, g):
        return True
    mean = nominal_ms(fixed, live, g)
    lost = max(0.0, incumbent_score - score_at(live, g, mean)) * mean / live.offers[n, GROSS_PER_MS]
    return not (mean - live.offers[n, OFFER_COST] > fixed.options[EXTRA] or lost > fixed.options[LOSS])


@callee
def nominate_targeted(fixed, live):
    """A confirmation, a due check or a challenger, with its reason; -1 for none."""
    n = len(fixed.graphs)
    confirms = False
    checks = False
    challenger = -1
    for g in range(n):
        live.draws[n + g] = 0.0
        if g == live.counters[INCUMBENT] or not feasible(fixed, live, g):
            continue
        measured = not never_measured(live, g)
        awaiting = live.knowledge[g, AWAITING] != 0.0
        if live.estimates[g, PENDING] != 0.0 and measured and not awaiting:
            live.draws[n + g] = 1.0
            confirms = True
        elif awaiting or (
            measured and live.amounts[BUSY_MS] - live.knowledge[g, VALID_BUSY] >= fixed.options[REFRESH_BUSY]
        ):
            live.draws[n + g] = 2.0
            checks = True
    if confirms:
        live.counters[REASON] = R_CONFIRMATION
        g = longest_ago(fixed, live, 1.0)
        offer(fixed, live, g, nominal_ms(fixed, live, g))
        return g
    audits = fixed.flags[AUDIT]
    for g in range(n):
        if g == live.counters[INCUMBENT] or not feasible(fixed, live, g) or live.draws[n + g] == 2.0:
            continue
        if admitted(fixed, live, g) and (challenger < 0 or beats(fixed, live, g, challenger)):
            challenger = g
    if not checks:
        live.counters[REASON] = R_CHALLENGER
        return challenger
    if challenger >= 0:
        live.counters[CONTENDED] = 1
        if audits > 0 and (live.counters[CONTENTION] + 1) % audits != 0:
            live.counters[REASON] = R_CHALLENGER
            return challenger
    live.counters[REASON] = R_CHECK
    g = longest_ago(fixed, live, 2.0)
    offer(fixed, live, g, nominal_ms(fixed, live, g))
    return g


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
    n = len(fixed.graphs)
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
    counters[OPPORTUNITY] = 1
    found = nominate(fixed, live)
    if found < 0:
        counters[REASON] = R_ORDINARY
        return n
    if found == counters[INCUMBENT]:
        return n
    counters[KIND] = BOOT if never_measured(live, found) and fixed.flags[NATIVE] else PROBE
    return found
