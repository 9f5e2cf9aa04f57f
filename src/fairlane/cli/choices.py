"""Options with a closed set of values, read without importing what defines them before it is needed."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import parse_number, show

Chosen = TypeVar("Chosen", bound=StrEnum)

MS_PER_UNIT = {"s": 1000, "ms": 1}


def choice(text: str, kind: type[Chosen], option: str) -> Chosen:
    """The member of an enum that an option names.

    Raises
    ------
    InvalidInstance
        No such member.
    """
    for member in kind:
        if member.value == text:
            return member
    raise InvalidInstance(f"{option} is {text!r}; need one of {', '.join(member.value for member in kind)}")


def time_unit(text: str | None) -> int | None:
    """Milliseconds in the unit that ``--time-unit`` states; None where it states none.

    Raises
    ------
    InvalidInstance
        Neither s nor ms.
    """
    if text is None:
        return None
    if text not in MS_PER_UNIT:
        raise InvalidInstance(f"--time-unit is {text!r}; need one of {', '.join(MS_PER_UNIT)}")
    return MS_PER_UNIT[text]


def positive_ms(text: str | None, option: str) -> float | None:
    """The time an option gives, milliseconds, > 0; None where it is not given.

    Raises
    ------
    InvalidInstance
        No number, or out of range.
    """
    if text is None:
        return None
    exact = parse_number(text, option)
    if not 0 < exact <= 10**15:
        raise InvalidInstance(f"{option} is {show(exact)}; need > 0 and <= 10^15 ms")
    return float(exact)
