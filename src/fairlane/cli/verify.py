"""``fairlane verify``: how far each policy is from the exact optimum. The main job."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlane.cli import output
from fairlane.cli.limits import MaxStates
from fairlane.cli.targets import file_target
from fairlane.cli.workers import executor

if TYPE_CHECKING:
    from fairlane.cli.journal import Journal
    from fairlane.oracle.batch.many import Verdict
    from fairlane.oracle.policy_value.verify import VerifyRow
    from fairlane.reference.model.instance import Instance
    from fairlane.reference.model.policy import Policy


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
    workers: Annotated[
        int | None,
        typer.Option("--workers", "--jobs", min=1, help="Processes, two by default; the output does not depend on it."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", help="Work on the Dask cluster whose scheduler is there."),
    ] = None,
    journal: Annotated[
        Path | None,
        typer.Option("--journal", help="Keep finished work in this file; with it a run that was stopped goes on."),
    ] = None,
    max_states: MaxStates = None,
    inexact: Annotated[bool, typer.Option("--inexact", help="Take priors that sum to 1 within 1e-12.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a report with timelines here.", callback=file_target)
    ] = None,
) -> None:
    """Exact value of policies beside the exact optimum, and the first decision that loses.

    Every optimum is checked by a program that shares no code with the solver before it is compared with.
    """
    from fairlane.oracle.policy_value.verify import row_to_json
    from fairlane.reference.exact import parse_number

    limit = None if max_relative_gap is None else parse_number(max_relative_gap, "--max-relative-gap")
    loaded = _load(instances, exact=not inexact)
    policies = output.policies_by_name(policy)
    terminal = output.console()
    rows: list[VerifyRow] = []
    rejected: list[str] = []
    with output.progress("verifying", unit="instances") as line, ExitStack() as stack:
        found = _verdicts(loaded, policies, workers, cluster, journal, max_states, line)
        verdicts = stack.enter_context(closing(found))
        for verdict in verdicts:
            rows += verdict.rows
            if verdict.rejected is not None:
                rejected.append(f"{verdict.rows[0].instance.name}: {verdict.rejected}")
            if not json:
                from fairlane.cli.tables import verify_table

                line.close()
                accepted = "accepted" if verdict.rejected is None else "rejected"
                said = "not solved" if verdict.states is None else f"{verdict.states:,} states, certificate {accepted}"
                terminal.print(verify_table(verdict.rows, said))
                terminal.print()
    exceeded = [row for row in rows if limit is not None and _exceeds(row, limit)]
    failed = [row for row in rows if row.failure is not None]
    if html is not None:
        from fairlane.cli.verify_html import write_report

        write_report(rows, policies, html, max_states=max_states)
    if json:
        output.print_json({"rows": [row_to_json(row) for row in rows], "rejected": rejected})
    else:
        from fairlane.cli.tables import summary_table

        terminal.print(summary_table(rows))
        for text in rejected:
            terminal.print(f"certificate rejected: {text}")
        for row in exceeded:
            terminal.print(f"over {max_relative_gap}: {row.policy} on {row.instance.name}")
        if html is not None:
            terminal.print(f"report written to {html}")
    if rejected or exceeded or failed:
        raise typer.Exit(1)


def _verdicts(
    instances: Sequence[Instance],
    policies: Mapping[str, Policy],
    workers: int | None,
    cluster: str | None,
    journal: Path | None,
    max_states: int | None,
    line: output.Progress,
) -> Generator[Verdict, None, None]:
    """Verdicts in the order of the instances, whoever does the work."""
    from fairlane.oracle.batch.many import verify_many
    from fairlane.policies import load_policy

    if journal is None:
        opened: nullcontext[None] | Journal = nullcontext()
    else:
        from fairlane.cli.journal import Journal

        opened = Journal(journal)
    from fairlane.cli.verify_plan import Plan

    with opened as book:
        plan = Plan(instances, list(policies), book)
        with executor(workers, cluster, pieces=len(plan.open), policies=list(policies)) as pool:
            skipped = len(instances) - len(plan.open)
            fresh = verify_many(
                [instances[i] for i in plan.open],
                list(policies),
                load=load_policy,
                executor=pool,
                only=[plan.missing[i] for i in plan.open],
                max_states=max_states,
                on_progress=lambda done, _: line(done + skipped, len(instances)),
                on_result=plan.keep,
                on_step=line.step,
            )
            for i in range(len(instances)):
                yield plan.whole(i, next(fresh) if plan.missing[i] else None)


def _exceeds(row: VerifyRow, limit: Fraction) -> bool:
    if row.evaluation is None:
        return True
    relative = row.evaluation.relative_gap
    # without a relative gap (optimum 0) any gap at all exceeds any limit
    return row.evaluation.gap > 0 if relative is None else relative > limit


def _load(paths: list[Path] | None, *, exact: bool) -> list[Instance]:
    from fairlane.reference.model.codec import load_instance

    if paths:
        return [load_instance(path, exact=exact) for path in paths]
    from fairlane import suite

    return [suite.load(name) for name in suite.names()]
