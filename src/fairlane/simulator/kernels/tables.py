"""The tables of the compiled loop of `fixed-value`: what stands where, for the loop and its face alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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


class Tables(NamedTuple):
    """What a run reads and changes.

    ``gains[0]`` are the gains of rows by width and code, ``gains[1]`` their ranks; ``bars`` the acceptance of drafts by
    kind as numbers out of 2^53, -1 after the last. ``members`` lists the prompts of each key, by their places.
    """

    state: Integers
    requests: Integers
    queues: Integers
    graphs: Integers
    keys: Integers
    members: Integers
    widths: Integers
    gains: Integers
    bars: Integers
    rows: Integers


class Output(NamedTuple):
    """A chunk of the run: graph, begin, end and last lane of each launch, and what became of each lane."""

    launches: Integers
    lanes: Integers


class Scalars(NamedTuple):
    """The key of draws, the horizon (-1 without), the span of codes, and the largest gains of a prompt."""

    stream: np.uint64
    horizon: int
    span: int
    token: int
    end: int


class Lists(NamedTuple):
    """Room for the cohort of one launch: who waits again, who decodes next, the rows, and two cohorts to compare."""

    again: Integers
    ready: Integers
    picked: Integers
    mine: Integers
    theirs: Integers
