"""Logs of other systems that hold a request's first and last output only.

``vllm``: JSON lines with ``request_id``, ``queued_ts``, ``first_token_ts``, ``last_token_ts`` and ``output_toks``, as
written from vLLM's request timestamps; seconds. ``vtc``: the CSV of the virtual-token-counter artifact, with
``req_time``, ``first_token_latency``, ``request_latency``, ``output_len``; seconds. ``summary``: CSV with ``id``,
``arrival``, ``first_token``, ``last_token`` and ``output_tokens``, whose time unit must be stated.

Such a log says when the first and the last token came and how many there were: TTFT, E2E and TPOT are measured from
it, gaps and output ages are not and stay "n/a". A request whose output times are empty or null is
unfinished, and one with times and an output of 0 has failed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from fairlane.reference.errors import DataError
from fairlane.simulator.publication_rows import PublicationFormat, PublicationRow, table_of
from fairlane.simulator.publication_table import UNKNOWN, Outcome, PublicationTable
from fairlane.simulator.rows import Place, csv_rows, json_lines, read_id, read_ms, read_whole, shown

MS_PER_S = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLayout:
    """Columns of a log; output times are clock readings, or latencies from the arrival.

    ``request_id`` None numbers the rows; ``ms_per_unit`` None asks for a stated unit.
    """

    request_id: str | None
    arrival: str
    first: str
    last: str
    output: str
    prompt: str | None
    latencies: bool
    is_json: bool
    ms_per_unit: int | None


LOGS: Mapping[PublicationFormat, LogLayout] = {
    PublicationFormat.VLLM: LogLayout(
        request_id="request_id",
        arrival="queued_ts",
        first="first_token_ts",
        last="last_token_ts",
        output="output_toks",
        prompt="input_toks",
        latencies=False,
        is_json=True,
        ms_per_unit=MS_PER_S,
    ),
    PublicationFormat.VTC: LogLayout(
        request_id=None,
        arrival="req_time",
        first="first_token_latency",
        last="request_latency",
        output="output_len",
        prompt="prompt_len",
        latencies=True,
        is_json=False,
        ms_per_unit=MS_PER_S,
    ),
    PublicationFormat.SUMMARY: LogLayout(
        request_id="id",
        arrival="arrival",
        first="first_token",
        last="last_token",
        output="output_tokens",
        prompt="prompt_tokens",
        latencies=False,
        is_json=False,
        ms_per_unit=None,
    ),
}


def log_that_fits(columns: Collection[str]) -> PublicationFormat | None:
    """The log whose columns these are; None where there is none."""
    return next((layout for layout, log in LOGS.items() if set(required_columns(log)) <= set(columns)), None)


def required_columns(log: LogLayout) -> list[str]:
    """Columns that a log must have."""
    some = [] if log.request_id is None else [log.request_id]
    return [*some, log.arrival, log.first, log.last, log.output]


def read_log(text: str, file: str, *, layout: PublicationFormat, ms_per_unit: int | None) -> PublicationTable:
    """The table of a log.

    Parameters
    ----------
    text : str
        The whole file.
    file : str
        Named in errors.
    layout : PublicationFormat
        One of ``LOGS``.
    ms_per_unit : int or None
        The unit stated by the user; it must not contradict one that the layout fixes.

    Returns
    -------
    PublicationTable
        With ``gaps_known`` False.

    Raises
    ------
    DataError
        A bad row, or a unit that is missing or contradicts the layout.
    """
    columns = LOGS[layout]
    unit = columns.ms_per_unit if ms_per_unit is None else ms_per_unit
    if unit is None:
        raise DataError(f"{file}: the format {layout.value} does not fix its time unit; need it stated, s or ms")
    if columns.ms_per_unit not in (None, unit):
        raise DataError(f"{file}: the time unit is ms; the format {layout.value} has its times in s")
    required = required_columns(columns)
    source: Iterator[tuple[int, Mapping[str, object]]] = (
        json_lines(text, file, required=required) if columns.is_json else csv_rows(text, file, required=required)
    )
    seen: dict[str, int] = {}
    rows = [_row(columns, value, file, row, unit, seen) for row, value in source]
    return table_of(rows, gaps_known=False, tokens_known=False, file=file)


def _row(
    columns: LogLayout, value: Mapping[str, object], file: str, row: int, unit: int, seen: dict[str, int]
) -> PublicationRow:
    def place(column: str) -> Place:
        return Place(file, row, column)

    if columns.request_id is None:
        request_id = str(row)
    else:
        request_id = read_id(value[columns.request_id], place(columns.request_id), seen, row)
    arrival = read_ms(value[columns.arrival], place(columns.arrival), ms_per_unit=unit)
    prompt = UNKNOWN
    if columns.prompt is not None and value.get(columns.prompt) not in (None, ""):
        prompt = read_whole(value[columns.prompt], place(columns.prompt), minimum=1)
    absent = [value[name] in (None, "") for name in (columns.first, columns.last)]
    if value[columns.output] in (None, "", 0, "0") and not absent[0]:
        return PublicationRow(id=request_id, arrival_ms=arrival, publications=(), outcome=Outcome.FAILED, prompt=prompt)
    if absent[0]:
        if not absent[1]:
            raise DataError(f"{place(columns.first)}: found nothing beside a last output; need its time")
        return PublicationRow(
            id=request_id, arrival_ms=arrival, publications=(), outcome=Outcome.UNFINISHED, prompt=prompt
        )
    base = arrival if columns.latencies else 0
    first = base + read_ms(value[columns.first], place(columns.first), ms_per_unit=unit)
    if first < arrival:
        raise DataError(
            f"{place(columns.first)}: found {shown(value[columns.first])}; need at least {columns.arrival}, "
            f"{shown(value[columns.arrival])}"
        )
    output = read_whole(value[columns.output], place(columns.output), minimum=1)
    if absent[1]:
        return PublicationRow(
            id=request_id, arrival_ms=arrival, publications=((first, 1),), outcome=Outcome.UNFINISHED, prompt=prompt
        )
    last = base + read_ms(value[columns.last], place(columns.last), ms_per_unit=unit)
    if last < first:
        raise DataError(
            f"{place(columns.last)}: found {shown(value[columns.last])}; need at least {columns.first}, "
            f"{shown(value[columns.first])}"
        )
    # at one time it was one delivery, of which no time per token can be told
    publications = ((first, 1), (last, output - 1)) if output > 1 and last > first else ((first, output),)
    return PublicationRow(
        id=request_id,
        arrival_ms=arrival,
        publications=publications,
        outcome=Outcome.FINISHED,
        prompt=prompt,
    )
