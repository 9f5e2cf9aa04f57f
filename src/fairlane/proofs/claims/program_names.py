"""Names of code in options, ``module:attribute`` lists and proofs, read without importing anything."""

from __future__ import annotations

from fairlane.proofs import PROOFS


def import_targets(text: str) -> tuple[str, ...]:
    """Module names of an import list such as ``a.b:c, d:e as f``; entries of another form are passed over.

    Examples
    --------
    >>> import_targets("a.b:c, d:e as f")
    ('a.b', 'd')
    """
    modules = []
    for entry in text.replace("\n", ",").split(","):
        module, colon, _ = entry.strip().partition(":")
        if colon and module:
            modules.append(module)
    return tuple(modules)


def proof_module(name: str) -> str:
    """The module of a proof, given by its label or by the module's own short name.

    Examples
    --------
    >>> proof_module("age-area"), proof_module("age_area")
    ('fairlane.proofs.age_area', 'fairlane.proofs.age_area')
    """
    for entry in PROOFS:
        if entry.name == name:
            return entry.module
    return f"fairlane.proofs.{name}"
