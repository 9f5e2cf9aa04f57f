"""Reading a trace: its format by name, its time unit stated or fixed by the format, its text in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from fairlane.reference.errors import DataError
from fairlane.reference.exact import found
from fairlane.simulator.rows import decode
from fairlane.simulator.traces import azure, burstgpt, mooncake, plain
from fairlane.simulator.traces.trace import Trace, TraceRow, trace_of


class TraceFormat(StrEnum):
    """Formats in which traces are published."""

    AZURE = "azure"
    MOONCAKE = "mooncake"
    BURSTGPT = "burstgpt"
    CSV = "csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSpec:
    """A format: how it is read, the columns that mark it, and its unit.

    ``ms_per_unit`` None leaves the unit to the columns or to the user; ``from_zero`` counts time from the first row.
    """

    format: TraceFormat
    read_rows: Callable[[str, str, int | None], Iterator[TraceRow]]
    columns: tuple[str, ...]
    ms_per_unit: int | None
    from_zero: bool = False


TRACES: tuple[TraceSpec, ...] = (
    TraceSpec(
        format=TraceFormat.AZURE, read_rows=azure.read_rows, columns=azure.COLUMNS, ms_per_unit=1000, from_zero=True
    ),
    TraceSpec(
        format=TraceFormat.MOONCAKE,
        read_rows=mooncake.read_rows,
        columns=mooncake.COLUMNS,
        ms_per_unit=mooncake.MS_PER_UNIT,
    ),
    TraceSpec(
        format=TraceFormat.BURSTGPT,
        read_rows=burstgpt.read_rows,
        columns=burstgpt.COLUMNS,
        ms_per_unit=burstgpt.MS_PER_UNIT,
    ),
    TraceSpec(format=TraceFormat.CSV, read_rows=plain.read_rows, columns=plain.COLUMNS, ms_per_unit=None),
)


def detect_format(text: str, file: str) -> TraceFormat:
    """The format whose columns the first line has.

    Raises
    ------
    DataError
        None of them.
    """
    first = text.lstrip().partition("\n")[0].strip()
    if first.startswith("{"):
        return TraceFormat.MOONCAKE
    header = [name.strip().strip('"') for name in first.split(",")]
    for spec in TRACES:
        if all(name in header for name in spec.columns):
            return spec.format
    raise DataError(
        f"{file}: found the header {found(first)}; need the columns of a known format "
        f"({', '.join(spec.format.value for spec in TRACES)}), or the format named"
    )


def read_trace(
    content: str | bytes, file: str, *, layout: TraceFormat | None = None, ms_per_unit: int | None = None
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

    Returns
    -------
    Trace
        Sorted by arrival.

    Raises
    ------
    DataError
        A bad row, no row, an unknown format, or a unit that is missing or contradicts the format.

    Examples
    --------
    >>> read_trace("arrival_ms,prompt,output\\n0,10,1\\n", "x.csv").rows[0].prompt_tokens
    10
    """
    text = decode(content, file) if isinstance(content, bytes) else content
    chosen = layout if layout is not None else detect_format(text, file)
    spec = next(spec for spec in TRACES if spec.format is chosen)
    if spec.ms_per_unit is not None and ms_per_unit not in (None, spec.ms_per_unit):
        fixed, stated = ("s", "ms") if spec.ms_per_unit == 1000 else ("ms", "s")
        raise DataError(f"{file}: the time unit is {stated}; the format {chosen.value} has its times in {fixed}")
    rows = spec.read_rows(text, file, ms_per_unit)
    return trace_of(rows, file, from_zero=spec.from_zero)
