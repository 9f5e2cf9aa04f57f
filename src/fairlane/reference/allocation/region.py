"""The rate region as CVXPY variables and constraints, for utilities and side conditions of one's own.

>>> import cvxpy
>>> from fairlane.reference.allocation.region import rate_region
>>> region = rate_region([[2, 0], [0, 5]])
>>> problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.min(region.rates)), region.constraints)
>>> round(float(problem.solve()), 6)                        # max-min: 2 a = 5 (1 - a)
1.428571
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairlane.reference.allocation.arrays import FloatArray
from fairlane.reference.allocation.graph_problem import GraphProblem, as_catalog, read_graph_problem
from fairlane.reference.allocation.rate_table import RateTable, read_table
from fairlane.reference.errors import InvalidInstance, Unsupported
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.request import Request


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RateRegion:
    """CVXPY objects of the rate region; add constraints and an objective, then solve.

    Parameters
    ----------
    rates : cvxpy expression, shape (n_requests,)
        Tokens per millisecond of each request, in units of ``unit``: the rate is ``unit * rates``.
    time_shares : cvxpy variable, shape (n_actions,) or (n_graphs,)
        Fractions of wall time.
    row_shares : tuple of (graph, requests, variable)
        In the graph form, the fraction of time each request holds a row of each decode graph, and one entry for the
        prefill rates (graph -1); empty for explicit actions.
    constraints : list of cvxpy constraints
        The region.
    unit : ndarray of float64, shape (n_requests,)
        Ones, unless scaling was asked for.
    """

    rates: Any
    time_shares: Any
    row_shares: tuple[tuple[int, tuple[int, ...], Any], ...]
    constraints: list[Any]
    unit: FloatArray


def rate_region(
    rates_or_graphs: object, requests: Iterable[Request] | None = None, *, scaled: bool = False
) -> RateRegion:
    """The rate region of explicit actions, or of graphs and requests in the compact form.

    Parameters
    ----------
    rates_or_graphs : table of shape (n_actions, n_requests), Catalog, or iterable of Graph
        Tokens per millisecond, or graphs.
    requests : iterable of Request or None
        Needed beside graphs, and refused beside rates.
    scaled : bool
        True expresses each request's rate in units of its best, which conic solvers need where rates differ by decades.

    Returns
    -------
    RateRegion
        Variables, rates and constraints for `cvxpy.Problem`.

    Raises
    ------
    InvalidInstance
        The table or the graphs are outside their domain.
    Unsupported
        CVXPY is not installed.
    """
    try:
        # an extra, and slow to load
        import cvxpy
    except ImportError:
        raise Unsupported(
            "rate_region needs CVXPY, which is not installed; need the extra: pip install 'fairlane[cvxpy]'"
        ) from None
    if isinstance(rates_or_graphs, Catalog) and requests is None:
        raise InvalidInstance("requests is missing; need the requests beside a catalog")
    if requests is not None:
        return _graph_region(cvxpy, read_graph_problem(as_catalog(rates_or_graphs), requests), scaled)
    if isinstance(rates_or_graphs, GraphProblem):
        return _graph_region(cvxpy, rates_or_graphs, scaled)
    table = rates_or_graphs if isinstance(rates_or_graphs, RateTable) else read_table(rates_or_graphs)
    n_actions, n = table.rates.shape
    unit = np.ones(n)
    matrix = table.rates
    if scaled:
        unit = matrix.max(axis=0) if isinstance(matrix, np.ndarray) else matrix.max(axis=0).toarray().ravel()
        matrix = matrix / unit if isinstance(matrix, np.ndarray) else matrix.multiply(1 / unit[None, :]).tocsr()
    theta = cvxpy.Variable(n_actions, nonneg=True, name="time_shares")
    return RateRegion(
        rates=matrix.T @ theta, time_shares=theta, row_shares=(), constraints=[cvxpy.sum(theta) == 1], unit=unit
    )


def _graph_region(cvxpy: Any, problem: GraphProblem, scaled: bool) -> RateRegion:
    n = len(problem.requests)
    theta = cvxpy.Variable(len(problem.catalog), nonneg=True, name="time_shares")
    constraints = [cvxpy.sum(theta) == 1]
    unit = np.ones(n)
    if scaled:
        unit[problem.decode_index] = problem.decode_rates.max(axis=0, initial=0.0)
        unit[problem.prefill_index] = problem.prefill_rates.max()
    pieces = []
    row_shares = []
    decode, prefill = problem.decode_index, problem.prefill_index
    if decode.size:
        total: Any = 0
        for g, rows in enumerate(problem.decode_rows.tolist()):
            if rows == 0:
                continue
            held = cvxpy.Variable(decode.size, nonneg=True, name=f"rows_{g}")
            constraints += [held <= theta[g], cvxpy.sum(held) <= rows * theta[g]]
            total = total + cvxpy.multiply(problem.decode_rates[g] / unit[decode], held)
            row_shares.append((g, tuple(decode.tolist()), held))
        pieces.append((decode, total))
    if prefill.size:
        prompt_rates = cvxpy.Variable(prefill.size, nonneg=True, name="prefill_rates")
        constraints.append(cvxpy.sum(prompt_rates) <= (problem.prefill_rates / unit[prefill[0]]) @ theta)
        row_shares.append((-1, tuple(prefill.tolist()), prompt_rates))
        pieces.append((prefill, prompt_rates))
    order = np.concatenate([index for index, _ in pieces])
    rates = cvxpy.hstack([piece for _, piece in pieces])[np.argsort(order)]
    return RateRegion(rates=rates, time_shares=theta, row_shares=tuple(row_shares), constraints=constraints, unit=unit)


def solve_fair(region: RateRegion, values: FloatArray, weights: FloatArray) -> None:
    """Solve for the fair allocation with Clarabel; the variables then hold whatever it reached.

    Raises
    ------
    Unsupported
        The solver failed; the message has its status.
    """
    # an extra, and slow to load
    import cvxpy

    total = float(weights.sum())
    objective = cvxpy.sum(cvxpy.multiply(weights / total, cvxpy.log(region.rates)))
    if values.any():
        objective = objective + (values * region.unit / total) @ region.rates
    problem = cvxpy.Problem(cvxpy.Maximize(objective), region.constraints)
    with warnings.catch_warnings():
        # the solver's own doubts are superseded by the certificate
        warnings.simplefilter("ignore")
        try:
            problem.solve(solver=cvxpy.CLARABEL)
        except cvxpy.SolverError as error:
            raise Unsupported(f"method cvxpy: {str(error).splitlines()[0]}; use another method") from None
    if region.time_shares.value is None:
        raise Unsupported(f"method cvxpy stopped with status {problem.status}; use another method")
