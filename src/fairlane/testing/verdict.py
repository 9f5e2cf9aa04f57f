"""What a test says of a policy that is too far from the optimum: in the command's words, with what runs it again."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from fairlane.oracle.policy_value.decision_text import loss_text
from fairlane.oracle.policy_value.evaluate import Evaluation
from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.reference.exact import Real, as_fraction, decimal_of, show
from fairlane.reference.model.codec import dump_instance
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import FunctionPolicy, PolicySpec
from fairlane.reference.shown_numbers import percent


def limit_of(value: Real | str, where: str) -> Fraction:
    """A limit on a relative gap, from a number, ``"1/20"`` or ``"5%"``.

    Raises
    ------
    InvalidInstance
        No number, or a negative one.

    Examples
    --------
    >>> limit_of("5%", "gap"), limit_of("1/20", "gap"), limit_of(0.05, "gap")
    (Fraction(1, 20), Fraction(1, 20), Fraction(1, 20))
    """
    text = value.strip() if isinstance(value, str) else ""
    exact = as_fraction(text[:-1].strip(), where) / 100 if text.endswith("%") else as_fraction(value, where)
    if exact < 0:
        raise InvalidInstance(f"{where} is {show(exact)}; need >= 0")
    return exact


def name_of(policy: object) -> str:
    """What to call a policy on a command line: its name, ``module:attribute`` where it has one, or its class."""
    if isinstance(policy, str):
        return policy
    if isinstance(policy, PolicySpec):
        return policy.name
    if isinstance(policy, FunctionPolicy):
        policy = policy.function
    name = getattr(policy, "__qualname__", None)
    if name is None:
        return type(policy).__qualname__
    return f"{policy.__module__}:{name}" if "<" not in name else str(name)


def breach(result: Evaluation, *, relative_gap: Fraction | None = None, gap: Fraction | None = None) -> str | None:
    """What a policy's gap exceeds, in a few words; None where it exceeds nothing.

    Where the optimum is 0 there is no relative gap, and any gap exceeds any limit on one.
    """
    if relative_gap is not None:
        relative = result.relative_gap
        if relative is None and result.gap > 0:
            return f"gap {_number(result.gap)} where the optimum is 0"
        if relative is not None and relative > relative_gap:
            return f"gap {percent(relative)} of the optimum, more than {percent(relative_gap)}"
    if gap is not None and result.gap > gap:
        return f"gap {_number(result.gap)}, more than {_number(gap)}"
    return None


def failure_text(
    exceeded: str, result: Evaluation, instance: Instance, *, policy: str, file: Callable[[], str | Path]
) -> str:
    """The message of a failed test; its first line says it all, for a summary.

    Parameters
    ----------
    exceeded : str
        What was exceeded, as :func:`breach` says it.
    result, instance
        The evaluation and what it is of.
    policy : str
        What to call the policy.
    file : callable
        Gives the file of the instance, asked only here.
    """
    return "\n".join(
        [
            f"{policy} on {instance.name}: {exceeded}",
            f"  value {_number(result.value)}, optimum {_number(result.optimum)}, gap {_number(result.gap)}",
            f"  first wrong decision {loss_text(instance, result.first_loss)}",
            f"  run again: {again(policy, file())}",
        ]
    )


def again(policy: str, file: str | Path) -> str:
    """The command that shows one policy on one file."""
    return shlex.join(["fairlane", "evaluate", str(file), "--policy", policy])


def kept(instance: Instance) -> Path:
    """A file of an instance that has none of its own, in the folder for temporary files; equal instances share one.

    Raises
    ------
    DataError
        The folder cannot be written.
    """
    digest = sha256(repr(instance).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"fairlane-failures-{os.getuid() if hasattr(os, 'getuid') else 0}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise DataError(f"{str(folder)!r} cannot be made: {error.strerror}") from None
    path = folder / f"{digest}.json"
    dump_instance(instance, path)
    return path


def _number(value: Fraction) -> str:
    """A decimal, with the exact ratio behind it where it is no whole number."""
    decimal = decimal_of(value)
    if value.denominator == 1 or decimal is None:
        return show(value)
    text = show(value)
    return f"{decimal:.6g} ({text})" if len(text) <= 40 else f"{decimal:.6g}"
