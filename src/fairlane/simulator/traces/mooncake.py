"""Mooncake traces: JSON lines with ``timestamp`` (ms), ``input_length`` and ``output_length``.

Source: the FAST '25 release of Mooncake, Apache-2.0; Qin et al. (2025). Other fields, such as ``hash_ids``, are not
read.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from fairlane.simulator.rows import Place, json_lines, read_ms, read_whole
from fairlane.simulator.traces.trace import TraceRow

COLUMNS = ("timestamp", "input_length", "output_length")
MS_PER_UNIT = 1


def read_rows(text: str, file: str, ms_per_unit: int | None) -> Iterator[TraceRow]:
    """Rows of a text; the row number is the id. The format fixes the unit.

    Raises
    ------
    DataError
        A bad row, with its number, column and what was found.
    """
    for row, value in json_lines(text, file, required=COLUMNS):
        yield TraceRow(
            str(row),
            Decimal(read_ms(value["timestamp"], Place(file, row, "timestamp"), ms_per_unit=MS_PER_UNIT)),
            read_whole(value["input_length"], Place(file, row, "input_length"), minimum=1),
            read_whole(value["output_length"], Place(file, row, "output_length"), minimum=1),
        )
