"""What a search hands back: a witness with its evidence, and what is proved of everything that was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from fairlane.oracle.policy_value.evaluate import Evaluation
from fairlane.reference.model.instance import Instance
from fairlane.search.case import Aim
from fairlane.search.enumeration import Found
from fairlane.search.failure import PolicyFailure
from fairlane.search.region import Region
from fairlane.search.size import Size, size_of


class Status(StrEnum):
    """What is known of a witness's size.

    ``global-min``: every smaller instance of the space was looked at. ``local-min``: no single step of the
    minimisation makes it smaller. ``found``: it was not minimised, or not to the end.
    """

    GLOBAL_MIN = "global-min"
    LOCAL_MIN = "local-min"
    FOUND = "found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """An instance on which a policy is worse than optimal, or does what a predicate describes.

    ``evaluation`` is the exact replay by :func:`fairlane.oracle.evaluate`; ``origin`` says what proposed it;
    ``regions`` are the ranges of single numbers in which the witness remains one.
    """

    instance: Instance
    policy: str
    evaluation: Evaluation
    status: Status
    origin: str
    explanation: str
    regions: tuple[Region, ...] = ()

    @property
    def value(self) -> Fraction:
        """The policy's exact value."""
        return self.evaluation.value

    @property
    def optimum(self) -> Fraction:
        """The exact optimum."""
        return self.evaluation.optimum

    @property
    def gap(self) -> Fraction:
        """Optimum minus value."""
        return self.evaluation.gap

    @property
    def relative_gap(self) -> Fraction | None:
        """Gap over the size of the optimum; None where the optimum is 0."""
        return self.evaluation.relative_gap

    @property
    def size(self) -> Size:
        """Its place in the order of size."""
        return size_of(self.instance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Both sides of the answer.

    Attributes
    ----------
    counterexample : Counterexample or None
        The smallest witness known.
    worst : Found or None
        The largest gap that was met in the enumeration, above the aim's threshold or not.
    instances : int
        Instances looked at in order of size, each with exact values.
    unmeasured : int
        Those among them without a relative gap, where that is what counts.
    proposed : int
        Instances looked at in no certain order, as proposals or while minimising.
    exhaustive : bool
        Whether the whole space was looked at.
    complete : tuple of int or None
        (requests, tokens, graphs) of the last block of sizes that was looked at whole.
    failure : PolicyFailure or None
        Where the policy broke, which ends a search.
    """

    policy: str
    aim: Aim
    counterexample: Counterexample | None
    worst: Found | None
    instances: int
    unmeasured: int
    proposed: int
    exhaustive: bool
    complete: tuple[int, int, int] | None
    failure: PolicyFailure | None

    @property
    def bound(self) -> Fraction:
        """The largest gap, as the aim measures it, among all instances looked at in order of size."""
        if self.worst is None:
            return Fraction(0)
        return self.aim.gap_of(self.worst.gap, self.worst.optimum) or Fraction(0)
