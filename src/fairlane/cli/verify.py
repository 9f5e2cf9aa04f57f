"""``fairlane verify``: how far each policy is from the exact optimum. The main job."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlane.cli import output

if TYPE_CHECKING:
    from fairlane.oracle.evaluate import OptimalValues
    from fairlane.oracle.verify import VerifyRow
    from fairlane.reference.instance import Instance


def command(
    instances: Annotated[
        list[Path] | None, typer.Argument(help="Instance files; the bundled suite without any.", show_default=False)
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", help="A built-in policy's name or module:attribute; repeat for more. Default: all."),
    ] = None,
    max_relative_gap: Annotated[
        str | None, typer.Option("--max-relative-gap", help="Fail (status 1) where a relative gap exceeds this.")
    ] = None,
    inexact: Annotated[bool, typer.Option("--inexact", help="Take priors that sum to 1 within 1e-12.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write a report with timelines here.")] = None,
) -> None:
    """Exact value of policies beside the exact optimum, and the first decision that loses.

    Every optimum is checked by a program that shares no code with the solver before it is compared with.
    """
    from fairlane.oracle.certificate import certify
    from fairlane.oracle.solve import solve
    from fairlane.oracle.verify import row_to_json, verify_instance
    from fairlane.reference.errors import CertificateRejected
    from fairlane.reference.exact import parse_number

    limit = None if max_relative_gap is None else parse_number(max_relative_gap, "--max-relative-gap")
    loaded = _load(instances, exact=not inexact)
    policies = output.policies_by_name(policy)
    terminal = output.console()
    rows: list[VerifyRow] = []
    rejected: list[str] = []
    solutions: dict[str, OptimalValues] = {}
    with output.progress("verifying") as shown:
        for done, instance in enumerate(loaded):
            shown(done, len(loaded))
            solution = solutions[instance.name] = solve(instance)
            try:
                certify(instance, solution)
            except CertificateRejected as error:
                rejected.append(f"{instance.name}: {error}")
            group = list(verify_instance(instance, policies, solution=solution))
            rows += group
            if not json:
                from fairlane.cli.tables import verify_table

                states = f"{solution.states:,} states" if solution.states is not None else "exchangeable states merged"
                terminal.print(verify_table(group, f"{states}, certificate {'rejected' if rejected else 'accepted'}"))
                terminal.print()
    exceeded = [row for row in rows if limit is not None and _exceeds(row, limit)]
    failed = [row for row in rows if row.failure is not None]
    if html is not None:
        from fairlane.cli.verify_html import write_report

        write_report(rows, policies, solutions, html)
    if json:
        output.print_json({"rows": [row_to_json(row) for row in rows], "rejected": rejected})
    else:
        from fairlane.cli.tables import summary_table

        terminal.print(summary_table(rows))
        for line in rejected:
            terminal.print(f"certificate rejected: {line}")
        for row in exceeded:
            terminal.print(f"over {max_relative_gap}: {row.policy} on {row.instance.name}")
        if html is not None:
            terminal.print(f"report written to {html}")
    if rejected or exceeded or failed:
        raise typer.Exit(1)


def _exceeds(row: VerifyRow, limit: Fraction) -> bool:
    if row.evaluation is None:
        return True
    relative = row.evaluation.relative_gap
    # without a relative gap (optimum 0) any gap at all exceeds any limit
    return row.evaluation.gap > 0 if relative is None else relative > limit


def _load(paths: list[Path] | None, *, exact: bool) -> list[Instance]:
    from fairlane.reference.codec import load_instance

    if paths:
        return [load_instance(path, exact=exact) for path in paths]
    from fairlane import suite

    return [suite.load(name) for name in suite.names()]
