"""The fixed-value score: useful work per millisecond, and the best lanes of a graph under it.

score(a) = sum_i w_i (P_i(a) + beta D_i(a)) / T(a), with P_i prompt tokens consumed, D_i expected output tokens
and beta the value of an output token; a prompt token has value one. Rows add up, so the best decode set is the
highest-valued rows up to capacity. With several prefill lanes the lanes share one capacity, and ranking fails:
see `prefill_list`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cmp_to_key, lru_cache
from itertools import accumulate
from operator import mul
from typing import NamedTuple, Protocol, TypeVar

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction, compare, show
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.same import Same


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
V = TypeVar("V", bound=Real)


class Lanes(NamedTuple):
    """Requests in a graph's lanes, prompts in the order they are filled."""

    prefill: Sequence[LaneRequest]
    decode: Sequence[LaneRequest]


def prompt_value(request: LaneRequest, share: int, decode_value: Fraction) -> Fraction:
    """Value of consuming ``share`` prompt tokens; the last one also publishes the first output."""
    first_output = decode_value if share >= request.prompt else Fraction(0)
    return request.weight * (share + first_output)


@lru_cache(maxsize=65536)
def row_yields(acceptance: Same[tuple[Fraction, ...]]) -> tuple[Fraction, ...]:
    """D(1), D(2), ... of an acceptance list, one more than its drafts; later widths add nothing."""
    reach = accumulate((Fraction(1), *acceptance.of), mul)
    return tuple(accumulate(reach))


class RowValues:
    """Values of decode rows, w beta D(k) cut by the output limit; rows of one acceptance object share their yields."""

    def __init__(self, decode_value: Fraction) -> None:
        self._decode_value = decode_value
        self._known: dict[tuple[int, int], tuple[tuple[Fraction, ...], Fraction]] = {}

    def __call__(self, request: LaneRequest, width: int) -> Fraction:
        """Value of a row of this width."""
        value = self.unweighted(request, width)
        weight = request.weight
        return value if weight.numerator == weight.denominator else weight * value

    def unweighted(self, request: LaneRequest, width: int) -> Fraction:
        """Value of a row of this width at weight 1."""
        acceptance = request.acceptance
        most = min(width, request.limit - request.generated, len(acceptance) + 1)
        key = (id(acceptance), most)
        known = self._known.get(key)
        # the acceptance object is kept beside its value, so that its id is not given to another one
        if known is None:
            known = self._known[key] = (acceptance, self._decode_value * row_yields(Same(acceptance))[most - 1])
        return known[1]


def row_value(request: LaneRequest, width: int, decode_value: Fraction) -> Fraction:
    """Value of one decode row, w beta D(k), cut by the output limit."""
    return RowValues(decode_value)(request, width)


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


def by_service(requests: Iterable[R]) -> list[R]:
    """Requests in the order of the tie-break; they are given in request order."""
    rows = list(requests)
    keys = [service_key(request, i) for i, request in enumerate(rows)]
    return [rows[i] for i in sorted(range(len(rows)), key=keys.__getitem__)]


def ranked(rows: Sequence[R], values: Sequence[V]) -> list[tuple[V, R]]:
    """Rows by falling value; of equal values in the order given, which is that of :func:`by_service`.

    Rounding to doubles keeps the order, so exact values are compared only where the doubles are equal.
    """
    if any(isinstance(value, float) for value in values):

        def falling(a: tuple[V, R], b: tuple[V, R]) -> int:
            return compare(b[0], a[0])

        return sorted(zip(values, rows, strict=True), key=cmp_to_key(falling))
    order = sorted(range(len(rows)), key=lambda i: (-float(values[i]), -values[i]))
    return [(values[i], rows[i]) for i in order]


def ranked_rows(requests: Iterable[R], width: int, decode_value: Fraction) -> list[tuple[Fraction, R]]:
    """Decoding requests by falling row value, ties by least recent service and then request order."""
    rows = [request for request in by_service(requests) if request.prompt == 0]
    value = RowValues(decode_value)
    return ranked(rows, [value(request, width) for request in rows])
