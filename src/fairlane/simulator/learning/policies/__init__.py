"""Learning policies by name: one file each, and one line here."""

from __future__ import annotations

import importlib

from fairlane.reference.errors import InvalidInstance
from fairlane.simulator.learning.policies.spec import LearningPolicySpec

# name -> module of this package
MODULES = {
    "known": "known",
    "ttl": "ttl",
    "jitter": "jitter",
    "ema": "ema",
    "greedy": "greedy",
    "epsilon": "epsilon",
    "softmax": "softmax",
    "optimistic": "optimistic",
    "thompson": "thompson",
    "predictive": "predictive",
    "targeted": "targeted",
    "retained-refresh": "retained_refresh",
}

__all__ = ["names", "spec"]


def names() -> tuple[str, ...]:
    """Names of the learning policies, in the order of tables."""
    return tuple(MODULES)


def spec(name: str) -> LearningPolicySpec:
    """The registered policy of a name.

    Raises
    ------
    InvalidInstance
        No such name; the message lists the names.
    """
    if name not in MODULES:
        raise InvalidInstance(f"policy is {name!r}; need one of {', '.join(MODULES)}")
    found = importlib.import_module(f"fairlane.simulator.learning.policies.{MODULES[name]}").POLICY
    assert isinstance(found, LearningPolicySpec)
    return found
