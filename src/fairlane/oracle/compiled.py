"""The compiled backward sweep: certified bounds on the optimum of instances with millions of states.

Three kernels share the work: one axis a request, one axis for all requests (where all are exchangeable), and
several axes of exchangeable requests.

Rounding. In cost form every number is >= 0 and every value is a sum of products of values of later states. With
unit roundoff u, if every term of such a sum passes through at most m roundings, the sum has a relative error of at
most (1 + u)^m - 1 (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 3.1), and minima keep
the largest relative error of what they compare. One step serves at most B requests. An operator with at most w
outcomes costs its terms w + 1 roundings (a rounded coefficient, a product, w - 1 sums); sets on the two outermost
axes are taken at once, with w² + 3 (a product of coefficients more); with merged requests the joint law of those on
the outer axes costs at most 2 w^B + 2 B + 2. The waiting cost of the step has a rounded duration, a sum of r + 1
rounded rates, one product and one sum with the expectation, r + 4 in all. Over a depth of D steps, which is the
number of local steps that the requests have together, the relative error is at most
(1 + u)^(D m) - 1 <= D m u / (1 - D m u) for the sum m of these. Instances whose costs could leave the range of normal
numbers are refused.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from fairlane.oracle.block_sweep import Reals, bytes_of_blocks, sweep_blocks
from fairlane.oracle.class_sweep import memory_of, sweep_classes
from fairlane.oracle.multisets import Multisets, multisets
from fairlane.oracle.packing import Packed
from fairlane.oracle.place_sweep import PlacePlan, sweep_one_axis
from fairlane.oracle.signatures import Rules
from fairlane.reference.errors import Unsupported

RANGE = {8: Fraction(10) ** 250, 4: Fraction(10) ** 25}
UNIT_ROUNDOFF = {8: Fraction(1, 2**53), 4: Fraction(1, 2**24)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """Signed expected costs of every canonical state (negative for the worst value), and their relative error.

    ``numbering[a]`` numbers the places of axis a, None where a place is a local state.
    """

    packed: Packed
    costs: Reals
    relative_error: Fraction
    worst: bool
    numbering: tuple[Multisets | None, ...]
    strides: tuple[int, ...]

    def number_of(self, digits: Sequence[Sequence[int]]) -> int:
        """The number of a canonical state, given by the sorted local states of each axis."""
        return sum(
            stride * (places[0] if found is None else found.number_of(places))
            for places, found, stride in zip(digits, self.numbering, self.strides, strict=True)
        )

    def digits_of(self, number: int) -> tuple[tuple[int, ...], ...]:
        """The sorted local states of each axis."""
        out = []
        for found, stride in zip(self.numbering, self.strides, strict=True):
            place, number = divmod(number, stride)
            out.append((place,) if found is None else tuple(found.digits[place].tolist()))
        return tuple(out)

    def bounds(self, number: int) -> tuple[Fraction, Fraction]:
        """Rigorous bounds on the expected cost of a state."""
        cost = Fraction(abs(float(self.costs[number])))
        return cost / (1 + self.relative_error), cost / (1 - self.relative_error)


def is_merged(packed: Packed) -> bool:
    """Whether some axis has several requests."""
    return any(axis.members > 1 for axis in packed.axes)


def bytes_needed(packed: Packed, threads: int, itemsize: int = 8) -> int:
    """Memory of a sweep, beforehand.

    Raises
    ------
    TooLarge
        More sets of requests than can be listed.
    """
    rules = Rules(packed.instance, packed.operators, worst=False)
    if not is_merged(packed):
        return bytes_of_blocks(packed, threads, itemsize)
    if len(packed.axes) == 1:
        return PlacePlan(packed, rules).bytes_needed(threads)
    return memory_of(packed, rules, threads).n_bytes


def relative_error_bound(packed: Packed, itemsize: int = 8) -> Fraction:
    """The a-priori bound of the module docstring, rounded up."""
    requests = sum(axis.members for axis in packed.axes)
    rows = max(g.decode_capacity for g in packed.instance.graphs)
    served = min(requests, rows + 1)
    outcomes = max(len(law) for axis in packed.axes for chain in axis.laws for law in chain)
    roundings = served * (outcomes + 1) + requests + 4
    if not is_merged(packed):
        roundings += outcomes**2 + 3
    elif len(packed.axes) > 1:
        roundings += 2 * outcomes**served + 2 * served + 2
    depth = sum(axis.members * (len(axis.chain) - 1) for axis in packed.axes)
    growth = depth * roundings * UNIT_ROUNDOFF[itemsize]
    if growth >= Fraction(1, 2):
        raise Unsupported(f"rounding over {depth:,} steps could exceed half of the value")
    return growth / (1 - growth)


def check_range(packed: Packed, itemsize: int = 8) -> None:
    """Refuse costs that could overflow, or underflow where a relative error would no longer hold.

    Raises
    ------
    Unsupported
        A product of duration, rates, steps and probabilities beyond 1e250 or below its reciprocal.
    """
    durations = [g.duration_ms for g in packed.instance.graphs]
    time_price = packed.instance.objective.time_price
    rates = [r for axis in packed.axes for r in axis.rates]
    most = time_price + sum((max(axis.rates) * axis.members for axis in packed.axes), Fraction(0))
    depth = sum(axis.members * (len(axis.chain) - 1) for axis in packed.axes)
    least = min((r for r in [time_price, *rates] if r > 0), default=Fraction(1))
    chance = min(p for axis in packed.axes for chain in axis.laws for law in chain for _, p in law)
    served = min(sum(axis.members for axis in packed.axes), 1 + max(g.decode_capacity for g in packed.instance.graphs))
    top = RANGE[itemsize]
    numbers = [*durations, *(r for r in [time_price, *rates] if r), chance**served]
    if (
        max(durations) * most * depth > top
        or min(durations) * least * chance**served < 1 / top
        or max(numbers) > top
        or min(numbers) < 1 / top
    ):
        raise Unsupported("costs or probabilities leave the range of floating-point numbers")


def sweep(
    packed: Packed,
    *,
    worst: bool = False,
    threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    itemsize: int = 8,
) -> Swept:
    """Expected cost of every canonical state.

    Parameters
    ----------
    packed : Packed
        The instance, merged or not.
    worst : bool
        The greatest cost over all policies instead of the least.
    threads : int or None
        Threads; all processors without it. The result is the same for any number.
    on_progress : callable or None
        Called with (states done, states).
    itemsize : int
        8 for doubles; 4 for single precision, where nothing is merged.

    Returns
    -------
    Swept
        One number a state.

    Raises
    ------
    Unsupported
        Costs beyond the range of floating-point numbers.
    """
    check_range(packed, itemsize)
    error = relative_error_bound(packed, itemsize)
    workers = threads if threads is not None else (os.cpu_count() or 1)
    merged = is_merged(packed)
    costs: Reals
    if not merged:
        costs = sweep_blocks(packed, worst=worst, threads=workers, on_progress=on_progress, itemsize=itemsize)
    elif len(packed.axes) == 1:
        costs = sweep_one_axis(packed, worst=worst, threads=workers, on_progress=on_progress)
    else:
        costs = sweep_classes(packed, worst=worst, threads=workers, on_progress=on_progress)
    costs.flags.writeable = False
    sizes = [axis.n_places for axis in packed.axes]
    numbering: list[Multisets | None] = []
    for axis in packed.axes:
        m = axis.members
        numbering.append(None if m == 1 else multisets(len(axis.chain), m, least=m)[m])
    return Swept(
        packed=packed,
        costs=costs,
        relative_error=error,
        worst=worst,
        numbering=tuple(numbering),
        strides=tuple(prod(sizes[a + 1 :]) for a in range(len(sizes))),
    )


def outward(lower: Fraction, upper: Fraction) -> tuple[float, float]:
    """Doubles that enclose an interval of rationals."""
    low, high = float(lower), float(upper)
    if Fraction(low) > lower:
        low = math.nextafter(low, -math.inf)
    if Fraction(high) < upper:
        high = math.nextafter(high, math.inf)
    return low, high


def is_zero(swept: Swept, number: int) -> bool:
    """Whether a cost is zero, which a relative error makes certain."""
    return bool(np.equal(swept.costs[number], 0.0))
