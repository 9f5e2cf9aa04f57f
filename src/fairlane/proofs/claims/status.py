"""What a claim can be worth: statuses, strengths, and how doubt passes on to dependents.

Nothing here can be typed by an author. A status is derived from an outcome, from the weakest claim that it
rests on, and from the date; a strength is derived from the evidence that was produced.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """What a claim's own evidence says."""

    HOLDS = "holds"
    CITED = "cited"
    ASSUMED = "assumed"
    DEFINED = "defined"
    UNKNOWN = "unknown"
    STALE = "stale"
    FAILED = "failed"


class Strength(StrEnum):
    """The kind of evidence behind a claim, strongest first."""

    CERTIFICATE = "certificate"
    TWO_SOLVERS = "two solvers"
    ONE_SOLVER = "one solver"
    ENUMERATED = "enumerated"
    EXACT = "exact"
    STATISTICAL = "statistical"
    RECORDED = "recorded"
    NUMERIC = "numeric"
    CITED = "cited"
    ASSUMED = "assumed"


class Colour(StrEnum):
    """What a reader sees first."""

    GREEN = "green"
    GREY = "grey"
    AMBER = "amber"
    RED = "red"


STRENGTHS = tuple(Strength)
_GREY = frozenset({Status.CITED, Status.ASSUMED, Status.DEFINED})
# Worst first. What is merely out of date or undecided may still turn out fine; what failed does not.
_BADNESS = {Status.FAILED: 0, Status.UNKNOWN: 1, Status.STALE: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What running one claim gave.

    Parameters
    ----------
    status : Status
        The claim's own status.
    strength : Strength or None
        None where nothing was established.
    summary : str
        One line: why it holds, or what went wrong.
    evidence : tuple of str
        What was run and what came back, a line each.
    value : str or None
        Exact text of the number the claim establishes, for use in prose.
    settled : bool
        False where the machine's speed decided the outcome (a wall-clock limit); such outcomes are not kept.
    """

    status: Status
    strength: Strength | None
    summary: str
    evidence: tuple[str, ...] = ()
    value: str | None = None
    settled: bool = True


def weakness(status: Status, strength: Strength | None) -> tuple[int, int]:
    """Sort key: the smaller, the weaker the claim.

    Examples
    --------
    >>> weakness(Status.FAILED, None) < weakness(Status.HOLDS, Strength.NUMERIC)
    True
    >>> weakness(Status.HOLDS, Strength.NUMERIC) < weakness(Status.HOLDS, Strength.EXACT)
    True
    """
    place = STRENGTHS.index(strength) if strength is not None else len(STRENGTHS)
    return (_BADNESS.get(status, 3), -place)


def is_sound(status: Status) -> bool:
    """Whether dependents may rest on it: it holds, or it is openly no result of ours."""
    return status is Status.HOLDS or status in _GREY


def colour_of(own: Status, weakest: Status | None) -> Colour:
    """What a claim shows, given its own status and its weakest ancestor's.

    Parameters
    ----------
    own : Status
        The claim's own status.
    weakest : Status or None
        The status of the weakest claim it rests on, None where it rests on none.

    Returns
    -------
    Colour
        GREEN only where the claim holds and nothing below it is in doubt.
    """
    if own is Status.FAILED:
        return Colour.RED
    if own in (Status.UNKNOWN, Status.STALE) or (weakest is not None and not is_sound(weakest)):
        return Colour.AMBER
    return Colour.GREY if own in _GREY else Colour.GREEN
