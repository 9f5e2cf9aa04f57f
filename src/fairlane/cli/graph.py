"""``fairlane graph INSTANCE``: a picture of the decisions of a small instance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairlane.cli import output
from fairlane.cli.targets import picture_target
from fairlane.pictures.picture_file import save_figure


def command(
    instance: Annotated[Path, typer.Argument(help="A small instance file.")],
    target: Annotated[
        Path, typer.Option("--output", help="The picture to write: .svg, .png or .pdf.", callback=picture_target)
    ],
    policy: Annotated[
        str | None,
        typer.Option("--policy", help="Mark the losing branches of this policy (a name or module:attribute)."),
    ] = None,
    inexact: Annotated[bool, typer.Option("--inexact", help="Take priors that sum to 1 within 1e-12.")] = False,
) -> None:
    """Draw the decision graph: the optimal path bold, the losing branches of a policy red."""
    from fairlane.oracle.policy_value.decision_graph import Kind, decision_graph
    from fairlane.oracle.solve import solve
    from fairlane.pictures.decision_picture import draw_decision_graph
    from fairlane.reference.model.codec import load_instance

    loaded = load_instance(instance, exact=not inexact)
    rule = None if policy is None else output.policies_by_name([policy])[policy]
    with output.progress(f"solving {instance.name}", unit="states") as shown:
        solution = solve(loaded, on_progress=shown)
    graph = decision_graph(loaded, solution=solution, policy=rule, policy_name=policy or "policy")
    save_figure(draw_decision_graph(graph), target)
    terminal = output.console()
    losing = sum(choice.kind is Kind.LOSING for choice in graph.choices)
    marked = "" if policy is None else f", {losing} of them losing"
    terminal.print(f"{len(graph.states) - 1} states and {len(graph.choices)} choices{marked}, drawn to {target}")
