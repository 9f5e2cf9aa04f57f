"""Reading the problem files of ``fairlane allocate``: requests with either explicit actions or graphs.

An instance file is read as well, for its graphs and requests: its objective prices waiting and says nothing of fair
shares, so every request has token value 0 and fairness weight 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairlane.reference.atomic_write import PathLike
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import JsonNumber, as_fraction, as_integer, found, show
from fairlane.reference.model.codec import (
    SCHEMA,
    catalog_from_json,
    instance_from_json,
    need_list,
    need_object,
    read_json,
)
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.request import Request

REQUEST_FIELDS = (
    "id", "token_value", "fairness_weight", "prompt", "limit", "acceptance", "generated", "arrival_ms", "output_length",
    "length_prior",
)  # fmt: skip
ACTION_FIELDS = ("name", "rates")
PROBLEM_FIELDS = ("requests", "actions", "graphs", "schema", "name", "description", "source")
WEIGHT_HINT = (
    "the weight of an instance's request prices its waiting, and nothing waits here; need fairness_weight, "
    "by which its share counts"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationProblem:
    """What a problem file says, exactly.

    Parameters
    ----------
    ids : tuple of str
        Request ids in order.
    token_values, fairness_weights : tuple of Fraction
        v >= 0 and f > 0.
    action_names : tuple of str
        Names of explicit actions; empty for graphs.
    rates : tuple of tuple of Fraction
        One row an action, one column a request, tokens per millisecond; empty for graphs.
    catalog : Catalog or None
        The graphs.
    requests : tuple of Request
        The requests of a graph problem; empty for explicit actions.
    notes : tuple of str
        What the file says and an allocation does not use.
    """

    ids: tuple[str, ...]
    token_values: tuple[Fraction, ...]
    fairness_weights: tuple[Fraction, ...]
    action_names: tuple[str, ...]
    rates: tuple[tuple[Fraction, ...], ...]
    catalog: Catalog | None
    requests: tuple[Request, ...]
    notes: tuple[str, ...] = ()


def load_allocation_problem(path: PathLike) -> AllocationProblem:
    """A problem from a file.

    Raises
    ------
    DataError
        The file is no JSON.
    InvalidInstance
        A field is missing, unknown or outside its domain, or a request that nothing serves; file and path are named.
    """
    value = read_json(path)
    try:
        return allocation_problem_from_json(value)
    except InvalidInstance as error:
        raise InvalidInstance(f"{path}: {error}") from None


def allocation_problem_from_json(value: object) -> AllocationProblem:
    """A problem from parsed JSON.

    Raises
    ------
    InvalidInstance
        As in `load_allocation_problem`.
    """
    if isinstance(value, dict) and "objective" in value:
        return _of_instance(instance_from_json(value))
    top = need_object(value, "problem", fields=PROBLEM_FIELDS, required=("requests",))
    if ("actions" in top) == ("graphs" in top):
        both = "both" if "actions" in top else "neither"
        raise InvalidInstance(f'problem has {both} of "actions" and "graphs"; need one of them')
    for key in ("name", "description", "source"):
        if key in top and not isinstance(top[key], str):
            raise InvalidInstance(f"{key} is {found(top[key])}; need a string")
    if "schema" in top and top["schema"] != JsonNumber(str(SCHEMA)):
        raise InvalidInstance(f"schema is {found(top['schema'])}; need {SCHEMA}")
    for i, row in enumerate(need_list(top["requests"], "requests")):
        if isinstance(row, dict) and "weight" in row:
            raise InvalidInstance(f"requests[{i}] has the field 'weight'; {WEIGHT_HINT}")
    rows = [
        need_object(row, f"requests[{i}]", fields=REQUEST_FIELDS, required=("id",))
        for i, row in enumerate(need_list(top["requests"], "requests"))
    ]
    if not rows:
        raise InvalidInstance("requests is empty; need at least one request")
    place: dict[str, int] = {}
    for i, row in enumerate(rows):
        request_id = row["id"]
        if not isinstance(request_id, str) or not request_id:
            raise InvalidInstance(f"requests[{i}].id is {found(request_id)}; need a non-empty string")
        if request_id in place:
            raise InvalidInstance(
                f"requests[{i}].id is {request_id!r}, already the id of requests[{place[request_id]}]; "
                "need distinct ids"
            )
        place[request_id] = i
    ids = tuple(place)
    values = tuple(_number(row, "token_value", 0, f"requests[{i}]", ids[i]) for i, row in enumerate(rows))
    weights = tuple(_number(row, "fairness_weight", 1, f"requests[{i}]", ids[i]) for i, row in enumerate(rows))
    for i, (v, f) in enumerate(zip(values, weights, strict=True)):
        if v < 0:
            raise InvalidInstance(f"requests[{i}].token_value (request {ids[i]!r}) is {show(v)}; need >= 0")
        if f <= 0:
            raise InvalidInstance(f"requests[{i}].fairness_weight (request {ids[i]!r}) is {show(f)}; need > 0")
    names: tuple[str, ...] = ()
    rates: tuple[tuple[Fraction, ...], ...] = ()
    catalog = None
    requests: tuple[Request, ...] = ()
    if "graphs" in top:
        catalog = catalog_from_json(top["graphs"])
        requests = tuple(_request(row, f"requests[{i}]") for i, row in enumerate(rows))
    else:
        names, rates = _actions(top["actions"], place)
    return AllocationProblem(
        ids=ids,
        token_values=values,
        fairness_weights=weights,
        action_names=names,
        rates=rates,
        catalog=catalog,
        requests=requests,
    )


def _of_instance(instance: Instance) -> AllocationProblem:
    """Its graphs and requests, every request with token value 0 and fairness weight 1."""
    notes = ["the objective of the instance is not used: token value 0 and fairness weight 1 for every request"]
    weighted = [request.id for request in instance.requests if request.weight != 1]
    if weighted:
        notes.append(f"weights of requests are not used ({', '.join(weighted[:8])}): {WEIGHT_HINT}")
    n = len(instance.requests)
    return AllocationProblem(
        ids=tuple(request.id for request in instance.requests),
        token_values=(Fraction(0),) * n,
        fairness_weights=(Fraction(1),) * n,
        action_names=(),
        rates=(),
        catalog=instance.graphs,
        requests=instance.requests,
        notes=tuple(notes),
    )


def _number(row: dict[str, object], key: str, default: int, where: str, request_id: str) -> Fraction:
    value = row.get(key, default)
    if isinstance(value, (JsonNumber, str, int)) and not isinstance(value, bool):
        return as_fraction(value, f"{where}.{key} (request {request_id!r})")
    raise InvalidInstance(f"{where}.{key} (request {request_id!r}) is {found(value)}; need a number")


def _request(row: dict[str, object], where: str) -> Request:
    given = {key: value for key, value in row.items() if key not in ("token_value", "fairness_weight")}
    given.setdefault("prompt", 0)
    if "acceptance" in given:
        need_list(given["acceptance"], f"{where}.acceptance")
    # decodes have no budget here, so a limit left out is any that is legal
    if "limit" not in given:
        generated = as_integer(given.get("generated", 0), f"{where}.generated", minimum=0)
        given["limit"] = generated + 1
    return Request(**given, where=where)  # type: ignore[arg-type]  # checked inside


def _actions(value: object, place: dict[str, int]) -> tuple[tuple[str, ...], tuple[tuple[Fraction, ...], ...]]:
    rows = need_list(value, "actions")
    if not rows:
        raise InvalidInstance("actions is empty; need at least one action")
    names: dict[str, int] = {}
    rates: list[tuple[Fraction, ...]] = []
    for a, raw in enumerate(rows):
        row = need_object(raw, f"actions[{a}]", fields=ACTION_FIELDS, required=ACTION_FIELDS)
        name = row["name"]
        if not isinstance(name, str) or not name:
            raise InvalidInstance(f"actions[{a}].name is {found(name)}; need a non-empty string")
        if name in names:
            raise InvalidInstance(
                f"actions[{a}].name is {name!r}, already the name of actions[{names[name]}]; need distinct names"
            )
        names[name] = a
        entries = row["rates"]
        if not isinstance(entries, dict):
            raise InvalidInstance(
                f"actions[{a}].rates is {found(entries)}; need an object of tokens per ms by request id"
            )
        line = [Fraction(0)] * len(place)
        for key, entry in entries.items():
            if key not in place:
                raise InvalidInstance(
                    f"actions[{a}].rates (action {name!r}) has the key {found(key)}; need a request's id"
                )
            where = f"actions[{a}].rates[{key!r}] (action {name!r}, request {key!r})"
            line[place[key]] = as_fraction(entry, where)
            if line[place[key]] < 0:
                raise InvalidInstance(f"{where} is {show(line[place[key]])}; need a rate >= 0")
        rates.append(tuple(line))
    for i, request_id in enumerate(place):
        if not any(line[i] for line in rates):
            raise InvalidInstance(f"requests[{i}] ({request_id!r}) is served by no action; need a positive rate in one")
    return tuple(names), tuple(rates)
