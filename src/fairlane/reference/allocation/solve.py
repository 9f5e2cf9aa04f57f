"""Fair allocation: maximise sum v x + f log x over the rate region, with a certificate of the loss.

The reference allocation of a frozen active set: x is a mixture of action rates with time shares theta, the marginal
value of a token is q_i = v_i + f_i / x_i, and the best action is the one of most q-weighted useful work per time.

References
----------
Kelly, F., Maulloo, A. and Tan, D. (1998). Rate control for communication networks: shadow prices, proportional
fairness and stability. J. Oper. Res. Soc. 49(3).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from fairlane.reference.allocation import column_generation, conditional_gradients, newton_polish, water_filling
from fairlane.reference.allocation.arrays import FloatArray, frozen
from fairlane.reference.allocation.certificate import certified_gap
from fairlane.reference.allocation.interior_point import InteriorPoint, starting_point
from fairlane.reference.allocation.plain_interior_point import FEW_ENTRIES, FEW_REQUESTS, rough_optimum
from fairlane.reference.allocation.rate_table import NumbersLike, RateTable, read_table
from fairlane.reference.allocation.region import rate_region, solve_fair
from fairlane.reference.allocation.result import Allocation, AllocationMethod, ToleranceNotMet, check_tolerance
from fairlane.reference.errors import InvalidInstance, Unsupported

# from this many entries on a working set is cheaper than the whole table
LARGE_TABLE = 20_000
LEAST_WEIGHT = 1e-250


def fair_allocation(
    rates: object,
    *,
    token_values: NumbersLike | None = None,
    fairness_weights: NumbersLike | None = None,
    tolerance: float = 1e-9,
    method: AllocationMethod | str | None = None,
) -> Allocation:
    """The certified fair allocation over explicit action vectors.

    Parameters
    ----------
    rates : array-like or scipy sparse, shape (n_actions, n_requests)
        Useful tokens per millisecond of each request in each action; finite, >= 0. Number texts ("7/2") are read.
    token_values : sequence of numbers or None
        Intrinsic value v >= 0 of a token of each request; 0 where left out.
    fairness_weights : sequence of numbers or None
        Coefficient f > 0 of each request's log rate; 1 where left out.
    tolerance : float
        Largest certified relative gap, ``gap / (sum v x + sum f)``; at least 1e-13.
    method : AllocationMethod, its name, or None
        None takes the interior point, or column generation for large tables.

    Returns
    -------
    Allocation
        Time shares, rates in tokens per millisecond, utility at a reference rate of 1, and its certified gap.

    Raises
    ------
    InvalidInstance
        A value outside its domain, a request that no action serves, or a tolerance that doubles cannot show.
    ToleranceNotMet
        The method stopped short; the error has the gap reached and the allocation.
    Unsupported
        The method does not apply.

    Notes
    -----
    Interior point to a rough optimum, then Newton's method on the support, which is what makes shares and rates right
    to 1e-9 and better; utility alone would be met far earlier. Rates are unique, shares only where the actions held are
    independent.

    Examples
    --------
    >>> shares = fair_allocation([[2, 0], [0, 5]], fairness_weights=[1, 3]).time_shares
    >>> [round(float(share), 12) for share in shares]
    [0.25, 0.75]
    """
    begun = time.perf_counter()
    limit = check_tolerance(tolerance)
    table = read_table(rates, token_values=token_values, fairness_weights=fairness_weights)
    chosen = named_method(method)
    if chosen is None:
        large = (
            table.rates.shape[0] * table.rates.shape[1] > LARGE_TABLE
            and table.rates.shape[0] > 3 * table.rates.shape[1]
        )
        chosen = AllocationMethod.COLUMN_GENERATION if large else AllocationMethod.INTERIOR_POINT
    Y, scale, values, weights, unit = _scaled(table)
    theta, log_prices = _solve_scaled(chosen, table, Y, values, weights, limit)
    shares = np.clip(theta, 0.0, None)
    shares /= shares.sum()
    x = np.asarray(shares @ table.rates)
    u = None if log_prices is None else log_prices * unit / scale
    return finished(table, shares, x, u, chosen, limit, begun)


def named_method(method: AllocationMethod | str | None) -> AllocationMethod | None:
    """A method from its name.

    Raises
    ------
    InvalidInstance
        No method has that name.
    """
    if method is None:
        return None
    try:
        return AllocationMethod(method)
    except ValueError:
        known = ", ".join(AllocationMethod)
        raise InvalidInstance(f"method is {method!r}; need one of {known}") from None


def finished(
    table: RateTable,
    shares: FloatArray,
    x: FloatArray,
    log_prices: FloatArray | None,
    method: AllocationMethod,
    tolerance: float,
    begun: float,
) -> Allocation:
    """The result with its certificate.

    Raises
    ------
    ToleranceNotMet
        The certified gap exceeds the tolerance.
    """
    gap, scale = certified_gap(table, x, log_prices)
    result = Allocation(
        time_shares=frozen(shares),
        rates=frozen(x),
        utility=utility_of(table.token_values, table.fairness_weights, x),
        gap=gap,
        relative_gap=gap / scale,
        method=method,
        seconds=time.perf_counter() - begun,
        log_prices=frozen(table.fairness_weights / x if log_prices is None else log_prices),
        problem=table,
    )
    if not result.relative_gap <= tolerance:
        raise ToleranceNotMet(result, tolerance)
    return result


def utility_of(token_values: FloatArray, fairness_weights: FloatArray, x: FloatArray) -> float:
    """sum v x + f log x."""
    return float(token_values @ x) + float(fairness_weights @ np.log(x))


def _scaled(table: RateTable) -> tuple[Any, FloatArray, FloatArray, FloatArray, float]:
    """Rates with every column's largest 1, and v and f that sum to about 1."""
    if table.is_sparse:
        scale = table.rates.max(axis=0).toarray().ravel()
        Y = table.rates.copy()
        Y.data /= scale[Y.indices]
    else:
        scale = table.rates.max(axis=0)
        Y = table.rates / scale
    values = table.token_values * scale
    unit = float(table.fairness_weights.sum())
    if values.any():
        unit += float((Y @ values).max())
    # beside values that large no weight can be seen; a positive floor keeps its logarithm
    return Y, scale, values / unit, np.maximum(table.fairness_weights / unit, LEAST_WEIGHT), unit


def _solve_scaled(
    method: AllocationMethod, table: RateTable, Y: Any, values: FloatArray, weights: FloatArray, tolerance: float
) -> tuple[FloatArray, FloatArray | None]:
    """Shares of all actions and scaled log prices."""
    if method is AllocationMethod.INTERIOR_POINT:
        return interior_point(Y, values, weights)
    if method is AllocationMethod.COLUMN_GENERATION:
        theta, _, u = column_generation.solve_table(Y, values, weights, tolerance=tolerance)
        return theta, u
    if method is AllocationMethod.CONDITIONAL_GRADIENTS:
        held = conditional_gradients.solve(conditional_gradients.TableAtoms(Y), values, weights, tolerance=tolerance)
        theta = np.zeros(Y.shape[0])
        theta[list(held)] = list(held.values())
        return theta, None
    if method is AllocationMethod.WATER_FILLING:
        return _single_resource(Y, values, weights), None
    region = rate_region(table, scaled=True)
    solve_fair(region, table.token_values, table.fairness_weights)
    return np.asarray(region.time_shares.value), None


def interior_point(Y: Any, values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares and log prices of a scaled table: interior point, ended by Newton's method as soon as that confirms."""
    n = Y.shape[0]
    if n == 1:
        return np.ones(1), weights / np.asarray(np.ones(1) @ Y)
    if Y.shape[1] <= FEW_REQUESTS and n * Y.shape[1] <= FEW_ENTRIES and isinstance(Y, np.ndarray):
        start = rough_optimum(Y, values, weights, gap=1e-4)
        solved = None if start is None else newton_polish.polish(Y, values, weights, *start)
        if solved is not None:
            return solved.theta, solved.u
    solver = InteriorPoint(Y, values, weights, starting_point(Y, values, weights))
    best = (np.inf, solver.theta, solver.u)
    for gap in (1e-3, 1e-5, 1e-8, 1e-11, 1e-15):
        solver.solve(gap=gap, m_below=np.inf if gap > 1e-10 else 0.1 * gap)
        solved = newton_polish.polish(Y, values, weights, solver.theta, solver.at.dual[:n], solver.u, solver.at.rho)
        if solved is not None:
            return solved.theta, solved.u
        # where Newton's method confirms no support, products pushed too far would spoil what was reached
        x, u = np.asarray(solver.theta / solver.theta.sum() @ Y), solver.u
        if x.min() > 0 and u.min() > 0:
            here = column_generation.excess(values, weights, x, u, float((Y @ (values + u)).max()))
            if here < best[0]:
                best = (here, solver.theta, u)
    return best[1], best[2]


def _single_resource(Y: Any, values: FloatArray, weights: FloatArray) -> FloatArray:
    served = np.asarray((Y > 0).sum(axis=1)).ravel()
    if served.max() > 1:
        action = int(served.argmax())
        raise Unsupported(
            f"method water-filling needs actions that serve one request each; action {action} serves "
            f"{int(served[action])}; use another method"
        )
    best = Y.argmax(axis=0) if isinstance(Y, np.ndarray) else np.asarray(Y.argmax(axis=0)).ravel()
    theta = np.zeros(Y.shape[0])
    theta[best] = water_filling.fill(values, weights, 1.0, capped=False)
    return theta
