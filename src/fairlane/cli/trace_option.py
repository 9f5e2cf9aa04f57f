"""A trace given on the command line, as requests, with what was read and what the run shows of lengths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fairlane.cli import choices
from fairlane.reference.errors import InvalidInstance

if TYPE_CHECKING:
    from fairlane.reference.model.request import LengthPrior, Request
    from fairlane.simulator.traces.trace import Trace

LEARN = "learn:"

FORMAT_HELP = "azure, bailian, mooncake, burstgpt or csv; by its columns without it."
UNIT_HELP = "s or ms; needed where the trace's format does not fix it."
COLUMNS_HELP = (
    "Names of a table in no known format: arrival=...,prompt=...,output=... and id, limit, weight, acceptance."
)
ACCEPTANCE_HELP = "Conditional acceptance for a trace without that column."
LIMIT_HELP = "Output limit of the requests of a trace without that column. Default: 4096."
KNOWN_HELP = "Show the recorded length of every request of a trace as its limit."
PRIOR_HELP = "learn:FILE, the lengths in another part of the trace as every request's belief."


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """Options that say how a trace is read and what its requests show, as typed."""

    layout: str | None = None
    time_unit: str | None = None
    columns: str | None = None
    acceptance: str | None = None
    limit: int | None = None
    known_lengths: bool = False
    length_prior: str | None = None

    def given(self) -> dict[str, object]:
        """Options by name that were typed."""
        return {
            name: value
            for name, value in {
                "--format": self.layout,
                "--time-unit": self.time_unit,
                "--columns": self.columns,
                "--acceptance": self.acceptance,
                "--limit": self.limit,
                "--known-lengths": self.known_lengths or None,
                "--length-prior": self.length_prior,
            }.items()
            if value is not None
        }

    def need_none(self, trace: str) -> None:
        """Refuse options of a trace where there is none.

        Raises
        ------
        InvalidInstance
            One was typed.
        """
        for option in self.given():
            raise InvalidInstance(f"{option} is given without {trace}; need a trace for it")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRequests:
    """Requests of a trace; ``lengths`` says in one line what a run shows of theirs."""

    requests: tuple[Request, ...]
    lengths: str


def requests_in(file: Path, options: TraceOptions) -> TraceRequests:
    """The requests of a trace; notes and warnings go to standard error.

    Raises
    ------
    DataError, InvalidInstance
        A bad row, with its number, or a bad option.
    """
    from fairlane.simulator.traces import ShownLengths, requests_of
    from fairlane.simulator.traces.request_list import DEFAULT_LIMIT

    if options.known_lengths and options.limit is not None:
        raise InvalidInstance("--known-lengths and --limit are both given; need one of them")
    trace = _read(file, options)
    lengths = ShownLengths(
        limit=DEFAULT_LIMIT if options.limit is None else options.limit,
        known=options.known_lengths,
        prior=None if options.length_prior is None else _prior(options.length_prior, file, options),
    )
    acceptance = [] if options.acceptance is None else options.acceptance.split(",")
    requests = requests_of(trace, acceptance=acceptance, lengths=lengths)
    return TraceRequests(requests=requests, lengths=lengths.words(trace))


def _read(file: Path, options: TraceOptions) -> Trace:
    from fairlane.reference.model.codec import read_bytes
    from fairlane.simulator.traces import TraceFormat, read_trace
    from fairlane.simulator.traces.column_names import read_mapping

    mapping: Mapping[str, str] | None = None if options.columns is None else read_mapping(options.columns, "--columns")
    trace = read_trace(
        read_bytes(file),
        str(file),
        layout=None if options.layout is None else choices.choice(options.layout, TraceFormat, "--format"),
        ms_per_unit=choices.time_unit(options.time_unit),
        columns=mapping,
    )
    for warning in trace.warnings:
        typer.echo(f"fairlane: warning: {warning}", err=True)
    for note in trace.notes:
        typer.echo(f"fairlane: note: {note}", err=True)
    return trace


def _prior(text: str, trace: Path, options: TraceOptions) -> LengthPrior:
    from fairlane.reference.model.codec import read_bytes
    from fairlane.simulator.traces import prior_of

    name = text.removeprefix(LEARN)
    if name == text or not name:
        raise InvalidInstance(f"--length-prior is {text!r}; need {LEARN}FILE")
    learned = prior_of(_read(Path(name), options))
    if read_bytes(Path(name)) == read_bytes(trace):
        typer.echo(
            "fairlane: warning: --length-prior is learned from the very requests of the run; "
            "a part of the trace that is not simulated shows what a belief is worth",
            err=True,
        )
    return learned.prior
