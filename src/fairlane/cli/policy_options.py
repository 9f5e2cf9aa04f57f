"""Options that set what policies are: prices of the objective, and parameters of the policies themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from fairlane.reference.errors import InvalidInstance, PolicyError
from fairlane.reference.exact import parse_number

if TYPE_CHECKING:
    from fairlane.reference.model.policy import Policy

Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--policy-option",
        metavar="[POLICY.]NAME=VALUE",
        help="A parameter of every given policy that has it, or of one; `fairlane policies` lists them.",
    ),
]
TimePrice = Annotated[str, typer.Option("--time-price", help="Per elapsed ms while anyone is unfinished.")]
FirstOutputPrice = Annotated[str, typer.Option("--first-output-price", help="Per ms until a first output.")]
CompletionPrice = Annotated[str, typer.Option("--completion-price", help="Per ms until a request finishes.")]
AgePrice = Annotated[str, typer.Option("--age-price", help="Per request and ms² of output age.")]
EnergyPrice = Annotated[str, typer.Option("--energy-price", help="Per joule of the graphs that run.")]


def prices_of(texts: Mapping[str, str]) -> dict[str, Fraction]:
    """Prices by field of the objective.

    Parameters
    ----------
    texts : mapping
        What was typed, by field.

    Raises
    ------
    InvalidInstance
        No number, or below 0.
    """
    prices = {}
    for field, text in texts.items():
        option = f"--{field.replace('_', '-')}"
        prices[field] = parse_number(text, option)
        if prices[field] < 0:
            raise InvalidInstance(f"{option} is {text!r}; need >= 0")
    return prices


def policies_with(names: Sequence[str], options: Sequence[str]) -> dict[str, Policy]:
    """Policies with their parameters, each under a label that says which were set.

    Raises
    ------
    PolicyError
        An unknown policy or parameter, a value out of range, or a parameter that no given policy has.
    """
    from fairlane import policies
    from fairlane.policies.parameters import with_parameters

    typed = [_parsed(option) for option in options]
    met: set[str] = set()
    found: dict[str, Policy] = {}
    for name in names:
        if ":" in name:
            found[name] = policies.load_policy(name)
            continue
        spec = policies.spec(name)
        declared = {parameter.name for parameter in spec.parameters}
        mine = {
            parameter: (text, option)
            for option, (owner, parameter, text) in zip(options, typed, strict=True)
            if owner == name or (owner is None and parameter in declared)
        }
        met |= {option for _, option in mine.values()}
        values = {p: parse_number(text, f"--policy-option {p}") for p, (text, _) in mine.items()}
        label = " ".join([name, *(f"{p}={text}" for p, (text, _) in mine.items())])
        found[label] = with_parameters(spec, values)
    for option in options:
        if option not in met:
            raise PolicyError(f"--policy-option {option!r} fits none of {', '.join(names)}; see `fairlane policies`")
    return found


def _parsed(option: str) -> tuple[str | None, str, str]:
    name, equals, value = option.partition("=")
    owner, dot, parameter = name.rpartition(".")
    if not (equals and value and parameter) or (dot and not owner):
        raise PolicyError(f"--policy-option is {option!r}; need NAME=VALUE or POLICY.NAME=VALUE")
    return owner or None, parameter, value.strip()
