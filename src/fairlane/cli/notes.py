"""``fairlane notes check | status | build``: research notes whose every statement is executed."""

from __future__ import annotations

import math
import os
import secrets
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlane.cli import output
from fairlane.cli.targets import folder_target
from fairlane.reference.errors import DataError, InvalidInstance

if TYPE_CHECKING:
    from fairlane.proofs.claims.checking import Report, Run
    from fairlane.proofs.claims.collection import Collection

DEFAULT = Path("docs/notes")

PathArgument = Annotated[
    Path | None, typer.Argument(help="A note or a folder of notes; docs/notes without one.", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
JobsOption = Annotated[int, typer.Option("--jobs", min=1, help="Processes to run claims in.")]
LimitOption = Annotated[
    float, typer.Option("--time-limit", help="Seconds a claim may run; after that it is unknown.", show_default=True)
]
# the engine's own limit, written out so that --help imports nothing; a test holds them together
TIME_LIMIT_S = 300.0


def check(
    path: PathArgument = None,
    jobs: JobsOption = 2,
    every: Annotated[bool, typer.Option("--all", help="Run every claim, changed or not.")] = False,
    rotate: Annotated[
        bool, typer.Option("--rotate", help="New draws for statistical and recorded claims; not where CI is set.")
    ] = False,
    seed_word: Annotated[
        str | None, typer.Option("--rotation", help="Repeat the draws of an earlier --rotate by its word.")
    ] = None,
    limit: LimitOption = TIME_LIMIT_S,
    json: JsonOption = False,
) -> None:
    """Run the claims that have changed; fail (status 1) unless all are green or grey.

    Notes are code: a claim imports and calls what its author wrote, as a test suite does. Check only notes that you
    would run as a program. Modules in the current folder and beside the notes can be imported.
    """
    from fairlane.proofs.claims.checking import Run

    report = _report(
        path,
        run=Run.EVERY if every else Run.CHANGED,
        rotation=_rotation(rotate, seed_word),
        jobs=jobs,
        limit_s=limit,
    )[1]
    _print(report, json=json)
    if not report.passed:
        raise typer.Exit(1)


def status(path: PathArgument = None, json: JsonOption = False) -> None:
    """What is known without running anything; what has changed since is stale. Fails like check."""
    from fairlane.proofs.claims.checking import Run

    report = _report(path, run=Run.NONE)[1]
    _print(report, json=json)
    if not report.passed:
        raise typer.Exit(1)


def build(
    path: PathArgument = None,
    folder: Annotated[
        Path, typer.Option("--output", help="A folder that does not exist yet.", callback=folder_target)
    ] = Path("notes-site"),
    jobs: JobsOption = 2,
    limit: LimitOption = TIME_LIMIT_S,
) -> None:
    """Check the notes, then write them with statuses, evidence and the claim graph, as Markdown and as HTML.

    Notes are code and are run, as by check. The Markdown can stand in a Sphinx source folder. Pages are written
    whatever the statuses are, which they show; the exit status is that of check.
    """
    from fairlane.proofs.claims.checking import Run
    from fairlane.proofs.claims.site import pages_of

    with output.new_directory(folder) as target:
        collection, report = _report(path, run=Run.CHANGED, jobs=jobs, limit_s=limit)
        for name, text in pages_of(collection, report).items():
            file = target / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    _print(report, json=False)
    typer.echo(f"written to {folder}; open {folder / 'index.html'}")
    if not report.passed:
        raise typer.Exit(1)


def _report(
    path: Path | None, *, run: Run, rotation: str | None = None, jobs: int = 1, limit_s: float = TIME_LIMIT_S
) -> tuple[Collection, Report]:
    if not (math.isfinite(limit_s) and limit_s > 0):
        raise InvalidInstance(f"--time-limit is {limit_s:g}; need seconds > 0")
    from fairlane.proofs.claims.checking import check as check_collection
    from fairlane.proofs.claims.collection import load_collection

    if path is None:
        if not DEFAULT.is_dir():
            raise DataError(
                f"no notes given, and there is no {DEFAULT.as_posix()} here; need a note or a folder of notes"
            )
        path = DEFAULT
    collection = load_collection(path)
    roots = (Path.cwd(), collection.root.resolve())
    for root in roots:
        if str(root) not in sys.path:
            sys.path.insert(0, str(root))
    with output.progress("running claims") as shown:
        report = check_collection(
            collection,
            today=date.today(),
            roots=roots,
            run=run,
            rotation=rotation,
            n_processes=jobs,
            limit_s=limit_s,
            on_progress=shown,
        )
    if report.not_kept is not None:
        typer.echo(f"fairlane: {report.not_kept}; outcomes of this run are not kept", err=True)
    return collection, report


def _rotation(rotate: bool, word: str | None) -> str | None:
    if word is not None:
        return word
    if not rotate:
        return None
    if os.environ.get("CI"):
        raise InvalidInstance(
            "--rotate draws new samples, and CI is set; need the draws that the claims' ids fix there"
        )
    fresh = secrets.token_hex(4)
    typer.echo(f"rotation {fresh}; repeat it with --rotation {fresh}", err=True)
    return fresh


def _print(report: Report, *, json: bool) -> None:
    from fairlane.proofs.claims.rendering import claim_lines, report_to_json, summary_lines

    if json:
        output.print_json(report_to_json(report))
        return
    for line in (*claim_lines(report.entries), *summary_lines(report)):
        typer.echo(line)
