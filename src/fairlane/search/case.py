"""What makes an instance a witness: a gap above a threshold, or a predicate of the user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

from fairlane.oracle.policy_value.evaluate import Evaluation, evaluate
from fairlane.oracle.policy_value.likely_run import RunBlock, optimal_run, policy_run
from fairlane.oracle.solve import Solution, solve
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import Policy


class Measure(StrEnum):
    """Which gap counts: optimum - value, or that over the size of the optimum."""

    ABSOLUTE = "absolute"
    RELATIVE = "relative"


class Case:
    """One instance with one policy, as a predicate sees it; exact values and runs are worked out when asked for.

    Parameters
    ----------
    instance : Instance
        The instance.
    policy : Policy
        The policy.
    """

    def __init__(self, instance: Instance, policy: Policy) -> None:
        self.instance = instance
        self.policy = policy

    @cached_property
    def solution(self) -> Solution:
        """The solved instance."""
        return solve(self.instance)

    @cached_property
    def evaluation(self) -> Evaluation:
        """Exact value, optimum, gap and losing decisions."""
        return evaluate(self.instance, self.policy, solution=self.solution)

    @cached_property
    def run(self) -> tuple[RunBlock, ...]:
        """The policy's run in which the likeliest outcome happens at every completion."""
        return policy_run(self.instance, self.policy)

    @cached_property
    def best_run(self) -> tuple[RunBlock, ...]:
        """Such a run of an optimal policy."""
        return optimal_run(self.instance, self.solution)


Predicate = Callable[[Case], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What is looked for.

    Parameters
    ----------
    measure : Measure
        Which gap is compared and made large.
    exceeds : Fraction
        A gap above this makes a witness, >= 0.
    predicate : callable or None
        Takes a :class:`Case`; in place of the gap it says what a witness is.
    """

    measure: Measure = Measure.ABSOLUTE
    exceeds: Fraction = Fraction(0)
    predicate: Predicate | None = None

    def gap_of(self, gap: Fraction, optimum: Fraction) -> Fraction | None:
        """The gap that counts; None for a relative one where the optimum is 0."""
        if self.measure is Measure.ABSOLUTE:
            return gap
        return gap / abs(optimum) if optimum else None

    def holds(self, case: Case) -> bool:
        """Whether an instance is a witness, from its exact evaluation."""
        if self.predicate is not None:
            return bool(self.predicate(case))
        found = self.gap_of(case.evaluation.gap, case.evaluation.optimum)
        return found is not None and found > self.exceeds
