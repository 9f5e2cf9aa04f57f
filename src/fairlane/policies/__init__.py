"""Dispatch policies: the built-in ones by name, and a user's own as ``module:attribute``."""

from __future__ import annotations

import importlib

from fairlane.policies.current_folder import current_folder_first
from fairlane.reference.errors import PolicyError
from fairlane.reference.model.policy import Policy, PolicySpec, as_policy

# name -> module of this package; modules are imported when their policy is asked for
MODULES = {
    "fixed-value": "fixed_value",
    "fair-gradient": "fair_gradient",
    "ongoing": "ongoing",
    "continuation": "continuation",
    "age-only": "age_only",
    "prefill-first": "prefill_first",
    "decode-first": "decode_first",
    "round-robin": "round_robin",
    "least-served": "least_served",
    "shortest-prompt": "shortest_prompt",
    "goodput-width": "goodput_width",
    "stall-bonus": "stall_bonus",
    "episode-ratio": "episode_ratio",
}

__all__ = ["load_attribute", "load_policy", "names", "spec"]


def names() -> tuple[str, ...]:
    """Names of the built-in policies, in the order of tables."""
    return tuple(MODULES)


def spec(name: str) -> PolicySpec:
    """The registered policy of a name, with its source and assumptions.

    Raises
    ------
    PolicyError
        No such name; the message lists the names.
    """
    if name not in MODULES:
        raise PolicyError(f"policy is {name!r}; need module:attribute or one of {', '.join(MODULES)}")
    found = importlib.import_module(f"fairlane.policies.{MODULES[name]}").POLICY
    assert isinstance(found, PolicySpec)
    return found


def load_policy(name: str) -> Policy:
    """A policy by its built-in name or as ``module:attribute``.

    Parameters
    ----------
    name : str
        ``fixed-value``, or ``my_module:my_policy``; the module may stand in the current folder, which is no place to
        import from any more once it is loaded.

    Raises
    ------
    PolicyError
        No such name, a module that cannot be imported, no such attribute, or no policy there.
    """
    if ":" not in name:
        return spec(name).policy
    return as_policy(load_attribute(name, "policy"), f"policy {name!r}")


def load_attribute(name: str, what: str) -> object:
    """What ``module:attribute`` names; the current folder can be imported from.

    Parameters
    ----------
    name : str
        ``my_module:my_attribute``.
    what : str
        What it is for, as an error says it.

    Raises
    ------
    PolicyError
        A module that cannot be imported, or no such attribute.
    """
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise PolicyError(f"{what} is {name!r}; need module:attribute")
    try:
        with current_folder_first():
            found: object = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        # a user's module may raise anything while it is imported
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise PolicyError(f"{what} {name!r}: module {module_name!r} cannot be imported: {reason}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise PolicyError(f"{what} {name!r}: {module_name!r} has no {attribute!r}")
        found = getattr(found, part)
    return found
