"""Reading a trace: its format by name, its time unit stated or fixed by the format, its text in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum

from fairlane.reference.errors import DataError
from fairlane.reference.exact import found
from fairlane.simulator.request_logs import log_that_fits
from fairlane.simulator.rows import columns_in, decode, is_json_lines
from fairlane.simulator.traces import azure, burstgpt, mooncake, plain
from fairlane.simulator.traces.trace import Trace, TraceRow, trace_of

# clock readings of these sizes are dates in seconds, 2001 to 2286; dates in ms are too large for a clock in s
EPOCH_S = (10**9, 10**10)

# columns of other systems' files, and the option that reads them
FOREIGN: Mapping[tuple[str, str, str], str] = {
    ("arrived_at", "num_prefill_tokens", "num_decode_tokens"): "vidur",
    ("arrival_timestamp", "prompt_size", "token_size"): "splitwise-sim",
    ("queued_ts", "input_toks", "output_toks"): "a vLLM log",
    ("req_time", "prompt_len", "output_len"): "a VTC log",
}


class TraceFormat(StrEnum):
    """Formats in which traces are published."""

    AZURE = "azure"
    BAILIAN = "bailian"
    MOONCAKE = "mooncake"
    BURSTGPT = "burstgpt"
    CSV = "csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSpec:
    """A format: how it is read, the columns that mark it, and its unit.

    ``others`` are columns that its publisher has and nobody reads here. ``ms_per_unit`` is what the publisher counts
    in, None where the columns or the user say it. A format of dates has no unit to state.
    """

    format: TraceFormat
    read_rows: Callable[[str, str, int | None], Iterator[TraceRow]]
    columns: tuple[str, ...]
    others: tuple[str, ...] = ()
    ms_per_unit: int | None = None
    dates: bool = False


# the more particular one of two that fit stands first
TRACES: tuple[TraceSpec, ...] = (
    TraceSpec(format=TraceFormat.AZURE, read_rows=azure.read_rows, columns=azure.COLUMNS, dates=True),
    TraceSpec(
        format=TraceFormat.BAILIAN,
        read_rows=mooncake.read_bailian,
        columns=mooncake.BAILIAN_COLUMNS,
        others=mooncake.BAILIAN_OTHERS,
    ),
    TraceSpec(
        format=TraceFormat.MOONCAKE,
        read_rows=mooncake.read_rows,
        columns=mooncake.COLUMNS,
        others=mooncake.OTHERS,
        ms_per_unit=mooncake.MS_PER_UNIT,
    ),
    TraceSpec(
        format=TraceFormat.BURSTGPT,
        read_rows=burstgpt.read_rows,
        columns=burstgpt.COLUMNS,
        others=burstgpt.OTHERS,
        ms_per_unit=burstgpt.MS_PER_UNIT,
    ),
    TraceSpec(
        format=TraceFormat.CSV,
        read_rows=plain.read_rows,
        columns=plain.COLUMNS,
        others=(*plain.OPTIONAL, *plain.ARRIVALS),
    ),
)


def detect_format(text: str, file: str) -> TraceFormat:
    """The format whose columns the first line has.

    Raises
    ------
    DataError
        None of them; the message names what else would read the file, where something does.
    """
    columns = columns_in(text)
    for spec in TRACES:
        if _has(columns, spec):
            return spec.format
    first = text.lstrip().partition("\n")[0].strip()
    if is_json_lines(text) and not _elsewhere(columns):
        # its reader names the field that is missing, or where the JSON breaks off
        return TraceFormat.MOONCAKE
    known = ", ".join(spec.format.value for spec in TRACES)
    what = "fields" if is_json_lines(text) else "header"
    raise DataError(
        f"{file}: found the {what} {found(first)}; need the columns of a known format ({known}), or the columns "
        f"named with --columns arrival=...,prompt=...,output=...{_elsewhere(columns)}"
    )


def read_trace(
    content: str | bytes,
    file: str,
    *,
    layout: TraceFormat | None = None,
    ms_per_unit: int | None = None,
    columns: Mapping[str, str] | None = None,
) -> Trace:
    """The trace in a file's content.

    Parameters
    ----------
    content : str or bytes
        The whole file; bytes must be UTF-8.
    file : str
        Named in errors and warnings.
    layout : TraceFormat or None
        None takes the format whose columns the file has.
    ms_per_unit : int or None
        1 or 1000 where the user states the unit; needed where neither format nor column fixes it.
    columns : mapping of str to str, or None
        Roles to the names of a file in no known format, CSV or JSON lines.

    Returns
    -------
    Trace
        Sorted by arrival, the first one at 0; its notes and warnings say how it was read and what may be wrong.

    Raises
    ------
    DataError
        A bad row, no row, an unknown format, or a unit that is missing or contradicts the file.

    Examples
    --------
    >>> read_trace("arrival_ms,prompt,output\\n0,10,1\\n", "x.csv").rows[0].prompt_tokens
    10
    """
    text = decode(content, file) if isinstance(content, bytes) else content
    if columns is not None:
        if layout not in (None, TraceFormat.CSV):
            raise DataError(f"{file}: columns are named beside the format {layout}; need one of them")
        trace = trace_of(plain.read_mapped(text, file, ms_per_unit, columns), file)
        return _told(trace, text, file, ms_per_unit=ms_per_unit, read=tuple(columns.values()))
    chosen = layout if layout is not None else detect_format(text, file)
    spec = next(spec for spec in TRACES if spec.format is chosen)
    if layout is not None:
        _check_layout(text, file, spec)
    if spec.dates and ms_per_unit is not None:
        raise DataError(f"{file}: a time unit is stated; the format {chosen.value} has its times as dates")
    trace = trace_of(spec.read_rows(text, file, ms_per_unit), file)
    if spec.dates:
        return _told(trace, text, file, ms_per_unit=None, read=spec.columns, dates=True)
    if layout is None and ms_per_unit is None and spec.format is TraceFormat.MOONCAKE:
        _check_publisher(text, file, spec)
    fixed = spec.ms_per_unit
    if fixed is not None and ms_per_unit is None and (doubt := _doubt(trace.origin_ms, fixed)):
        raise DataError(f"{file}: {doubt}, and the format {chosen.value} counts {_unit(fixed)}; need the unit stated")
    if fixed is not None and ms_per_unit not in (None, fixed):
        note = f"{file}: read in {_unit(ms_per_unit or fixed)} as stated; {chosen.value} is published in {_unit(fixed)}"
        trace = replace(trace, notes=(*trace.notes, note))
    return _told(trace, text, file, ms_per_unit=ms_per_unit or fixed, read=(*spec.columns, *spec.others))


def _told(
    trace: Trace, text: str, file: str, *, ms_per_unit: int | None, read: tuple[str, ...], dates: bool = False
) -> Trace:
    """The trace with what its user should know of clock and columns."""
    notes, warnings = list(trace.notes), list(trace.warnings)
    if trace.origin_ms and not dates:
        notes.append(f"{file}: time is counted from the first arrival, {trace.origin_ms.normalize():f} ms on its clock")
        # in a plain table the column may have said the unit
        unit = ms_per_unit if ms_per_unit is not None else 1000 if "arrival_s" in columns_in(text) else 1
        if doubt := _doubt(trace.origin_ms, unit):
            warnings.append(f"{file}: {doubt}, and is read in {_unit(unit)}")
    unread = [name for name in columns_in(text) if name not in read]
    if unread:
        notes.append(f"{file}: columns not read: {', '.join(map(found, unread))}")
    return replace(trace, notes=tuple(notes), warnings=tuple(warnings))


def _doubt(origin_ms: Decimal, ms_per_unit: int) -> str | None:
    """Why the first arrival hardly counts in this unit; None where nothing says so."""
    if ms_per_unit == 1 and EPOCH_S[0] <= origin_ms < EPOCH_S[1]:
        return f"the first arrival, {origin_ms.normalize():f}, looks like a date in s"
    return None


def _unit(ms_per_unit: int) -> str:
    return "s" if ms_per_unit == 1000 else "ms"


def _has(columns: tuple[str, ...], spec: TraceSpec) -> bool:
    if spec.format is TraceFormat.CSV and not any(name in columns for name in plain.ARRIVALS):
        return False
    return all(name in columns for name in spec.columns)


def _check_layout(text: str, file: str, spec: TraceSpec) -> None:
    """Refuse a format named for a file that has the columns of another one."""
    columns = columns_in(text)
    if not columns or all(name in columns for name in spec.columns):
        return
    fitting = [other.format.value for other in TRACES if _has(columns, other)]
    hint = f"; its columns are those of --format {fitting[0]}" if fitting else _elsewhere(columns)
    if hint:
        missing = next(name for name in spec.columns if name not in columns)
        raise DataError(f"{file}: column {missing} of the format {spec.format.value} is missing{hint}")


def _check_publisher(text: str, file: str, spec: TraceSpec) -> None:
    """Refuse to take another system's log for this publisher's, and its unit with it."""
    strange = [name for name in columns_in(text) if name not in (*spec.columns, *spec.others)]
    if strange:
        raise DataError(
            f"{file}: found the fields {', '.join(map(found, strange[:8]))}, which {spec.format.value} does not have, "
            f"so its unit is not sure either; need the time unit stated, or --format {spec.format.value}"
        )


def _elsewhere(columns: tuple[str, ...]) -> str:
    """What would read a file that is no known trace; empty where nothing is known."""
    for (arrival, prompt, output), origin in FOREIGN.items():
        if {arrival, prompt, output} <= set(columns):
            return (
                f"; it looks like {origin}: --columns arrival={arrival},prompt={prompt},output={output} --time-unit s"
            )
    log = log_that_fits(columns)
    return "" if log is None else f"; it is a log for fairlane metrics --format {log}"
