"""Service rates in arrays: how they fade and start."""

from __future__ import annotations

import math

from fairlane.compiling.flags import callee, inner
from fairlane.simulator.learning.kernels.columns import (
    FINISHED_AT,
    HISTORY,
    N_LINE,
    NOW,
    NOW_X,
    NOW_Z,
    PROMPT,
    SERVED_AT,
    X,
    Z,
)
from fairlane.simulator.learning.kernels.scores import (
    delivery_normaliser,
)


@inner
def faded(rate, amount, kept, lost, span_ms):
    """A service rate after a graph; ``kept`` is e^(-T/H), ``lost`` the same less 1."""
    return kept * rate - lost * amount / span_ms


@callee
def fade(fixed, live, first_lane, span_ms):
    """Service rates of all who were live; lanes of the launch begin at ``first_lane``."""
    counters, requests, prices = live.counters, live.requests, live.prices
    kept = math.exp(-span_ms / fixed.options[HISTORY])
    lost = math.expm1(-span_ms / fixed.options[HISTORY])
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
                after = faded(z, 1.0 if served else 0.0, kept, lost, span_ms)
        elif published > 0 and delivery > 0.0:
            after = delivery
        if x == 0.0:
            prices[i, X] = math.nan
            prices[i, Z] = math.nan
        else:
            prices[i, X] = faded(x, tokens, kept, lost, span_ms)
            prices[i, Z] = after
