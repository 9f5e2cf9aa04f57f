"""The fixed-value score: useful work per millisecond, and the best lanes of a graph under it.

score(a) = sum_i w_i (P_i(a) + beta D_i(a)) / T(a), with P_i prompt tokens consumed, D_i expected output tokens
and beta the value of an output token; a prompt token has value one. Rows add up, so the best decode set is the
highest-valued rows up to capacity. With several prefill lanes the lanes share one capacity, and ranking fails:
see `prefill_list`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol, TypeVar

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction, show
from fairlane.reference.graph import Graph
from fairlane.reference.yields import exact_yield


class LaneRequest(Protocol):
    """What scoring reads of a request; :class:`Request` and :class:`RequestView` both have it."""

    @property
    def id(self) -> str: ...
    @property
    def weight(self) -> Fraction: ...
    @property
    def prompt(self) -> int: ...
    @property
    def generated(self) -> int: ...
    @property
    def limit(self) -> int: ...
    @property
    def acceptance(self) -> tuple[Fraction, ...]: ...


R = TypeVar("R", bound=LaneRequest)


class Lanes(NamedTuple):
    """Requests in a graph's lanes, prompts in the order they are filled."""

    prefill: Sequence[LaneRequest]
    decode: Sequence[LaneRequest]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """The lanes of one graph by id, with their value in tokens and their score in value per ms."""

    graph: Graph
    prefill: tuple[str, ...]
    decode: tuple[str, ...]
    value: Fraction
    score: Fraction


def prompt_value(request: LaneRequest, share: int, decode_value: Fraction) -> Fraction:
    """Value of consuming ``share`` prompt tokens; the last one also publishes the first output."""
    first_output = decode_value if share >= request.prompt else Fraction(0)
    return request.weight * (share + first_output)


def row_value(request: LaneRequest, width: int, decode_value: Fraction) -> Fraction:
    """Value of one decode row, w beta D(k), cut by the output limit."""
    return request.weight * decode_value * exact_yield(request.acceptance, width, request.limit - request.generated)


def check_value(decode_value: Real | str) -> Fraction:
    """An output token's value, >= 0.

    Raises
    ------
    InvalidInstance
        Negative, or no number.
    """
    value = as_fraction(decode_value, "decode_value")
    if value < 0:
        raise InvalidInstance(f"decode_value is {show(value)}; need >= 0")
    return value


def lanes_value(graph: Graph, lanes: Lanes, decode_value: Fraction) -> Fraction:
    """Value of a graph's lanes in tokens, for checked inputs.

    Raises
    ------
    InvalidInstance
        More lanes than the graph has, or a request in the wrong phase.
    """
    if len(lanes.prefill) > (graph.prefill_lanes if graph.prefill_capacity else 0):
        raise InvalidInstance(f"graph {graph.name!r} has no room for {len(lanes.prefill)} prompts")
    if len(lanes.decode) > graph.decode_capacity:
        raise InvalidInstance(f"graph {graph.name!r} has {graph.decode_capacity} decode rows, not {len(lanes.decode)}")
    total = Fraction(0)
    left = graph.prefill_capacity
    for request in lanes.prefill:
        if request.prompt == 0:
            raise InvalidInstance(f"request {request.id!r} has no prompt left; it cannot be prefilled")
        share = min(left, request.prompt)
        if share == 0:
            raise InvalidInstance(f"request {request.id!r} would receive no prompt token; need at least one each")
        total += prompt_value(request, share, decode_value)
        left -= share
    for request in lanes.decode:
        if request.prompt > 0:
            raise InvalidInstance(f"request {request.id!r} has {request.prompt} prompt tokens left; it cannot decode")
        total += row_value(request, graph.width, decode_value)
    return total


def fixed_value_score(graph: Graph, lanes: Lanes, *, decode_value: Real | str) -> Fraction:
    """Useful value per millisecond of a graph with given lanes.

    Parameters
    ----------
    graph : Graph
        The graph.
    lanes : Lanes
        Requests or views in its lanes; prompts in the order they are filled. Padding earns nothing.
    decode_value : number
        beta, the value of an output token, >= 0.

    Returns
    -------
    Fraction
        Value per ms.

    Raises
    ------
    InvalidInstance
        Lanes the graph does not have, or a request in the wrong phase.
    """
    return lanes_value(graph, lanes, check_value(decode_value)) / graph.duration_ms


def service_key(request: LaneRequest, index: int) -> tuple[int, Real, int]:
    """Order of the tie-break: never served first, then the least recent, then request order."""
    last = getattr(request, "last_service_ms", None)
    return (0, 0, index) if last is None else (1, last, index)


def ranked_rows(requests: Iterable[R], width: int, decode_value: Fraction) -> list[tuple[Fraction, R]]:
    """Decoding requests by falling row value, ties by least recent service and then request order."""
    rows = [
        (row_value(request, width, decode_value), service_key(request, i), request)
        for i, request in enumerate(requests)
        if request.prompt == 0
    ]
    rows.sort(key=lambda row: (-row[0], row[1]))
    return [(value, request) for value, _, request in rows]


def best_cohort(graph: Graph, requests: Sequence[LaneRequest], *, decode_value: Real | str) -> Cohort | None:
    """The lanes of largest fixed value, or None where the graph can serve none of the requests.

    Parameters
    ----------
    graph : Graph
        The graph.
    requests : sequence of Request or RequestView
        Live requests in request order.
    decode_value : number
        beta, the value of an output token, >= 0.

    Returns
    -------
    Cohort or None
        Exact; decode rows by ranking, prefill lists by :func:`best_prefill`.
    """
    from fairlane.reference.prefill_list import best_prefill

    beta = check_value(decode_value)
    prefill = best_prefill(graph, requests, decode_value=beta)
    chosen = ranked_rows(requests, graph.width, beta)[: graph.decode_capacity]
    if not prefill and not chosen:
        return None
    by_id = {request.id: request for request in requests}
    prompts = tuple(by_id[request_id] for request_id in prefill)
    decode = tuple(request for _, request in chosen)
    value = lanes_value(graph, Lanes(prompts, decode), beta)
    return Cohort(
        graph=graph,
        prefill=prefill,
        decode=tuple(request.id for request in decode),
        value=value,
        score=value / graph.duration_ms,
    )
