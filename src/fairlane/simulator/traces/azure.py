"""Azure LLM inference traces: ``TIMESTAMP,ContextTokens,GeneratedTokens``, a date and a time of day a row.

Source: AzurePublicDataset, CC-BY-4.0; Patel et al., Splitwise, ISCA 2024. The releases of 2023 have no time zone, that
of 2024 has one. Time is counted from the first arrival.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from functools import lru_cache

from fairlane.reference.errors import DataError
from fairlane.reference.exact import found
from fairlane.simulator.rows import Place, csv_rows, read_output, read_prompt
from fairlane.simulator.traces.trace import TraceRow

COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")

_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{1,9}))?"
    r"(Z|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])?"
)
NS_PER_MS = 10**6
NS_PER_S = 10**9


def read_rows(text: str, file: str, ms_per_unit: int | None) -> Iterator[TraceRow]:
    """Rows of a text, arrivals counted from the year 1; the row number is the id.

    Raises
    ------
    DataError
        A bad row, with its number, column and what was found.
    """
    zoned: bool | None = None
    for row, value in csv_rows(text, file, required=COLUMNS):
        match = _TIMESTAMP.fullmatch(value["TIMESTAMP"])
        days = _day(match[1]) if match else None
        if match is None or days is None:
            raise DataError(
                f"{Place(file, row, 'TIMESTAMP')}: found {found(value['TIMESTAMP'])}; "
                "need a date and time such as 2023-11-16 18:17:03.9799600"
            )
        zone = match[6]
        if zoned is not None and zoned != (zone is not None):
            raise DataError(
                f"{Place(file, row, 'TIMESTAMP')}: found {found(value['TIMESTAMP'])}; "
                "need a time zone in every row or in none"
            )
        zoned = zone is not None
        seconds = days * 86400 + int(match[2]) * 3600 + int(match[3]) * 60 + int(match[4]) - _offset_s(zone)
        ns = seconds * NS_PER_S + int((match[5] or "0").ljust(9, "0"))
        output = read_output(value["GeneratedTokens"], Place(file, row, "GeneratedTokens"))
        yield TraceRow(
            str(row),
            Decimal(ns) / NS_PER_MS,
            read_prompt(value["ContextTokens"], Place(file, row, "ContextTokens"), answered=output > 0),
            output,
        )


@lru_cache(maxsize=1024)
def _day(text: str) -> int | None:
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _offset_s(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return 60 * (minutes if zone[0] == "+" else -minutes)
