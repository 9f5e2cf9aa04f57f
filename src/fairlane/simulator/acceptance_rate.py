"""Acceptance of drafts: accepted over proposed, and nothing proposed is no rate."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fairlane.reference.errors import InvalidInstance


def acceptance_rate(accepted: int, proposed: int) -> Fraction | None:
    """Accepted drafts over proposed drafts.

    The token that every verification round yields anyway is no draft and is in neither count.

    Parameters
    ----------
    accepted, proposed : int
        Draft tokens, 0 <= accepted <= proposed.

    Returns
    -------
    Fraction or None
        Between 0 and 1; None where nothing was proposed.

    Raises
    ------
    InvalidInstance
        Counts out of range.

    Examples
    --------
    >>> acceptance_rate(6, 12), acceptance_rate(0, 0)
    (Fraction(1, 2), None)
    """
    if not 0 <= accepted <= proposed:
        raise InvalidInstance(f"accepted is {accepted} of {proposed} drafts; need between 0 and the number proposed")
    return Fraction(accepted, proposed) if proposed else None


def acceptance_of_rounds(accepted: Sequence[int], *, proposed_per_round: int) -> Fraction | None:
    """Acceptance over rounds that each propose equally many drafts; see :func:`acceptance_rate`."""
    for i, count in enumerate(accepted):
        if not 0 <= count <= max(0, proposed_per_round):
            raise InvalidInstance(
                f"accepted[{i}] is {count}; need between 0 and {proposed_per_round}, the drafts proposed"
            )
    return acceptance_rate(sum(accepted), len(accepted) * proposed_per_round)
