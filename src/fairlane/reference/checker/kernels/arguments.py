"""What the checker's kernels are given, grouped; a kernel and its face both take these from here. No numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Costs = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Groups(NamedTuple):
    """Groups of equal requests and the numbers of their places.

    Request i is in group ``of[i]``; group g has the requests ``start[g] : start[g + 1]``, a stride and a number of
    places. A place's sorted local states stand in ``table`` from ``table_at[g]`` on, one row a place; the rank of a row
    is the sum over i of binomial[x_i + i, i + 1].
    """

    of: Ints
    start: Ints
    strides: Ints
    sizes: Ints
    table_at: Ints
    table: Ints
    binomial: Ints


class Laws(NamedTuple):
    """Local states of each group: phase (0 prompt, 1 decoding, 2 finished), cost a ms, and where serving leads.

    ``to[at[g, o, x] + j]`` and ``p`` are the j-th of ``counts[g, o, x]`` outcomes of operator o, widths first, then
    capacities.
    """

    phase: Ints
    rates: Costs
    counts: Ints
    at: Ints
    to: Ints
    p: Costs


class Actions(NamedTuple):
    """What can run: ``graphs[c, w, k]`` graphs hold k rows of width w beside a prompt of capacity c.

    Their durations and fees stand in ``duration`` and ``fee`` from ``at[c, w, k]`` on. c and w count from 1, and 0
    stands for no prompt and no rows. The greatest costs are checked where ``worst``.
    """

    n_widths: int
    n_capacities: int
    graphs: Ints
    at: Ints
    duration: Costs
    fee: Costs
    time_price: float
    worst: bool


class Room(NamedTuple):
    """Room of one thread for as many numbers as there are requests."""

    digits: Ints
    after: Ints
    work: Ints
    rows: Ints
    member: Ints
    operator: Ints
    at: Ints
    touched: npt.NDArray[np.bool_]
    part: Ints


class Stack(NamedTuple):
    """Room of one thread where requests stand alone: local states, rows, and the stack of sets with their outcomes.

    ``begun`` is where each set's outcomes begin in ``number`` and ``chance``, ``chosen`` which row came last.
    """

    digits: Ints
    rows: Ints
    chosen: Ints
    begun: Ints
    number: Ints
    chance: Costs
