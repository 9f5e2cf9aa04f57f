"""Assertions on the exact gap of a policy."""

from __future__ import annotations

from fairlane.oracle.policy_value.evaluate import Evaluation, evaluate
from fairlane.oracle.policy_value.verify import action_to_json
from fairlane.policies import load_policy
from fairlane.reference.exact import Real, as_fraction, show
from fairlane.reference.model.instance import Instance


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
        Most gap over the size of the optimum. Where the optimum is 0 the gap itself must be 0.
    gap : number or None
        Most gap, in reward.

    Returns
    -------
    Evaluation
        The exact evaluation, for further assertions.

    Raises
    ------
    AssertionError
        The gap exceeds a limit; the message has the values and the first losing decision.
    InvalidInstance
        A limit that is no number.
    """
    result = evaluate(instance, load_policy(policy) if isinstance(policy, str) else policy)
    problems = []
    if gap is not None and result.gap > as_fraction(gap, "gap"):
        problems.append(f"gap {show(result.gap)} exceeds {gap}")
    if relative_gap is not None:
        most = as_fraction(relative_gap, "relative_gap")
        relative = result.relative_gap
        if relative is None:
            if result.gap > 0:
                problems.append(f"gap {show(result.gap)} where the optimum is 0")
        elif relative > most:
            problems.append(f"relative gap {show(relative)} (about {float(relative):.4g}) exceeds {relative_gap}")
    if problems:
        where = ""
        if result.first_loss is not None:
            loss = result.first_loss
            where = (
                f"; first losing decision, number {loss.decisions_before + 1} with probability "
                f"{show(loss.probability)}: "
                f"{action_to_json(instance, loss.action)} where {action_to_json(instance, loss.better)} is better"
            )
        raise AssertionError(
            f"{instance.name}: value {show(result.value)}, optimum {show(result.optimum)}; {'; '.join(problems)}{where}"
        )
    return result
