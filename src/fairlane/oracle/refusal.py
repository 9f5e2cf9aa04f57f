"""Refusals: why a backend does not take an instance, and where it is a matter of size, what would make it fit."""

from __future__ import annotations

from typing import NamedTuple

from fairlane.reference.errors import TooLarge, Unsupported
from fairlane.reference.model.instance import Instance

GIB = 2**30
REMEDY = "a greater max_states (--max-states), fewer requests or lower output limits make it fit"


class Refusal(NamedTuple):
    """Why a backend does not take an instance.

    ``states`` is how many the instance has at least, where size is the reason; 0 where it is not.
    """

    reason: str
    states: int = 0

    @classmethod
    def of(cls, error: Unsupported) -> Refusal:
        """The refusal behind an exception."""
        return cls(str(error), max(1, error.states) if isinstance(error, TooLarge) else 0)

    def error(self) -> Unsupported:
        """The refusal as an exception."""
        return TooLarge(self.reason, states=self.states) if self.states else Unsupported(self.reason)


def counted(instance: Instance, states: int, most: int, taker: str) -> TooLarge:
    """An instance whose states were counted before any work."""
    return TooLarge(
        f"instance {instance.name!r} has {states:,} states; {taker} takes at most {most:,}; {REMEDY}", states=states
    )


def met(instance: Instance, most: int, what: str = "states") -> TooLarge:
    """An instance whose states were found one by one until they were too many."""
    return TooLarge(
        f"instance {instance.name!r} has more than {most:,} {what}; the limit is {most:,}; {REMEDY}", states=most + 1
    )


def oversized(instance: Instance, states: int, what: str, needed: int, most: int) -> TooLarge:
    """States that do not fit into the memory; ``needed`` and ``most`` are bytes."""
    return TooLarge(
        f"instance {instance.name!r} has {states:,} {what}, which take {needed / GIB:,.3f} GiB; the limit is "
        f"{most / GIB:,.3f} GiB; max_bytes={needed}, fewer requests or lower output limits make it fit",
        states=states,
    )


def table_beyond(instance: Instance, states: int, needed: int, most: int) -> TooLarge:
    """A search whose table for the states found so far does not fit into the memory; sizes in bytes."""
    return TooLarge(
        f"instance {instance.name!r} needs a table for more than {states:,} states with their ages, which takes "
        f"{needed / GIB:,.3f} GiB; the limit is {most / GIB:,.3f} GiB; max_bytes={needed} or more, fewer requests, "
        "lower output limits or durations on a coarser grid make it fit",
        states=states,
    )
