"""A trace given on the command line, as requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fairlane.cli import choices

if TYPE_CHECKING:
    from fairlane.reference.model.request import Request


def requests_in(trace: Path, layout: str | None, time_unit: str | None, acceptance: str | None) -> tuple[Request, ...]:
    """The requests of a trace; its warnings go to standard error.

    Raises
    ------
    DataError, InvalidInstance
        A bad row, with its number, or a bad option.
    """
    from fairlane.reference.model.codec import read_bytes
    from fairlane.simulator.traces.reading import TraceFormat, read_trace
    from fairlane.simulator.traces.trace import requests_of

    kind = None if layout is None else choices.choice(layout, TraceFormat, "--format")
    read = read_trace(read_bytes(trace), str(trace), layout=kind, ms_per_unit=choices.time_unit(time_unit))
    for warning in read.warnings:
        typer.echo(f"fairlane: warning: {warning}", err=True)
    return requests_of(read, acceptance=[] if acceptance is None else acceptance.split(","))
