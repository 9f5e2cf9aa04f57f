"""A number whose comparison is too generous, for tests of what an exact claim accepts."""

from __future__ import annotations


class Loose:
    """Equal to whatever is within 10."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (int, float)) and abs(self.value - other) <= 10

    def __hash__(self) -> int:
        return 0
