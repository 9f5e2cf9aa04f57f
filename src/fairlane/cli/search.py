"""``fairlane search``: the smallest instance on which a policy is worse than optimal, or a bound without one."""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlane.cli import output
from fairlane.cli.choices import choice
from fairlane.cli.workers import executor

if TYPE_CHECKING:
    from fairlane.search.enumeration import Piece, PieceResult
    from fairlane.search.result import Report
    from fairlane.search.space import Space

# the part of the seconds that is enumerated; the rest is for proposals, where they are needed
ENUMERATING = 3 / 4


def command(
    policy: Annotated[str, typer.Option("--policy", help="A built-in policy's name or module:attribute.")],
    space: Annotated[Path | None, typer.Option("--space", help="A space file; a small space without one.")] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=0, help="Search about this long. Default: 60 without --instances."),
    ] = None,
    instances: Annotated[
        int | None, typer.Option("--instances", min=1, help="Enumerate about this many; repeats to the byte.")
    ] = None,
    first: Annotated[bool, typer.Option("--first", help="Stop at the smallest witness; no bound beyond it.")] = False,
    measure: Annotated[str, typer.Option("--measure", help="The gap that counts: absolute or relative.")] = "absolute",
    exceeds: Annotated[str, typer.Option("--exceeds", help="A gap above this makes a witness.")] = "0",
    predicate: Annotated[
        str | None, typer.Option("--predicate", help="module:attribute, a function of a case; in place of the gap.")
    ] = None,
    proposals: Annotated[
        int, typer.Option("--proposals", min=0, help="Instances proposed where the enumeration ends without a witness.")
    ] = 2000,
    time_out: Annotated[
        float, typer.Option("--time-out", min=0.01, help="Processor seconds after which one decision hangs.")
    ] = 2.0,
    workers: Annotated[
        int | None,
        typer.Option("--workers", "--jobs", min=1, help="Processes, one by default; the output does not depend on it."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", help="Work on the Dask cluster whose scheduler is there."),
    ] = None,
    directory: Annotated[
        Path | None, typer.Option("--output", help="Write instance, test and report into this new directory.")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", help="Go on with the search that --output began in this directory.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Find the smallest instance on which a policy is worse than optimal, and leave a test behind.

    Instances are looked at in order of size with exact values; where that ends early, draws and an optimiser propose.
    """
    from fairlane.cli.search_folder import SearchFolder, document
    from fairlane.policies import load_attribute
    from fairlane.reference.errors import InvalidInstance
    from fairlane.reference.exact import parse_number
    from fairlane.search.case import Aim, Measure
    from fairlane.search.explore import Budget, explore
    from fairlane.search.space import Space
    from fairlane.search.space_file import load_space

    if directory is not None and resume is not None:
        raise InvalidInstance("--output and --resume are given together; need one of them")
    output.policies_by_name([policy])
    where = Space() if space is None else load_space(space)
    aim = Aim(
        measure=choice(measure, Measure, "--measure"),
        exceeds=parse_number(exceeds, "--exceeds"),
        predicate=predicate,
    )
    if predicate is not None:
        # a wrong name is told before any work, and the journal wants the text of its module
        load_attribute(predicate, "predicate")
    if aim.exceeds < 0:
        raise InvalidInstance(f"--exceeds is {exceeds}; need >= 0")
    budget = Budget(instances=instances, proposals=proposals, first=first)
    limit_s = seconds if seconds is not None or instances is not None else 60.0
    folder = None
    if directory is not None or resume is not None:
        path = directory if directory is not None else resume
        assert path is not None
        folder = SearchFolder(path, where, aim, policy, resume=resume is not None)
    # modules of the current folder that a cluster has to be sent
    named = [policy] if predicate is None else [policy, predicate]
    begun = time.monotonic()
    with (
        output.progress("searching") as line,
        executor(1 if workers is None and cluster is None else workers, cluster, pieces=64, policies=named) as pool,
    ):
        shown = _Line(line, where)

        def on_piece(number: int, piece: Piece, result: PieceResult) -> None:
            shown.add(piece, result)
            if folder is not None:
                folder.add(number, result)

        try:
            report = explore(
                policy,
                where,
                aim=aim,
                budget=budget,
                limit_s=time_out,
                executor=pool,
                known={} if folder is None else folder.known,
                on_piece=on_piece,
                go_on=None
                if limit_s is None
                else lambda phase: time.monotonic() - begun < limit_s * (ENUMERATING if phase == "enumeration" else 1),
            )
        except KeyboardInterrupt:
            if folder is not None:
                output.console(stderr=True).print(f"go on with --resume {folder.path}")
            raise
    if folder is not None:
        folder.finish(report)
    if json:
        output.print_json(document(report, where))
    else:
        _print(report, where, folder.path if folder is not None else None)
    if report.failure is not None:
        raise typer.Exit(1)


class _Line:
    """The progress line: how many instances, how fast, and the best gap."""

    def __init__(self, line: output.Progress, space: Space) -> None:
        self._line = line
        self._size = space.size
        self._done = self._instances = 0
        self._most = Fraction(0)
        self._begun = time.monotonic()

    def add(self, piece: Piece, result: PieceResult) -> None:
        """Take a finished piece into account."""
        self._done += (piece.lists[1] - piece.lists[0]) * (piece.pairs[1] - piece.pairs[0])
        self._instances += result.instances
        for found in (result.worst, result.smallest):
            if found is not None:
                self._most = max(self._most, found.gap)
        rate = self._instances / max(1e-9, time.monotonic() - self._begun)
        self._line(self._done, self._size, f"{rate:,.0f} instances/s, best gap {output.brief(self._most)}")


def _print(report: Report, space: Space, folder: Path | None) -> None:
    from fairlane.search.answer import bound_sentence, witness_sentence
    from fairlane.search.explain import instance_lines

    terminal = output.console()
    terminal.print(f"{report.policy}: {witness_sentence(report)}", soft_wrap=True)
    witness = report.counterexample
    if witness is not None:
        for line in instance_lines(witness.instance):
            terminal.print(f"  {line}")
        terminal.print(witness.explanation, soft_wrap=True)
        for region in witness.regions:
            terminal.print(f"  {region.sentence()}", soft_wrap=True)
    terminal.print(bound_sentence(report, space), soft_wrap=True)
    if folder is not None:
        terminal.print(f"written to {folder}")
