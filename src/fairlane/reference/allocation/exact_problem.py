"""Allocation problems in rationals, read from what the caller gave and from nothing a solver computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fairlane.reference.allocation.graph_problem import GraphProblem
from fairlane.reference.allocation.rate_table import NO_SEQUENCE, NumbersLike, RateTable
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import JsonNumber, as_fraction, found, show
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.request import Request
from fairlane.reference.model.yields import exact_yield

SparseRow = tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactProblem:
    """Rates, values and weights as rationals.

    Parameters
    ----------
    rows : tuple of sparse rows
        Explicit actions: pairs (request, rate > 0) of each. Graphs: pairs (request, rate) of each graph's decode part.
    capacities : tuple of int or None
        Decode rows of each graph; None for explicit actions.
    prefill_rates : tuple of Fraction
        C_g / T_g of each graph; empty for explicit actions.
    prefilling : tuple of int
        Requests in prefill.
    token_values, fairness_weights : tuple of Fraction
        v >= 0, f > 0.
    """

    rows: tuple[SparseRow, ...]
    capacities: tuple[int, ...] | None
    prefill_rates: tuple[Fraction, ...]
    prefilling: tuple[int, ...]
    token_values: tuple[Fraction, ...]
    fairness_weights: tuple[Fraction, ...]

    def read_rates(self, x: NumbersLike) -> tuple[Fraction, ...]:
        """Positive rates, one a request."""
        return _numbers(x, "x", len(self.token_values), default=Fraction(1), positive=True)

    def best_action(self, prices: Sequence[Fraction]) -> tuple[int, tuple[int, ...], Fraction]:
        """The first action of largest priced rate, the requests in its lanes, and that rate."""
        best: tuple[Fraction, int, tuple[int, ...]] | None = None
        for a, row in enumerate(self.rows):
            worth = [(rate * prices[i], i) for i, rate in row]
            lanes = [i for i, _ in row]
            value = Fraction(0)
            if self.capacities is not None:
                worth.sort(key=lambda pair: -pair[0])
                worth = worth[: self.capacities[a]]
                lanes = [i for _, i in worth]
                if self.prefill_rates[a] and self.prefilling:
                    first = max(self.prefilling, key=lambda i: prices[i])
                    value += self.prefill_rates[a] * prices[first]
                    lanes.append(first)
            value += sum((w for w, _ in worth), Fraction(0))
            if best is None or value > best[0]:
                best = (value, a, tuple(sorted(lanes)))
        assert best is not None
        return best[1], best[2], best[0]


def all_exact(*given: object) -> bool:
    """Whether no float stands anywhere in what was given."""
    return all(_is_exact(value) for value in given)


def _is_exact(value: object) -> bool:
    if value is None or isinstance(value, (int, Fraction, str, Catalog)):
        return True
    if isinstance(value, (float, np.floating, RateTable, GraphProblem)) or hasattr(value, "tocsr"):
        return False
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iu" or (value.dtype.kind == "O" and all(_is_exact(v) for v in value.flat))
    if isinstance(value, JsonNumber):
        return True
    if isinstance(value, Mapping):
        return all(_is_exact(v) for v in value.values())
    if isinstance(value, Iterable):
        return all(_is_exact(v) for v in value)
    return isinstance(value, np.integer)


def exact_problem(
    rates: object,
    requests: Sequence[Request] | None = None,
    *,
    token_values: NumbersLike | None = None,
    fairness_weights: NumbersLike | None = None,
) -> ExactProblem:
    """A problem in rationals; a float is read by its shortest decimal text, as a number in a file is.

    Parameters
    ----------
    rates : table or Catalog
        Explicit rates (dense or sparse), or graphs.
    requests : sequence of Request or None
        Needed beside a Catalog.
    token_values, fairness_weights : sequence of numbers or None
        v and f.

    Raises
    ------
    InvalidInstance
        A number outside its domain, or a shape that does not fit.
    """
    if isinstance(rates, RateTable):
        token_values = rates.token_values if token_values is None else token_values
        fairness_weights = rates.fairness_weights if fairness_weights is None else fairness_weights
        rates = rates.rates
    if isinstance(rates, GraphProblem):
        token_values = rates.token_values if token_values is None else token_values
        fairness_weights = rates.fairness_weights if fairness_weights is None else fairness_weights
        requests = rates.requests
        rates = rates.catalog
    if isinstance(rates, Catalog):
        if requests is None:
            raise InvalidInstance("requests is missing; need the requests beside a catalog")
        return _exact_graphs(rates, requests, token_values, fairness_weights)
    rows, n_requests = _exact_rows(rates)
    served = {i for row in rows for i, _ in row}
    if len(served) < n_requests:
        missed = next(i for i in range(n_requests) if i not in served)
        raise InvalidInstance(
            f"requests[{missed}] is served by no action: rates[:, {missed}] is 0 throughout; need a positive rate"
        )
    return ExactProblem(
        rows=rows,
        capacities=None,
        prefill_rates=(),
        prefilling=(),
        token_values=_numbers(token_values, "token_values", n_requests, default=Fraction(0)),
        fairness_weights=_numbers(fairness_weights, "fairness_weights", n_requests, default=Fraction(1), positive=True),
    )


def _exact_graphs(
    catalog: Catalog, requests: Sequence[Request], v: NumbersLike | None, f: NumbersLike | None
) -> ExactProblem:
    ids = [request.id for request in requests]
    rows = tuple(
        tuple(
            (i, exact_yield(request.acceptance, graph.width, graph.width) / graph.duration_ms)
            for i, request in enumerate(requests)
            if request.prompt == 0 and graph.decode_capacity > 0
        )
        for graph in catalog
    )
    return ExactProblem(
        rows=rows,
        capacities=tuple(graph.decode_capacity for graph in catalog),
        prefill_rates=tuple(graph.prefill_capacity / graph.duration_ms for graph in catalog),
        prefilling=tuple(i for i, request in enumerate(requests) if request.prompt > 0),
        token_values=_numbers(v, "token_values", len(ids), default=Fraction(0), ids=ids),
        fairness_weights=_numbers(f, "fairness_weights", len(ids), default=Fraction(1), positive=True, ids=ids),
    )


def _exact_rows(rates: object) -> tuple[tuple[SparseRow, ...], int]:
    to_csr = getattr(rates, "tocsr", None)
    rows: list[SparseRow] = []
    if to_csr is not None:
        # scipy loads slowly, and most calls come by without it
        from scipy.sparse import csr_array

        sparse: Any = csr_array(to_csr(), copy=True)
        if sparse.ndim != 2 or sparse.dtype.kind not in "fiub":
            raise InvalidInstance(f"rates is {sparse.ndim}-dimensional of {sparse.dtype}; need 2 dimensions of numbers")
        sparse.sum_duplicates()
        for a in range(sparse.shape[0]):
            span = slice(sparse.indptr[a], sparse.indptr[a + 1])
            pairs = zip(sparse.indices[span].tolist(), sparse.data[span].tolist(), strict=True)
            rows.append(tuple((i, _rate(y, a, i)) for i, y in pairs if y != 0))
        return tuple(rows), int(sparse.shape[1])
    if isinstance(rates, NO_SEQUENCE) or not isinstance(rates, (Iterable, np.ndarray)):
        raise InvalidInstance(f"rates is {found(rates)}; need one row an action and one column a request")
    width = -1
    for a, row in enumerate(rates):
        if isinstance(row, NO_SEQUENCE) or not isinstance(row, Iterable):
            raise InvalidInstance(f"rates[{a}] is {found(row)}; need a list with one rate a request")
        values = [_rate(y, a, i) for i, y in enumerate(row)]
        if width not in (-1, len(values)):
            raise InvalidInstance(f"rates[{a}] has {len(values)} rates; need {width}, as in rates[0]")
        width = len(values)
        rows.append(tuple((i, y) for i, y in enumerate(values) if y))
    if width < 1:
        raise InvalidInstance("rates is empty; need at least one action and one request")
    return tuple(rows), width


def _rate(value: object, action: int, request: int) -> Fraction:
    rate = _exact_number(value, f"rates[{action}][{request}]")
    if rate < 0:
        raise InvalidInstance(
            f"rates[{action}][{request}] is {show(rate)} (action {action}, request {request}); need >= 0"
        )
    return rate


def _exact_number(value: object, where: str) -> Fraction:
    if isinstance(value, np.generic):
        value = value.item()
    return as_fraction(value, where)


def _numbers(
    numbers: NumbersLike | None,
    name: str,
    n_requests: int,
    *,
    default: Fraction,
    positive: bool = False,
    ids: Sequence[str] = (),
) -> tuple[Fraction, ...]:
    if numbers is None:
        return (default,) * n_requests
    if isinstance(numbers, Mapping):
        unknown = [key for key in numbers if key not in ids]
        if unknown:
            raise InvalidInstance(f"{name} has the key {found(unknown[0])}; need ids of requests")
        values = [_exact_number(numbers.get(key, default), f"{name}[{key!r}]") for key in ids]
    elif isinstance(numbers, NO_SEQUENCE) or not isinstance(numbers, (Iterable, np.ndarray)):
        raise InvalidInstance(f"{name} is {found(numbers)}; need one number a request")
    else:
        values = [_exact_number(value, f"{name}[{i}]") for i, value in enumerate(numbers)]
    if len(values) != n_requests:
        raise InvalidInstance(f"{name} has {len(values)} numbers; need {n_requests}, one a request")
    for i, value in enumerate(values):
        if value < 0 or (positive and value == 0):
            raise InvalidInstance(f"{name}[{i}] is {show(value)}; need {'> 0' if positive else '>= 0'}")
    return tuple(values)
