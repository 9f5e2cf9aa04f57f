"""A trace as read: who arrived when, with how long a prompt and how much output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.reference.exact import Real, as_fraction, found, show
from fairlane.reference.model.request import Request


class TraceRow(NamedTuple):
    """One request of a trace; ``prompt_tokens`` 0 only where it arrives decoding."""

    request_id: str
    arrival_ms: Decimal
    prompt_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Requests in order of arrival, those of equal arrival in the order of the file.

    Attributes
    ----------
    rows : tuple of TraceRow
        Exact arrivals, never decreasing.
    n_moved : int
        Rows of the file that stood after a later arrival.
    warnings : tuple of str
        What the user should know about the file.
    """

    rows: tuple[TraceRow, ...]
    n_moved: int = 0
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)


def trace_of(rows: Iterable[TraceRow], file: str, *, from_zero: bool = False) -> Trace:
    """A trace from the rows of a file.

    Parameters
    ----------
    rows : iterable of TraceRow
        In the order of the file.
    file : str
        Named in errors and warnings.
    from_zero : bool
        Count time from the first arrival: for clocks that show a date.

    Returns
    -------
    Trace
        Stably sorted by arrival, with a warning that counts the rows that moved.

    Raises
    ------
    DataError
        No row.
    """
    kept = list(rows)
    if not kept:
        raise DataError(f"{file}: found no data row; need at least one request")
    arrivals = [row.arrival_ms for row in kept]
    moved = [i for i, (at, seen) in enumerate(zip(arrivals, accumulate(arrivals, max), strict=True), 1) if at < seen]
    warnings: list[str] = []
    if moved:
        kept.sort(key=lambda row: row.arrival_ms)
        rows_word = "row arrives" if len(moved) == 1 else "rows arrive"
        warnings.append(
            f"{file}: {len(moved)} {rows_word} before an earlier row (the first is row {moved[0]}); "
            "sorted by arrival, equal arrivals in the order of the file"
        )
    if from_zero:
        origin = kept[0].arrival_ms
        kept = [TraceRow(name, at - origin, prompt, output) for name, at, prompt, output in kept]
    return Trace(rows=tuple(kept), n_moved=len(moved), warnings=tuple(warnings))


def requests_of(trace: Trace, *, acceptance: Sequence[Real | str] = ()) -> tuple[Request, ...]:
    """The requests that a simulation takes.

    Parameters
    ----------
    trace : Trace
        A row's output is the request's hidden length and its limit.
    acceptance : sequence of numbers
        Conditional acceptance by draft position, the same for all; a trace does not record it.

    Returns
    -------
    tuple of Request
        In the order of the trace.

    Raises
    ------
    InvalidInstance
        An acceptance outside [0, 1].
    """
    shared = tuple(as_fraction(q, f"acceptance[{j}]") for j, q in enumerate(acceptance))
    for j, q in enumerate(shared):
        if not 0 <= q <= 1:
            raise InvalidInstance(f"acceptance[{j}] is {show(q)}; need a probability in [0, 1]")
    return tuple(
        Request(
            id=row.request_id,
            prompt=row.prompt_tokens,
            limit=row.output_tokens,
            output_length=row.output_tokens,
            arrival_ms=Fraction(row.arrival_ms),
            acceptance=shared,
        )
        for row in trace.rows
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
    return Trace(rows=tuple(copies), n_moved=trace.n_moved, warnings=trace.warnings)
