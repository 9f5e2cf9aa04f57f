"""Built-in policies with other values of what their rules leave open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from fairlane.reference.errors import PolicyError
from fairlane.reference.exact import Real
from fairlane.reference.model.policy import Policy, PolicySpec
from fairlane.reference.model.policy_parameter import PolicyParameter


def default_of(spec: PolicySpec, parameter: PolicyParameter) -> Real | None:
    """The value of a parameter that nobody set; None takes the objective's."""
    value = getattr(spec.policy, parameter.name)
    assert value is None or isinstance(value, (int, float, Fraction))
    return value


def with_parameters(spec: PolicySpec, values: Mapping[str, Fraction]) -> Policy:
    """A registered policy with some of its parameters set.

    Raises
    ------
    PolicyError
        A parameter that the policy does not declare, or a value out of its range.

    Examples
    --------
    >>> from fairlane.policies import spec
    >>> with_parameters(spec("ongoing"), {"age_price": Fraction(1, 8)}).age_price
    0.125
    """
    declared = {parameter.name: parameter for parameter in spec.parameters}
    for name in values:
        if name not in declared:
            raise PolicyError(f"policy {spec.name!r} has no parameter {name!r}; it has {', '.join(declared) or 'none'}")
    if not values:
        return spec.policy
    fields = {name: declared[name].taken(value, spec.name) for name, value in values.items()}
    # a policy that declares parameters is a dataclass with these fields
    return cast("Policy", replace(cast("Any", spec.policy), **fields))
