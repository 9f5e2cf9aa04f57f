"""A trace as read: who arrived when, with how long a prompt and how much output."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.reference.exact import found


class TraceRow(NamedTuple):
    """One request of a trace; ``prompt_tokens`` 0 only where it arrives decoding.

    ``limit``, ``weight`` and ``acceptance`` are None where the file does not give them.
    """

    request_id: str
    arrival_ms: Decimal
    prompt_tokens: int
    output_tokens: int
    limit: int | None = None
    weight: Fraction | None = None
    acceptance: tuple[Fraction, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Requests in order of arrival, those of equal arrival in the order of the file.

    Attributes
    ----------
    rows : tuple of TraceRow
        Exact arrivals, never decreasing, the first at 0.
    n_moved : int
        Rows of the file that stood after a later arrival.
    n_unanswered : int
        Rows of failed or empty answers, which have no output and are not among ``rows``.
    origin_ms : Decimal
        What the file's clock showed at the first arrival, milliseconds.
    notes : tuple of str
        How the file was read.
    warnings : tuple of str
        What may be wrong with it.
    """

    rows: tuple[TraceRow, ...]
    n_moved: int = 0
    n_unanswered: int = 0
    origin_ms: Decimal = Decimal(0)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)


def trace_of(rows: Iterable[TraceRow], file: str) -> Trace:
    """A trace from the rows of a file.

    Parameters
    ----------
    rows : iterable of TraceRow
        In the order of the file; a failed or empty answer has 0 output tokens.
    file : str
        Named in errors and warnings.

    Returns
    -------
    Trace
        Stably sorted by arrival and counted from the first one, with warnings that count what moved and what has no
        output.

    Raises
    ------
    DataError
        No row with an output.
    """
    read = list(rows)
    if not read:
        raise DataError(f"{file}: found no data row; need at least one request")
    unanswered = [i for i, row in enumerate(read, 1) if not row.output_tokens]
    kept = [row for row in read if row.output_tokens] if unanswered else read
    if not kept:
        raise DataError(f"{file}: all {len(read)} rows are without output; need at least one answered request")
    warnings: list[str] = []
    if unanswered:
        what = "row is a failed or empty answer" if len(unanswered) == 1 else "rows are failed or empty answers"
        warnings.append(
            f"{file}: {len(unanswered)} {what} without output (the first is row {unanswered[0]}) and left out; "
            f"{len(kept)} requests remain"
        )
    arrivals = [row.arrival_ms for row in kept]
    moved = [i for i, (at, seen) in enumerate(zip(arrivals, accumulate(arrivals, max), strict=True)) if at < seen]
    if moved:
        rows_word = "row arrives" if len(moved) == 1 else "rows arrive"
        first = next(i for i, row in enumerate(read, 1) if row is kept[moved[0]])
        kept = sorted(kept, key=lambda row: row.arrival_ms)
        warnings.append(
            f"{file}: {len(moved)} {rows_word} before an earlier row (the first is row {first}); "
            "sorted by arrival, equal arrivals in the order of the file"
        )
    origin = kept[0].arrival_ms
    if origin:
        kept = [row._replace(arrival_ms=row.arrival_ms - origin) for row in kept]
    return Trace(
        rows=tuple(kept),
        n_moved=len(moved),
        n_unanswered=len(unanswered),
        origin_ms=origin,
        warnings=tuple(warnings),
    )


def repeated(trace: Trace, times: int) -> Trace:
    """A trace several times over, each copy shifted by the span of the whole before it.

    Parameters
    ----------
    trace : Trace
        Its span is last arrival − first arrival.
    times : int
        >= 1; ids of the second copy on end in ``+1``, ``+2``, ...

    Raises
    ------
    InvalidInstance
        ``times`` is below 1.

    Examples
    --------
    >>> row = TraceRow("a", Decimal(0), 8, 1), TraceRow("b", Decimal(5), 8, 1)
    >>> [(r.request_id, int(r.arrival_ms)) for r in repeated(Trace(rows=row), 2).rows]
    [('a', 0), ('b', 5), ('a+1', 5), ('b+1', 10)]
    """
    if times < 1:
        raise InvalidInstance(f"times is {found(times)}; need >= 1")
    span = trace.rows[-1].arrival_ms - trace.rows[0].arrival_ms
    copies = [
        row._replace(request_id=f"{row.request_id}+{k}" if k else row.request_id, arrival_ms=row.arrival_ms + k * span)
        for k in range(times)
        for row in trace.rows
    ]
    return Trace(rows=tuple(copies), n_moved=trace.n_moved, notes=trace.notes, warnings=trace.warnings)
