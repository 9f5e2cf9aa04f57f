"""JSON lines with ``timestamp``, ``input_length`` and ``output_length``: Mooncake's traces and Bailian's.

Mooncake counts whole milliseconds. Source: its FAST '25 release, Apache-2.0; Qin et al. (2025). Bailian's have
``chat_id`` and ``turn`` as well, and their unit is to be stated: releases count seconds, and the fields alone do not
tell them from Mooncake's. Source: Alibaba's anonymised usage traces of Qwen on Bailian. Other fields, such as
``hash_ids``, are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from fairlane.reference.errors import DataError
from fairlane.simulator.rows import Place, json_lines, read_ms, read_output, read_prompt, shown
from fairlane.simulator.traces.trace import TraceRow

COLUMNS = ("timestamp", "input_length", "output_length")
OTHERS = ("hash_ids",)
BAILIAN_COLUMNS = ("chat_id", "turn", *COLUMNS)
BAILIAN_OTHERS = ("parent_chat_id", "type", "hash_ids")
MS_PER_UNIT = 1


def read_rows(text: str, file: str, ms_per_unit: int | None) -> Iterator[TraceRow]:
    """Rows of a text; the row number is the id. Without a unit stated, whole milliseconds.

    Raises
    ------
    DataError
        A bad row, with its number, column and what was found; a fraction of a millisecond where no unit was stated.
    """
    unit = MS_PER_UNIT if ms_per_unit is None else ms_per_unit
    for row, value in json_lines(text, file, required=COLUMNS):
        place = Place(file, row, "timestamp")
        at = Decimal(read_ms(value["timestamp"], place, ms_per_unit=unit))
        if ms_per_unit is None and at != at.to_integral_value():
            raise DataError(
                f"{place}: found {shown(value['timestamp'])}, and the format mooncake counts whole ms; "
                "need the time unit stated, s or ms"
            )
        output = read_output(value["output_length"], Place(file, row, "output_length"))
        yield TraceRow(
            str(row),
            at,
            read_prompt(value["input_length"], Place(file, row, "input_length"), answered=output > 0),
            output,
        )


def read_bailian(text: str, file: str, ms_per_unit: int | None) -> Iterator[TraceRow]:
    """Rows of a text with ``chat_id`` and ``turn``.

    Raises
    ------
    DataError
        As :func:`read_rows`, or no unit stated.
    """
    if ms_per_unit is None:
        raise DataError(f"{file}: the format bailian does not fix its time unit; need it stated, s or ms")
    return read_rows(text, file, ms_per_unit)
