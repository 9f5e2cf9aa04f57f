"""Checked-in tables: CSV or JSON, every number read by its decimal text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.reference.exact import parse_number

Cell = Fraction | str | bool | None


@dataclass(frozen=True, slots=True)
class Row:
    """One row; a column is an attribute or an item."""

    cells: dict[str, Cell]
    line: int

    def __getattr__(self, name: str) -> Cell:
        try:
            return self.cells[name]
        except KeyError:
            raise AttributeError(f"no column {name!r}; there are {', '.join(self.cells)}") from None

    def __getitem__(self, name: str) -> Cell:
        return self.cells[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.cells)


def read_table(file: Path) -> tuple[Row, ...]:
    """Rows of a table.

    Parameters
    ----------
    file : Path
        ``.csv`` with a header, or ``.json`` with a list of objects (or ``{"rows": [...]}``).

    Raises
    ------
    DataError
        Unreadable, of another form, or empty.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise DataError(f"{file} cannot be read: {reason}") from None
    rows = _from_json(text, file) if file.suffix == ".json" else _from_csv(text, file)
    if not rows:
        raise DataError(f"{file} has no rows; need at least one")
    return rows


def _from_csv(text: str, file: Path) -> tuple[Row, ...]:
    reader = csv.reader(io.StringIO(text))
    header = next(reader, [])
    if not header or len(set(header)) != len(header):
        raise DataError(f"{file}: header is {header}; need distinct column names")
    rows = []
    for cells in reader:
        if not cells:
            continue
        if len(cells) != len(header):
            raise DataError(f"{file}:{reader.line_num}: {len(cells)} cells; need {len(header)}")
        rows.append(Row({name: read_cell(cell) for name, cell in zip(header, cells, strict=True)}, reader.line_num))
    return tuple(rows)


def _from_json(text: str, file: Path) -> tuple[Row, ...]:
    try:
        document = json.loads(text, parse_float=_decimal, parse_int=_decimal)
    except (ValueError, InvalidInstance) as error:
        raise DataError(f"{file}: {error}") from None
    listed = document.get("rows") if isinstance(document, dict) else document
    if not isinstance(listed, list) or not all(isinstance(row, dict) for row in listed):
        raise DataError(f"{file}: need a list of objects, or an object with one under 'rows'")
    return tuple(
        Row({name: read_cell(cell) if isinstance(cell, str) else cell for name, cell in row.items()}, i + 1)
        for i, row in enumerate(listed)
    )


def _decimal(text: str) -> Fraction:
    return parse_number(text, "number")


def read_cell(text: str) -> Cell:
    """A cell's number by its text, a truth value, nothing, or the text."""
    stripped = text.strip()
    if stripped in ("true", "false", "True", "False"):
        return stripped.lower() == "true"
    if not stripped:
        return None
    try:
        return parse_number(stripped, "cell")
    except InvalidInstance:
        return text
