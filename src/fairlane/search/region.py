"""How far each number of a witness can move while it stays a witness: exact values, ends found by bisection.

The policy is a black box, so between the values that were tried nothing is proved: a region says how many were tried,
and its ends are values at which the answer was seen to change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fairlane.reference.exact import show
from fairlane.reference.model.instance import Instance
from fairlane.search.variation import Number, numbers, simplest_between, with_number

# how far a number is followed, as a factor of its value, and how finely an end is cut
FAR = 64
HALVINGS = 12
NEAR = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One end of a region: the value, and whether it belongs to it.

    ``sharp`` says that the answer was seen to change within 1e-9 of the value; otherwise the witness still holds as
    far as it was followed, or the change is known less closely.
    """

    value: Fraction
    included: bool
    sharp: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """The range of one number in which a witness stays one; ``tried`` values inside it were evaluated exactly."""

    number: Number
    low: End
    high: End
    tried: int

    def sentence(self) -> str:
        """The region in one sentence."""
        opening, closing = "[" if self.low.included else "(", "]" if self.high.included else ")"
        further = []
        if not self.low.sharp:
            further.append("below")
        if not self.high.sharp:
            further.append("above")
        beyond = f", and perhaps {' and '.join(further)} it" if further else ""
        values = "1 value" if self.tried == 1 else f"{self.tried} values"
        where = f"in {opening}{_brief(self.low.value)}, {_brief(self.high.value)}{closing}"
        if self.low.value == self.high.value:
            where = f"equal to {_brief(self.low.value)} alone"
        return f"It stays one for {self.number.label} {where}{beyond} ({values} tried)."


def _brief(value: Fraction) -> str:
    """A rational, or where it is long a decimal near it: the end was then not met exactly anyway."""
    return show(value) if len(show(value)) <= 9 else f"about {float(value):.6g}"


def regions(instance: Instance, holds: Callable[[Instance], bool]) -> tuple[Region, ...]:
    """The region of every number of a witness, one at a time.

    Parameters
    ----------
    instance : Instance
        A witness.
    holds : callable
        Whether an instance is one, exactly.
    """
    return tuple(_region(instance, number, holds) for number in numbers(instance))


def _region(instance: Instance, number: Number, holds: Callable[[Instance], bool]) -> Region:
    tried: dict[Fraction, bool] = {number.value: True}

    def good(value: Fraction) -> bool:
        if value not in tried:
            tried[value] = holds(with_number(instance, number, value))
        return tried[value]

    least = NEAR if number.positive else Fraction(0)
    most = number.highest if number.highest is not None else max(Fraction(1), number.value) * FAR
    low = _end(number.value, least, good, number_end=least)
    high = _end(number.value, most, good, number_end=number.highest)
    inside = sum(1 for value, answer in tried.items() if answer and low.value <= value <= high.value)
    return Region(number=number, low=low, high=high, tried=inside)


def _end(start: Fraction, limit: Fraction, good: Callable[[Fraction], bool], *, number_end: Fraction | None) -> End:
    """The end of the region between a value inside and the last value that is looked at.

    ``number_end`` is the last value that the number may have at all, None where it is unbounded.
    """
    if start == limit:
        return End(value=limit, included=True, sharp=True)
    inside, outside = start, limit
    # outwards first: a region with a hole far away must not hide its nearest end
    for k in range(1, 7):
        step = start + (limit - start) * Fraction(4**k, 4**6)
        if good(step):
            inside = step
        else:
            outside = step
            break
    else:
        # the end of the number's range itself, where there is one
        if limit == NEAR:
            return End(value=Fraction(0), included=False, sharp=True)
        return End(value=limit, included=True, sharp=limit == number_end)
    for _ in range(HALVINGS):
        middle = simplest_between(min(inside, outside), max(inside, outside))
        # the simplest value may lie next to one of the two; every second cut is in the middle
        for cut in (middle, (inside + outside) / 2):
            if min(inside, outside) < cut < max(inside, outside):
                if good(cut):
                    inside = cut
                else:
                    outside = cut
    # where the last cuts were all simple, one of the two is the end itself
    towards = NEAR if outside > inside else -NEAR
    if good(outside - towards):
        return End(value=outside, included=False, sharp=True)
    if not good(inside + towards):
        return End(value=inside, included=True, sharp=True)
    return End(value=inside, included=True, sharp=False)
