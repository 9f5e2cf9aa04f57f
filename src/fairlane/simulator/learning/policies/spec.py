"""What a learning policy registers: its nomination, and the rules of knowledge that stand under it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from fairlane.simulator.learning.situation import Nomination, Situation

Nominate = Callable[[Situation], Nomination | None]


class Lifetime(Enum):
    """Whether a measurement stops counting."""

    KEPT = "kept"  # never
    TTL = "ttl"  # strictly later than ttl_ms after the last valid completion
    JITTERED = "jittered"  # likewise, at a time drawn for each measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPolicySpec:
    """A registered learning policy.

    Attributes
    ----------
    name, source : str
        Its name, and the rule it follows in one line.
    nominate : callable or None
        What it would rather run at an opportunity; None never explores on purpose.
    means : tuple of str
        Operational means it may use, its own first.
    unknown_first : bool
        An unknown feasible graph runs before anything else, padded ones apart.
    lifetime : Lifetime
        Whether a measured mean expires, so that the graph is unknown again.
    fresh_ttl : bool
        The first valid timing after ttl_ms replaces the exponential mean.
    refreshes : bool
        Every sixteenth opportunity goes to the least recently attempted alternative.
    told : bool
        Decides on conditional mean costs, which nobody else sees.
    bounds_delay : bool
        Understands limits of service delay.
    compiled : int or None
        Its nomination among those of `kernels.columns`; None runs on the readable engine alone.
    """

    name: str
    source: str
    nominate: Nominate | None = None
    means: tuple[str, ...] = ("arithmetic", "ema", "median9")
    unknown_first: bool = False
    lifetime: Lifetime = Lifetime.KEPT
    fresh_ttl: bool = False
    refreshes: bool = True
    told: bool = False
    bounds_delay: bool = False
    compiled: int | None = None
