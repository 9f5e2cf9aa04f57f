"""A plain table of requests: an arrival, ``prompt`` and ``output``, and if wanted ``id``, ``limit`` and more.

The arrival stands in ``arrival_ms``, in ``arrival_s``, or in ``arrival`` with its unit stated. A ``prompt`` of 0 is a
request that arrives decoding. Without ``id`` the row number is the id. ``limit`` is the explicit output limit,
``weight`` the request's weight, ``acceptance`` its conditional acceptance by draft position, as in ``0.7 0.5 0.3``; an
empty cell of these says nothing.

With columns mapped by the user the same is read from a log of another system, CSV or JSON lines; there an output that
is empty or 0 is a failed answer, where in a plain table it is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.reference.exact import as_fraction, show
from fairlane.simulator.rows import Place, csv_rows, is_json_lines, json_lines, read_id, read_ms, read_whole, shown
from fairlane.simulator.traces.column_names import NEEDED, ROLES
from fairlane.simulator.traces.trace import TraceRow

COLUMNS = ("prompt", "output")
ARRIVALS = {"arrival_ms": 1, "arrival_s": 1000, "arrival": None}
OPTIONAL = ("id", "limit", "weight", "acceptance")


def read_rows(text: str, file: str, ms_per_unit: int | None) -> Iterator[TraceRow]:
    """Rows of a text under the names above.

    Raises
    ------
    DataError
        A bad row, with its number, column and what was found; an arrival without a unit, or with two.
    """
    column = unit = None
    names = {role: role for role in ROLES}
    seen: dict[str, int] = {}
    for row, value in csv_rows(text, file, required=COLUMNS):
        if column is None or unit is None:
            column, unit = _arrival(value, file, ms_per_unit)
            names["arrival"] = column
        yield _row(value, names, Place(file, row), unit, seen, least_output=1)


def read_mapped(text: str, file: str, ms_per_unit: int | None, mapping: Mapping[str, str]) -> Iterator[TraceRow]:
    """Rows of a text under the user's names, see :func:`~fairlane.simulator.traces.column_names.read_mapping`.

    Raises
    ------
    DataError
        As :func:`read_rows`.
    """
    arrival = mapping["arrival"]
    unit = ARRIVALS.get(arrival) if ms_per_unit is None else ms_per_unit
    if unit is None:
        raise DataError(f"{file}: column {arrival} does not say its time unit; need it stated, s or ms")
    required = [mapping[role] for role in NEEDED]
    source: Iterator[tuple[int, Mapping[str, object]]] = (
        json_lines(text, file, required=required) if is_json_lines(text) else csv_rows(text, file, required=required)
    )
    seen: dict[str, int] = {}
    for row, value in source:
        if row == 1:
            for role, column in mapping.items():
                if column not in value:
                    raise DataError(f"{file}: column {column}, mapped to {role}, is missing; need it")
        yield _row(value, mapping, Place(file, row), unit, seen, least_output=0)


def _row(
    value: Mapping[str, object],
    names: Mapping[str, str],
    at: Place,
    unit: int,
    seen: dict[str, int],
    *,
    least_output: int,
) -> TraceRow:
    def place(role: str) -> Place:
        return at._replace(column=names[role])

    def given(role: str) -> object:
        """What stands in a column that may be absent or empty."""
        found = value.get(names[role]) if role in names else None
        return None if found == "" else found

    output = value[names["output"]]
    has_id = "id" in names and names["id"] in value
    limit, weight, acceptance = given("limit"), given("weight"), given("acceptance")
    return TraceRow(
        read_id(value[names["id"]], place("id"), seen, at.row) if has_id else str(at.row),
        Decimal(read_ms(value[names["arrival"]], place("arrival"), ms_per_unit=unit)),
        read_whole(value[names["prompt"]], place("prompt"), minimum=0),
        0 if output in (None, "") and not least_output else read_whole(output, place("output"), minimum=least_output),
        None if limit is None else read_whole(limit, place("limit"), minimum=1),
        None if weight is None else _weight(weight, place("weight")),
        None if acceptance is None else _acceptance(acceptance, place("acceptance")),
    )


def _number(value: object, place: Place) -> Fraction:
    try:
        return as_fraction(value, "number")
    except InvalidInstance:
        raise DataError(f"{place}: found {shown(value)}; need a finite number") from None


def _weight(value: object, place: Place) -> Fraction:
    weight = _number(value, place)
    if weight <= 0:
        raise DataError(f"{place}: found {shown(value)}; need > 0")
    return weight


def _acceptance(value: object, place: Place) -> tuple[Fraction, ...]:
    """Chances by draft position: one number, several in one text, or a JSON list."""
    parts = value.replace(";", " ").replace(",", " ").split() if isinstance(value, str) else value
    chances = tuple(_number(part, place) for part in (parts if isinstance(parts, list) else [parts]))
    for chance in chances:
        if not 0 <= chance <= 1:
            raise DataError(f"{place}: found {show(chance)}; need probabilities in [0, 1]")
    return chances


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
