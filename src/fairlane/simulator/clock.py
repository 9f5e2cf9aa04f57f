"""Exact model time as whole ticks, so that an arrival at the instant of a completion is never missed by rounding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real


@dataclass(frozen=True, slots=True)
class Clock:
    """Ticks of 1 / ``per_ms`` milliseconds.

    With ``exact`` the times shown to a policy are Fractions, otherwise the nearest doubles.
    """

    per_ms: int
    exact: bool = False

    def ticks(self, time_ms: Fraction) -> int:
        """A time of the grid as ticks."""
        scaled = time_ms.numerator * self.per_ms
        ticks, rest = divmod(scaled, time_ms.denominator)
        assert rest == 0, "the grid holds every time it was made for"
        return ticks

    def show_ms(self, ticks: int) -> Real:
        """Ticks as milliseconds, for a view."""
        return Fraction(ticks, self.per_ms) if self.exact else ticks / self.per_ms


def clock_for(times_ms: Iterable[Fraction], *, exact: bool = False) -> Clock:
    """The coarsest clock whose grid holds all the given times."""
    per_ms = 1
    for denominator in {t.denominator for t in times_ms}:
        per_ms = lcm(per_ms, denominator)
    # reported times are doubles; a tick count beyond their range could not be divided
    if per_ms.bit_length() > 900:
        raise InvalidInstance(
            "durations and arrivals have a common denominator beyond 2^900; need times on a coarser common grid"
        )
    return Clock(per_ms, exact)
