"""``fairlane explore INSTANCE --html FILE``: a page on which a run is stepped through, decision by decision."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairlane.cli import output
from fairlane.cli.targets import file_target


def command(
    instance: Annotated[Path, typer.Argument(help="A small instance file.")],
    html: Annotated[Path, typer.Option("--html", help="The page to write.", callback=file_target)],
    policy: Annotated[
        str | None, typer.Option("--policy", help="Mark what this policy does (a name or module:attribute).")
    ] = None,
    inexact: Annotated[bool, typer.Option("--inexact", help="Take priors that sum to 1 within 1e-12.")] = False,
) -> None:
    """Write one page to step through runs: every decision with its exact value and loss."""
    from fairlane.oracle.policy_value.decision_book import decision_book
    from fairlane.oracle.solve import solve
    from fairlane.pictures.explorer import explorer_page
    from fairlane.reference.atomic_write import write_text
    from fairlane.reference.model.codec import load_instance

    loaded = load_instance(instance, exact=not inexact)
    rule = None if policy is None else output.policies_by_name([policy])[policy]
    with output.progress("solving") as shown:
        solution = solve(loaded, on_progress=shown)
    with output.progress("listing situations") as shown:
        book = decision_book(loaded, solution, policy=rule, policy_name=policy, on_progress=shown)
    write_text(explorer_page(book), html)
    output.console().print(f"{len(book.pages):,} situations, written to {html}; open it in a browser")
