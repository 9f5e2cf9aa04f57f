"""``fairlane allocate PROBLEM``: the certified fair allocation of a problem file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlane.cli import output
from fairlane.cli.targets import picture_target
from fairlane.pictures.picture_file import save_figure
from fairlane.reference.errors import Unsupported

if TYPE_CHECKING:
    from fairlane.reference.allocation import Allocation
    from fairlane.reference.allocation.problem_file import AllocationProblem

SHOWN = 20


def command(
    problem: Annotated[Path, typer.Argument(help="A problem file: requests with actions or graphs.")],
    tolerance: Annotated[float, typer.Option("--tolerance", help="Largest certified relative gap.")] = 1e-9,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="conditional-gradients, interior-point, column-generation, water-filling or cvxpy.",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw shares, rates and region to .png, .svg or .pdf.", callback=picture_target),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Fair rates and time shares, with a certified bound on their loss of utility.

    The problem is JSON: "requests" of "id", "token_value" (0) and "fairness_weight" (1), and either "actions" of "name"
    and "rates" (tokens per ms by request id) or "graphs" of "name", "duration_ms", "decode_capacity", "width",
    "prefill_capacity". Beside graphs a request with "prompt" > 0 prefills, and another decodes with its "acceptance".
    An instance file will do: its graphs and requests are taken, its objective is not.
    """
    from fairlane.reference.allocation import ToleranceTooSmall, fair_allocation, fair_allocation_graphs
    from fairlane.reference.allocation.problem_file import load_allocation_problem

    loaded = load_allocation_problem(problem)
    for note in loaded.notes:
        typer.echo(f"fairlane: note: {problem}: {note}", err=True)
    found: Allocation
    try:
        if loaded.catalog is not None:
            found = fair_allocation_graphs(
                loaded.catalog,
                loaded.requests,
                token_values=loaded.token_values,
                fairness_weights=loaded.fairness_weights,
                tolerance=tolerance,
                method=method,
            )
        else:
            found = fair_allocation(
                loaded.rates,
                token_values=loaded.token_values,
                fairness_weights=loaded.fairness_weights,
                tolerance=tolerance,
                method=method,
            )
    except ToleranceTooSmall as error:
        # a refusal, not bad input: status 1
        raise Unsupported(str(error)) from None
    if plot is not None:
        _draw(loaded, found, plot)
    if json:
        output.print_json(_document(loaded, found))
        return
    _print(loaded, found)


def _names(loaded: AllocationProblem) -> tuple[str, ...]:
    if loaded.catalog is None:
        return loaded.action_names
    return tuple(graph.name for graph in loaded.catalog)


def _document(loaded: AllocationProblem, found: Allocation) -> dict[str, object]:
    names = _names(loaded)
    kind = "action" if loaded.catalog is None else "graph"
    return {
        "utility": found.utility,
        "gap": found.gap,
        "relative_gap": found.relative_gap,
        "rates": dict(zip(loaded.ids, found.rates.tolist(), strict=True)),
        "time_shares": [
            {
                kind: names[cohort.action],
                "requests": [loaded.ids[i] for i in cohort.requests],
                "share": float(cohort.share),
            }
            for cohort in found.cohorts().cohorts
        ],
        "method": str(found.method),
        "seconds": found.seconds,
    }


def _print(loaded: AllocationProblem, found: Allocation) -> None:
    from rich.table import Table

    names = _names(loaded)
    terminal = output.console()
    terminal.print(f"utility       {found.utility:.12g}")
    terminal.print(f"certified gap {found.gap:.2e}  (relative {found.relative_gap:.2e})")
    terminal.print(f"method        {found.method}, {found.seconds:.3f} s")
    rates = Table("request", "tokens per ms", box=None, pad_edge=False)
    for request_id, rate in list(zip(loaded.ids, found.rates.tolist(), strict=True))[:SHOWN]:
        rates.add_row(request_id, f"{rate:.9g}")
    terminal.print(rates)
    if len(loaded.ids) > SHOWN:
        terminal.print(f"... and {len(loaded.ids) - SHOWN:,} more requests (--json has all)")
    shares = Table(
        "action" if loaded.catalog is None else "graph", "share of time", "requests", box=None, pad_edge=False
    )
    cohorts = sorted(found.cohorts().cohorts, key=lambda cohort: -cohort.share)
    for cohort in cohorts[:SHOWN]:
        members = [loaded.ids[i] for i in cohort.requests]
        more = f" and {len(members) - 8} more" if len(members) > 8 else ""
        shares.add_row(names[cohort.action], f"{float(cohort.share):.9g}", " ".join(members[:8]) + more)
    terminal.print(shares)
    if len(cohorts) > SHOWN:
        terminal.print(f"... and {len(cohorts) - SHOWN:,} more cohorts (--json has all)")


def _draw(loaded: AllocationProblem, found: Allocation, path: Path) -> None:
    from fairlane.pictures.allocation_picture import draw_allocation

    save_figure(draw_allocation(found, request_names=loaded.ids, action_names=_names(loaded)), path)
