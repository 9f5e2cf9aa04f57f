"""The compiled run: decisions and completions until the run ends or its tables are full."""

from __future__ import annotations

from fairlane.compiling.flags import callee, kernel
from fairlane.simulator.learning.kernels.choice import decide
from fairlane.simulator.learning.kernels.columns import (
    BALANCE,
    BUSY,
    CREDIT,
    DELAY,
    DRAIN_FROM,
    DRAINS,
    FINISHED,
    FULL,
    IDLE,
    INCUMBENT,
    KEPT_ROW,
    MEASURED_FROM,
    N_COMING,
    N_DELAY,
    N_LANES,
    N_LAUNCHES,
    N_LINE,
    N_PAUSES,
    N_REQUESTS,
    N_WITHHELD,
    NOW,
    REPLENISHES,
)
from fairlane.simulator.learning.kernels.completion import run_graph
from fairlane.simulator.learning.kernels.queue import arrive, send


@callee
def resume(fixed, live):
    """After a pause: the withheld templates arrive, in their order."""
    counters = live.counters
    counters[NOW] += counters[IDLE]
    counters[IDLE] = 0
    for template in range(len(fixed.templates)):
        for k in range(counters[N_WITHHELD]):
            if live.withheld[k] == template:
                send(fixed, live, template, counters[NOW])
    counters[N_WITHHELD] = 0


@kernel
def advance(fixed, live):
    """Run until the end, or until a table has no room for one more launch; why it returned."""
    counters = live.counters
    most_lanes = len(live.chosen)
    while True:
        if counters[N_LAUNCHES] >= len(live.launches) or counters[N_LANES] + most_lanes > len(live.lanes):
            return FULL
        if counters[N_REQUESTS] + most_lanes + len(fixed.templates) > len(live.requests):
            return FULL
        arrive(fixed, live)
        busy = counters[BUSY]
        if counters[MEASURED_FROM] < 0 and busy >= fixed.boundaries[0]:
            counters[MEASURED_FROM] = counters[N_LAUNCHES]
        if counters[DRAIN_FROM] < 0 and busy >= fixed.boundaries[1]:
            counters[DRAIN_FROM] = counters[N_LAUNCHES]
        counters[DRAINS] = int(busy >= fixed.boundaries[1])
        k = counters[N_PAUSES]
        if k < len(fixed.pauses) and counters[IDLE] == 0 and busy >= fixed.pauses[k, 0]:
            counters[IDLE] = fixed.pauses[k, 1]
            counters[N_PAUSES] = k + 1
        counters[REPLENISHES] = int(counters[IDLE] == 0 and counters[DRAINS] == 0)
        if busy >= fixed.boundaries[2]:
            return FINISHED
        if counters[N_LINE] > 0:
            place = decide(fixed, live)
            graph = counters[INCUMBENT] if place == len(fixed.graphs) + KEPT_ROW else place
            broken = run_graph(fixed, live, graph, place)
            if broken != FINISHED:
                return broken
            continue
        if counters[DRAINS]:
            return FINISHED
        live.amounts[CREDIT] = min(live.amounts[CREDIT], 0.0)
        for phase in range(2):
            at = DELAY + phase * N_DELAY + BALANCE
            live.amounts[at] = min(live.amounts[at], 0.0)
        if counters[N_COMING] < len(fixed.coming):
            counters[NOW] = fixed.coming[counters[N_COMING], 0]
        else:
            resume(fixed, live)
