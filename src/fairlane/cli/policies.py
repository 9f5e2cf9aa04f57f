"""``fairlane policies``: the built-in policies with their sources, assumptions and parameters."""

from __future__ import annotations

from typing import Annotated

import typer

from fairlane.cli import output


def command(json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """List the built-in policies; ``--policy-option NAME=VALUE`` sets their parameters."""
    from fairlane import policies
    from fairlane.policies.parameters import default_of

    specs = [policies.spec(name) for name in policies.names()]
    shown = {
        spec.name: {p.name: None if (v := default_of(spec, p)) is None else str(v) for p in spec.parameters}
        for spec in specs
    }
    if json:
        rows = [
            {
                "name": spec.name,
                "source": spec.source,
                "assumes": spec.assumes,
                "plans_episodes": spec.plans_episodes,
                "parameters": [
                    {"name": p.name, "default": shown[spec.name][p.name], "positive": p.positive, "meaning": p.meaning}
                    for p in spec.parameters
                ],
            }
            for spec in specs
        ]
        output.print_json({"policies": rows})
        return
    terminal = output.console()
    for spec in specs:
        terminal.print(spec.name, style="bold")
        terminal.print(f"  {spec.source}")
        terminal.print(f"  assumes {spec.assumes}")
        for p in spec.parameters:
            default = shown[spec.name][p.name]
            unset = "the objective's" if default is None else default
            terminal.print(f"  {p.name} = {unset}: {p.meaning}")
