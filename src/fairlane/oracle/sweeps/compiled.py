"""The compiled backward sweep: certified bounds on the optimum of instances with millions of states.

Three kernels share the work: one axis a request, one axis for all requests (where all are exchangeable), and
several axes of exchangeable requests. `rounding` bounds their error beforehand.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from fairlane.oracle.encoding.multisets import Multisets, multisets
from fairlane.oracle.encoding.packing import Packed
from fairlane.oracle.encoding.rounding import check_range, relative_error_bound
from fairlane.oracle.encoding.signatures import Rules
from fairlane.oracle.kernels.arguments import Reals
from fairlane.oracle.sweeps.block_sweep import bytes_of_blocks, sweep_blocks
from fairlane.oracle.sweeps.class_sweep import memory_of, sweep_classes
from fairlane.oracle.sweeps.place_sweep import PlacePlan, sweep_one_axis


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
