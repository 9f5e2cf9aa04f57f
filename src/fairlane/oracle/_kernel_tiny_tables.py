"""Tables of one tiny instance from its record of doubles: durations by what is served, local states, row laws.

A record is what `tiny_batch` writes: [graphs, requests, prefill value, decode value, time price, completion price,
first-output price, age price], then [duration, prefill capacity, lanes, decode capacity, width] a graph, then
[prompt, generated, limit, weight, K, A], K times [length, probability] and A times [q, 1 - q] a request.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fairlane.oracle._compile import kernel

# what becomes of an instance
SWEPT, AGES, COUPLED, RANGE, LARGE, STUCK = 0, 1, 2, 3, 4, 5

# 2^12 - 1 unfinished states are the fewest of 12 requests
MOST_STATES = 5_000
MOST_REQUESTS = 12
MOST_OPERATORS = 12
MOST_TOKENS = 1 << 14
MOST_ROWS = 1 << 15
MOST_LAWS = 1 << 17

# numbers of an instance are 0 or within these, so that no product of a law leaves the normal range
LEAST, MOST = 1e-50, 1e50
# and this is the least product of accepted drafts, and of the chances of one joint outcome
LEAST_CHANCE = 1e-100

HEAD, GRAPH, REQUEST = 8, 5, 6

# places in `Scratch.n`
REQUESTS, STATES, WIDTHS, CAPACITIES, STEPS, SERVED, LENGTHS, WIDEST, JOINT = 0, 1, 2, 3, 4, 5, 6, 7, 8

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Scratch(NamedTuple):
    """Arrays that one instance after another uses.

    ``n`` holds counts; ``durations[c, w, s]`` the best duration of a graph with capacity number c (0: no prompt
    is filled) and width number w for s rows, negative where there is none. ``row_at[i] + o * size[i] + x`` is the
    row of request i, operator o, local state x in ``law_at`` and ``law_n``.
    """

    n: Ints
    record_at: Ints
    size: Ints
    stride: Ints
    prompts: Ints
    row_at: Ints
    widths: Ints
    capacities: Ints
    law_at: Ints
    law_n: Ints
    shift: Ints
    local: Ints
    place: Ints
    digits: Ints
    live: Ints
    waiting: Ints
    chosen: Ints
    joint_n: Ints
    joint_shift: Ints
    durations: Floats
    most_rows: Ints
    rates: Floats
    chance: Floats
    mass: Floats
    beyond: Floats
    joint: Floats
    values: Floats
    totals: Floats


def new_scratch() -> Scratch:
    """Arrays for any instance within the limits; about 3 MB, of which few pages are ever touched."""
    ints = {
        "n": 9,
        "record_at": MOST_REQUESTS,
        "size": MOST_REQUESTS,
        "stride": MOST_REQUESTS,
        "prompts": MOST_REQUESTS,
        "row_at": MOST_REQUESTS,
        "widths": MOST_OPERATORS,
        "capacities": MOST_OPERATORS,
        "law_at": MOST_ROWS,
        "law_n": MOST_ROWS,
        "shift": MOST_LAWS,
        "local": MOST_TOKENS + 2,
        "place": 2 * MOST_TOKENS + 4,
        "digits": MOST_REQUESTS,
        "live": MOST_REQUESTS,
        "waiting": MOST_REQUESTS,
        "chosen": MOST_REQUESTS + 1,
        "joint_n": MOST_REQUESTS + 1,
    }
    floats = {
        "chance": MOST_LAWS,
        "mass": MOST_TOKENS + 2,
        "beyond": MOST_TOKENS + 2,
        "values": MOST_STATES + 1,
        "totals": 2,
    }
    table = (MOST_OPERATORS + 1, MOST_OPERATORS)
    return Scratch(
        **{name: np.empty(length, dtype=np.int64) for name, length in ints.items()},
        **{name: np.empty(length) for name, length in floats.items()},
        joint_shift=np.empty((MOST_REQUESTS + 1, MOST_STATES + 1), dtype=np.int64),
        joint=np.empty((MOST_REQUESTS + 1, MOST_STATES + 1)),
        durations=np.empty((*table, MOST_REQUESTS + 1)),
        most_rows=np.empty(table, dtype=np.int64),
        rates=np.empty((MOST_REQUESTS, 2)),
    )


@kernel
def _fits(x):
    """Whether a number is 0 or far from both ends of the range."""
    return x == 0.0 or LEAST <= x <= MOST


@kernel
def _number_of(kept, n, x):
    """The number of x among those kept, added as the last one where it is new; -1 without room."""
    for k in range(n):
        if kept[k] == x:
            return k
    if n == kept.size:
        return -1
    kept[n] = x
    return n


@kernel
def _keep_duration(t, c, w, s, duration, worst):
    held = t.durations[c, w, s]
    if held < 0 or (duration > held if worst else duration < held):
        t.durations[c, w, s] = duration


@kernel
def _read_requests(words, at, end, t):
    """Where each request's words start; the most that widths, capacities and rows can matter; or a refusal."""
    requests = int(words[at + 1])
    if requests > MOST_REQUESTS:
        return LARGE, 0, 0
    completion, first_output = words[at + 5], words[at + 6]
    here = at + HEAD + GRAPH * int(words[at])
    tokens = 0.0
    waiting = 0
    widest = 1
    t.n[LENGTHS] = 1
    for i in range(requests):
        t.record_at[i] = here
        prompt, generated, limit, weight = words[here], words[here + 1], words[here + 2], words[here + 3]
        if prompt + limit > MOST_TOKENS:
            return LARGE, 0, 0
        if weight == 0.0 or not _fits(weight):
            return RANGE, 0, 0
        # what waiting costs a ms, before and after the first output
        t.rates[i, 0] = weight * (completion + first_output)
        t.rates[i, 1] = weight * completion
        if prompt > 0:
            waiting += 1
        tokens = max(tokens, prompt)
        lengths, drafts = int(words[here + 4]), int(words[here + 5])
        t.n[LENGTHS] = max(t.n[LENGTHS], lengths)
        # a wider row changes nothing: no draft of it can be accepted, or none is left to be published
        widest = max(widest, min(drafts + 1, int(limit - generated)))
        here += REQUEST
        for k in range(lengths):
            if words[here + 2 * k + 1] == 0.0 or not _fits(words[here + 2 * k + 1]):
                return RANGE, 0, 0
        here += 2 * lengths
        for k in range(2 * drafts):
            if not _fits(words[here + k]):
                return RANGE, 0, 0
        here += 2 * drafts
    t.n[REQUESTS] = requests
    if waiting > 1:
        for g in range(int(words[at])):
            graph = at + HEAD + GRAPH * g
            if words[graph + 2] > 1 and words[graph + 1] > 0:
                return COUPLED, 0, 0
    return SWEPT, int(tokens), widest


@kernel
def _read_graphs(words, at, t, most_tokens, widest, worst):
    """Durations by what is served: of equal service only the shortest graph matters, or the longest for the worst."""
    t.durations[:] = -1.0
    t.most_rows[:] = 0
    t.n[WIDTHS] = t.n[CAPACITIES] = 0
    t.n[SERVED] = 1
    for g in range(int(words[at])):
        graph = at + HEAD + GRAPH * g
        duration = words[graph]
        if not _fits(duration) or duration == 0.0:
            return RANGE
        capacity = int(min(words[graph + 1], most_tokens))
        rows = int(min(words[graph + 3], t.n[REQUESTS]))
        c = 0
        if capacity:
            c = 1 + _number_of(t.capacities, t.n[CAPACITIES], capacity)
            if c == 0:
                return LARGE
            t.n[CAPACITIES] = max(t.n[CAPACITIES], c)
            _keep_duration(t, c, 0, 0, duration, worst)
        t.n[SERVED] = max(t.n[SERVED], min(t.n[REQUESTS], rows + (1 if capacity else 0)))
        if rows:
            w = _number_of(t.widths, t.n[WIDTHS], int(min(words[graph + 4], widest)))
            if w < 0:
                return LARGE
            t.n[WIDTHS] = max(t.n[WIDTHS], w + 1)
            for s in range(1, rows + 1):
                _keep_duration(t, 0, w, s, duration, worst)
                if c:
                    _keep_duration(t, c, w, s, duration, worst)
            t.most_rows[0, w] = max(t.most_rows[0, w], rows)
            if c:
                t.most_rows[c, w] = max(t.most_rows[c, w], rows)
    return SWEPT


@kernel
def _mark_places(words, here, t, prompt, first, generated, limit):
    """t.place[x] = 1 for prompt remainders x and (from prompt + 1 on) outputs that serving reaches."""
    place = t.place
    place[: prompt + limit + 2] = 0
    output = prompt + 1
    drafts_at = here + REQUEST + 2 * int(words[here + 4])
    drafts = int(words[here + 5])
    if prompt:
        place[prompt] = 1
        for x in range(prompt, 0, -1):
            if place[x]:
                for c in range(t.n[CAPACITIES]):
                    if x > t.capacities[c]:
                        place[x - t.capacities[c]] = 1
                    elif limit > 1 and t.beyond[1] > 0:
                        place[output + 1] = 1
    else:
        place[output + generated] = 1
    for g in range(first, limit):
        if place[output + g]:
            for w in range(t.n[WIDTHS]):
                width = t.widths[w]
                for n in range(1, width + 1):
                    if g + n >= limit or t.beyond[g + n] == 0.0:
                        break
                    drafted = n < width and n <= drafts
                    if not drafted or words[drafts_at + 2 * n - 1] > 0:
                        place[output + g + n] = 1
                    if not drafted or words[drafts_at + 2 * n - 2] == 0.0:
                        break


@kernel
def _row_law(words, here, t, g, width, limit, x, output, laws):
    """Outcomes of a row of one width at local state x that has published g; the place in the laws after them."""
    drafts_at = here + REQUEST + 2 * int(words[here + 4])
    drafts = int(words[here + 5])
    last = t.place[output + limit]
    survival = t.beyond[g]
    reach = 1.0
    finish = 0.0
    for n in range(1, width + 1):
        if t.mass[g + n] > 0:
            finish += reach * t.mass[g + n] / survival
        beyond = t.beyond[g + n]
        if g + n == limit or beyond == 0.0:
            break
        drafted = n < width and n <= drafts
        if drafted:
            stop = reach * words[drafts_at + 2 * n - 1]
        else:
            stop = reach
        if stop > 0:
            if stop < LEAST_CHANCE or laws == MOST_LAWS:
                return -1
            t.chance[laws] = stop * beyond / survival
            t.shift[laws] = t.place[output + g + n] - x
            laws += 1
        if not drafted:
            break
        reach *= words[drafts_at + 2 * n - 2]
        if reach == 0.0:
            break
        if reach < LEAST_CHANCE:
            return -1
    if finish > 0:
        if laws == MOST_LAWS:
            return -1
        t.chance[laws] = finish
        t.shift[laws] = last - x
        laws += 1
    return laws


@kernel
def _read_prior(words, here, t, generated, limit):
    """Mass of each length, all above the limit moved to it, and the mass beyond each output."""
    t.mass[: limit + 1] = 0.0
    lengths = int(words[here + 4])
    if lengths == 0:
        t.mass[limit] = 1.0
    for k in range(lengths):
        n = int(min(words[here + REQUEST + 2 * k], limit))
        t.mass[n] += words[here + REQUEST + 2 * k + 1]
    t.beyond[limit] = 0.0
    for g in range(limit - 1, -1, -1):
        t.beyond[g] = t.beyond[g + 1] + t.mass[g + 1]


@kernel
def build(words, at, end, worst, t):
    """Fill the tables from words[at:end]; returns what becomes of the instance. t.totals[0] is the value of tokens."""
    if end - at < HEAD:
        return RANGE
    for k in range(2, HEAD):
        if not _fits(words[at + k]):
            return RANGE
    if words[at + 7] != 0.0:
        return AGES
    status, most_tokens, widest = _read_requests(words, at, end, t)
    if status != SWEPT:
        return status
    status = _read_graphs(words, at, t, most_tokens, widest, worst)
    if status != SWEPT:
        return status
    prefill_value, decode_value = words[at + 2], words[at + 3]
    operators = t.n[WIDTHS] + t.n[CAPACITIES]
    states = 1
    steps = 0
    rows = 0
    laws = 0
    earned = 0.0
    for i in range(t.n[REQUESTS]):
        here = t.record_at[i]
        prompt, generated, limit = int(words[here]), int(words[here + 1]), int(words[here + 2])
        _read_prior(words, here, t, generated, limit)
        first = 1 if prompt else generated
        length = 0.0
        for n in range(generated + 1, limit + 1):
            if t.mass[n] > 0:
                length += t.mass[n] * (n - generated)
        length /= t.beyond[generated]
        earned += words[here + 3] * (prefill_value * prompt + decode_value * length)
        _mark_places(words, here, t, prompt, first, generated, limit)
        output = prompt + 1
        # places in order of progress
        size = 0
        for x in range(prompt, 0, -1):
            if t.place[x]:
                t.place[x] = size
                t.local[size] = x
                size += 1
        t.prompts[i] = size
        for g in range(first, limit):
            if t.place[output + g]:
                t.place[output + g] = size
                t.local[size] = g
                size += 1
        t.place[output + limit] = size
        size += 1
        t.size[i] = size
        t.stride[i] = states
        states *= size
        if states > MOST_STATES + 1 or rows + operators * size > MOST_ROWS:
            return LARGE
        steps += size - 1
        t.row_at[i] = rows
        t.law_n[rows : rows + operators * size] = 0
        for o in range(operators):
            decodes = o < t.n[WIDTHS]
            for x in range(t.prompts[i] if decodes else 0, size - 1 if decodes else t.prompts[i]):
                row = rows + o * size + x
                t.law_at[row] = laws
                if decodes:
                    after = _row_law(words, here, t, t.local[x], t.widths[o], limit, x, output, laws)
                elif t.local[x] > t.capacities[o - t.n[WIDTHS]]:
                    after = laws + 1
                    if after > MOST_LAWS:
                        return LARGE
                    t.chance[laws] = 1.0
                    t.shift[laws] = t.place[t.local[x] - t.capacities[o - t.n[WIDTHS]]] - x
                else:
                    # the last prompt token publishes one output token, as a row of width 1 does
                    after = _row_law(words, here, t, 0, 1, limit, x, output, laws)
                if after < 0:
                    return RANGE
                t.law_n[row] = after - laws
                for k in range(laws, after):
                    t.shift[k] *= t.stride[i]
                laws = after
        rows += operators * size
    least = 1.0
    for k in range(laws):
        least = min(least, t.chance[k])
    joint = 1.0
    for _ in range(t.n[SERVED]):
        joint *= least
    if joint < LEAST_CHANCE:
        return RANGE
    t.n[STATES] = states
    t.n[STEPS] = steps
    t.n[WIDEST] = widest
    t.n[JOINT] = 1
    t.totals[0] = earned
    return SWEPT
