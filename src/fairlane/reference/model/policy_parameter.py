"""Numbers that a policy's rule leaves open, and how they are set."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairlane.reference.errors import PolicyError
from fairlane.reference.exact import Real, show


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyParameter:
    """A parameter of a policy: a field of the policy's dataclass, and what it means, with its unit.

    Values are >= 0, and > 0 where ``positive``; an ``exact`` one is kept as a Fraction, others as doubles.
    """

    name: str
    meaning: str
    positive: bool = False
    exact: bool = False

    def taken(self, value: Fraction, policy: str) -> Real:
        """A value as the policy keeps it.

        Raises
        ------
        PolicyError
            It is out of range.
        """
        if value < 0 or (self.positive and value == 0) or value > 10**15:
            need = "> 0" if self.positive else ">= 0"
            raise PolicyError(f"{policy}.{self.name} is {show(value)}; need {need} and <= 10^15")
        if self.exact:
            return value
        if value and not float(value):
            raise PolicyError(f"{policy}.{self.name} is below the least double; need a larger number or 0")
        return float(value)
