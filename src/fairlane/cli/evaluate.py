"""``fairlane evaluate INSTANCE --policy P``: the exact value of one policy and every decision that loses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairlane.cli import output
from fairlane.cli.limits import MaxStates


def command(
    instance: Annotated[Path, typer.Argument(help="An instance file.")],
    policy: Annotated[str, typer.Option("--policy", help="A built-in policy's name or module:attribute.")],
    losses: Annotated[int, typer.Option("--losses", min=0, help="How many losing decisions to list.")] = 10,
    max_states: MaxStates = None,
    inexact: Annotated[bool, typer.Option("--inexact", help="Take priors that sum to 1 within 1e-12.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Exact value of a policy, its gap to the optimum, and where it loses."""
    from fairlane.oracle.policy_value.evaluate import MAX_SITUATIONS, evaluate
    from fairlane.oracle.policy_value.verify import Comparison, VerifyRow, loss_to_json, row_to_json
    from fairlane.oracle.rational.plain import Sense
    from fairlane.oracle.solve import solve
    from fairlane.reference.model.codec import load_instance

    loaded = load_instance(instance, exact=not inexact)
    rule = output.policies_by_name([policy])[policy]
    with output.progress(f"solving {instance.name}", unit="states") as shown:
        solution = solve(loaded, max_states=max_states, on_progress=shown)
    with output.progress("evaluating", unit="states") as shown:
        result = evaluate(
            loaded,
            rule,
            solution=solution,
            max_situations=MAX_SITUATIONS if max_states is None else max_states,
            on_progress=shown,
        )
    with output.progress("solving for the worst", unit="states") as shown:
        worst = solve(loaded, sense=Sense.MIN, max_states=max_states, on_progress=shown).value
    row = VerifyRow(
        instance=loaded,
        policy=policy,
        optimum=result.optimum,
        worst=worst,
        evaluation=Comparison.of(result),
        failure=None,
    )
    if json:
        output.print_json(
            {
                **row_to_json(row),
                "situations": result.situations,
                "n_losses": result.n_losses,
                "losses": [loss_to_json(loaded, loss) for loss in result.losses[:losses]],
                "seconds": result.seconds,
            }
        )
        return
    from fairlane.cli.tables import losses_table

    terminal = output.console()
    terminal.print(f"{loaded.name}, policy {policy} ({result.situations:,} situations)")
    value, best, least, gap = output.column([result.value, result.optimum, worst, result.gap])
    terminal.print(f"  value    {value}")
    terminal.print(f"  optimum  {best}")
    terminal.print(f"  worst    {least}")
    terminal.print(
        f"  gap      {gap}, {output.percent(result.relative_gap)} of the optimum's size; "
        f"{output.percent(row.place)} of the way from best to worst"
    )
    if not result.losses:
        terminal.print("Every decision it can be led to is optimal.")
    elif losses:
        terminal.print(losses_table(loaded, result, losses))
