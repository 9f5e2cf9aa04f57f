"""A space as JSON: for each field of the model the list of values it may have.

    {"requests": {"count": [1, 2], "prompt": [0, 1], "limit": [1, 2], "acceptance": [[], ["1/2"]], ...},
     "graphs": {"count": [2], "prefill_capacity": [1, 2], "decode_capacity": [1], "duration_ms": [1, "3/2"], ...},
     "objective": {"decode_value": [1], "time_price": [0, 1], ...}}

A field that is left out has the default of `request_options`, `graph_options` and `objective_options`. In place of
shapes and durations, ``graphs`` may have ``rows``: graphs as in a catalog, from which sets are drawn.
"""

from __future__ import annotations

from fairlane.reference.atomic_write import PathLike
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import JsonNumber, as_integer, found
from fairlane.reference.model.codec import (
    catalog_from_json,
    graph_to_json,
    need_list,
    need_object,
    number_to_json,
    read_json,
    request_to_json,
)
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.objective import PRICES
from fairlane.reference.model.request import Request
from fairlane.search.space import Number, Space, graph_options, objective_options, request_options

REQUEST_FIELDS = ("count", "identical", "prompt", "limit", "generated", "length_prior", "acceptance", "weight")
GRAPH_FIELDS = (
    "count",
    "rows",
    "mixed",
    "prefill_capacity",
    "prefill_lanes",
    "decode_capacity",
    "width",
    "duration_ms",
    "energy_j",
)


def load_space(path: PathLike) -> Space:
    """A space from a file.

    Raises
    ------
    DataError
        The file is no JSON.
    InvalidInstance
        A field is unknown or a value outside its domain; the message names file and path.
    """
    value = read_json(path)
    try:
        return space_from_json(value)
    except InvalidInstance as error:
        raise InvalidInstance(f"{path}: {error}") from None


def space_from_json(value: object) -> Space:
    """A space from parsed JSON.

    Raises
    ------
    InvalidInstance
        An unknown field or a value outside its domain, with its path.
    """
    top = need_object(value, "space", fields=("requests", "graphs", "objective"))
    requests = need_object(top.get("requests", {}), "requests", fields=REQUEST_FIELDS)
    graphs = need_object(top.get("graphs", {}), "graphs", fields=GRAPH_FIELDS)
    objective = need_object(top.get("objective", {}), "objective", fields=PRICES)
    rows = _graphs(graphs)
    return Space(
        n_requests=_counts(requests, "requests"),
        requests=_requests(requests),
        identical=_flag(requests, "identical", "requests"),
        n_graphs=_counts(graphs, "graphs") if "count" in graphs or "rows" not in graphs else (len(rows),),
        graphs=rows,
        objectives=objective_options(
            **{
                name: [_number(x, f"objective.{name}") for x in _values(objective, name, "objective")]
                for name in objective
            }
        ),
    )


def _values(part: dict[str, object], name: str, where: str) -> list[object]:
    values = need_list(part[name], f"{where}.{name}")
    if not values:
        raise InvalidInstance(f"{where}.{name} is empty; need at least one value")
    return values


def _counts(part: dict[str, object], where: str) -> tuple[int, ...]:
    if "count" not in part:
        return (1, 2)
    return tuple(as_integer(x, f"{where}.count[{k}]", minimum=1) for k, x in enumerate(_values(part, "count", where)))


def _flag(part: dict[str, object], name: str, where: str) -> bool:
    value = part.get(name, False)
    if not isinstance(value, bool):
        raise InvalidInstance(f"{where}.{name} is {found(value)}; need true or false")
    return value


def _number(value: object, where: str) -> Number:
    if not isinstance(value, (JsonNumber, str)):
        raise InvalidInstance(f"{where} is {found(value)}; need a number")
    return value.text if isinstance(value, JsonNumber) else value


def _requests(part: dict[str, object]) -> tuple[Request, ...]:
    given: dict[str, object] = {}
    for name in ("prompt", "limit", "generated"):
        if name in part:
            given[name] = _whole(part, name, "requests", 1 if name == "limit" else 0)
    if "weight" in part:
        given["weight"] = [
            _number(x, f"requests.weight[{k}]") for k, x in enumerate(_values(part, "weight", "requests"))
        ]
    if "acceptance" in part:
        given["acceptance"] = [
            [_number(q, f"requests.acceptance[{k}]") for q in need_list(row, f"requests.acceptance[{k}]")]
            for k, row in enumerate(_values(part, "acceptance", "requests"))
        ]
    if "length_prior" in part:
        given["length_prior"] = [
            None
            if row is None
            else need_object(row, f"requests.length_prior[{k}]", fields=tuple(row) if isinstance(row, dict) else ())
            for k, row in enumerate(_values(part, "length_prior", "requests"))
        ]
    options = request_options(**given)  # type: ignore[arg-type]  # every value was checked
    if not options:
        raise InvalidInstance("requests has no combination that is a request; need a limit above generated")
    return options


def _whole(part: dict[str, object], name: str, where: str, minimum: int) -> list[int]:
    return [as_integer(x, f"{where}.{name}[{k}]", minimum=minimum) for k, x in enumerate(_values(part, name, where))]


def _graphs(part: dict[str, object]) -> tuple[Graph, ...]:
    if "rows" in part:
        extra = next((name for name in part if name not in ("count", "rows")), None)
        if extra is not None:
            raise InvalidInstance(f"graphs has rows and {extra}; need one of them")
        return catalog_from_json(part["rows"], "graphs.rows").graphs
    given: dict[str, object] = {"mixed": _flag(part, "mixed", "graphs")}
    for name in ("prefill_capacity", "prefill_lanes", "decode_capacity", "width"):
        if name in part:
            # a phase may be left out altogether
            values = need_list(part[name], f"graphs.{name}")
            given[name] = [as_integer(x, f"graphs.{name}[{k}]", minimum=1) for k, x in enumerate(values)]
    for name in ("duration_ms", "energy_j"):
        if name in part:
            given[name] = [_number(x, f"graphs.{name}[{k}]") for k, x in enumerate(_values(part, name, "graphs"))]
    rows = graph_options(**given)  # type: ignore[arg-type]  # every value was checked
    if not rows:
        raise InvalidInstance("graphs has no shape; need a prefill_capacity or a decode_capacity")
    return rows


def space_to_json(space: Space) -> dict[str, object]:
    """A space written out, option by option: what a journal is compared by."""
    return {
        "n_requests": list(space.n_requests),
        "requests": [request_to_json(r) for r in space.requests],
        "identical": space.identical,
        "n_graphs": list(space.n_graphs),
        "graphs": [graph_to_json(g) for g in space.graphs],
        "objectives": [{name: number_to_json(getattr(o, name)) for name in PRICES} for o in space.objectives],
    }


def space_sentence(space: Space) -> str:
    """What a space holds, in words for a report."""
    spans = sorted({g.duration_ms for g in space.graphs})
    tokens = max(space.tokens(space.n_requests[-1]))
    lasting = f"of {spans[0]} ms" if len(spans) == 1 else f"from {spans[0]} to {spans[-1]} ms"
    return (
        f"{_range(space.n_requests, 'request')}, at most {tokens} tokens, {_range(space.n_graphs, 'graph')} of "
        f"{len(space.graphs)} with durations {lasting}, "
        f"{len(space.objectives)} objective{'s' if len(space.objectives) > 1 else ''}"
    )


def _range(counts: tuple[int, ...], noun: str) -> str:
    return (
        f"{counts[0]} {noun}{'s' if counts[0] > 1 else ''}"
        if len(counts) == 1
        else (f"{counts[0]} to {counts[-1]} {noun}s")
    )
