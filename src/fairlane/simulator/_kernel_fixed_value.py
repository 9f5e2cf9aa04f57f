"""The compiled loop of `fixed-value`: tables of int64 in, tables of int64 out; nothing in it is rounded.

Waiting prompts and decoding streams stand in two queues, least recently served first, so no sorting by service is
ever needed: who was served goes to the end. Few tables of one type keep compilation short.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Integers = npt.NDArray[np.int64]

# why a chunk ends
DONE, FULL, LIST, BROKEN, TOO_LATE = range(1, 6)
# places in the state vector
NOW, NEXT, N_WAIT, N_DECODE, NEVER_WAIT, NEVER_DECODE, DISPATCHES, LAUNCHES, LANES, KEY, TOKENS = range(11)
N_STATE = 11
# columns of the request table; CODE is the request's kind times the span of codes
ARRIVAL, ADMITTED, LIMIT, LENGTH, KIND, CODE, TOKEN, END, PROMPT, OUTPUT, SERVED = range(11)
N_REQUEST = 11
# columns of the graph table; a key or a width is an index, -1 for none
TICKS, OF_KEY, ROWS, OF_WIDTH, SIZE = range(5)
# columns of the table of prefill keys
CAPACITY, MEMBERS, STALE, COUNT, GAIN = range(5)
# rows of the queue table: both queues, who was taken out of each, and room to work in
WAITING, DECODING, GONE_WAITING, GONE_DECODING, FREE = range(5)
# rows of the row table for each width: places in the decoding queue, and running sums of gains
PLACES, SUMS = range(2)
LATEST = 1 << 53
SHORT = 24


@njit
def _absorb(state: np.uint64, word: int) -> np.uint64:
    z = state + np.uint64(0x9E3779B97F4A7C15) * (np.uint64(word) + np.uint64(1))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit
def _sort(keys: Integers, n: int) -> None:
    """A sort that compiles at once: insertion for few, a heap for many."""
    if n <= SHORT:
        for k in range(1, n):
            key = keys[k]
            j = k - 1
            while j >= 0 and keys[j] > key:
                keys[j + 1] = keys[j]
                j -= 1
            keys[j + 1] = key
        return
    start = n // 2
    end = n
    while end > 1:
        if start > 0:
            start -= 1
        else:
            end -= 1
            last = keys[end]
            keys[end] = keys[0]
            keys[0] = last
        root = start
        moving = keys[root]
        child = 2 * root + 1
        while child < end:
            if child + 1 < end and keys[child + 1] > keys[child]:
                child += 1
            if keys[child] <= moving:
                break
            keys[root] = keys[child]
            root = child
            child = 2 * root + 1
        keys[root] = moving


@njit
def _compare(a: int, b: int, c: int, d: int) -> int:
    """Sign of a b - c d for numbers in [0, 2^62), with products of up to 124 bits."""
    low = (1 << 31) - 1
    a_1, a_0, b_1, b_0 = a >> 31, a & low, b >> 31, b & low
    c_1, c_0, d_1, d_0 = c >> 31, c & low, d >> 31, d & low
    middle_ab, middle_cd = a_1 * b_0, c_1 * d_0
    # a b = high 2^62 + low part, carried so that the low part is below 2^62
    over_ab = (a_0 * b_0 >> 31) + (middle_ab & low) + (a_0 * b_1 & low)
    over_cd = (c_0 * d_0 >> 31) + (middle_cd & low) + (c_0 * d_1 & low)
    high_ab = a_1 * b_1 + (middle_ab >> 31) + (a_0 * b_1 >> 31) + (over_ab >> 31)
    high_cd = c_1 * d_1 + (middle_cd >> 31) + (c_0 * d_1 >> 31) + (over_cd >> 31)
    if high_ab != high_cd:
        return 1 if high_ab > high_cd else -1
    low_ab = ((over_ab & low) << 31) | (a_0 * b_0 & low)
    low_cd = ((over_cd & low) << 31) | (c_0 * d_0 & low)
    if low_ab != low_cd:
        return 1 if low_ab > low_cd else -1
    return 0


@njit
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


@njit
def _rank_rows(
    state: Integers, requests: Integers, queues: Integers, widths: Integers, gains: Integers, rows: Integers, span: int
) -> None:
    """The best rows of every width: larger gains first, then the least recently served."""
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
            _sort(queues[FREE], n)
            for k in range(count):
                rows[w, PLACES, k] = queues[FREE, k] & 0xFFFFFFFF
        rows[w, SUMS, 0] = 0
        for k in range(count):
            i = queues[DECODING, rows[w, PLACES, k]]
            code = requests[i, CODE] + min(requests[i, LIMIT] - requests[i, OUTPUT], span - 1)
            rows[w, SUMS, k + 1] = rows[w, SUMS, k] + gains[0, w, code]


@njit
def _single_prompts(state: Integers, requests: Integers, queues: Integers, keys: Integers, members: Integers) -> None:
    """Lists that need no search: nobody waits, everybody fits, or one lane takes the prompt of largest gain."""
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


@njit
def _collect(
    requests: Integers, queues: Integers, members: Integers, rows: Integers, key: int, count: int, w: int, filled: int
) -> Integers:
    """Members of a cohort, least recently served first, as (dispatch, rank) in one number each."""
    out = np.empty(count + filled, dtype=np.int64)
    for k in range(count):
        i = queues[WAITING, members[key, k]]
        out[k] = (requests[i, SERVED] << 24) | i
    for k in range(filled):
        i = queues[DECODING, rows[w, PLACES, k]]
        out[count + k] = (requests[i, SERVED] << 24) | i
    _sort(out, count + filled)
    return out


@njit
def _choose(
    state: Integers,
    requests: Integers,
    queues: Integers,
    graphs: Integers,
    keys: Integers,
    members: Integers,
    rows: Integers,
    token: int,
    end: int,
) -> int:
    """The graph of the best cohort; -1 where a list must be found first, with its key in the state."""
    best, best_gain, best_count, best_filled = -1, 0, 0, 0
    n_decode = state[N_DECODE]
    # the first round finds a score that some graph reaches; lists are asked for only where they could beat it
    floor_gain, floor_ticks = 0, 1
    for g in range(len(graphs)):
        key, w = graphs[g, OF_KEY], graphs[g, OF_WIDTH]
        gain = rows[w, SUMS, min(graphs[g, ROWS], n_decode)] if w >= 0 else 0
        if key >= 0 and keys[key, STALE] == 0:
            gain += keys[key, GAIN]
        if _compare(gain, floor_ticks, floor_gain, graphs[g, TICKS]) > 0:
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
                    _sort(queues[FREE], n_wait)
                    sorted_already = True
                # no more prompts end than the shortest that fit
                ends = 0
                shortest = 0
                while ends < min(keys[key, MEMBERS], n_wait) and shortest + queues[FREE, ends] <= capacity:
                    shortest += queues[FREE, ends]
                    ends += 1
                most = token * min(capacity, state[TOKENS]) + end * ends
                if _compare(gain + most, floor_ticks, floor_gain, graphs[g, TICKS]) >= 0:
                    state[KEY] = key
                    return -1
                continue
            gain += keys[key, GAIN]
            count = keys[key, COUNT]
        if count + filled == 0:
            continue
        sign = 1 if best < 0 else _compare(gain, graphs[best, TICKS], best_gain, graphs[g, TICKS])
        if sign == 0:
            sign = 1 if graphs[g, SIZE] < graphs[best, SIZE] else -1
            mine = _collect(requests, queues, members, rows, key, count, w, filled)
            theirs = _collect(
                requests, queues, members, rows, graphs[best, OF_KEY], best_count, graphs[best, OF_WIDTH], best_filled
            )
            for k in range(min(len(mine), len(theirs))):
                if mine[k] != theirs[k]:
                    sign = 1 if mine[k] < theirs[k] else -1
                    break
        if sign > 0:
            best, best_gain, best_count, best_filled = g, gain, count, filled
    return best


@njit
def _requeue(state: Integers, queues: Integers, queue: int, size: int, joining: Integers, n_joining: int) -> None:
    """Take the served out of a queue and put those that join it at its end, by rank."""
    gone = GONE_WAITING if queue == WAITING else GONE_DECODING
    kept = 0
    for k in range(state[size]):
        if queues[gone, k] == 0:
            queues[queue, kept] = queues[queue, k]
            kept += 1
        queues[gone, k] = 0
    _sort(joining, n_joining)
    for k in range(n_joining):
        queues[queue, kept + k] = joining[k]
    state[size] = kept + n_joining


@njit(cache=True)
def run_chunk(
    state: Integers,
    requests: Integers,
    queues: Integers,
    graphs: Integers,
    keys: Integers,
    members: Integers,
    widths: Integers,
    gains: Integers,
    bars: Integers,
    rows: Integers,
    launches: Integers,
    lanes: Integers,
    stream: np.uint64,
    horizon: int,
    span: int,
    token: int,
    end: int,
) -> int:
    """Run until done, until the output tables are full, or until a list must be found.

    ``gains[0]`` are the gains of rows by width and code, ``gains[1]`` their ranks; ``bars`` the acceptance of drafts
    by kind as numbers out of 2^53, -1 after the last; ``token`` and ``end`` the largest prompt gains.
    """
    most_lanes = members.shape[1] + rows.shape[2]
    again = np.empty(members.shape[1] + 1, dtype=np.int64)
    ready = np.empty(most_lanes, dtype=np.int64)
    picked = np.empty(rows.shape[2], dtype=np.int64)
    state[LAUNCHES] = 0
    state[LANES] = 0
    while True:
        _admit(state, requests, queues, keys)
        if 0 <= horizon <= state[NOW]:
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
        _single_prompts(state, requests, queues, keys, members)
        _rank_rows(state, requests, queues, widths, gains, rows, span)
        g = _choose(state, requests, queues, graphs, keys, members, rows, token, end)
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
        _sort(picked, filled)
        for k in range(filled):
            i = picked[k]
            output = requests[i, OUTPUT]
            accepted = 0
            if drafts > 0:
                row = _absorb(_absorb(stream, i), output)
                kind = requests[i, KIND]
                # a draw is a whole number below 2^53
                while accepted < drafts and np.int64(_absorb(row, accepted) >> np.uint64(11)) < bars[kind, accepted]:
                    accepted += 1
            published = min(1 + accepted, requests[i, LENGTH] - output)
            if published < 1 or output + published > requests[i, LIMIT]:
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
