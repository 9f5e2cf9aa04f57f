"""Fair allocation over graphs and requests, no cohort enumerated."""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np

from fairlane.reference.allocation import column_generation, conditional_gradients, water_filling
from fairlane.reference.allocation.arrays import FloatArray, IntArray, frozen
from fairlane.reference.allocation.certificate import certified_gap
from fairlane.reference.allocation.cohort_columns import FEW_REQUESTS, CohortColumns
from fairlane.reference.allocation.compact_form import LEAST_WEIGHT, compact_form, expand, rates_of
from fairlane.reference.allocation.compact_interior_point import CompactInteriorPoint
from fairlane.reference.allocation.graph_problem import GraphProblem, read_graph_problem
from fairlane.reference.allocation.rate_table import NumbersLike
from fairlane.reference.allocation.region import rate_region, solve_fair
from fairlane.reference.allocation.result import AllocationMethod, GraphAllocation, ToleranceNotMet, check_tolerance
from fairlane.reference.allocation.solve import interior_point, named_method, utility_of
from fairlane.reference.errors import Unsupported
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request

Shares = tuple[FloatArray, FloatArray, FloatArray | None]


def fair_allocation_graphs(
    catalog: Catalog | Iterable[Graph],
    requests: Iterable[Request],
    *,
    token_values: NumbersLike | None = None,
    fairness_weights: NumbersLike | None = None,
    tolerance: float = 1e-9,
    method: AllocationMethod | str | None = None,
) -> GraphAllocation:
    """The certified fair allocation over everything a catalog can do for a frozen set of requests.

    Parameters
    ----------
    catalog : Catalog or iterable of Graph
        The graphs.
    requests : iterable of Request
        ``prompt`` > 0 is a backlogged prefill; otherwise the request decodes, at D(width) tokens a row, without a
        budget (``limit`` is ignored).
    token_values, fairness_weights : sequence, mapping by id, or None
        v >= 0 (0 where left out) and f > 0 (1 where left out).
    tolerance : float
        Largest certified relative gap, ``gap / (sum v x + sum f)``; at least 1e-13.
    method : AllocationMethod, its name, or None
        None takes water-filling for one graph and the interior point for more.

    Returns
    -------
    GraphAllocation
        Shares of graphs and rows, rates in tokens per millisecond, utility and certified gap; ``cohorts()`` gives a
        schedule of whole launches.

    Raises
    ------
    InvalidInstance
        A value outside its domain, a request that no graph serves, or a tolerance that doubles cannot show.
    ToleranceNotMet
        The method stopped short; the error has the gap reached and the allocation.
    Unsupported
        The method does not apply.

    Examples
    --------
    >>> d4 = Graph(name="d4", duration_ms=21, decode_capacity=4)
    >>> d5 = Graph(name="d5", duration_ms=29, decode_capacity=5)
    >>> streams = [Request(id=f"s{i}", prompt=0, limit=1) for i in range(5)]
    >>> round(float(fair_allocation_graphs([d4, d5], streams).rates[0]) * 105, 9)
    4.0
    """
    begun = time.perf_counter()
    limit = check_tolerance(tolerance)
    problem = read_graph_problem(catalog, requests, token_values=token_values, fairness_weights=fairness_weights)
    chosen = named_method(method)
    useful = _useful_graphs(problem)
    if chosen is None:
        chosen = AllocationMethod.WATER_FILLING if useful.size == 1 else AllocationMethod.INTERIOR_POINT
    time_shares, row_shares, log_prices = _solve(chosen, problem, useful, limit)
    x = rates_of(problem, row_shares)
    gap, scale = certified_gap(problem, x, log_prices)
    result = GraphAllocation(
        time_shares=frozen(time_shares),
        rates=frozen(x),
        utility=utility_of(problem.token_values, problem.fairness_weights, x),
        gap=gap,
        relative_gap=gap / scale,
        method=chosen,
        seconds=time.perf_counter() - begun,
        log_prices=frozen(problem.fairness_weights / x if log_prices is None else log_prices),
        row_shares=frozen(row_shares),
        problem=problem,
    )
    if not result.relative_gap <= limit:
        raise ToleranceNotMet(result, limit)
    return result


def _useful_graphs(problem: GraphProblem) -> IntArray:
    decode = (problem.decode_rows > 0) & (problem.decode_index.size > 0)
    return np.flatnonzero(decode | ((problem.prefill_rates > 0) & (problem.prefill_index.size > 0)))


def _solve(method: AllocationMethod, problem: GraphProblem, useful: IntArray, tolerance: float) -> Shares:
    if method is AllocationMethod.WATER_FILLING:
        if useful.size > 1:
            raise Unsupported(
                f"method water-filling needs one graph; {useful.size} serve these requests; use another method"
            )
        return _one_graph(problem, int(useful[0]))
    if problem.decode_index.size == 0 and method is AllocationMethod.INTERIOR_POINT:
        # prompts alone: all time goes to the graph of most prompt tokens per time
        return _one_graph(problem, int(problem.prefill_rates.argmax()))
    if useful.size == 1 and method is AllocationMethod.INTERIOR_POINT:
        return _one_graph(problem, int(useful[0]))
    if method is AllocationMethod.INTERIOR_POINT and len(problem.requests) > FEW_REQUESTS:
        form = compact_form(problem)
        return expand(problem, form, CompactInteriorPoint(form).solve())
    if method is AllocationMethod.CVXPY:
        return _by_cvxpy(problem)
    return _by_columns(method, problem, tolerance)


def _one_graph(problem: GraphProblem, graph: int) -> Shares:
    time_shares = np.zeros(len(problem.catalog))
    time_shares[graph] = 1.0
    row_shares = np.zeros((len(problem.catalog), len(problem.requests)))
    v, f = problem.token_values, problem.fairness_weights
    decode, prefill = problem.decode_index, problem.prefill_index
    if decode.size:
        rate = problem.decode_rates[graph]
        row_shares[graph, decode] = water_filling.fill(
            v[decode] * rate, f[decode], float(problem.decode_rows[graph]), capped=True
        )
    if prefill.size:
        rate = problem.prefill_rates[graph]
        row_shares[graph, prefill] = water_filling.fill(v[prefill] * rate, f[prefill], 1.0, capped=False)
    return time_shares, row_shares, None


def _by_columns(method: AllocationMethod, problem: GraphProblem, tolerance: float) -> Shares:
    """The methods that work with whole cohorts made on demand."""
    scale = np.empty(len(problem.requests))
    scale[problem.decode_index] = problem.decode_rates.max(axis=0, initial=0.0)
    scale[problem.prefill_index] = problem.prefill_rates.max()
    columns = CohortColumns(problem, scale)
    values = problem.token_values * scale
    weights = problem.fairness_weights
    unit = float(weights.sum())
    if values.any():
        unit += max(
            float((columns.lane_rates[g] * values)[columns.best_lanes(g, values)].sum())
            for g in range(len(problem.catalog))
        )
    values, weights = values / unit, np.maximum(weights / unit, LEAST_WEIGHT)
    u: FloatArray | None = None
    if method is AllocationMethod.INTERIOR_POINT:
        columns.list_largest()
        theta, u = interior_point(columns.table(), values, weights)
    elif method is AllocationMethod.COLUMN_GENERATION:
        columns.cover()
        theta, _, u = column_generation.solve_by_pricing(columns, values, weights, tolerance=tolerance)
    else:
        held = conditional_gradients.solve(
            conditional_gradients.CohortAtoms(columns), values, weights, tolerance=tolerance
        )
        theta = np.zeros(len(columns.graphs))
        theta[list(held)] = list(held.values())
    theta = np.clip(theta, 0.0, None)
    time_shares, row_shares = columns.shares(theta / theta.sum())
    return time_shares, row_shares, None if u is None else u * unit / scale


def _by_cvxpy(problem: GraphProblem) -> Shares:
    region = rate_region(problem, scaled=True)
    solve_fair(region, problem.token_values, problem.fairness_weights)
    time_shares = np.clip(np.asarray(region.time_shares.value), 0.0, None)
    time_shares /= time_shares.sum()
    row_shares = np.zeros((len(problem.catalog), len(problem.requests)))
    for graph, index, variable in region.row_shares:
        places = list(index)
        if graph < 0:
            portion = np.clip(np.asarray(variable.value), 0.0, None)
            working = np.where(problem.prefill_rates > 0, time_shares, 0.0)
            row_shares[:, places] = working[:, None] * (portion / portion.sum())
        else:
            held = np.clip(np.asarray(variable.value), 0.0, time_shares[graph])
            room = float(problem.decode_rows[graph]) * time_shares[graph]
            total = held.sum()
            row_shares[graph, places] = held * (room / total) if total > room else held
    return time_shares, row_shares, None
