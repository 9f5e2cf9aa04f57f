"""Graphs and requests as arrays of rates: what the compact form of the rate region is built from.

With T_g the duration, B_g the decode rows, D_i(k) the yield of a row of width k and C_g the prefill capacity, a
decoding request earns D_i(k_g) / T_g tokens per millisecond while it holds a row of g, and a backlogged prompt C_g /
T_g while it comes first in g. A prompt that comes first takes all the capacity, so the number of prefill lanes does
not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fairlane.reference.allocation.arrays import LEAST_SIZE, MOST_SIZE, FloatArray, IntArray, frozen
from fairlane.reference.allocation.rate_table import NumbersLike, read_numbers
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import found
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GraphProblem:
    """Checked graph problem; arrays are read-only.

    Parameters
    ----------
    catalog : Catalog
        The graphs.
    requests : tuple of Request
        ``prompt`` > 0 means a backlogged prefill, otherwise a decode without a budget.
    decode_index, prefill_index : ndarray of int64
        Places of the decoding and of the prefilling requests.
    decode_rates : ndarray of float64, shape (n_graphs, n_decode)
        D_i(k_g) / T_g, 0 where the graph has no decode row.
    decode_rows : ndarray of int64, shape (n_graphs,)
        B_g, where it exceeds the number of streams that number.
    prefill_rates : ndarray of float64, shape (n_graphs,)
        C_g / T_g.
    token_values, fairness_weights : ndarray of float64, shape (n_requests,)
        v >= 0 per token, f > 0.
    """

    catalog: Catalog
    requests: tuple[Request, ...]
    decode_index: IntArray
    prefill_index: IntArray
    decode_rates: FloatArray
    decode_rows: IntArray
    prefill_rates: FloatArray
    token_values: FloatArray
    fairness_weights: FloatArray

    @property
    def ids(self) -> tuple[str, ...]:
        """Request ids in request order."""
        return tuple(request.id for request in self.requests)


def read_graph_problem(
    catalog: Catalog | Iterable[Graph],
    requests: Iterable[Request],
    *,
    token_values: NumbersLike | None = None,
    fairness_weights: NumbersLike | None = None,
) -> GraphProblem:
    """A graph problem from a catalog and requests.

    Raises
    ------
    InvalidInstance
        No request, duplicate ids, a request that no graph serves, or values and weights outside their domain.
    """
    graphs = as_catalog(catalog)
    rows = read_requests(requests)
    if not rows:
        raise InvalidInstance("requests is empty; need at least one request")
    ids = tuple(request.id for request in rows)
    if len(set(ids)) != len(ids):
        seen: dict[str, int] = {}
        for i, request_id in enumerate(ids):
            if request_id in seen:
                raise InvalidInstance(
                    f"requests[{i}].id is {request_id!r}, already the id of requests[{seen[request_id]}]; "
                    "need distinct ids"
                )
            seen[request_id] = i
    decoding = np.array([request.prompt == 0 for request in rows])
    # more rows than streams serve nobody more, and a capacity can be beyond any machine integer
    most_rows = max(1, int(decoding.sum()))
    decode_rows = np.array([min(graph.decode_capacity, most_rows) for graph in graphs], dtype=np.int64)
    prefill_rates = np.array([graph.prefill_capacity * _speed(graph) for graph in graphs])
    for mask, able, need in (
        (decoding, bool(decode_rows.any()), "decode_capacity"),
        (~decoding, bool(prefill_rates.any()), "prefill_capacity"),
    ):
        if mask.any() and not able:
            i = int(np.flatnonzero(mask)[0])
            phase = "it decodes" if decoding[i] else f"its prompt of {rows[i].prompt} tokens is left"
            raise InvalidInstance(
                f"requests[{i}] ({ids[i]!r}) is served by no graph: {phase}; need one with {need} > 0"
            )
    n = len(rows)
    return GraphProblem(
        catalog=graphs,
        requests=rows,
        decode_index=np.flatnonzero(decoding),
        prefill_index=np.flatnonzero(~decoding),
        decode_rates=frozen(_decode_rates(graphs, [request for request in rows if request.prompt == 0])),
        decode_rows=decode_rows,
        prefill_rates=frozen(prefill_rates),
        token_values=read_numbers(token_values, "token_values", n, default=0.0, ids=ids),
        fairness_weights=read_numbers(fairness_weights, "fairness_weights", n, default=1.0, positive=True, ids=ids),
    )


def as_catalog(graphs: object) -> Catalog:
    """A catalog from one or from its graphs.

    Raises
    ------
    InvalidInstance
        Something else, such as a table of rates.
    """
    return graphs if isinstance(graphs, Catalog) else Catalog(graphs)  # type: ignore[arg-type]  # it checks


def read_requests(requests: object) -> tuple[Request, ...]:
    """Requests from an iterable of them.

    Raises
    ------
    InvalidInstance
        No iterable, or something in it is no Request.
    """
    if not isinstance(requests, Iterable):
        raise InvalidInstance(f"requests is {found(requests)}; need a list of Request")
    rows = tuple(requests)
    for i, request in enumerate(rows):
        if not isinstance(request, Request):
            raise InvalidInstance(f"requests[{i}] is {found(request)}; need a Request")
    return rows


def _speed(graph: Graph) -> float:
    """Launches per millisecond."""
    try:
        speed = graph.duration_ms.denominator / graph.duration_ms.numerator
    except OverflowError:
        speed = np.inf
    if not LEAST_SIZE <= speed * max(1, graph.prefill_capacity) <= MOST_SIZE:
        raise InvalidInstance(
            f"graph {graph.name!r} lasts {float(graph.duration_ms):g} ms at prefill_capacity {graph.prefill_capacity}; "
            f"need rates from {LEAST_SIZE:g} to {MOST_SIZE:g} per ms"
        )
    return speed


def _decode_rates(graphs: Catalog, decoding: Sequence[Request]) -> FloatArray:
    """D_i(k_g) / T_g; D(k) = 1 + sum_{j<k} q_1 ... q_j by running products, all terms nonnegative."""
    widest = max((graph.width for graph in graphs if graph.decode_capacity), default=1)
    n_drafts = min(widest - 1, max((len(request.acceptance) for request in decoding), default=0))
    accepted = np.zeros((len(decoding), n_drafts))
    known: dict[int, list[float]] = {}
    for i, request in enumerate(decoding):
        drafts = request.acceptance[:n_drafts]
        if drafts:
            # requests of one template share their tuple; converting 1e5 of them again would cost as much as solving
            row = known.get(id(request.acceptance))
            if row is None:
                row = known[id(request.acceptance)] = [float(q) for q in drafts]
            accepted[i, : len(row)] = row
    yields = np.ones((n_drafts + 1, len(decoding)))
    if n_drafts:
        np.cumsum(np.cumprod(accepted, axis=1), axis=1, out=accepted)
        yields[1:] += accepted.T
    rates = np.zeros((len(graphs), len(decoding)))
    for g, graph in enumerate(graphs):
        if graph.decode_capacity:
            rates[g] = yields[min(graph.width - 1, n_drafts)] * _speed(graph)
    return rates
