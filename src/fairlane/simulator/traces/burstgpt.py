"""BurstGPT traces: CSV with ``Timestamp`` (s), ``Request tokens`` and ``Response tokens``.

Source: Wang et al., BurstGPT (2024), CC-BY-4.0. A request that failed has no response token.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from fairlane.simulator.rows import Place, csv_rows, read_ms, read_output, read_prompt
from fairlane.simulator.traces.trace import TraceRow

COLUMNS = ("Timestamp", "Request tokens", "Response tokens")
OTHERS = ("Model", "Total tokens", "Log Type", "Session ID", "Elapsed time")
MS_PER_UNIT = 1000


def read_rows(text: str, file: str, ms_per_unit: int | None) -> Iterator[TraceRow]:
    """Rows of a text; the row number is the id. The publisher counts seconds.

    Raises
    ------
    DataError
        A bad row, with its number, column and what was found.
    """
    unit = MS_PER_UNIT if ms_per_unit is None else ms_per_unit
    for row, value in csv_rows(text, file, required=COLUMNS):
        output = read_output(value["Response tokens"], Place(file, row, "Response tokens"))
        yield TraceRow(
            str(row),
            Decimal(read_ms(value["Timestamp"], Place(file, row, "Timestamp"), ms_per_unit=unit)),
            read_prompt(value["Request tokens"], Place(file, row, "Request tokens"), answered=output > 0),
            output,
        )
