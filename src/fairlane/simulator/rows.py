"""Rows of text files from outside: every bad one is an error with its number, its column, and what was found.

Row 1 is the first data row, below any header. Numbers are read by their decimal text.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.reference.exact import MAX_DIGITS, MAX_EXPONENT, found, parse_number

Number = int | Decimal

MAX_MS = 10**15
MAX_TOKENS = 10**12

_PLAIN = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_WHOLE = re.compile(r"[0-9]{1,12}")


class Place(NamedTuple):
    """Where a value stands: file, row and column, as an error names them."""

    file: str
    row: int
    column: str = ""

    def __str__(self) -> str:
        column = f", column {self.column}" if self.column else ""
        return f"{self.file}: row {self.row}{column}"


def shown(value: object) -> str:
    """What was found, for an error."""
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        text = str(value)
        return text if len(text) <= 40 else text[:37] + "..."
    return found(value)


def read_number(value: object, place: Place | str) -> Number:
    """An int or Decimal from a JSON number or a number's text.

    Raises
    ------
    DataError
        No finite number.
    """
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise DataError(f"{place}: found {shown(value)}; need a number")
    if _PLAIN.fullmatch(value):
        return Decimal(value)
    try:
        exact: Fraction = parse_number(value, "number")
    except InvalidInstance:
        raise DataError(f"{place}: found {found(value)}; need a finite number") from None
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def read_ms(value: object, place: Place | str, *, ms_per_unit: int = 1) -> Number:
    """A time in milliseconds, 0 to 10^15.

    Raises
    ------
    DataError
        No number, negative, or too large.
    """
    at = read_number(value, place) * ms_per_unit
    if at < 0:
        raise DataError(f"{place}: found {shown(value)}; need >= 0")
    if at > MAX_MS:
        # today's date in ms is beyond any clock that counts seconds
        doubt = ", and it is read in s: does it count ms, us or ns?" if ms_per_unit == 1000 else ""
        raise DataError(f"{place}: found {shown(value)}; need at most 10^15 ms{doubt}")
    return at


def read_whole(value: object, place: Place | str, *, minimum: int) -> int:
    """A whole number of tokens, ``minimum`` to 10^12.

    Raises
    ------
    DataError
        No whole number, or out of range.
    """
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        whole = int(value)
    else:
        number = read_number(value, place)
        if number > MAX_TOKENS:
            raise DataError(f"{place}: found {shown(value)}; need at most 10^12")
        if number < minimum:
            raise DataError(f"{place}: found {shown(value)}; need >= {minimum}")
        if number != (whole := int(number)):
            raise DataError(f"{place}: found {shown(value)}; need a whole number")
    if whole < minimum:
        raise DataError(f"{place}: found {shown(value)}; need >= {minimum}")
    return whole


def read_output(value: object, place: Place | str) -> int:
    """Output tokens of a log's answer; 0, nothing or null where it failed or was empty.

    Raises
    ------
    DataError
        No whole number >= 0.
    """
    return 0 if value is None or value == "" else read_whole(value, place, minimum=0)


def read_prompt(value: object, place: Place | str, *, answered: bool) -> int:
    """Prompt tokens of a log's request, >= 1; of a failed one they may be missing.

    Raises
    ------
    DataError
        No such number.
    """
    return read_whole(value, place, minimum=1) if answered else read_output(value, place)


def read_id(value: object, place: Place | str, seen: dict[str, int], row: int) -> str:
    """A label that no earlier row has; a whole number counts as its text.

    Raises
    ------
    DataError
        Empty, no text, or taken.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{place}: found {shown(value)}; need a non-empty id")
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        raise DataError(f"{place}: found {found(value)}; need text without lone surrogates")
    first = seen.setdefault(value, row)
    if first != row:
        raise DataError(f"{place}: found {found(value)}, already the id of row {first}; need distinct ids")
    return value


def decode(content: bytes, file: str) -> str:
    """The text of UTF-8 bytes, with or without a byte order mark.

    Raises
    ------
    DataError
        Not UTF-8; the message names the row.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        # JSON lines have no header
        row = line if content.lstrip()[:1] in (b"{", b"[") else line - 1
        raise DataError(
            f"{file}: {f'row {row}' if row else 'header'}: found the byte 0x{content[error.start]:02x}, which is not "
            "UTF-8; need UTF-8 text"
        ) from None


def csv_rows(text: str, file: str, *, required: Sequence[str]) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Numbered rows of a CSV text with a header.

    Parameters
    ----------
    text : str
        The whole file.
    file : str
        Named in errors.
    required : sequence of str
        Columns that must be there; others may be.

    Yields
    ------
    row, values : int, mapping of str to str
        From 1; stripped texts by column.

    Raises
    ------
    DataError
        No header, a missing or repeated column, a row with another number of fields, a broken quote.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise DataError(f"{file}: header: {error}; need plain CSV") from None
    if not any(header):
        raise DataError(f"{file}: found no header; need the columns {', '.join(required)}")
    for name in required:
        if name not in header:
            raise DataError(f"{file}: header: column {name} is missing; found {', '.join(map(found, header[:8]))}")
    repeated = next((name for i, name in enumerate(header) if name in header[:i]), None)
    if repeated is not None:
        raise DataError(f"{file}: header: column {found(repeated)} stands twice; need distinct columns")
    blank: int | None = None
    row = 0
    while True:
        row += 1
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise DataError(f"{file}: row {row}: {error}; need plain CSV") from None
        if fields is None:
            return
        if not fields or (len(fields) == 1 and not fields[0].strip() and len(header) > 1):
            blank = row if blank is None else blank
            continue
        if blank is not None:
            # blank lines at the end are harmless; one in the middle is a row that was lost
            raise DataError(f"{file}: row {blank}: found a blank line; need {len(header)} fields")
        if len(fields) != len(header):
            raise DataError(f"{file}: row {row}: found {len(fields)} fields; need {len(header)}")
        yield row, {name: value.strip() for name, value in zip(header, fields, strict=True)}


def parse_json(text: str, file: str, *, constants: bool = False) -> object:
    """JSON with ints and Decimals, without NaN, repeated keys or numbers of excessive size.

    With ``constants``, NaN and Infinity are read as text, which is no number wherever one is needed.

    Raises
    ------
    DataError
        The text is no such JSON.
    """
    try:
        value: object = (_DECODER_OF_CONSTANTS if constants else _DECODER).decode(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{file}: not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise DataError(f"{file}: nested too deeply; need a flatter file") from None
    except _Refused as error:
        raise DataError(f"{file}: {error}") from None
    except ValueError:
        # Python's own limit on the digits of an integer
        raise DataError(f"{file}: found an integer of thousands of digits; need at most {MAX_DIGITS}") from None
    return value


def json_lines(text: str, file: str, *, required: Sequence[str]) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Numbered JSON objects, one a line.

    Parameters
    ----------
    text : str
        The whole file.
    file : str
        Named in errors.
    required : sequence of str
        Fields every object must have.

    Yields
    ------
    row, values : int, mapping
        From 1.

    Raises
    ------
    DataError
        A line that is no JSON object, lacks a field, or is blank with data after it.
    """
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    for row, line in enumerate(lines, start=1):
        where = f"{file}: row {row}"
        if not line.strip():
            raise DataError(f"{where}: found a blank line; need a JSON object")
        value = parse_json(line, where)
        if not isinstance(value, dict):
            raise DataError(f"{where}: found {shown(value)}; need a JSON object")
        for name in required:
            if name not in value:
                raise DataError(f"{where}, column {name}: missing; need it")
        yield row, value


def is_json_lines(text: str) -> bool:
    """Whether a text begins as a JSON object does."""
    return text.lstrip()[:1] == "{"


def columns_in(text: str) -> tuple[str, ...]:
    """Names of the columns, or of the fields of the first JSON object; empty where the first row is broken."""
    if is_json_lines(text):
        try:
            first = parse_json(text.lstrip().partition("\n")[0], "first row")
        except DataError:
            return ()
        return tuple(first) if isinstance(first, dict) else ()
    try:
        return tuple(name.strip() for name in next(csv.reader(io.StringIO(text.lstrip(), newline=""), strict=True), []))
    except csv.Error:
        return ()


class _Refused(ValueError):
    """What a hook found in JSON text; the caller knows the file."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    out = dict(pairs)
    if len(out) != len(pairs):
        names = [key for key, _ in pairs]
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise _Refused(f"the key {found(twice)} stands twice in one object; need distinct keys")
    return out


def _decimal(text: str) -> Decimal:
    mantissa, _, exponent = text.replace("E", "e").partition("e")
    if len(mantissa) > MAX_DIGITS or len(exponent) > 5 or abs(int(exponent or 0)) > MAX_EXPONENT:
        raise _Refused(f"found {shown(text)}; need at most {MAX_DIGITS} digits and an exponent within ±{MAX_EXPONENT}")
    return Decimal(text)


def _constant(name: str) -> object:
    raise _Refused(f"{name} is no JSON number; need finite numbers")


# one decoder for all lines: building it costs more than a line does
_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_decimal, parse_constant=_constant)
_DECODER_OF_CONSTANTS = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_decimal, parse_constant=str)
