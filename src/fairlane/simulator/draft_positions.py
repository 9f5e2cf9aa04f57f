"""Acceptance by draft position: how often a draft was accepted, and how often once those before it were.

The conditional rate of position j is the model's ``acceptance`` of draft j; the marginal rate is the product of the
conditional ones up to j, and the tokens of a verification are 1 plus the marginal rates in expectation.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fairlane.reference.errors import InvalidInstance

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftPosition:
    """Counts of one position.

    Attributes
    ----------
    position : int
        From 1.
    proposed : int
        Verifications that proposed a draft here.
    reached : int
        Those of them whose earlier drafts were all accepted.
    accepted : int
        Those of them that accepted this one too.
    """

    position: int
    proposed: int
    reached: int
    accepted: int

    def __post_init__(self) -> None:
        if not 0 <= self.accepted <= self.reached <= self.proposed:
            raise InvalidInstance(
                f"draft position {self.position} has {self.accepted} accepted of {self.reached} reached of "
                f"{self.proposed} proposed; need them in falling order"
            )

    @property
    def conditional(self) -> Fraction | None:
        """Accepted, given that the drafts before were; None where that never happened."""
        return Fraction(self.accepted, self.reached) if self.reached else None

    @property
    def marginal(self) -> Fraction | None:
        """Accepted of all proposed here."""
        return Fraction(self.accepted, self.proposed) if self.proposed else None


def draft_positions(proposed: Integers, accepted: Integers) -> tuple[DraftPosition, ...]:
    """Counts by position from verifications.

    Parameters
    ----------
    proposed, accepted : int64, shape (n,)
        Drafts of each verification; the accepted ones are the first.

    Returns
    -------
    tuple of DraftPosition
        Positions 1 to the most drafts proposed at once.

    Examples
    --------
    >>> found = draft_positions(np.array([2, 2, 1]), np.array([2, 0, 1]))
    >>> [(p.position, p.proposed, p.reached, p.accepted) for p in found]
    [(1, 3, 3, 2), (2, 2, 1, 1)]
    """
    out = []
    for j in range(1, int(proposed.max(initial=0)) + 1):
        here = proposed >= j
        out.append(
            DraftPosition(
                position=j,
                proposed=int(here.sum()),
                reached=int((here & (accepted >= j - 1)).sum()),
                accepted=int((here & (accepted >= j)).sum()),
            )
        )
    return tuple(out)
