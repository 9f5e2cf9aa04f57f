"""Prompts as items of a knapsack: tokens, the value of a token, and the value of completing."""

from __future__ import annotations

from typing import NamedTuple

from fairlane.reference.exact import Real


class Prompt(NamedTuple):
    """One item: prompt tokens > 0, value a token > 0, and value of completing it >= 0."""

    tokens: int
    rate: Real
    bonus: Real


class WholePrompt(NamedTuple):
    """A prompt whose prices are whole numbers of some unit."""

    tokens: int
    rate: int
    bonus: int

    @property
    def full(self) -> int:
        """Value of consuming all of it."""
        return self.rate * self.tokens + self.bonus
