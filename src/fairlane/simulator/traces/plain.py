"""A plain CSV of requests: an arrival column, ``prompt`` and ``output``, and if wanted ``id``.

The arrival stands in ``arrival_ms``, in ``arrival_s``, or in ``arrival`` with its unit stated. A ``prompt`` of 0 is a
request that arrives decoding. Without ``id`` the row number is the id. Other columns are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from fairlane.reference.errors import DataError
from fairlane.simulator.rows import Place, csv_rows, read_id, read_ms, read_whole
from fairlane.simulator.traces.trace import TraceRow

COLUMNS = ("prompt", "output")
ARRIVALS = {"arrival_ms": 1, "arrival_s": 1000, "arrival": None}


def read_rows(text: str, file: str, ms_per_unit: int | None) -> Iterator[TraceRow]:
    """Rows of a text.

    Raises
    ------
    DataError
        A bad row, with its number, column and what was found; an arrival without a unit, or with two.
    """
    column = unit = None
    seen: dict[str, int] = {}
    for row, value in csv_rows(text, file, required=COLUMNS):
        if column is None or unit is None:
            column, unit = _arrival(value, file, ms_per_unit)
        place = Place(file, row, "id")
        yield TraceRow(
            read_id(value["id"], place, seen, row) if "id" in value else str(row),
            Decimal(read_ms(value[column], Place(file, row, column), ms_per_unit=unit)),
            read_whole(value["prompt"], Place(file, row, "prompt"), minimum=0),
            read_whole(value["output"], Place(file, row, "output"), minimum=1),
        )


def _arrival(value: object, file: str, stated: int | None) -> tuple[str, int]:
    columns = [name for name in ARRIVALS if isinstance(value, dict) and name in value]
    if len(columns) != 1:
        what = " and ".join(columns) if columns else "none of them"
        raise DataError(f"{file}: header: found {what}; need one column of {', '.join(ARRIVALS)}")
    fixed = ARRIVALS[columns[0]]
    if fixed is None and stated is None:
        raise DataError(f"{file}: header: column arrival does not say its time unit; need it stated, s or ms")
    if fixed is not None and stated not in (None, fixed):
        raise DataError(f"{file}: header: the time unit stated is not that of column {columns[0]}; need them to agree")
    unit = stated if fixed is None else fixed
    assert unit is not None
    return columns[0], unit
