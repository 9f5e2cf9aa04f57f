"""Keys that stand for one object."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Same(Generic[T]):
    """A key for what is kept of one object; hashing its rationals would cost more than what is looked up by them.

    The object is kept alive with its key, so that its identity is not given to another one.
    """

    __slots__ = ("of",)

    def __init__(self, of: T) -> None:
        self.of = of

    def __hash__(self) -> int:
        return id(self.of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.of is other.of
