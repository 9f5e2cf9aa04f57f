"""``fairlane verify``: how far each policy is from the exact optimum. The main job."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlane.cli import output

if TYPE_CHECKING:
    from fairlane.oracle.verify import VerifyRow
    from fairlane.reference.instance import Instance

# fewer instances than this are done before worker processes would have started
FEW_INSTANCES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """One instance's rows, how many states its optimum took, and why its certificate was rejected, if it was."""

    rows: tuple[VerifyRow, ...]
    states: str
    rejected: str | None


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
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Processes; the output does not depend on it.")] = 2,
    inexact: Annotated[bool, typer.Option("--inexact", help="Take priors that sum to 1 within 1e-12.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write a report with timelines here.")] = None,
) -> None:
    """Exact value of policies beside the exact optimum, and the first decision that loses.

    Every optimum is checked by a program that shares no code with the solver before it is compared with.
    """
    from fairlane.oracle.verify import row_to_json
    from fairlane.reference.exact import parse_number

    limit = None if max_relative_gap is None else parse_number(max_relative_gap, "--max-relative-gap")
    loaded = _load(instances, exact=not inexact)
    policies = output.policies_by_name(policy)
    terminal = output.console()
    rows: list[VerifyRow] = []
    rejected: list[str] = []
    with output.progress("verifying") as shown:
        for done, group in enumerate(_groups(loaded, list(policies), jobs)):
            rows += group.rows
            if group.rejected is not None:
                rejected.append(group.rejected)
            if not json:
                from fairlane.cli.tables import verify_table

                verdict = "accepted" if group.rejected is None else "rejected"
                terminal.print(verify_table(group.rows, f"{group.states}, certificate {verdict}"))
                terminal.print()
            shown(done + 1, len(loaded))
    exceeded = [row for row in rows if limit is not None and _exceeds(row, limit)]
    failed = [row for row in rows if row.failure is not None]
    if html is not None:
        from fairlane.cli.verify_html import write_report

        write_report(rows, policies, html)
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


def _groups(instances: Sequence[Instance], policies: list[str], jobs: int) -> Iterator[_Group]:
    """Groups in the order of the instances, whatever the number of processes."""
    if jobs == 1 or len(instances) < FEW_INSTANCES:
        for instance in instances:
            yield _verify(instance, policies)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(max_workers=jobs, initializer=_leave_interrupts_to_the_parent) as pool:
        try:
            yield from pool.map(_verify, instances, [policies] * len(instances))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _verify(instance: Instance, policies: list[str]) -> _Group:
    from fairlane.oracle.certificate import certify
    from fairlane.oracle.solve import solve
    from fairlane.oracle.verify import verify_instance
    from fairlane.reference.errors import CertificateRejected

    solution = solve(instance)
    rejected = None
    try:
        certify(instance, solution)
    except CertificateRejected as error:
        rejected = f"{instance.name}: {error}"
    rows = tuple(verify_instance(instance, output.policies_by_name(policies), solution=solution))
    states = f"{solution.states:,} states" if solution.states is not None else "exchangeable states merged"
    return _Group(rows=rows, states=states, rejected=rejected)


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
