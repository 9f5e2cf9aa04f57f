"""The choice of `fixed-value` in one state of its tables."""

from __future__ import annotations

from fairlane.compiling.flags import callee
from fairlane.simulator.kernels.arithmetic import compare, sort
from fairlane.simulator.kernels.tables import (
    CAPACITY,
    CODE,
    COUNT,
    DECODING,
    END,
    FREE,
    GAIN,
    KEY,
    LIMIT,
    MEMBERS,
    N_DECODE,
    N_WAIT,
    OF_KEY,
    OF_WIDTH,
    OUTPUT,
    PLACES,
    PROMPT,
    ROWS,
    SERVED,
    SIZE,
    STALE,
    SUMS,
    TICKS,
    TOKEN,
    TOKENS,
    WAITING,
    Integers,
    Lists,
    Scalars,
    Tables,
)


@callee
def rank_rows(tables: Tables, span: int) -> None:
    """The best rows of every width: larger gains first, then the least recently served."""
    state, requests, queues, widths, gains, rows = (
        tables.state,
        tables.requests,
        tables.queues,
        tables.widths,
        tables.gains,
        tables.rows,
    )
    n = state[N_DECODE]
    for w in range(len(widths)):
        count = min(n, widths[w, 1])
        uniform = True
        for k in range(n):
            i = queues[DECODING, k]
            code = requests[i, CODE] + min(requests[i, LIMIT] - requests[i, OUTPUT], span - 1)
            # a smaller rank is a larger gain
            queues[FREE, k] = gains[1, w, code]
            if queues[FREE, k] != queues[FREE, 0]:
                uniform = False
        if uniform:
            for k in range(count):
                rows[w, PLACES, k] = k
        else:
            for k in range(n):
                queues[FREE, k] = (queues[FREE, k] << 32) | k
            sort(queues[FREE], n)
            for k in range(count):
                rows[w, PLACES, k] = queues[FREE, k] & 0xFFFFFFFF
        rows[w, SUMS, 0] = 0
        for k in range(count):
            i = queues[DECODING, rows[w, PLACES, k]]
            code = requests[i, CODE] + min(requests[i, LIMIT] - requests[i, OUTPUT], span - 1)
            rows[w, SUMS, k + 1] = rows[w, SUMS, k] + gains[0, w, code]


@callee
def single_prompts(tables: Tables) -> None:
    """Lists that need no search: nobody waits, everybody fits, or one lane takes the prompt of largest gain."""
    state, requests, queues, keys, members = tables.state, tables.requests, tables.queues, tables.keys, tables.members
    n = state[N_WAIT]
    for key in range(len(keys)):
        if keys[key, STALE] == 0:
            continue
        capacity = keys[key, CAPACITY]
        if n <= keys[key, MEMBERS] and state[TOKENS] <= capacity:
            gain = 0
            for k in range(n):
                i = queues[WAITING, k]
                members[key, k] = k
                gain += requests[i, TOKEN] * requests[i, PROMPT] + requests[i, END]
            keys[key, COUNT] = n
            keys[key, GAIN] = gain
        elif keys[key, MEMBERS] == 1:
            best = -1
            for k in range(n):
                i = queues[WAITING, k]
                gain = requests[i, TOKEN] * min(requests[i, PROMPT], capacity)
                if requests[i, PROMPT] <= capacity:
                    gain += requests[i, END]
                if gain > best:
                    best = gain
                    members[key, 0] = k
            keys[key, COUNT] = 1
            keys[key, GAIN] = best
        else:
            continue
        keys[key, STALE] = 0


@callee
def _collect(tables: Tables, key: int, count: int, w: int, filled: int, out: Integers) -> None:
    """Members of a cohort, least recently served first, as (dispatch, rank) in one number each."""
    requests, queues, members, rows = tables.requests, tables.queues, tables.members, tables.rows
    for k in range(count):
        i = queues[WAITING, members[key, k]]
        out[k] = (requests[i, SERVED] << 24) | i
    for k in range(filled):
        i = queues[DECODING, rows[w, PLACES, k]]
        out[count + k] = (requests[i, SERVED] << 24) | i
    sort(out, count + filled)


@callee
def choose(tables: Tables, scalars: Scalars, lists: Lists) -> int:
    """The graph of the best cohort; -1 where a list must be found first, with its key in the state."""
    state, requests, queues, graphs, keys, rows = (
        tables.state,
        tables.requests,
        tables.queues,
        tables.graphs,
        tables.keys,
        tables.rows,
    )
    token, end = scalars.token, scalars.end
    best, best_gain, best_count, best_filled = -1, 0, 0, 0
    n_decode = state[N_DECODE]
    # the first round finds a score that some graph reaches; lists are asked for only where they could beat it
    floor_gain, floor_ticks = 0, 1
    for g in range(len(graphs)):
        key, w = graphs[g, OF_KEY], graphs[g, OF_WIDTH]
        gain = rows[w, SUMS, min(graphs[g, ROWS], n_decode)] if w >= 0 else 0
        if key >= 0 and keys[key, STALE] == 0:
            gain += keys[key, GAIN]
        if compare(gain, floor_ticks, floor_gain, graphs[g, TICKS]) > 0:
            floor_gain, floor_ticks = gain, graphs[g, TICKS]
    sorted_already = False
    for g in range(len(graphs)):
        key, w = graphs[g, OF_KEY], graphs[g, OF_WIDTH]
        filled = min(graphs[g, ROWS], n_decode) if w >= 0 else 0
        gain = rows[w, SUMS, filled] if w >= 0 else 0
        count = 0
        if key >= 0:
            if keys[key, STALE] == 1:
                capacity, n_wait = keys[key, CAPACITY], state[N_WAIT]
                if not sorted_already:
                    for k in range(n_wait):
                        queues[FREE, k] = requests[queues[WAITING, k], PROMPT]
                    sort(queues[FREE], n_wait)
                    sorted_already = True
                # no more prompts end than the shortest that fit
                ends = 0
                shortest = 0
                while ends < min(keys[key, MEMBERS], n_wait) and shortest + queues[FREE, ends] <= capacity:
                    shortest += queues[FREE, ends]
                    ends += 1
                most = token * min(capacity, state[TOKENS]) + end * ends
                if compare(gain + most, floor_ticks, floor_gain, graphs[g, TICKS]) >= 0:
                    state[KEY] = key
                    return -1
                continue
            gain += keys[key, GAIN]
            count = keys[key, COUNT]
        if count + filled == 0:
            continue
        sign = 1 if best < 0 else compare(gain, graphs[best, TICKS], best_gain, graphs[g, TICKS])
        if sign == 0:
            sign = 1 if graphs[g, SIZE] < graphs[best, SIZE] else -1
            key_best, w_best = graphs[best, OF_KEY], graphs[best, OF_WIDTH]
            _collect(tables, key, count, w, filled, lists.mine)
            _collect(tables, key_best, best_count, w_best, best_filled, lists.theirs)
            for k in range(min(count + filled, best_count + best_filled)):
                if lists.mine[k] != lists.theirs[k]:
                    sign = 1 if lists.mine[k] < lists.theirs[k] else -1
                    break
        if sign > 0:
            best, best_gain, best_count, best_filled = g, gain, count, filled
    return best
