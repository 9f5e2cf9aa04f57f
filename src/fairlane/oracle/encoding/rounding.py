"""How far a compiled sweep can be from the exact costs, known before it starts.

In cost form every number is >= 0 and every value is a sum of products of values of later states. If every term of a
sum passes through at most m roundings, each by a factor within 1 ± u of the unit roundoff u, the sum has a relative
error of at most (1 + u)^m - 1 (Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 3.1), and
minima keep the largest relative error of what they compare. It holds while nothing leaves the range of normal
numbers, which `check_range` makes sure of.

Let one step serve at most B requests, whose operators have at most w outcomes. What a term passes through:

- An operator: a rounded coefficient, a product, and at most w - 1 sums in any order (adding an exact zero rounds
  nothing), w + 1 in all.
- Two requests on the two outermost axes are taken at once: two coefficients, their product, the product with the
  value, w^2 - 1 sums, w^2 + 3 in all.
- The joint law of merged requests on an outer axis: B coefficients and B products; where outcomes meet in one place,
  at most w - 1 sums for each request, since an outcome and a place it leads to fix the place it comes from. Then a
  product with the value and at most w^B - 1 sums. That is below 2 w^B + 2 B + 2 for all outer axes together.
- The waiting cost: a rounded duration, r + 1 rounded rates in at most r sums, one product, one sum with the
  expectation, r + 4 in all; where launches have fees, the sum with the fee is one more.

Over the D local steps that the requests have together these add up, and the roots are wrong by at most
(1 + u)^(D m) - 1 <= D m u / (1 - D m u), relatively.
"""

from __future__ import annotations

from fractions import Fraction

from fairlane.oracle.encoding.packing import Packed
from fairlane.reference.errors import Unsupported
from fairlane.reference.model.pricing import charges_launches, launch_cost

# well inside the range of normal numbers, by the bytes of one
RANGE = {8: Fraction(10) ** 250, 4: Fraction(10) ** 25}
UNIT_ROUNDOFF = {8: Fraction(1, 2**53), 4: Fraction(1, 2**24)}


def most_served(packed: Packed) -> int:
    """Most requests served in one step: decode rows and a prompt."""
    requests = sum(axis.members for axis in packed.axes)
    return min(requests, max(g.decode_capacity + (g.prefill_capacity > 0) for g in packed.instance.graphs))


def most_outcomes(packed: Packed) -> int:
    """Most outcomes of one operator at one local state."""
    return max((len(law) for axis in packed.axes for chain in axis.laws for law in chain), default=1)


def step_roundings(packed: Packed) -> int:
    """Roundings that a term of one step can pass through; see the module docstring."""
    requests = sum(axis.members for axis in packed.axes)
    served, outcomes = most_served(packed), most_outcomes(packed)
    roundings = served * (outcomes + 1) + requests + 4 + charges_launches(packed.instance)
    if all(axis.members == 1 for axis in packed.axes):
        return int(roundings + outcomes**2 + 3)
    if len(packed.axes) > 1:
        roundings += 2 * outcomes**served + 2 * served + 2
    return int(roundings)


def action_roundings(packed: Packed) -> int:
    """Roundings of one set's cost found as one plain sum over the joint outcomes of all its requests."""
    requests = sum(axis.members for axis in packed.axes)
    served = most_served(packed)
    return int(most_outcomes(packed) ** served + 2 * served + requests + 8 + charges_launches(packed.instance))


def depth(packed: Packed) -> int:
    """Local steps that the requests have together, which no run exceeds."""
    return sum(axis.members * (len(axis.chain) - 1) for axis in packed.axes)


def relative_error(roundings: int, itemsize: int = 8) -> Fraction:
    """An upper bound on (1 + u)^m - 1, which is m u / (1 - m u).

    Raises
    ------
    Unsupported
        An error that could exceed half of the value.
    """
    growth = roundings * UNIT_ROUNDOFF[itemsize]
    if growth >= Fraction(1, 3):
        raise Unsupported(f"{roundings:,} roundings in a row could change a value by half")
    return growth / (1 - growth)


def relative_error_bound(packed: Packed, itemsize: int = 8) -> Fraction:
    """Relative error of every cost of a sweep in numbers of so many bytes."""
    return relative_error(depth(packed) * step_roundings(packed), itemsize)


def check_range(packed: Packed, itemsize: int = 8) -> None:
    """Refuse costs that could overflow, or underflow where a relative error would no longer hold.

    Rates fall as requests progress, so the cost of a state is 0 or at least a duration times its own rate, and the
    smallest number met is such a cost times the chances of one joint outcome. A fee is at least paid in the last of all
    steps, after as many joint outcomes as there are steps.

    Raises
    ------
    Unsupported
        A product of duration, rates, steps and probabilities beyond the range.
    """
    durations = [g.duration_ms for g in packed.instance.graphs]
    time_price = packed.instance.objective.time_price
    rates = [r for axis in packed.axes for r in axis.rates]
    priced = [r for r in (time_price, *rates) if r]
    most = time_price + sum((max(axis.rates) * axis.members for axis in packed.axes), Fraction(0))
    least = min(priced, default=Fraction(1))
    chances = (p for axis in packed.axes for chain in axis.laws for law in chain for _, p in law)
    joint = min(chances, default=Fraction(1)) ** most_served(packed)
    top = RANGE[itemsize]
    numbers = [*durations, *priced, joint, max(durations) * most * depth(packed) or 1, min(durations) * least * joint]
    fees = [fee for g in packed.instance.graphs if (fee := launch_cost(packed.instance.objective, g))]
    if fees:
        numbers += [*fees, (max(fees) + max(durations) * most) * depth(packed), min(fees) * joint ** depth(packed)]
    if max(numbers) > top or min(numbers) < 1 / top:
        raise Unsupported("costs or probabilities leave the range of floating-point numbers")
