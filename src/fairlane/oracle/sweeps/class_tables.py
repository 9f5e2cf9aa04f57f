"""Axes of exchangeable requests as flat arrays for the class kernel: places, splits into served and rest, laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from fairlane.oracle.encoding.multisets import Multisets, binomials, multisets
from fairlane.oracle.encoding.packing import Axis, Ints, Packed, SmallInts
from fairlane.oracle.encoding.signatures import Rules
from fairlane.oracle.kernels.arguments import ClassAxes, Entries, Laws


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """Splits of the places of one axis into served rows U and the rest R.

    ``least``, ``parent`` and ``level`` describe the U of each size k, by size: their least member, the U without
    it, the sum of their members. ``joint[k][U, R]`` is the place that U and R make up.
    """

    sets: dict[int, Multisets]
    most: int
    least: list[Ints]
    parent: list[Ints]
    level: list[Ints]
    joint: list[SmallInts]

    def count_pairs(self) -> int:
        """Pairs (U, R) with somebody served."""
        return sum(j.size for j in self.joint[1:])


def most_served(axis: Axis, rules: Rules, packed: Packed) -> int:
    """Greatest number of rows of one axis in one graph."""
    widths = [o for o, op in enumerate(packed.operators) if op.width and axis.reach[o][1]]
    return min(axis.members, rules.most_rows()) if widths else 0


def count_pairs(axis: Axis, most: int) -> int:
    """Pairs (U, R) of an axis, before they are listed."""
    values = sum(1 for x in axis.chain if not x.prompt and not x.finished)
    m, n = axis.members, len(axis.chain)
    # comb(m - 1, 0) counts the one empty rest
    return sum(comb(values + k - 1, k) * (comb(n + m - k - 1, m - k) if k < m else 1) for k in range(1, most + 1))


def split(axis: Axis, most: int) -> Splits:
    """All splits of an axis that serve at most ``most`` rows."""
    # compiled code: loading numba takes longer than a small instance
    from fairlane.oracle.kernels.multisets import list_colex

    m = axis.members
    sets = multisets(len(axis.chain), m, least=max(0, m - most - 1))
    decoding = [x for x, local in enumerate(axis.chain) if not local.prompt and not local.finished]
    first, n_values = (decoding[0], len(decoding)) if decoding else (0, 0)
    least = [np.array([-1], dtype=np.int64)]
    parent = [np.array([0], dtype=np.int64)]
    level = [np.array([0], dtype=np.int64)]
    joint = [np.arange(sets[m].count, dtype=np.int32).reshape(1, -1)]
    binomial = binomials(n_values + most + 1, most + 1)
    for k in range(1, most + 1):
        rows = np.zeros((comb(n_values + k - 1, k), k), dtype=np.int64)
        list_colex(n_values, k, rows)
        # neighbours differ in their least member, so that they share a parent, and with it what is in the cache
        before = sum((binomial[rows[:, i + 1] + i, i + 1] for i in range(k - 1)), np.zeros(len(rows), dtype=np.int64))
        least.append(rows[:, 0] + first)
        parent.append(before)
        level.append(rows.sum(axis=1) + k * first)
        # U beside R is U without its least member beside R with it
        joint.append(joint[k - 1][before[:, None], sets[m - k].up[least[k]]])
    return Splits(sets=sets, most=most, least=least, parent=parent, level=level, joint=joint)


def class_axes(packed: Packed, splits: Sequence[Splits]) -> ClassAxes:
    """The splits of every axis in arrays, in the order of the axes."""
    n = len(packed.axes)
    widest = max(axis.members for axis in packed.axes)
    most = max(s.most for s in splits)
    n_rest, up_at = (np.zeros((n, widest + 1), dtype=np.int64) for _ in range(2))
    sub_at, sub_count, joint_at, pair_at = (np.zeros((n, most + 1), dtype=np.int64) for _ in range(4))
    ups, least, parent, joints = [], [], [], []
    up_total = sub_total = joint_total = 0
    for a, s in enumerate(splits):
        for size, found in sorted(s.sets.items()):
            n_rest[a, size], up_at[a, size] = found.count, up_total
            ups.append(found.up.ravel())
            up_total += found.up.size
        pairs = 0
        for k in range(s.most + 1):
            sub_at[a, k], sub_count[a, k] = sub_total, len(s.least[k])
            least.append(s.least[k])
            parent.append(s.parent[k] + (sub_at[a, k - 1] if k else sub_total))
            sub_total += len(s.least[k])
            joint_at[a, k], pair_at[a, k] = joint_total, pairs
            joints.append(s.joint[k].ravel())
            joint_total += s.joint[k].size
            pairs += s.joint[k].size if k else 0
    return ClassAxes(
        members=np.array([axis.members for axis in packed.axes], dtype=np.int64),
        most=np.array([s.most for s in splits], dtype=np.int64),
        n_rest=n_rest,
        up_at=up_at,
        up=np.concatenate(ups),
        sub_at=sub_at,
        sub_count=sub_count,
        sub_least=np.concatenate(least),
        sub_parent=np.concatenate(parent),
        joint_at=joint_at,
        joint=np.concatenate(joints),
        pair_at=pair_at,
        pairs=np.array([s.count_pairs() for s in splits], dtype=np.int64),
    )


def class_entries(packed: Packed, splits: Sequence[Splits], axes: ClassAxes) -> Entries:
    """What every place of every axis can serve, in arrays; ``u`` counts over the sets of all axes."""
    listed = [list_entries(axis, s, packed) for axis, s in zip(packed.axes, splits, strict=True)]
    before = np.cumsum([0, *(e.k.size for e in listed)])
    return Entries(
        at=np.cumsum([0, *(e.start.size for e in listed)])[:-1].astype(np.int64),
        start=np.concatenate([e.start + before[a] for a, e in enumerate(listed)]),
        k=np.concatenate([e.k for e in listed]),
        u=np.concatenate([e.u + np.int32(axes.sub_at[a, 0]) for a, e in enumerate(listed)]),
        y=np.concatenate([e.y for e in listed]),
        rest=np.concatenate([e.rest for e in listed]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisEntries:
    """For each place, from ``start[h]`` to ``start[h + 1]``, what can be served: rows U (of k) and a prompt y or -1.

    ``rest`` numbers what is left, among multisets of that size.
    """

    start: Ints
    k: SmallInts
    u: SmallInts
    y: SmallInts
    rest: SmallInts


def list_entries(axis: Axis, splits: Splits, packed: Packed) -> AxisEntries:
    """Every choice of rows and at most one prompt of an axis, by place. ``u`` counts over all sizes."""
    m = axis.members
    offset = np.cumsum([0, *(len(x) for x in splits.least)])
    prompts = [o for o, op in enumerate(packed.operators) if op.capacity and axis.reach[o][1]]
    low, high = axis.reach[prompts[0]] if prompts else (0, 0)
    columns: list[tuple[Ints, Ints, Ints, Ints, Ints]] = []

    def add(k: int, y: int, joint: SmallInts) -> None:
        n_u, n_r = joint.shape
        columns.append(
            (
                joint.ravel().astype(np.int64),
                np.full(joint.size, k),
                np.repeat(np.arange(n_u) + offset[k], n_r),
                np.full(joint.size, y),
                np.tile(np.arange(n_r), n_u),
            )
        )

    for k in range(splits.most + 1):
        if k:
            add(k, -1, splits.joint[k])
        if k + 1 <= m:
            for y in range(low, high):
                add(k, y, splits.joint[k][:, splits.sets[m - k - 1].up[y]])
    n_places = splits.sets[m].count
    if not columns:
        empty = np.zeros(0, dtype=np.int32)
        return AxisEntries(start=np.zeros(n_places + 1, dtype=np.int64), k=empty, u=empty, y=empty, rest=empty)
    h, *rest = (np.concatenate(c) for c in zip(*columns, strict=True))
    order = np.argsort(h, kind="stable")
    k_, u_, y_, r_ = (c[order].astype(np.int32) for c in rest)
    start = np.searchsorted(h[order], np.arange(n_places + 1)).astype(np.int64)
    return AxisEntries(start=start, k=k_, u=u_, y=y_, rest=r_)


def laws_of(packed: Packed) -> Laws:
    """The packed laws as arrays, targets as local states."""
    longest = max(len(axis.chain) for axis in packed.axes)
    shape = (len(packed.axes), len(packed.operators), longest)
    counts, at = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    reach = np.zeros((*shape[:2], 2), dtype=np.int64)
    to: list[int] = []
    p: list[float] = []
    for a, axis in enumerate(packed.axes):
        for o, chain in enumerate(axis.laws):
            reach[a, o] = axis.reach[o]
            for x, law in enumerate(chain):
                counts[a, o, x], at[a, o, x] = len(law), len(to)
                to += [x + shift for shift, _ in law]
                p += [float(chance) for _, chance in law]
    # the kernel may read one outcome ahead
    return Laws(counts=counts, at=at, to=np.array([*to, 0, 0]), p=np.array([*p, 0.0, 0.0]), reach=reach)
