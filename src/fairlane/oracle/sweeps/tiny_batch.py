"""Certified bounds on the optima of thousands of tiny instances, in one compiled sweep.

Each instance becomes one record of doubles, every number of it rounded once; the kernel builds local states and row
laws from the record and sweeps. What the kernel does not take (a price on age or energy, prompts that share a graph,
numbers at the ends of the range of doubles, more states than its arrays hold) goes to `solve`, one instance at a time.

Rounding. As in `rounding`, every number is a sum of products (and quotients) of numbers >= 0, so a term that passes
through m roundings is off by at most a factor 1 + g or 1 - g, g = m u / (1 - m u), u = 2^-53 (Higham, "Accuracy and
Stability of Numerical Algorithms", 2002, lemma 3.1). With K lengths in a prior, width w, B requests served at once, J
joint outcomes of those, r requests and D local steps in all:

- Mass at a length or beyond it: 1 rounded input and at most K - 1 sums that add something, K.
- A chance: at most w - 1 drafts in w - 2 products, 2 w; one more input or mass and its product, K + 1; a
  quotient by the mass beyond, K + 1; the finishing one is a sum of at most w of these: 3 w + 2 K + 2.
- An expectation: B chances, at most B products of them and with the value, J - 1 sums: B (3 w + 2 K + 3) + J.
- Waiting: weight, prices, their sum and product, 5; r sums with the price of time; duration and product, 2; the
  sum with the expectation, 1. In all r + 8.

So a cost is off by at most D (B (3 w + 2 K + 3) + J + r + 8) roundings. The value of all tokens is a sum of r terms
of at most a weight, two prices with their products and sum, a mean length of 2 K + 2, the product with the weight: r
+ 2 K + 8 roundings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fairlane.oracle.kernels.tiny_record import (
    ALL_REQUESTS,
    ALL_STEPS,
    GRAPH,
    HEAD,
    MOST_JOINT,
    MOST_LENGTHS,
    MOST_SERVED,
    MOST_WIDTH,
    PREFILL_VALUE,
    REQUEST,
)
from fairlane.oracle.rational.plain import Sense
from fairlane.oracle.solve import Solution, solve
from fairlane.reference.errors import TooLarge
from fairlane.reference.model.instance import Instance

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

UNIT = 2.0**-53
# records swept by one call of the kernel, which an interrupt waits for
AT_ONCE = 4096
PRICES = HEAD - PREFILL_VALUE


@dataclass(frozen=True, slots=True, kw_only=True)
class TinyResults:
    """Certified bounds on many optima, in the order of the instances.

    Attributes
    ----------
    lower, upper : ndarray
        float64, shape (n,): the optimum (the worst value for sense "min") is within them.
    states : ndarray
        int64, shape (n,): reachable unfinished states.
    swept : ndarray
        bool, shape (n,): whether the compiled sweep took the instance; otherwise `solve` did.
    sense : Sense
        Best or worst value.
    """

    lower: Floats
    upper: Floats
    states: Ints
    swept: Bools
    sense: Sense
    _instances: tuple[Instance, ...] = field(repr=False)
    _solved: dict[int, Solution] = field(repr=False)

    def __len__(self) -> int:
        return len(self._instances)

    def exact(self, which: Iterable[int] | None = None) -> tuple[Fraction, ...]:
        """Exact optima of some instances, each by one call of `solve`.

        Parameters
        ----------
        which : iterable of int or None
            Places in the list of instances; all of them without it.

        Returns
        -------
        tuple of Fraction
            In the order asked for.

        Raises
        ------
        TooLarge
            An instance whose exact value would take too many states.
        """
        return tuple(self._exact(k) for k in (range(len(self)) if which is None else which))

    def _exact(self, k: int) -> Fraction:
        known = self._solved.get(k)
        value = known.value if known is not None else None
        if value is None:
            value = solve(self._instances[k], sense=self.sense).value
        if value is None:
            instance = self._instances[k]
            raise TooLarge(f"instance {instance.name!r} has too many states for an exact value; see its bounds")
        return value


def pack(instances: Sequence[Instance]) -> tuple[Floats, Ints]:
    """One record of doubles an instance, and where each begins and ends.

    Parameters
    ----------
    instances : sequence of Instance
        Any; the record is empty where a number is beyond the doubles.

    Returns
    -------
    words, at : ndarray
        Doubles and int64; record r is ``words[at[r] : at[r + 1]]``.
    """
    try:
        words, at = _records(instances)
        return np.array(words, dtype=np.float64), np.array(at, dtype=np.int64)
    except OverflowError:
        if len(instances) == 1:
            return np.empty(0), np.zeros(2, dtype=np.int64)
    half = len(instances) // 2
    first, first_at = pack(instances[:half])
    second, second_at = pack(instances[half:])
    return np.concatenate([first, second]), np.concatenate([first_at, second_at[1:] + first_at[-1]])


def _records(instances: Sequence[Instance]) -> tuple[list[float], list[int]]:
    words: list[float] = []
    at = [0]
    # where an object's words were first written; the instances keep all of them alive, so an identity is a name
    written: dict[int, int] = {}
    first_at = written.setdefault
    for instance in instances:
        catalog, requests, prices = instance.graphs, instance.requests, instance.objective
        graphs = catalog.graphs
        words += (len(graphs), len(requests))
        here = len(words)
        known = first_at(id(prices), here)
        if known == here:
            for price in (
                prices.prefill_value,
                prices.decode_value,
                prices.time_price,
                prices.completion_price,
                prices.first_output_price,
                # the kernel takes neither of these
                prices.age_price + prices.energy_price,
            ):
                n, d = price.as_integer_ratio()
                # what a double rounds to 0 becomes a negative number, which the kernel refuses
                words.append(n / d or -(n > 0))
        else:
            words += words[known : known + PRICES]
        here += PRICES
        known = first_at(id(catalog), here)
        if known == here:
            for graph in graphs:
                n, d = graph.duration_ms.as_integer_ratio()
                words += (n / d, graph.prefill_capacity, graph.prefill_lanes, graph.decode_capacity, graph.width)
        else:
            words += words[known : known + GRAPH * len(graphs)]
        for request in requests:
            here = len(words)
            prior, acceptance = request.length_prior or (), request.acceptance
            known = first_at(id(request), here)
            if known != here:
                words += words[known : known + REQUEST + 2 * (len(prior) + len(acceptance))]
                continue
            n, d = request.weight.as_integer_ratio()
            words += (request.prompt, request.generated, request.limit, n / d, len(prior), len(acceptance))
            for length, mass in prior:
                n, d = mass.as_integer_ratio()
                words += (length, n / d)
            for q in acceptance:
                n, d = q.as_integer_ratio()
                # 1 - q from the exact q, since a difference of doubles loses what cancels
                words += (n / d or -(n > 0), (d - n) / d or -(n < d))
        at.append(len(words))
    return words, at


def cost_roundings(counts: Ints) -> Ints:
    """Most roundings that a term of a cost passes through, from the kernel's counts D, B, K, w, J, r."""
    steps, served, lengths = counts[:, ALL_STEPS], counts[:, MOST_SERVED], counts[:, MOST_LENGTHS]
    width, joint, requests = counts[:, MOST_WIDTH], counts[:, MOST_JOINT], counts[:, ALL_REQUESTS]
    return np.asarray(steps * (served * (3 * width + 2 * lengths + 3) + joint + requests + 8))


def earned_roundings(counts: Ints) -> Ints:
    """Most roundings that a term of the tokens' value passes through."""
    return np.asarray(counts[:, ALL_REQUESTS] + 2 * counts[:, MOST_LENGTHS] + 8)


def bounds(earned: Floats, costs: Floats, counts: Ints) -> tuple[Floats, Floats]:
    """Doubles that enclose the exact differences of what was earned and what it cost.

    Notes
    -----
    An exact number x of relative error g = m u / (1 - m u) is within g / (1 - g) = m u / (1 - 2 m u) of the computed
    one, relative to that; the factor 1 + 2^-20 covers this and the roundings of the radius itself where m < 2^30.
    Nothing is claimed of an instance with more, which a prior of very many lengths can have.
    """
    value = earned - costs
    radius = UNIT * (earned * earned_roundings(counts) + costs * cost_roundings(counts) + np.abs(value))
    radius *= 1 + 2.0**-20
    radius[np.maximum(earned_roundings(counts), cost_roundings(counts)) >= 2**30] = np.inf
    return np.nextafter(value - radius, -np.inf), np.nextafter(value + radius, np.inf)


def sweep_records(
    rows: Sequence[Instance], sense: Sense, on_progress: Callable[[int, int], None] | None = None
) -> tuple[Floats, Floats, Ints, Bools]:
    """Certified lower and upper bounds, states, and which of the instances the kernel took; the others' are void."""
    # compiled code: loading numba takes longer than a small instance
    from fairlane.oracle.kernels.tiny import empty_results, sweep_all
    from fairlane.oracle.kernels.tiny_tables import SWEPT, new_scratch

    earned, costs, states, counts, status = empty_results(len(rows))
    scratch = new_scratch()
    for first in range(0, len(rows), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        words, at = pack(rows[part])
        sweep_all(
            words, at, sense is Sense.MIN, scratch, earned[part], costs[part], states[part], counts[part], status[part]
        )
        if on_progress is not None:
            on_progress(min(first + AT_ONCE, len(rows)), len(rows))
    lower, upper = bounds(earned, costs, counts)
    return lower, upper, states, status == SWEPT


def solve_tiny(
    instances: Iterable[Instance],
    *,
    sense: Sense | str = Sense.MAX,
    on_progress: Callable[[int, int], None] | None = None,
) -> TinyResults:
    """Certified bounds on the optima of many small instances at once.

    Parameters
    ----------
    instances : iterable of Instance
        Any instances, possibly none. Those of at most 5,000 states without a price on age, without prompts that
        share a graph and with ordinary numbers are swept together; the others are solved one by one.
    sense : Sense or str
        "max" for the optimum, "min" for the worst value over all policies.
    on_progress : callable or None
        Called with (done, total) instances.

    Returns
    -------
    TinyResults
        Bounds that enclose all rounding, and state counts, in the order of the instances.

    Raises
    ------
    TooLarge
        An instance beyond the limits of `solve`; the message names it.

    Notes
    -----
    The first call in a process loads the compiled kernel; for a handful of instances `solve` answers sooner.

    Examples
    --------
    >>> from fairlane.reference import Graph, Instance, Objective, Request
    >>> one = Instance(
    ...     graphs=[Graph(name="d", duration_ms=2, decode_capacity=1)],
    ...     requests=[Request(id="a", prompt=0, limit=3)],
    ...     objective=Objective(decode_value=5, time_price=1),
    ... )
    >>> found = solve_tiny([one])
    >>> bool(found.lower[0] <= 9 <= found.upper[0]), found.exact(), found.states.tolist()
    (True, (Fraction(9, 1),), [3])
    """
    which = Sense(sense)
    rows = tuple(instances)
    lower, upper, states, swept = sweep_records(rows, which, on_progress)
    solved: dict[int, Solution] = {}
    for k in np.flatnonzero(~swept).tolist():
        solution = solved[k] = solve(rows[k], exact=False, sense=which)
        lower[k], upper[k], states[k] = solution.lower, solution.upper, solution.states
    for values in (lower, upper, states, swept):
        values.flags.writeable = False
    return TinyResults(
        lower=lower, upper=upper, states=states, swept=swept, sense=which, _instances=rows, _solved=solved
    )
