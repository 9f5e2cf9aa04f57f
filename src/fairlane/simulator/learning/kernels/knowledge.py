"""What stands of every graph in arrays: means, prior locations, beliefs, and the keyed numbers of an opportunity."""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee, inner
from fairlane.simulator.learning.kernels.columns import (
    BUSY,
    DECODE,
    FAMILY,
    GENERATED,
    INCUMBENT,
    KEPT,
    KEPT_DOF,
    KEPT_LOCATION,
    KEPT_QUANTILE,
    KEPT_ROW,
    KEPT_SCALE,
    LIFETIME_KIND,
    LIFETIME_MS,
    MEAN_MS,
    N_LINE,
    NOW,
    OF_GRAPH,
    OFFER_COST,
    OPPORTUNITIES,
    PLAIN,
    PREFILL,
    PROMPT,
    QUANTILE,
    T_PROMPT,
    TEMPLATE,
    TOLD,
    VARIANCE_BLOCKS,
)
from fairlane.simulator.learning.kernels.estimate_row import (
    ACTIVE,
    LAST_VALID,
    LIFETIME,
    MEAN,
    OPERATIONAL,
    execution_law,
    mean_law,
)
from fairlane.simulator.learning.kernels.execution import (
    TICKS_PER_MS,
    absorb,
    conditional_mean,
    unit,
)
from fairlane.simulator.learning.kernels.student_t import (
    positive_quantile,
)

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
        return live.offers[len(fixed.graphs) + KEPT_ROW, OFFER_COST]
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
