"""Newton's method on the support: the last digits of an explicit allocation.

On the actions of positive share the optimum is the solution of smooth equations,

    x = Y_S^T theta,   x u = f,   rho = Y_S (v + u),   sum theta = 1,

which Newton's method solves to working precision in two or three steps from a good start. Residuals are evaluated in
extended precision where the machine has it: with weights nine decades apart the rates of the smallest hang on the
seventh digit beyond double precision. Actions that are mixtures of others leave a direction along which no rate
moves; the least-squares solution does not move along it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fairlane.reference.allocation.arrays import FloatArray, IntArray

MAX_SUPPORT = 1500
SPARE = 50
MAX_STEPS = 12
# how often the support may change before it is called unclear
MAX_CHANGES = 12
# singular directions below this (relative) move no rate
RANK_TOLERANCE = 1e-14
# an action left out may beat the price of time by this much (relative) before the support is wrong
PRICE_TOLERANCE = 1e-12
EXTENDED_TABLE = 20_000
# weights above this part of the total leave their rates right to 1e-12 in plain doubles
PLAIN_WEIGHT = 1e-3
BY_SVD = 200
BY_ELIMINATION = 8


class Polished(NamedTuple):
    """Shares of all actions, rates and log prices after Newton's method."""

    theta: FloatArray
    x: FloatArray
    u: FloatArray


def polish(
    rates: Any, values: FloatArray, weights: FloatArray, theta: FloatArray, s: FloatArray, u: FloatArray, rho: float
) -> Polished | None:
    """The solution on the support, or None where Newton's method does not confirm it.

    Parameters
    ----------
    rates : ndarray or csr_array, shape (n_actions, n_requests)
        Scaled rates.
    values, weights : ndarray, shape (n_requests,)
        Scaled v and f.
    theta, s, u, rho : ndarrays and float
        Shares, reduced costs, log prices and price of time of a nearly optimal iterate.

    Returns
    -------
    Polished or None
        Confirmed means: converged, all shares of the support positive, no other action worth more than time costs.
    """
    support = _covering(rates, np.flatnonzero(theta * rho > s), theta)
    share = theta[support]
    if support.size > rates.shape[1]:
        support, share = _without_copies(rates, support, share)
        if support.size > 2 * rates.shape[1] + SPARE:
            # a face of so many ties: the interior point's middle of it is as good as Newton's
            return None
    for _ in range(MAX_CHANGES):
        if not 1 <= support.size <= MAX_SUPPORT:
            return None
        solved = _newton(rates[support], values, weights, share, u, rho)
        if solved is None:
            return None
        share, x, u, rho = solved
        if share.min() <= 0:
            # a share that leaves at 0 belongs to the actions left out
            support, share = support[share > 0], share[share > 0]
            missing = _covering(rates, support, theta)[support.size :]
            support = np.concatenate([support, missing])
            share = np.concatenate([share, theta[missing]])
            continue
        beaten = np.flatnonzero(rates @ (values + u) > rho * (1 + PRICE_TOLERANCE))
        if beaten.size == 0:
            break
        added = np.setdiff1d(beaten, support)
        if added.size == 0:
            return None
        support = np.concatenate([support, added])
        share = np.concatenate([share, np.full(added.size, 1e-9)])
    else:
        return None
    shares = np.zeros(theta.size)
    shares[support] = share
    return Polished(shares, x, u)


def _covering(rates: Any, support: IntArray, theta: FloatArray) -> IntArray:
    """The support, and for each request that it leaves without service the action that serves it longest."""
    served = np.asarray((rates[support] > 0).sum(axis=0)).ravel()
    missing = np.flatnonzero(served == 0)
    if missing.size == 0:
        return support
    columns = rates[:, missing]
    columns = columns if isinstance(columns, np.ndarray) else columns.toarray()
    longest = np.where(columns > 0, theta[:, None], -1.0).argmax(axis=0)
    return np.concatenate([support, np.setdiff1d(longest, support)])


def _without_copies(rates: Any, support: IntArray, share: FloatArray) -> tuple[IntArray, FloatArray]:
    """The support with equal actions merged into the first of them."""
    table = rates[support]
    table = table if isinstance(table, np.ndarray) else table.toarray()
    _, first, group = np.unique(table, axis=0, return_index=True, return_inverse=True)
    merged = np.zeros(first.size)
    np.add.at(merged, group.ravel(), share)
    return support[first], merged


def _solve(H: FloatArray, rhs: FloatArray) -> FloatArray:
    """The least-norm solution of the bordered system."""
    n = H.shape[0] - 1
    if n <= BY_ELIMINATION:
        try:
            y: FloatArray = np.asarray(np.linalg.solve(H, rhs), dtype=np.float64)
        except np.linalg.LinAlgError:
            y = np.full(n + 1, np.inf)
        # no share moves by more than 1 unless its direction is singular
        if np.abs(y[:n]).max() <= 1:
            return y
    scale = np.ones(n + 1)
    scale[:n] = 1 / np.sqrt(H.diagonal()[:n])
    scaled = H * scale
    scaled *= scale[:, None]
    return np.asarray(scale * np.linalg.lstsq(scaled, scale * rhs, rcond=RANK_TOLERANCE)[0])


def _factored(H: FloatArray) -> Callable[[FloatArray], FloatArray] | None:
    """A solver of the bordered system by Cholesky factors, a ridge standing for the least norm; None without them."""
    # scipy loads slowly, and most calls come by without it
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    n = H.shape[0] - 1
    scale = 1 / np.sqrt(H.diagonal()[:n])
    scaled = H[:n, :n] * scale
    scaled *= scale[:, None]
    scaled.flat[:: n + 1] += 10 * n * RANK_TOLERANCE
    try:
        factor = cho_factor(scaled, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    border = scale * H[n, :n]
    lifted = cho_solve(factor, border, check_finite=False)

    def solve(rhs: FloatArray) -> FloatArray:
        plain = cho_solve(factor, scale * rhs[:n], check_finite=False)
        lift = (border @ plain - rhs[n]) / (border @ lifted)
        return np.append(scale * (plain - lift * lifted), lift)

    return solve


def _newton(
    Y: Any, v: FloatArray, f: FloatArray, theta: FloatArray, u: FloatArray, rho: float
) -> tuple[FloatArray, FloatArray, FloatArray, float] | None:
    n, n_requests = Y.shape
    wide: Any = np.float64
    exact: Any = Y
    if n * n_requests <= EXTENDED_TABLE and float(f.min()) < PLAIN_WEIGHT:
        Y = Y if isinstance(Y, np.ndarray) else Y.toarray()
        wide, exact = np.longdouble, Y.astype(np.longdouble)
    share: Any = theta.astype(wide) / theta.sum()
    price: Any = u.astype(wide)
    x: Any = share @ exact
    time_price: Any = wide(rho)
    if not x.min() > 0:
        return None
    H = np.empty((n + 1, n + 1))
    H[n, :n] = H[:n, n] = 1
    H[n, n] = 0
    last = np.inf
    solve = None
    for _ in range(MAX_STEPS):
        r_x = share @ exact - x
        r_u = f - x * price
        r_s = time_price - exact @ (v + price)
        r_sum = 1 - share.sum()
        bend = price / x
        plain = bend.astype(np.float64)
        if solve is None:
            H[:n, :n] = (Y * plain) @ Y.T if isinstance(Y, np.ndarray) else (Y.multiply(plain).tocsr() @ Y.T).toarray()
            # factors of a large system serve as long as they make the steps fall
            solve = _factored(H) if n > BY_SVD else None
        rhs = np.append(-r_s + exact @ (r_u / x - bend * r_x), r_sum).astype(np.float64)
        y = _solve(H, rhs) if solve is None else solve(rhs)
        d_x = y[:n].astype(wide) @ exact + r_x
        d_u = (r_u - price * d_x) / x
        moved = float(np.abs(d_x / x).max())
        fall = float(min((d_x / x).min(), (d_u / price).min()))
        length = 1.0 if fall > -0.9 else -0.9 / fall
        share = share + length * y[:n]
        x = x + length * d_x
        price = price + length * d_u
        time_price = time_price + length * y[n]
        # the error left is the square of the step, or, where directions are poor, a small part of it
        if moved < (1e-8 if wide is np.float64 and solve is None else 1e-10):
            return (
                share.astype(np.float64),
                (share @ exact).astype(np.float64),
                price.astype(np.float64),
                float(time_price),
            )
        if moved > 0.1 * last:
            solve = None
        last = moved
    return None
