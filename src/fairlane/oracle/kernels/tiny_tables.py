"""Tables of one tiny instance from its record of doubles: durations by what is served, local states, row laws.

What stands where in a record, `tiny_record` says.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fairlane.compiling.flags import inner
from fairlane.oracle.kernels.tiny_record import (
    COMPLETION_PRICE,
    DECODE_CAPACITY,
    DECODE_VALUE,
    DURATION,
    FIRST_OUTPUT_PRICE,
    GENERATED,
    GRAPH,
    HEAD,
    LIMIT,
    N_DRAFTS,
    N_GRAPHS,
    N_LENGTHS,
    N_REQUESTS,
    OTHER_PRICES,
    PREFILL_CAPACITY,
    PREFILL_LANES,
    PREFILL_VALUE,
    PROMPT,
    REQUEST,
    ROW_WIDTH,
    WEIGHT,
)

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

# counts in `Scratch.n`
REQUESTS, STATES, WIDTHS, CAPACITIES, STEPS, SERVED, LENGTHS, WIDEST, JOINT = range(9)
# rows of `Scratch.each`, by request unless said otherwise: where its record begins, its local states and how many of
# them have a prompt, the stride of its places, its first row of laws, the distinct widths and capacities (by number),
# local states of the state at hand, its decoding and its waiting requests, the sets of rows being tried (by level)
RECORD, SIZE, PROMPTS, STRIDE, ROW, WIDTH, CAPACITY, DIGIT, LIVE, WAITING, CHOSEN, JOINT_N = range(12)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Scratch(NamedTuple):
    """Arrays that one instance after another uses.

    ``durations[c, w, s]`` is the best duration of a graph with capacity number c (0: no prompt is filled) and width
    number w for s rows, negative where there is none; ``most_rows[c, w]`` the most rows of such a graph. Request i,
    operator o (widths, then capacities) and local state x have the row each[ROW, i] + o * each[SIZE, i] + x of
    ``laws``: the first of its outcomes in ``chance`` and ``shift``, and how many. ``prior`` holds the mass at and
    beyond each length.
    """

    n: Ints
    each: Ints
    laws: Ints
    shift: Ints
    local: Ints
    place: Ints
    joint_shift: Ints
    most_rows: Ints
    durations: Floats
    rates: Floats
    chance: Floats
    prior: Floats
    joint: Floats
    values: Floats


def new_scratch() -> Scratch:
    """Arrays for any instance within the limits; about 4 MB, of which few pages are ever touched."""
    levels = MOST_REQUESTS + 1
    table = (MOST_OPERATORS + 1, MOST_OPERATORS)
    return Scratch(
        n=np.empty(9, dtype=np.int64),
        each=np.empty((12, levels), dtype=np.int64),
        laws=np.empty((MOST_ROWS, 2), dtype=np.int64),
        shift=np.empty(MOST_LAWS, dtype=np.int64),
        local=np.empty(MOST_TOKENS + 2, dtype=np.int64),
        place=np.empty(MOST_TOKENS + 2, dtype=np.int64),
        joint_shift=np.empty((levels, MOST_STATES + 1), dtype=np.int64),
        most_rows=np.empty(table, dtype=np.int64),
        durations=np.empty((*table, levels)),
        rates=np.empty((MOST_REQUESTS, 2)),
        chance=np.empty(MOST_LAWS),
        prior=np.empty((2, MOST_TOKENS + 2)),
        joint=np.empty((levels, MOST_STATES + 1)),
        values=np.empty(MOST_STATES + 1),
    )


@inner
def _fits(x):
    """Whether a number is 0 or far from both ends of the range."""
    return x == 0.0 or LEAST <= x <= MOST


@inner
def _number_of(kept, n, x):
    """The number of x among those kept, added as the last one where it is new; -1 without room."""
    for k in range(n):
        if kept[k] == x:
            return k
    if n == MOST_OPERATORS:
        return -1
    kept[n] = x
    return n


@inner
def _keep_duration(durations, c, w, s, duration, worst):
    held = durations[c, w, s]
    if held < 0 or (duration > held if worst else duration < held):
        durations[c, w, s] = duration


@inner
def _read_requests(words, at, n, record_at, rates):
    """Where each request's words begin; the most that capacities and widths can matter; or a refusal."""
    requests = int(words[at + N_REQUESTS])
    if requests > MOST_REQUESTS:
        return LARGE, 0, 0
    n[REQUESTS] = requests
    n[LENGTHS] = 1
    completion, first_output = words[at + COMPLETION_PRICE], words[at + FIRST_OUTPUT_PRICE]
    here = at + HEAD + GRAPH * int(words[at + N_GRAPHS])
    tokens = 0.0
    waiting = 0
    widest = 1
    for i in range(requests):
        record_at[i] = here
        prompt, generated, limit, weight = (
            words[here + PROMPT],
            words[here + GENERATED],
            words[here + LIMIT],
            words[here + WEIGHT],
        )
        if prompt + limit > MOST_TOKENS - 2:
            return LARGE, 0, 0
        if weight == 0.0 or not _fits(weight):
            return RANGE, 0, 0
        # what waiting costs a ms, before and after the first output
        rates[i, 0] = weight * (completion + first_output)
        rates[i, 1] = weight * completion
        if prompt > 0:
            waiting += 1
        tokens = max(tokens, prompt)
        lengths, drafts = int(words[here + N_LENGTHS]), int(words[here + N_DRAFTS])
        n[LENGTHS] = max(n[LENGTHS], lengths)
        # a wider row changes nothing: no draft of it can be accepted, or none is left to be published
        widest = max(widest, min(drafts + 1, int(limit - generated)))
        here += REQUEST
        for k in range(here + 1, here + 2 * lengths, 2):
            if words[k] == 0.0 or not _fits(words[k]):
                return RANGE, 0, 0
        here += 2 * lengths
        for k in range(here, here + 2 * drafts):
            if not _fits(words[k]):
                return RANGE, 0, 0
        here += 2 * drafts
    if waiting > 1:
        for g in range(int(words[at + N_GRAPHS])):
            graph = at + HEAD + GRAPH * g
            if words[graph + PREFILL_LANES] > 1 and words[graph + PREFILL_CAPACITY] > 0:
                return COUPLED, 0, 0
    return SWEPT, int(tokens), widest


@inner
def _read_graphs(words, at, n, widths, capacities, durations, most_rows, most_tokens, widest, worst):
    """Durations by what is served: of equal service only the shortest graph matters, or the longest for the worst."""
    durations[:] = -1.0
    most_rows[:] = 0
    n[WIDTHS] = n[CAPACITIES] = 0
    n[SERVED] = 1
    for g in range(int(words[at + N_GRAPHS])):
        graph = at + HEAD + GRAPH * g
        duration = words[graph + DURATION]
        if duration == 0.0 or not _fits(duration):
            return RANGE
        capacity = int(min(words[graph + PREFILL_CAPACITY], most_tokens))
        rows = int(min(words[graph + DECODE_CAPACITY], n[REQUESTS]))
        n[SERVED] = max(n[SERVED], min(n[REQUESTS], rows + (1 if capacity else 0)))
        c = 0
        if capacity:
            c = 1 + _number_of(capacities, n[CAPACITIES], capacity)
            if c == 0:
                return LARGE
            n[CAPACITIES] = max(n[CAPACITIES], c)
            _keep_duration(durations, c, 0, 0, duration, worst)
        if rows:
            w = _number_of(widths, n[WIDTHS], int(min(words[graph + ROW_WIDTH], widest)))
            if w < 0:
                return LARGE
            n[WIDTHS] = max(n[WIDTHS], w + 1)
            for s in range(1, rows + 1):
                _keep_duration(durations, 0, w, s, duration, worst)
                _keep_duration(durations, c, w, s, duration, worst)
            most_rows[0, w] = max(most_rows[0, w], rows)
            most_rows[c, w] = max(most_rows[c, w], rows)
    return SWEPT


@inner
def _read_prior(words, here, mass, beyond, generated, limit):
    """Mass at each length, all above the limit moved to it, and beyond each; returns the mean length to come."""
    mass[: limit + 1] = 0.0
    lengths = int(words[here + N_LENGTHS])
    if lengths == 0:
        mass[limit] = 1.0
    for k in range(here + REQUEST, here + REQUEST + 2 * lengths, 2):
        mass[int(min(words[k], limit))] += words[k + 1]
    beyond[limit] = 0.0
    length = 0.0
    for g in range(limit - 1, generated - 1, -1):
        beyond[g] = beyond[g + 1] + mass[g + 1]
        if mass[g + 1] > 0:
            length += mass[g + 1] * (g + 1 - generated)
    return length / beyond[generated]


@inner
def _mark_places(words, here, place, beyond, widths, n_widths, capacities, n_capacities):
    """place[x] = 1 for prompt remainders x, and for outputs (from prompt + 1 on) that serving reaches."""
    prompt, generated, limit = int(words[here + PROMPT]), int(words[here + GENERATED]), int(words[here + LIMIT])
    output = prompt + 1
    drafts_at = here + REQUEST + 2 * int(words[here + N_LENGTHS])
    drafts = int(words[here + N_DRAFTS])
    place[: output + limit + 1] = 0
    place[prompt if prompt else output + generated] = 1
    for x in range(prompt, 0, -1):
        if place[x]:
            for c in range(n_capacities):
                if x > capacities[c]:
                    place[x - capacities[c]] = 1
                elif beyond[1] > 0:
                    place[output + 1] = 1
    for g in range(1 if prompt else generated, limit):
        if place[output + g]:
            for w in range(n_widths):
                for k in range(1, min(widths[w], limit - g - 1) + 1):
                    if beyond[g + k] == 0.0:
                        break
                    drafted = k < widths[w] and k <= drafts
                    if not drafted or words[drafts_at + 2 * k - 1] > 0:
                        place[output + g + k] = 1
                    if not drafted or words[drafts_at + 2 * k - 2] == 0.0:
                        break


@inner
def _row_law(words, here, place, mass, beyond, shift, chance, g, width, x, output, stride, law):
    """Outcomes of a row that has published g, at local state x, from place ``law`` on; the place after them, or -1."""
    limit = int(words[here + LIMIT])
    drafts_at = here + REQUEST + 2 * int(words[here + N_LENGTHS])
    drafts = int(words[here + N_DRAFTS])
    if law + width >= MOST_LAWS:
        return -1
    reach = 1.0
    finish = 0.0
    for k in range(1, width + 1):
        if mass[g + k] > 0:
            finish += reach * mass[g + k] / beyond[g]
        if beyond[g + k] == 0.0:
            break
        drafted = k < width and k <= drafts
        stop = reach * words[drafts_at + 2 * k - 1] if drafted else reach
        if stop > 0:
            if stop < LEAST_CHANCE:
                return -1
            chance[law] = stop * beyond[g + k] / beyond[g]
            shift[law] = stride * (place[output + g + k] - x)
            law += 1
        if not drafted:
            break
        reach *= words[drafts_at + 2 * k - 2]
        if reach == 0.0:
            break
        if reach < LEAST_CHANCE:
            return -1
    if finish > 0:
        chance[law] = finish
        shift[law] = stride * (place[output + limit] - x)
        law += 1
    return law


@inner
def build(words, at, end, worst, t):
    """Fill the tables from words[at:end]; what becomes of the instance, and the value of its tokens."""
    if end - at < HEAD:
        return RANGE, 0.0
    for k in range(at + PREFILL_VALUE, at + HEAD):
        if not _fits(words[k]):
            return RANGE, 0.0
    if words[at + OTHER_PRICES] != 0.0:
        return AGES, 0.0
    n, each, laws, shift, local, place, chance = t.n, t.each, t.laws, t.shift, t.local, t.place, t.chance
    mass, beyond, widths, capacities = t.prior[0], t.prior[1], each[WIDTH], each[CAPACITY]
    status, most_tokens, widest = _read_requests(words, at, n, each[RECORD], t.rates)
    if status != SWEPT:
        return status, 0.0
    status = _read_graphs(words, at, n, widths, capacities, t.durations, t.most_rows, most_tokens, widest, worst)
    if status != SWEPT:
        return status, 0.0
    prefill_value, decode_value = words[at + PREFILL_VALUE], words[at + DECODE_VALUE]
    n_widths = n[WIDTHS]
    operators = n_widths + n[CAPACITIES]
    states, steps, row, law = 1, 0, 0, 0
    earned = 0.0
    for i in range(n[REQUESTS]):
        here = each[RECORD, i]
        prompt, generated, limit = int(words[here + PROMPT]), int(words[here + GENERATED]), int(words[here + LIMIT])
        length = _read_prior(words, here, mass, beyond, generated, limit)
        earned += words[here + WEIGHT] * (prefill_value * prompt + decode_value * length)
        _mark_places(words, here, place, beyond, widths, n_widths, capacities, n[CAPACITIES])
        # places in order of progress
        output = prompt + 1
        size = 0
        for x in range(prompt, 0, -1):
            if place[x]:
                place[x] = size
                local[size] = x
                size += 1
        prompts = size
        for g in range(generated, limit):
            if place[output + g]:
                place[output + g] = size
                local[size] = g
                size += 1
        place[output + limit] = size
        size += 1
        stride = states
        states *= size
        if states > MOST_STATES + 1 or row + operators * size > MOST_ROWS:
            return LARGE, 0.0
        steps += size - 1
        each[SIZE, i], each[PROMPTS, i], each[STRIDE, i], each[ROW, i] = size, prompts, stride, row
        for o in range(operators):
            for x in range(size):
                laws[row + x, 0] = law
                if o < n_widths:
                    if prompts <= x < size - 1:
                        law = _row_law(
                            words, here, place, mass, beyond, shift, chance, local[x], widths[o], x, output, stride, law
                        )
                elif x < prompts:
                    left = local[x] - capacities[o - n_widths]
                    if left > 0:
                        chance[law] = 1.0
                        shift[law] = stride * (place[left] - x)
                        law += 1
                    else:
                        # the last prompt token publishes one output token, as a row of width 1 does
                        law = _row_law(words, here, place, mass, beyond, shift, chance, 0, 1, x, output, stride, law)
                if law < 0 or law >= MOST_LAWS:
                    return RANGE, 0.0
                laws[row + x, 1] = law - laws[row + x, 0]
            row += size
    least = 1.0
    for k in range(law):
        least = min(least, chance[k])
    joint = 1.0
    for _ in range(n[SERVED]):
        joint *= least
    if joint < LEAST_CHANCE:
        return RANGE, 0.0
    n[STATES], n[STEPS], n[WIDEST], n[JOINT] = states, steps, widest, 1
    return SWEPT, earned
