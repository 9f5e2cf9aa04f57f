"""BurstGPT traces: CSV with ``Timestamp`` (s), ``Request tokens`` and ``Response tokens``.

Source: Wang et al., BurstGPT (2024), CC-BY-4.0. Requests that failed have no response token; the release without
failures is the one to simulate, and a row without output is an error here as in every trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from fairlane.simulator.rows import Place, csv_rows, read_ms, read_whole
from fairlane.simulator.traces.trace import TraceRow

COLUMNS = ("Timestamp", "Request tokens", "Response tokens")
MS_PER_UNIT = 1000


def read_rows(text: str, file: str, ms_per_unit: int | None) -> Iterator[TraceRow]:
    """Rows of a text; the row number is the id. The format fixes the unit.

    Raises
    ------
    DataError
        A bad row, with its number, column and what was found.
    """
    for row, value in csv_rows(text, file, required=COLUMNS):
        yield TraceRow(
            str(row),
            Decimal(read_ms(value["Timestamp"], Place(file, row, "Timestamp"), ms_per_unit=MS_PER_UNIT)),
            read_whole(value["Request tokens"], Place(file, row, "Request tokens"), minimum=1),
            read_whole(value["Response tokens"], Place(file, row, "Response tokens"), minimum=1),
        )
