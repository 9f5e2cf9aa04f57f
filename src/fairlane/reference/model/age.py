"""Output age: the area a waiting stream accrues while a graph runs."""

from __future__ import annotations

from fractions import Fraction

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction


def output_age_area(age_ms: Real | str, duration_ms: Real | str) -> Fraction:
    """Integral of a stream's output age over a graph, A T + T²/2.

    Parameters
    ----------
    age_ms : number
        Age A when the graph starts, milliseconds, >= 0.
    duration_ms : number
        The graph's duration T, milliseconds, >= 0.

    Returns
    -------
    Fraction
        Request·ms², >= 0.

    Raises
    ------
    InvalidInstance
        A negative or non-finite argument.

    Examples
    --------
    >>> output_age_area(3, 2)
    Fraction(8, 1)
    """
    age = as_fraction(age_ms, "age_ms")
    duration = as_fraction(duration_ms, "duration_ms")
    if age < 0:
        raise InvalidInstance(f"age_ms is {age}; need >= 0")
    if duration < 0:
        raise InvalidInstance(f"duration_ms is {duration}; need >= 0")
    return age * duration + duration * duration / 2
