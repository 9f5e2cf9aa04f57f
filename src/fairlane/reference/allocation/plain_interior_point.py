"""The interior point of `interior_point` in plain numbers, for a handful of actions and requests.

An array operation costs a microsecond or more whatever its size; three requests are solved before a hundred of them
have been called. One direction a step, no second-order term; the same equations otherwise.
"""

from __future__ import annotations

from math import log
from operator import mul

import numpy as np

from fairlane.reference.allocation.arrays import FloatArray

# entries of the table up to which plain numbers are faster
FEW_ENTRIES = 150
FEW_REQUESTS = 4
MAX_STEPS = 60
TO_BOUNDARY = 0.97

Numbers = list[float]


def rough_optimum(
    rates: FloatArray, values: FloatArray, weights: FloatArray, *, gap: float
) -> tuple[FloatArray, FloatArray, FloatArray, float] | None:
    """A point within a relative gap of the optimum of a small scaled table, for Newton's method to finish.

    Parameters
    ----------
    rates : ndarray, shape (n_actions, n_requests)
        Scaled rates.
    values, weights : ndarray, shape (n_requests,)
        Scaled v and f.
    gap : float
        Where to stop.

    Returns
    -------
    theta, s, u, rho : ndarrays and float, or None
        Shares, reduced costs, log prices and price of time; None where steps became too short.
    """
    Y: list[Numbers] = rates.tolist()
    v: Numbers = values.tolist()
    f: Numbers = weights.tolist()
    n, actions, requests = len(v), range(len(Y)), range(len(v))
    columns: list[Numbers] = rates.T.tolist()
    squares = [[list(map(mul, columns[i], columns[j])) for j in range(i + 1)] for i in requests]
    theta = [0.5 / len(Y)] * len(Y)
    for i in requests:
        theta[columns[i].index(max(columns[i]))] += 0.5 / n
    x = [_dot(theta, column) for column in columns]
    total = sum(f)
    m = (total + _dot(v, x)) / (len(Y) + n)
    u = [(f[i] + m) / x[i] for i in requests]
    p = [v[i] + u[i] for i in requests]
    worth = [_dot(row, p) for row in Y]
    rho = max(worth) + m / max(theta)
    s = [rho - w for w in worth]
    sigma = 0.2
    for _ in range(MAX_STEPS):
        idle = _dot(theta, s)
        ratio = [u[i] * x[i] / f[i] for i in requests]
        bent = sum(f[i] * (ratio[i] - 1 - log(ratio[i])) for i in requests)
        if idle + bent < gap * (total + _dot(v, x)):
            return np.array(theta), np.array(s), np.array(u), rho
        m = idle / len(Y)
        target = sigma * m
        p = [v[i] + u[i] for i in requests]
        d = [theta[a] / s[a] for a in actions]
        r_s = [rho - _dot(Y[a], p) - s[a] for a in actions]
        c_theta = [target - theta[a] * s[a] for a in actions]
        c_x = [f[i] + target - x[i] * u[i] for i in requests]
        w = [c_theta[a] / s[a] - d[a] * r_s[a] for a in actions]
        H = [[_dot(d, product) for product in row] for row in squares]
        for i in requests:
            H[i][i] += x[i] / u[i]
        H.append([*(-_dot(d, column) for column in columns), sum(d)])
        # c_x / u - (Y^T theta - x) - Y^T w
        held = [theta[a] + w[a] for a in actions]
        rhs = [c_x[i] / u[i] + x[i] - _dot(held, columns[i]) for i in requests]
        rhs.append(sum(w) - 1 + sum(theta))
        y = _solve(H, rhs)
        du = y[:n]
        ds = [y[n] - _dot(Y[a], du) + r_s[a] for a in actions]
        d_theta = [(c_theta[a] - theta[a] * ds[a]) / s[a] for a in actions]
        dx = [(c_x[i] - x[i] * du[i]) / u[i] for i in requests]
        reach = -min(
            *(d_theta[a] / theta[a] for a in actions),
            *(ds[a] / s[a] for a in actions),
            *(dx[i] / x[i] for i in requests),
            *(du[i] / u[i] for i in requests),
        )
        length = min(1.0, TO_BOUNDARY / reach) if reach > 0 else 1.0
        after = m * (1 - length * (1 - sigma))
        while any(
            (x[i] + length * dx[i]) * (u[i] + length * du[i]) < 0.1 * min(f[i] + after, x[i] * u[i]) for i in requests
        ):
            length *= 0.7
            if length < 1e-3:
                return None
        theta = [theta[a] + length * d_theta[a] for a in actions]
        s = [s[a] + length * ds[a] for a in actions]
        x = [x[i] + length * dx[i] for i in requests]
        u = [u[i] + length * du[i] for i in requests]
        rho += length * y[n]
        # short steps ask for more centring
        sigma = 0.02 if length > 0.9 else 0.15 if length > 0.6 else 0.5
    return None


def _dot(a: Numbers, b: Numbers) -> float:
    total: float = sum(map(mul, a, b))
    return total


def _solve(H: list[Numbers], rhs: Numbers) -> Numbers:
    """Solve a positive definite system given by its lower triangle, which is overwritten (L D L^T)."""
    n = len(rhs)
    for j in range(n):
        pivot = H[j][j]
        for i in range(j + 1, n):
            factor = H[i][j] / pivot
            for k in range(j + 1, i + 1):
                H[i][k] -= factor * H[k][j]
            rhs[i] -= factor * rhs[j]
    for i in range(n - 1, -1, -1):
        rhs[i] = (rhs[i] - sum(H[k][i] * rhs[k] for k in range(i + 1, n))) / H[i][i]
    return rhs
