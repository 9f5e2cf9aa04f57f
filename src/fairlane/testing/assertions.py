"""Assertions on the exact gap of a policy."""

from __future__ import annotations

from fairlane.oracle.policy_value.evaluate import Evaluation, evaluate
from fairlane.policies import load_policy
from fairlane.reference.errors import PolicyError
from fairlane.reference.exact import Real, as_fraction
from fairlane.reference.model.instance import Instance
from fairlane.testing.verdict import again, breach, failure_text, kept, limit_of, name_of


def assert_within(
    policy: object, instance: Instance, *, relative_gap: Real | str | None = None, gap: Real | str | None = None
) -> Evaluation:
    """Fail unless a policy's exact gap to the optimum is small enough.

    Parameters
    ----------
    policy : str, Policy, PolicySpec or callable
        A built-in name, ``module:attribute``, or the object itself.
    instance : Instance
        Small enough to solve exactly.
    relative_gap : number or None
        Most gap over the size of the optimum, as a number, ``"1/20"`` or ``"5%"``. Where the optimum is 0 the gap
        itself must be 0.
    gap : number or None
        Most gap, in reward.

    Returns
    -------
    Evaluation
        The exact evaluation, for further assertions.

    Raises
    ------
    AssertionError
        The gap exceeds a limit, or the policy broke a rule; the message has the values, the first wrong decision, and
        the command that shows it, on a file that is written for it.
    InvalidInstance
        A limit that is no number.
    PolicyError
        A policy that cannot be loaded.
    """
    # pytest shows the line that called, and none of ours
    __tracebackhide__ = True
    most = None if relative_gap is None else limit_of(relative_gap, "relative_gap")
    most_gap = None if gap is None else as_fraction(gap, "gap")
    rule = load_policy(policy) if isinstance(policy, str) else policy
    label = name_of(policy)
    try:
        result = evaluate(instance, rule)
    except PolicyError as error:
        told = f"{label} on {instance.name}: {error}\n  run again: {again(label, kept(instance))}"
        raise AssertionError(told) from error.__cause__
    exceeded = breach(result, relative_gap=most, gap=most_gap)
    if exceeded is not None:
        raise AssertionError(failure_text(exceeded, result, instance, policy=label, file=lambda: kept(instance)))
    return result
