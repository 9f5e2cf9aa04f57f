"""What the oracle's kernels are given, grouped; a kernel and its face both take these from here.

Kernels read the fields by name, so their order means nothing. Arrays are int64 or float64 unless said otherwise; the
block kernel also takes its reals in single precision. No numba in this module: faces import it at no cost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
SmallInts = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Reals = npt.NDArray[np.floating[Any]]


class Laws(NamedTuple):
    """Operators on local states: ``to[at[a, o, x] + j]`` and ``p`` are the j-th of ``counts[a, o, x]`` outcomes.

    ``reach[a, o]`` bounds the local states of axis a that operator o serves. A kernel may read two outcomes ahead.
    """

    counts: Ints
    at: Ints
    to: Ints
    p: Floats
    reach: Ints


class Numbering(NamedTuple):
    """How a state of sorted local states is numbered.

    Request m is on axis ``axis_of[m]``; axis a has the requests from ``axis_start[a]`` on and the stride
    ``strides[a]``; ``place[place_at[a] + rank]`` is the place of its multiset of a colexicographic rank.
    """

    axis_of: Ints
    axis_start: Ints
    strides: Ints
    binomial: Ints
    place: Ints
    place_at: Ints


class ServedSets(NamedTuple):
    """Set i serves ``member[start[i] : start[i + 1]]``, each by its ``operator``."""

    start: Ints
    member: Ints
    operator: Ints


class Odometer(NamedTuple):
    """Room to run through joint outcomes: local states after, the outcome at, rows of a rank, axes and their parts."""

    after: Ints
    at: Ints
    sorted: Ints
    touched: Bools
    base: Ints


# the block sweep


class Grid(NamedTuple):
    """Axes of single requests; the block is the axes from ``cut`` on."""

    sizes: Ints
    strides: Ints
    cut: int


class GridLaws(NamedTuple):
    """Operators as flat arrays of shifts; on the innermost axis also as diagonals, in even numbers.

    Row ``dia_at[o]`` of ``dia`` is the chance to finish by place, the rows behind it are the coefficients of the
    diagonals, whose shifts stand in ``dia_shift`` from the same number on.
    """

    counts: Ints
    at: Ints
    shifts: Ints
    p: Reals
    reach: Ints
    dia_count: Ints
    dia_at: Ints
    dia_shift: Ints
    dia: Reals


class Nodes(NamedTuple):
    """Sets over the axes before the cut, sorted by last axis; ``start[a]`` is the first that ends on axis a.

    What a set's launch costs is ``factor`` times the entry of its ``row`` of rates, as everywhere below: a duration of
    the plain rates in row 0, or 1 times what :class:`Charges` make of them.
    """

    parent: Ints
    last_axis: Ints
    operator: Ints
    signature: Ints
    factor: Reals
    row: Ints
    start: Ints


class Programs(NamedTuple):
    """Instructions: grow a set by an axis. ``start[g, a]`` is the range for signature g over the axes from a on.

    ``low`` and ``high`` bound the places, within one stride of the axis, that can be legal; ``depth`` is the number of
    sets on the stack below; a set is kept where others grow from it.
    """

    start: Ints
    axis: Ints
    operator: Ints
    depth: Ints
    factor: Reals
    row: Ints
    low: Ints
    high: Ints
    keep: Ints


class Alone(NamedTuple):
    """Each operator for one request: what its launch costs, and its signature."""

    factor: Reals
    row: Ints
    signature: Ints


class Charges(NamedTuple):
    """Signed durations and fees of row r from ``start[r]`` to ``start[r + 1]``; none in row 0, the plain rates."""

    start: Ints
    duration: Reals
    fee: Reals


class Layout(NamedTuple):
    """Where things lie in each thread's room: node expectations, then one head, then the stack of programs."""

    node_at: Ints
    head_at: int
    stack_at: int
    step: int


class BlockRates(NamedTuple):
    """Cost a ms by axis and place, of the block's states, and of time; ``big`` stands for no action."""

    axis: Reals
    inner: Reals
    time: float | np.floating[Any]
    big: float | np.floating[Any]


class BlockRoom(NamedTuple):
    """One thread's arrays: expectations, legal nodes, digits, offsets in the block, best costs, rows of rates."""

    room: Reals
    valid: Bools
    digits: Ints
    inside: Ints
    best: Reals
    rate: Reals


# the sweep of several axes of exchangeable requests


class ClassAxes(NamedTuple):
    """Splits of the places of every axis into served rows U and the rest R; see `class_axis`.

    ``members[a]`` requests share axis a, at most ``most[a]`` of them are served as rows; ``n_rest[a, s]`` multisets
    of size s have their ``up`` table at ``up_at[a, s]``. The ``sub_count[a, k]`` sets U of size k are numbered from
    ``sub_at[a, k]`` on, and ``joint[joint_at[a, k] + i * n + r]`` is the place that the i-th and rest r make up.
    Pairs with somebody served are ``pairs[a]``, those of size k from ``pair_at[a, k]`` on.
    """

    members: Ints
    most: Ints
    n_rest: Ints
    up_at: Ints
    up: SmallInts
    sub_at: Ints
    sub_count: Ints
    sub_least: Ints
    sub_parent: Ints
    joint_at: Ints
    joint: SmallInts
    pair_at: Ints
    pairs: Ints


class Durations(NamedTuple):
    """What a launch with k rows of operator w beside a prompt of operator c costs.

    It is ``table[c + 1, w + 1, k]``, 0 where no graph does that, times the entry of row ``row[c + 1, w + 1, k]`` of the
    rates; see :class:`Nodes`. ``charged`` says whether there are other rows than the plain one.
    """

    is_prompt: Bools
    table: Floats
    row: Ints
    charged: bool


class Entries(NamedTuple):
    """What a place can serve: rows ``u`` (``k`` of them) and a prompt ``y`` or -1, so that ``rest`` is left.

    The place h of axis a has the entries from ``start[at[a] + h]`` to ``start[at[a] + h + 1]``.
    """

    at: Ints
    start: Ints
    k: SmallInts
    u: SmallInts
    y: SmallInts
    rest: SmallInts


class ClassRates(NamedTuple):
    """Cost a ms of the places of axis a, from ``at[a]`` on, and of time; ``big`` stands for no action."""

    place: Floats
    at: Ints
    time: float
    big: float


class ClassNodes(NamedTuple):
    """Sets over the outer axes: where their expectations lie (in the values or the room), rows, width and prompt.

    ``end[a + 1]`` closes the sets over the axes up to a, and ``top[a]`` is the room they take.
    """

    in_room: Ints
    at: Ints
    w: Ints
    k: Ints
    c: Ints
    end: Ints
    top: Ints


class ClassRoom(NamedTuple):
    """One thread's arrays: expectations, places, joint outcomes of one axis, best costs and rates.

    Expectations of the innermost axis begin at ``pairs_at``, those of outer sets at ``scratch_at``.
    """

    room: Floats
    pairs_at: int
    scratch_at: int
    places: Ints
    chance: Floats
    to: Ints
    p: Floats
    best: Floats
    rate: Floats


# the sweep of one axis of exchangeable requests


class Rests(NamedTuple):
    """Multisets of what is left beside the served, ``n`` of them and ``n_more`` of one member more, by level."""

    n: int
    n_more: int
    up: SmallInts
    level_start: Ints


class RowSets(NamedTuple):
    """Sets of k rows: least member, the set without it, sum of members, places with each rest; kept from ``at`` on.

    ``parent_at`` is where the sets of k - 1 rows lie.
    """

    least: Ints
    parent: Ints
    level: Ints
    joint: SmallInts
    parent_at: int
    at: int


class RowLaws(NamedTuple):
    """Outcomes by local state, the union over all widths, with one vector of chances (a lane a width) each."""

    at: Ints
    counts: Ints
    to: Ints
    p: Floats


class FillLaws(NamedTuple):
    """Outcomes of one prefill capacity by local state; local states from ``low`` to ``high`` have a prompt."""

    at: Ints
    counts: Ints
    to: Ints
    p: Floats
    low: int
    high: int


# the sweep with ages


class AgedSpace(NamedTuple):
    """States as numbers: mixed radix of (place, age) pairs; phase 0 has a prompt, 1 decodes, 2 is finished.

    An age is its place in ``age``, where whole units of time stand in ascending order; ``later[a, d]`` is the place of
    age a when the d-th duration has gone by.
    """

    strides: Ints
    sizes: Ints
    ages: int
    age: Ints
    later: Ints
    phase: Ints
    final: int


class AgedTable(NamedTuple):
    """Known states by hash and in the order of their finding, and the value of each."""

    keys: Ints
    slots: Ints
    mask: int
    codes: Ints
    values: Floats


class AgedPrices(NamedTuple):
    """Prices a unit of time by axis and place, a squared unit by axis, and of time itself."""

    rates: Floats
    ages: Floats
    time: float


class AgedActions(NamedTuple):
    """Durations of k rows of width w beside a prompt of capacity c, and the fee of a launch of each.

    ``durations[start[c, w, k] : start[c, w, k + 1]]``, ascending; c and w count from 1, and 0 stands for none.
    ``which`` is the place of each among the different durations. ``charged`` says whether any launch has a fee.
    """

    n_widths: int
    n_capacities: int
    start: Ints
    durations: Ints
    which: Ints
    fees: Floats
    charged: bool


class AgedRoom(NamedTuple):
    """One thread's arrays, one number a request."""

    place: Ints
    age: Ints
    rows: Ints
    member: Ints
    operator: Ints
    at: Ints
    served: Ints
