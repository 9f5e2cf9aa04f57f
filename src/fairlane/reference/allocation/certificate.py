"""How far from optimal an allocation can be: certificates that share nothing with the solvers.

With q_i = v_i + f_i / x_i the gradient of F at x, concavity bounds the loss of x by the support gap

    max_a <q, y(a)> - <q, x>.

At any token prices p = v + u with u > 0 the dual value bounds the optimum, so the loss is at most

    h(p) - <p, x> + sum_i f_i (t_i - 1 - log t_i),   t_i = u_i x_i / f_i,   h(p) = max_a <p, y(a)>,

two nonnegative terms (the second vanishes at u = f / x, which gives the support gap back). The best action of a graph
is its best rows plus, for its prefill capacity, the prompt of highest price; ranking is exact for both.

Numbers given exactly (int, Fraction, text) are computed exactly; a float among them makes the result a float.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fairlane.reference.allocation.arrays import FloatArray
from fairlane.reference.allocation.exact_problem import all_exact, exact_problem
from fairlane.reference.allocation.graph_problem import GraphProblem, as_catalog, read_graph_problem, read_requests
from fairlane.reference.allocation.rate_table import NumbersLike, RateTable, read_numbers, read_table
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.request import Request

# a gap this small (relative) is all rounding, and no other certificate makes it smaller
ROUNDING = 1e-15
# a table of rates, (catalog, requests), or a problem read before
RatesOrGraphs = object


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportingDirection:
    """The gradient at an allocation and the best action for it.

    Parameters
    ----------
    prices : tuple of numbers
        q_i = v_i + f_i / x_i.
    action : int
        Row of the best action, or catalog place of the best graph; the first among equals.
    requests : tuple of int
        Requests in its lanes; for explicit actions those with a positive rate.
    value : number
        q-weighted useful tokens per millisecond of that action.
    """

    prices: tuple[Real, ...]
    action: int
    requests: tuple[int, ...]
    value: Real


def support_value(problem: RateTable | GraphProblem, prices: FloatArray) -> float:
    """h(p) = max over actions of <p, y(a)>, in doubles."""
    if isinstance(problem, RateTable):
        return float((problem.rates @ prices).max())
    return float(_graph_values(problem, prices).max())


def _graph_values(problem: GraphProblem, prices: FloatArray) -> FloatArray:
    worth = np.zeros(len(problem.catalog))
    if problem.prefill_index.size:
        worth += problem.prefill_rates * prices[problem.prefill_index].max()
    decode_prices = prices[problem.decode_index]
    n = decode_prices.size
    for g, rows in enumerate(problem.decode_rows.tolist()):
        if rows and n:
            of_rows = problem.decode_rates[g] * decode_prices
            worth[g] += (of_rows if rows >= n else np.partition(of_rows, n - rows)[n - rows :]).sum()
    return worth


def certified_gap(
    problem: RateTable | GraphProblem, x: FloatArray, log_prices: FloatArray | None
) -> tuple[float, float]:
    """The better of the two certificates in doubles, and sum v x + sum f.

    Parameters
    ----------
    problem : RateTable or GraphProblem
        What was solved.
    x : ndarray, shape (n_requests,)
        Attained rates, > 0.
    log_prices : ndarray or None
        u > 0 for the dual value; None for the support gap alone.
    """
    v, f = problem.token_values, problem.fairness_weights
    scale = float(v @ x) + float(f.sum())
    bent = f / x
    gaps = [support_value(problem, v + bent) - scale]
    if log_prices is not None and gaps[0] > ROUNDING * scale and (log_prices > 0).all():
        ratio = log_prices / bent
        excess = float((f * (ratio - 1 - np.log(ratio))).sum())
        gaps.append(support_value(problem, v + log_prices) - float((v + log_prices) @ x) + excess)
    best = min((g for g in gaps if np.isfinite(g)), default=np.inf)
    return max(best, 0.0), scale


def _rates_given(
    rates_or_graphs: RatesOrGraphs, requests: Iterable[Request] | None
) -> tuple[object, tuple[Request, ...] | None]:
    """The two kinds of problem told apart: (table, None) or (catalog, requests)."""
    if isinstance(rates_or_graphs, (RateTable, GraphProblem)):
        return rates_or_graphs, None
    if isinstance(rates_or_graphs, tuple) and len(rates_or_graphs) == 2 and isinstance(rates_or_graphs[0], Catalog):
        return rates_or_graphs[0], read_requests(rates_or_graphs[1])
    if requests is not None:
        return as_catalog(rates_or_graphs), read_requests(requests)
    if isinstance(rates_or_graphs, Catalog):
        raise InvalidInstance("requests is missing; need the requests beside a catalog")
    return rates_or_graphs, None


def supporting_direction(
    rates_or_graphs: RatesOrGraphs,
    x: NumbersLike,
    *,
    token_values: NumbersLike | None = None,
    fairness_weights: NumbersLike | None = None,
    requests: Iterable[Request] | None = None,
) -> SupportingDirection:
    """The gradient q = v + f / x of the utility at x and the action of most q-weighted useful work per time.

    Parameters
    ----------
    rates_or_graphs : table, Catalog, iterable of Graph, or (Catalog, requests)
        Rates of explicit actions, shape (n_actions, n_requests), in tokens per millisecond; or graphs.
    x : sequence of numbers
        Rates in tokens per millisecond, > 0.
    token_values, fairness_weights : sequence of numbers or None
        v (0 where left out) and f (1 where left out).
    requests : iterable of Request or None
        Needed beside graphs, and refused beside rates.

    Returns
    -------
    SupportingDirection
        Exact where every number given is exact.

    Raises
    ------
    InvalidInstance
        A value outside its domain, or a shape that does not fit.
    """
    return _direction(rates_or_graphs, x, token_values, fairness_weights, requests)[0]


def _direction(
    rates_or_graphs: RatesOrGraphs,
    x: NumbersLike,
    token_values: NumbersLike | None,
    fairness_weights: NumbersLike | None,
    requests: Iterable[Request] | None,
) -> tuple[SupportingDirection, Real]:
    """The supporting direction and <q, x> = <v, x> + sum f."""
    table, rows = _rates_given(rates_or_graphs, requests)
    if not all_exact(table, x, token_values, fairness_weights):
        return _float_direction(table, rows, x, token_values, fairness_weights)
    problem = exact_problem(table, rows, token_values=token_values, fairness_weights=fairness_weights)
    rates = problem.read_rates(x)
    q = tuple(v + f / r for v, f, r in zip(problem.token_values, problem.fairness_weights, rates, strict=True))
    action, lanes, value = problem.best_action(q)
    attained = sum((p * r for p, r in zip(q, rates, strict=True)), Fraction(0))
    return SupportingDirection(prices=q, action=action, requests=lanes, value=value), attained


def _float_direction(
    table: object, rows: Sequence[Request] | None, x: NumbersLike, token_values: NumbersLike | None,
    fairness_weights: NumbersLike | None,
) -> tuple[SupportingDirection, float]:  # fmt: skip
    given: RateTable | GraphProblem
    if isinstance(table, (RateTable, GraphProblem)):
        given = table
        if token_values is not None or fairness_weights is not None:
            raise InvalidInstance("token_values or fairness_weights beside a problem that has its own; leave them out")
    elif rows is not None:
        assert isinstance(table, Catalog)
        given = read_graph_problem(table, rows, token_values=token_values, fairness_weights=fairness_weights)
    else:
        given = read_table(table, token_values=token_values, fairness_weights=fairness_weights)
    n = given.token_values.size
    ids = given.ids if isinstance(given, GraphProblem) else None
    rates = read_numbers(x, "x", n, default=1.0, positive=True, ids=ids)
    q = given.token_values + given.fairness_weights / rates
    if isinstance(given, RateTable):
        worth = given.rates @ q
        action = int(worth.argmax())
        row = given.rates[[action]]
        lanes = np.flatnonzero(row if isinstance(row, np.ndarray) else row.toarray())
    else:
        worth = _graph_values(given, q)
        action = int(worth.argmax())
        chosen: list[int] = []
        if given.prefill_rates[action] and given.prefill_index.size:
            chosen.append(int(given.prefill_index[q[given.prefill_index].argmax()]))
        if given.decode_rows[action]:
            of_rows = given.decode_rates[action] * q[given.decode_index]
            first = np.argsort(-of_rows, kind="stable")[: given.decode_rows[action]]
            chosen += [int(i) for i in given.decode_index[first]]
        lanes = np.array(sorted(chosen))
    direction = SupportingDirection(
        prices=tuple(q.tolist()), action=action, requests=tuple(int(i) for i in lanes), value=float(worth[action])
    )
    return direction, float(given.token_values @ rates) + float(given.fairness_weights.sum())


def support_gap(
    rates_or_graphs: RatesOrGraphs,
    x: NumbersLike,
    *,
    token_values: NumbersLike | None = None,
    fairness_weights: NumbersLike | None = None,
    requests: Iterable[Request] | None = None,
) -> Real:
    """The support gap of x: no feasible allocation has a utility higher by more than this.

    Parameters
    ----------
    rates_or_graphs, x, token_values, fairness_weights, requests
        As in `supporting_direction`.

    Returns
    -------
    Fraction or float
        The gap max_a <q, y(a)> - <q, x>, exact where every number given is exact. For a feasible x it is >= 0,
        and 0 exactly at an optimum.

    Raises
    ------
    InvalidInstance
        A value outside its domain, or a shape that does not fit.

    Examples
    --------
    >>> support_gap([[2, 0], [0, 5]], [1, "5/2"])
    Fraction(0, 1)
    """
    best, attained = _direction(rates_or_graphs, x, token_values, fairness_weights, requests)
    return best.value - attained
