"""Every policy's regret on small solved instances, in rationals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairlane.oracle.policy_value.verify import VerifyRow, verify_instance
from fairlane.oracle.solve import solve
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.instance import Instance


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRegret:
    """Exact relative gaps of one policy.

    Attributes
    ----------
    policy : str
        Its label.
    n_instances : int
        Instances it was asked to run on.
    optimal_on : int
        Those on which it attains the optimum.
    n_gaps : int
        Those that have a relative gap: it broke no rule there and the optimum is not 0.
    mean_gap, largest_gap : Fraction or None
        Of the relative gaps, gap over the size of the optimum, >= 0; None without any.
    worst : str or None
        Where the largest gap is, the first such instance; None where no gap is positive.
    failure : str or None
        The first rule it broke, with the instance.
    rows : tuple of VerifyRow
        What the figures are made of, one an instance.
    """

    policy: str
    n_instances: int
    optimal_on: int
    n_gaps: int
    mean_gap: Fraction | None
    largest_gap: Fraction | None
    worst: str | None
    failure: str | None
    rows: tuple[VerifyRow, ...]


def suite_regret(
    policies: Mapping[str, object],
    instances: Sequence[Instance],
    *,
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[PolicyRegret, ...]:
    """Exact regret of policies over instances.

    Parameters
    ----------
    policies : mapping of str to policy
        Labels and policies.
    instances : sequence of Instance
        At least one, each small enough for `solve`.
    on_progress : callable or None
        Called with (policies evaluated, of how many), over all instances.

    Returns
    -------
    tuple of PolicyRegret
        In the order of the policies. All figures are rationals.

    Raises
    ------
    InvalidInstance
        No instance.
    TooLarge
        An instance beyond the exact solver.
    """
    if not instances:
        raise InvalidInstance("instances is empty; need at least one")
    rows: dict[str, list[VerifyRow]] = {label: [] for label in policies}
    done, total = 0, len(policies) * len(instances)
    for instance in instances:
        for row in verify_instance(instance, policies, solution=solve(instance)):
            rows[row.policy].append(row)
            done += 1
            if on_progress is not None:
                on_progress(done, total)
    return tuple(_regret(label, found) for label, found in rows.items())


def _regret(policy: str, rows: Sequence[VerifyRow]) -> PolicyRegret:
    gaps = [
        (row.evaluation.relative_gap, row.instance.name)
        for row in rows
        if row.evaluation is not None and row.evaluation.relative_gap is not None
    ]
    largest = max(gaps, key=lambda pair: pair[0], default=None)
    failures = [f"{row.instance.name}: {row.failure}" for row in rows if row.failure is not None]
    return PolicyRegret(
        policy=policy,
        n_instances=len(rows),
        optimal_on=sum(row.evaluation is not None and row.evaluation.gap == 0 for row in rows),
        n_gaps=len(gaps),
        mean_gap=sum((gap for gap, _ in gaps), Fraction(0)) / len(gaps) if gaps else None,
        largest_gap=largest[0] if largest else None,
        worst=largest[1] if largest and largest[0] > 0 else None,
        failure=failures[0] if failures else None,
        rows=tuple(rows),
    )
