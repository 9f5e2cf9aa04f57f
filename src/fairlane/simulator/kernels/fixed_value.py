"""The compiled loop of `fixed-value`: tables of int64 in, tables of int64 out; nothing in it is rounded.

Waiting prompts and decoding streams stand in two queues, least recently served first, so no sorting by service is
ever needed: who was served goes to the end. Few tables of one type keep compilation short.
"""

from __future__ import annotations

import numpy as np

from fairlane.compiling.flags import callee, kernel
from fairlane.simulator.kernels.arithmetic import absorb, sort
from fairlane.simulator.kernels.choice import choose, rank_rows, single_prompts
from fairlane.simulator.kernels.tables import (
    ADMITTED,
    ARRIVAL,
    BROKEN,
    CAPACITY,
    COUNT,
    DECODING,
    DISPATCHES,
    DONE,
    FULL,
    GONE_DECODING,
    GONE_WAITING,
    KIND,
    LANES,
    LATEST,
    LAUNCHES,
    LENGTH,
    LIMIT,
    LIST,
    N_DECODE,
    N_WAIT,
    NEVER_DECODE,
    NEVER_WAIT,
    NEXT,
    NOW,
    OF_KEY,
    OF_WIDTH,
    OUTPUT,
    PLACES,
    PROMPT,
    ROWS,
    SERVED,
    STALE,
    TICKS,
    TOKENS,
    TOO_LATE,
    WAITING,
    Integers,
    Lists,
    Output,
    Scalars,
    Tables,
)


@callee
def _admit(state: Integers, requests: Integers, queues: Integers, keys: Integers) -> None:
    """Let in whatever has arrived by now; the never served stand in front, by rank."""
    while state[NEXT] < len(requests) and requests[state[NEXT], ARRIVAL] <= state[NOW]:
        i = state[NEXT]
        state[NEXT] += 1
        if requests[i, ADMITTED] == 0:
            continue
        waits = requests[i, PROMPT] > 0
        queue = WAITING if waits else DECODING
        size = N_WAIT if waits else N_DECODE
        never = NEVER_WAIT if waits else NEVER_DECODE
        for k in range(state[size], state[never], -1):
            queues[queue, k] = queues[queue, k - 1]
        queues[queue, state[never]] = i
        state[size] += 1
        state[never] += 1
        if waits:
            state[TOKENS] += requests[i, PROMPT]
            for key in range(len(keys)):
                keys[key, STALE] = 1


@callee
def _requeue(state: Integers, queues: Integers, queue: int, size: int, joining: Integers, n_joining: int) -> None:
    """Take the served out of a queue and put those that join it at its end, by rank."""
    gone = GONE_WAITING if queue == WAITING else GONE_DECODING
    kept = 0
    for k in range(state[size]):
        if queues[gone, k] == 0:
            queues[queue, kept] = queues[queue, k]
            kept += 1
        queues[gone, k] = 0
    sort(joining, n_joining)
    for k in range(n_joining):
        queues[queue, kept + k] = joining[k]
    state[size] = kept + n_joining


@kernel
def run_chunk(tables: Tables, output: Output, scalars: Scalars, lists: Lists) -> int:
    """Run until done, until the output tables are full, or until a list must be found."""
    state, requests, queues, graphs, keys, members, widths, bars, rows = (
        tables.state,
        tables.requests,
        tables.queues,
        tables.graphs,
        tables.keys,
        tables.members,
        tables.widths,
        tables.bars,
        tables.rows,
    )
    launches, lanes = output.launches, output.lanes
    again, ready, picked = lists.again, lists.ready, lists.picked
    most_lanes = members.shape[1] + rows.shape[2]
    state[LAUNCHES] = 0
    state[LANES] = 0
    while True:
        _admit(state, requests, queues, keys)
        if 0 <= scalars.horizon <= state[NOW]:
            return DONE
        if state[N_WAIT] + state[N_DECODE] == 0:
            while state[NEXT] < len(requests) and requests[state[NEXT], ADMITTED] == 0:
                state[NEXT] += 1
            if state[NEXT] == len(requests):
                return DONE
            state[NOW] = requests[state[NEXT], ARRIVAL]
            continue
        launch, lane = state[LAUNCHES], state[LANES]
        if launch == len(launches) or lane + most_lanes > len(lanes):
            return FULL
        single_prompts(tables)
        rank_rows(tables, scalars.span)
        g = choose(tables, scalars, lists)
        if g < 0:
            return LIST
        state[DISPATCHES] += 1
        launches[launch, 0] = g
        launches[launch, 1] = state[NOW]
        state[NOW] += graphs[g, TICKS]
        launches[launch, 2] = state[NOW]
        if state[NOW] >= LATEST:
            return TOO_LATE
        if state[NOW] <= launches[launch, 1]:
            return BROKEN
        n_again = n_ready = 0
        key, w = graphs[g, OF_KEY], graphs[g, OF_WIDTH]
        count = keys[key, COUNT] if key >= 0 else 0
        left = keys[key, CAPACITY] if key >= 0 else 0
        for k in range(count):
            i = queues[WAITING, members[key, k]]
            share = min(left, requests[i, PROMPT])
            left -= share
            if share < 1:
                return BROKEN
            requests[i, PROMPT] -= share
            state[TOKENS] -= share
            queues[GONE_WAITING, members[key, k]] = 1
            if requests[i, SERVED] == 0:
                state[NEVER_WAIT] -= 1
            requests[i, SERVED] = state[DISPATCHES]
            lanes[lane, 0] = i
            lanes[lane, 1] = share
            for column in range(2, 6):
                lanes[lane, column] = 0
            if requests[i, PROMPT] > 0:
                again[n_again] = i
                n_again += 1
            else:
                requests[i, OUTPUT] = 1
                lanes[lane, 2] = 1
                if requests[i, LENGTH] == 1:
                    lanes[lane, 5] = 1
                else:
                    ready[n_ready] = i
                    n_ready += 1
            lane += 1
        filled = min(graphs[g, ROWS], state[N_DECODE]) if w >= 0 else 0
        drafts = widths[w, 0] - 1 if w >= 0 else 0
        for k in range(filled):
            place = rows[w, PLACES, k]
            picked[k] = queues[DECODING, place]
            queues[GONE_DECODING, place] = 1
        sort(picked, filled)
        for k in range(filled):
            i = picked[k]
            before = requests[i, OUTPUT]
            accepted = 0
            if drafts > 0:
                row = absorb(absorb(scalars.stream, i), before)
                kind = requests[i, KIND]
                # a draw is a whole number below 2^53
                while accepted < drafts and np.int64(absorb(row, accepted) >> np.uint64(11)) < bars[kind, accepted]:
                    accepted += 1
            published = min(1 + accepted, requests[i, LENGTH] - before)
            if published < 1 or before + published > requests[i, LIMIT]:
                return BROKEN
            requests[i, OUTPUT] += published
            if requests[i, SERVED] == 0:
                state[NEVER_DECODE] -= 1
            requests[i, SERVED] = state[DISPATCHES]
            lanes[lane, 0] = i
            lanes[lane, 1] = 0
            lanes[lane, 2] = published
            lanes[lane, 3] = drafts
            lanes[lane, 4] = accepted
            lanes[lane, 5] = 0
            if requests[i, OUTPUT] == requests[i, LENGTH]:
                lanes[lane, 5] = 1
            else:
                ready[n_ready] = i
                n_ready += 1
            lane += 1
        if count > 0:
            _requeue(state, queues, WAITING, N_WAIT, again, n_again)
            for other in range(len(keys)):
                keys[other, STALE] = 1
        _requeue(state, queues, DECODING, N_DECODE, ready, n_ready)
        launches[launch, 3] = lane
        state[LAUNCHES] = launch + 1
        state[LANES] = lane
