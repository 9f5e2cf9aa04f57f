"""What makes an instance a witness: a gap above a threshold, or a predicate of the user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import cast

from fairlane.oracle.policy_value.evaluate import Evaluation, evaluate
from fairlane.oracle.policy_value.likely_run import RunBlock, optimal_run, policy_run
from fairlane.oracle.solve import Solution, solve
from fairlane.policies import load_attribute
from fairlane.reference.errors import PolicyError
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
    gap : Fraction or None
        Optimum minus value, where it is known already.
    """

    def __init__(self, instance: Instance, policy: Policy, *, gap: Fraction | None = None) -> None:
        self.instance = instance
        self.policy = policy
        self._gap = gap

    @property
    def gap(self) -> Fraction:
        """Optimum minus value, exact; the search knows it before it asks a predicate."""
        return self.evaluation.gap if self._gap is None else self._gap

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
        return optimal_run(self.instance, self.solution, beside=self.run)


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
    predicate : callable, str or None
        Takes a :class:`Case`; in place of the gap it says what a witness is. A string names it as ``module:attribute``,
        so that any process can load it.
    """

    measure: Measure = Measure.ABSOLUTE
    exceeds: Fraction = Fraction(0)
    predicate: Predicate | str | None = None

    def asks(self, case: Case) -> bool:
        """What the predicate says; there must be one."""
        assert self.predicate is not None, "without a predicate the gap decides"
        return bool((_loaded(self.predicate) if isinstance(self.predicate, str) else self.predicate)(case))

    def gap_of(self, gap: Fraction, optimum: Fraction) -> Fraction | None:
        """The gap that counts; None for a relative one where the optimum is 0."""
        if self.measure is Measure.ABSOLUTE:
            return gap
        return gap / abs(optimum) if optimum else None

    def holds(self, case: Case) -> bool:
        """Whether an instance is a witness, from its exact evaluation."""
        if self.predicate is not None:
            return self.asks(case)
        found = self.gap_of(case.evaluation.gap, case.evaluation.optimum)
        return found is not None and found > self.exceeds


@lru_cache(maxsize=16)
def _loaded(name: str) -> Predicate:
    found = load_attribute(name, "predicate")
    if not callable(found):
        raise PolicyError(f"predicate {name!r} is a {type(found).__name__}; need a function of a case")
    return cast(Predicate, found)
