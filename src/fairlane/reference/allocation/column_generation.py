"""Column generation: the interior point on a working set of actions that grows by pricing.

At the prices p of a working set's (near) optimum every action outside is priced by <p, y(a)>. Those worth more than
time costs join; when none does, the working set's optimum is the optimum. The master is warm-started and solved only
as far as the last pricing justifies, and Newton's method on the support ends it. For graphs the action of most value is
its best rows (and its dearest prompt), so columns come from ranking and no cohort is enumerated.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from fairlane.reference.allocation.arrays import FloatArray, IntArray
from fairlane.reference.allocation.interior_point import LARGE, InteriorPoint, restart, starting_point
from fairlane.reference.allocation.newton_polish import Polished, polish

MAX_ROUNDS = 400
SPREAD = 0.05
MULTIPLICATIVE_STEPS = 25


class Columns(Protocol):
    """A growing set of action vectors (scaled)."""

    def table(self) -> FloatArray:
        """Rates of the columns held, shape (n_columns, n_requests); earlier columns keep their places."""
        ...

    def grow(self, prices: FloatArray) -> float:
        """Add the best columns at these prices where they are new; gives the largest <p, y> over all actions."""
        ...


def excess(values: FloatArray, weights: FloatArray, x: FloatArray, u: FloatArray, worth: float) -> float:
    """The dual value at v + u minus the utility at x, relative to sum v x + sum f (scaled problem)."""
    ratio = u * x / weights
    bent = float((weights * (ratio - 1 - np.log(ratio))).sum())
    return (worth - float((values + u) @ x) + bent) / (float(weights.sum()) + float(values @ x))


def solve_table(rates: Any, values: FloatArray, weights: FloatArray, *, tolerance: float) -> Polished:
    """Shares of all actions of a scaled table.

    Parameters
    ----------
    rates : ndarray or csr_array, shape (n_actions, n_requests)
        Scaled rates.
    values, weights : ndarray, shape (n_requests,)
        Scaled v and f.
    tolerance : float
        Relative gap at which to stop where Newton's method does not confirm the support.

    Returns
    -------
    Polished
        Shares, rates and log prices; the caller certifies them.
    """
    n_actions, n = rates.shape
    working, master = _first_master(rates, values, weights)
    goal = 1e-2
    for _ in range(MAX_ROUNDS):
        master.solve(gap=goal, m_below=np.inf)
        worth = rates @ (values + master.u)
        gap = excess(values, weights, master.x, master.u, float(worth.max()))
        if gap < (1e-3 if n < LARGE else 1e-5):
            confirmed = _confirm(rates, values, weights, working, master)
            if isinstance(confirmed, Polished):
                return confirmed
            if confirmed is not None:
                worth = confirmed
        added = np.setdiff1d(np.flatnonzero(worth > float(worth[working].max())), working)
        added = added[_largest(worth[added], n)]
        if added.size == 0 and goal <= tolerance * 1e-3:
            break
        goal = max(min(0.01 * goal, 0.01 * gap), 1e-15)
        if added.size:
            working, master = _grow(rates, values, weights, working, master, added, gap)
    theta = np.zeros(n_actions)
    theta[working] = master.theta
    return Polished(theta, master.x, master.u)


def _first_master(rates: Any, values: FloatArray, weights: FloatArray) -> tuple[IntArray, InteriorPoint]:
    """A working set that is likely to hold the support, and its master problem."""
    n_actions, n = rates.shape
    best = _best_actions(rates)
    if n < LARGE:
        x = (weights / weights.sum()) @ rates[best]
        working = np.union1d(best, _largest(rates @ (values + weights / x), 2 * n))
        table = rates[working]
        return working, InteriorPoint(table, values, weights, starting_point(table, values, weights))
    # multiplicative steps on the whole table are cheap and soon rank its actions well; the square doubles their pace
    columns = rates.T if isinstance(rates, np.ndarray) else rates.T.tocsr()
    theta = np.full(n_actions, 0.5 / n_actions)
    np.add.at(theta, best, 0.5 / n)
    for _ in range(MULTIPLICATIVE_STEPS):
        x = columns @ theta
        worth = rates @ (values + weights / x)
        theta = theta * worth * worth
        theta /= theta.sum()
    x = columns @ theta
    working = np.union1d(best, _largest(rates @ (values + weights / x), 3 * n))
    table = rates[working]
    theta = np.maximum(theta[working], 0.1 / working.size)
    theta /= theta.sum()
    x = theta @ table
    m = 0.1 * float(weights.sum() + values @ x) / working.size
    return working, InteriorPoint(table, values, weights, restart(table, values, theta, x, (weights + m) / x, m))


def _best_actions(rates: Any) -> IntArray:
    """For each request an action of scaled rate 1."""
    if not isinstance(rates, np.ndarray):
        return np.asarray(rates.argmax(axis=0)).ravel()
    # argmax along columns of a row-major table is ten times slower
    rows, columns = np.nonzero(rates == 1.0)
    best = np.zeros(rates.shape[1], dtype=np.int64)
    best[columns] = rows
    return best


def _largest(worth: FloatArray, count: int) -> IntArray:
    if count >= worth.size:
        return np.arange(worth.size)
    return np.argpartition(worth, worth.size - count)[worth.size - count :]


def _confirm(
    rates: Any, values: FloatArray, weights: FloatArray, working: IntArray, master: InteriorPoint
) -> Polished | FloatArray | None:
    """The optimum if Newton's method on the working set proves to be it; else every action's worth at its prices."""
    n = working.size
    solved = polish(master.Y, values, weights, master.theta, master.at.dual[:n], master.u, master.at.rho)
    if solved is None:
        return None
    worth = np.asarray(rates @ (values + solved.u))
    if worth.max() > worth[working].max() * (1 + 1e-12):
        return worth
    theta = np.zeros(rates.shape[0])
    theta[working] = solved.theta
    return Polished(theta, solved.x, solved.u)


def _grow(
    rates: Any, values: FloatArray, weights: FloatArray, working: IntArray, master: InteriorPoint, added: IntArray,
    gap: float,
) -> tuple[IntArray, InteriorPoint]:  # fmt: skip
    n = working.size
    theta, slack = master.theta, master.at.dual[:n]
    if n > 4 * weights.size:
        # actions far from worth their time leave; they may come back by pricing
        keep = np.sort(np.argpartition(slack, 2 * weights.size)[: 2 * weights.size])
        working, theta = working[keep], theta[keep]
    theta = np.maximum(theta, SPREAD / theta.size * min(1.0, gap * 10))
    share = min(SPREAD, gap)
    grown = np.concatenate([working, added])
    theta = np.concatenate([theta / theta.sum() * (1 - share), np.full(added.size, share / added.size)])
    table = rates[grown]
    x = theta @ table
    m = gap * (float(weights.sum()) + float(values @ x)) / grown.size
    u = np.maximum(master.u, 0.5 * weights / x)
    return grown, InteriorPoint(table, values, weights, restart(table, values, theta, x, u, m))


def solve_by_pricing(
    columns: Columns, values: FloatArray, weights: FloatArray, *, tolerance: float, max_rounds: int = MAX_ROUNDS
) -> Polished:
    """Column generation where columns come from an oracle instead of a table.

    Parameters
    ----------
    columns : Columns
        Holds columns with a positive rate for every request; grows.
    values, weights, tolerance
        As in `solve_table`.

    Returns
    -------
    Polished
        Shares of the columns held at the end, rates and log prices.
    """
    goal = 1e-2
    table = columns.table()
    master = InteriorPoint(table, values, weights, starting_point(table, values, weights))
    for _ in range(max_rounds):
        master.solve(gap=goal, m_below=np.inf)
        n = table.shape[0]
        theta, x, u = master.theta, master.x, master.u
        if goal < 1e-3:
            solved = polish(table, values, weights, theta, master.at.dual[:n], u, master.at.rho)
            if solved is not None:
                theta, x, u = solved
        worth = columns.grow(values + u)
        gap = excess(values, weights, x, u, worth)
        if gap < 0.01 * tolerance:
            padded = np.zeros(columns.table().shape[0])
            padded[:n] = theta
            return Polished(padded, x, u)
        table = columns.table()
        n_new = table.shape[0] - n
        if n_new == 0:
            if goal <= 1e-15:
                break
            goal = max(0.1 * goal, 1e-15)
            continue
        goal = max(min(goal, 0.1 * gap), 1e-15)
        share = min(SPREAD, max(gap, 1e-12))
        theta = np.maximum(master.theta, SPREAD / n * min(1.0, gap * 10))
        theta = np.concatenate([theta / theta.sum() * (1 - share), np.full(n_new, share / n_new)])
        x = theta @ table
        m = max(gap, 1e-14) * (float(weights.sum()) + float(values @ x)) / theta.size
        u = np.maximum(u, 0.5 * weights / x)
        master = InteriorPoint(table, values, weights, restart(table, values, theta, x, u, m))
    return Polished(master.theta, master.x, master.u)
