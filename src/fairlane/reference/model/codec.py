"""Reading and writing catalogs and instances; every error carries a path such as ``requests[3].limit``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from fairlane.reference.atomic_write import PathLike, write_text
from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.reference.exact import JsonNumber, found, show
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.instance import Instance, Regenerates
from fairlane.reference.model.objective import PRICES, Objective
from fairlane.reference.model.request import Request

SCHEMA = 1
MAX_BYTES = 256 * 1024 * 1024
MAX_DEPTH = 64

GRAPH_FIELDS = ("name", "duration_ms", "prefill_capacity", "prefill_lanes", "decode_capacity", "width", "energy_j")
REQUEST_FIELDS = (
    "id",
    "prompt",
    "limit",
    "arrival_ms",
    "generated",
    "output_length",
    "length_prior",
    "acceptance",
    "weight",
)
INSTANCE_FIELDS = (
    "graphs",
    "requests",
    "objective",
    "regenerates",
    "age_cap_ms",
    "schema",
    "name",
    "description",
    "source",
)

Built = TypeVar("Built")


def read_bytes(path: PathLike) -> bytes:
    """The bytes of a file.

    Raises
    ------
    DataError
        Missing, a directory, unreadable, or larger than 256 MiB.
    """
    file = Path(path)
    try:
        if file.is_dir():
            raise DataError(f"{path} is a directory; need a file")
        if file.stat().st_size > MAX_BYTES:
            raise DataError(f"{path} has {file.stat().st_size} bytes; need at most {MAX_BYTES}")
        return file.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; need a file") from None
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{str(path)!r} cannot be read: {reason}") from None


def read_text(path: PathLike) -> str:
    """The UTF-8 text of a file.

    Raises
    ------
    DataError
        As :func:`read_bytes`, or not UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start}); need UTF-8 text") from None


def parse_json(text: str, where: str) -> object:
    """JSON with exact numbers (:class:`JsonNumber`), no duplicate keys, no NaN, and at most 64 levels.

    Raises
    ------
    DataError
        The text is no such JSON; the message has line and column.
    """
    _check_depth(text, where)

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        out: dict[str, object] = {}
        for key, value in pairs:
            if key in out:
                raise DataError(f"{where}: the key {found(key)} stands twice in one object; need distinct keys")
            out[key] = value
        return out

    def constant(name: str) -> object:
        raise DataError(f"{where}: {name} is no JSON number; need finite numbers")

    try:
        value: object = json.loads(
            text, object_pairs_hook=unique, parse_float=JsonNumber, parse_int=JsonNumber, parse_constant=constant
        )
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    if "\\u" in text:
        _check_surrogates(value, where)
    return value


def _check_surrogates(value: object, where: str) -> None:
    """An escape can name half a character, which no output could write."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise DataError(f"{where}: a string has {half}, half of a surrogate pair; need whole characters") from None


def _check_depth(text: str, where: str) -> None:
    # a recursive parser would overflow the stack; brackets inside strings are skipped
    depth = 0
    inside = escaped = False
    for char in text if any(c in text for c in "[{") else "":
        if inside:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                inside = False
        elif char == '"':
            inside = True
        elif char in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise DataError(f"{where}: nested deeper than {MAX_DEPTH} levels; need a flatter file")
        elif char in "]}":
            depth -= 1


def read_json(path: PathLike) -> object:
    """The JSON value of a file, numbers kept as text; see :func:`parse_json`.

    Raises
    ------
    DataError
        Unreadable, or not such JSON.
    """
    return parse_json(read_text(path), str(path))


def need_object(value: object, where: str, *, fields: Iterable[str], required: Iterable[str] = ()) -> dict[str, object]:
    """A JSON object with no field outside ``fields`` and every one of ``required``.

    Raises
    ------
    InvalidInstance
        Not an object, an unknown field, or a missing one.
    """
    known = tuple(fields)
    if not isinstance(value, dict):
        raise InvalidInstance(f"{where} is {found(value)}; need an object with {', '.join(required) or 'fields'}")
    for key in value:
        if key not in known:
            raise InvalidInstance(f"{where} has the unknown field {found(key)}; known fields are {', '.join(known)}")
    for key in required:
        if key not in value:
            raise InvalidInstance(f"{where}.{key} is missing; need it")
    return value


def need_list(value: object, where: str) -> list[object]:
    """A JSON array.

    Raises
    ------
    InvalidInstance
        Not an array.
    """
    if not isinstance(value, list):
        raise InvalidInstance(f"{where} is {found(value)}; need a list")
    return value


def _named(row: Mapping[str, object], key: str, kind: str, build: Callable[[], Built]) -> Built:
    try:
        return build()
    except InvalidInstance as error:
        label = row.get(key)
        known = isinstance(label, str) and label and repr(label) not in str(error)
        raise InvalidInstance(f"{error} ({kind} {found(label)})" if known else str(error)) from None


def graph_from_json(value: object, where: str) -> Graph:
    """One catalog row from parsed JSON."""
    row = need_object(value, where, fields=GRAPH_FIELDS, required=("name", "duration_ms"))
    return _named(row, "name", "graph", lambda: Graph(**row, where=where))  # type: ignore[arg-type]  # checked inside


def request_from_json(value: object, where: str, *, exact: bool = True) -> Request:
    """One request from parsed JSON."""
    row = need_object(value, where, fields=REQUEST_FIELDS, required=("id", "prompt", "limit"))
    for key in ("acceptance", "length_prior"):
        if key in row and row[key] is None:
            raise InvalidInstance(f"{where}.{key} is null; leave it out or give a value")
    if "acceptance" in row:
        need_list(row["acceptance"], f"{where}.acceptance")
    if "length_prior" in row and not isinstance(row["length_prior"], dict):
        raise InvalidInstance(f"{where}.length_prior is {found(row['length_prior'])}; need an object of probabilities")
    return _named(
        row,
        "id",
        "request",
        lambda: Request(**row, where=where, exact=exact),  # type: ignore[arg-type]  # checked inside
    )


def catalog_from_json(value: object, where: str = "graphs") -> Catalog:
    """A catalog from a parsed JSON array of rows."""
    return Catalog(graph_from_json(row, f"{where}[{i}]") for i, row in enumerate(need_list(value, where)))


def objective_from_json(value: object, where: str = "objective") -> Objective:
    """An objective from parsed JSON."""
    row = need_object(value, where, fields=PRICES, required=("decode_value",))
    return Objective(**row, where=where)  # type: ignore[arg-type]  # checked inside


def instance_from_json(value: object, *, name: str = "instance", exact: bool = True) -> Instance:
    """An instance from parsed JSON.

    Raises
    ------
    InvalidInstance
        A missing or unknown field or a value outside its domain, with its path.
    """
    top = need_object(value, "instance", fields=INSTANCE_FIELDS, required=("graphs", "requests", "objective"))
    for key in ("name", "description", "source"):
        if key in top and not isinstance(top[key], str):
            raise InvalidInstance(f"{key} is {found(top[key])}; need a string")
    if "schema" in top and top["schema"] != JsonNumber(str(SCHEMA)):
        raise InvalidInstance(f"schema is {found(top['schema'])}; need {SCHEMA}")
    regenerates = top.get("regenerates", Regenerates.REQUEST.value)
    if not isinstance(regenerates, str) or regenerates not in tuple(Regenerates):
        raise InvalidInstance(f'regenerates is {found(regenerates)}; need "request" or "episode"')
    catalog = catalog_from_json(top["graphs"])
    rows = need_list(top["requests"], "requests")
    requests = tuple(request_from_json(row, f"requests[{i}]", exact=exact) for i, row in enumerate(rows))
    age_cap = top.get("age_cap_ms")
    if "age_cap_ms" in top and not isinstance(age_cap, (JsonNumber, str)):
        raise InvalidInstance(f"age_cap_ms is {found(age_cap)}; need a number")
    label = top.get("name", name)
    return Instance(
        graphs=catalog,
        requests=requests,
        objective=objective_from_json(top["objective"]),
        regenerates=Regenerates(regenerates),
        age_cap_ms=age_cap,  # type: ignore[arg-type]  # a JsonNumber, which as_fraction reads
        name=label if isinstance(label, str) and label else name,
    )


def load_catalog(path: PathLike) -> Catalog:
    """A catalog from a file: a JSON array of rows, or an object whose ``graphs`` is one.

    Raises
    ------
    DataError
        The file is no JSON.
    InvalidInstance
        A row is no graph; the message names file, row and field.
    """
    value = read_json(path)
    try:
        if isinstance(value, dict):
            value = need_object(value, "catalog", fields=("graphs", "source", "description"), required=("graphs",))[
                "graphs"
            ]
        return catalog_from_json(value)
    except InvalidInstance as error:
        raise InvalidInstance(f"{path}: {error}") from None


def load_instance(path: PathLike, *, exact: bool = True) -> Instance:
    """An instance from a file.

    Parameters
    ----------
    path : path-like
        A JSON file with ``graphs``, ``requests`` and ``objective``.
    exact : bool
        True asks for priors that sum to exactly 1; False allows 1e-12 and divides by the sum.

    Raises
    ------
    DataError
        The file is no JSON.
    InvalidInstance
        A field is missing, unknown or outside its domain; the message names file and path.
    """
    value = read_json(path)
    try:
        return instance_from_json(value, name=Path(path).stem, exact=exact)
    except InvalidInstance as error:
        raise InvalidInstance(f"{path}: {error}") from None


def number_to_json(value: Fraction) -> int | str:
    """A rational as a JSON integer where it is one, otherwise as a ratio string."""
    return int(value) if value.denominator == 1 and abs(value) < 2**53 else show(value)


def graph_to_json(graph: Graph) -> dict[str, object]:
    """A catalog row as JSON, defaults left out."""
    row: dict[str, object] = {"name": graph.name, "duration_ms": number_to_json(graph.duration_ms)}
    for key, default in (("prefill_capacity", 0), ("prefill_lanes", 1), ("decode_capacity", 0), ("width", 1)):
        if getattr(graph, key) != default:
            row[key] = getattr(graph, key)
    if graph.energy_j:
        row["energy_j"] = number_to_json(graph.energy_j)
    return row


def request_to_json(request: Request) -> dict[str, object]:
    """A request as JSON, defaults left out."""
    row: dict[str, object] = {"id": request.id, "prompt": request.prompt, "limit": request.limit}
    if request.arrival_ms != 0:
        row["arrival_ms"] = number_to_json(request.arrival_ms)
    if request.generated != 0:
        row["generated"] = request.generated
    if request.output_length is not None:
        row["output_length"] = request.output_length
    if request.length_prior is not None:
        row["length_prior"] = {str(n): show(p) for n, p in request.length_prior}
    if request.acceptance:
        row["acceptance"] = [number_to_json(q) for q in request.acceptance]
    if request.weight != 1:
        row["weight"] = number_to_json(request.weight)
    return row


def instance_to_json(instance: Instance) -> dict[str, object]:
    """An instance as JSON; reading it back gives an equal instance up to its name."""
    objective = {name: number_to_json(getattr(instance.objective, name)) for name in PRICES}
    kept = {k: v for k, v in objective.items() if k == "decode_value" or v != (1 if k == "prefill_value" else 0)}
    out: dict[str, object] = {
        "graphs": [graph_to_json(g) for g in instance.graphs],
        "requests": [request_to_json(r) for r in instance.requests],
        "objective": kept,
    }
    if instance.regenerates is not Regenerates.REQUEST:
        out["regenerates"] = instance.regenerates.value
    if instance.age_cap_ms is not None:
        out["age_cap_ms"] = number_to_json(instance.age_cap_ms)
    return out


def dump_instance(instance: Instance, path: PathLike) -> None:
    """Write an instance so that :func:`load_instance` reads an equal one back.

    Raises
    ------
    DataError
        The place cannot be written.
    """
    write_text(json.dumps(instance_to_json(instance), indent=1) + "\n", path)
