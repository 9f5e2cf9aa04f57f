"""A primal-dual interior-point method over explicit action vectors.

Symbols (in brackets the names here): theta_a time share of action a, s_a its reduced cost; x_i rate and u_i = f_i /
x_i the log part of the token price p_i = v_i + u_i; rho the price of time; Y the table of rates. Optimality:

    x = Y^T theta,   sum theta = 1,   s = rho - Y (v + u) >= 0,   theta s = 0,   x u = f.

With the primal variables (theta, x) and the dual ones (s, u) stacked, every product of the two is driven to (m, f + m)
along m -> 0. Eliminating all but u and rho leaves a system of size requests + 1, diag(x/u) + Y^T diag(theta/s) Y;
eliminating all but theta and rho one of size actions + 1; the smaller is solved.

References
----------
Mehrotra, S. (1992). On the implementation of a primal-dual interior point method. SIAM J. Optim. 2(4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairlane.reference.allocation.arrays import FloatArray

MAX_STEPS = 120
TO_BOUNDARY = 0.995
# up to this size an inverse is as fast as factors, which would import scipy first
SMALL = 160
# multiplications up to which a product stays on one thread; on a busy machine its threads wait for each other
ONE_THREAD = 250_000
# sparse systems this large go to conjugate gradients first: far from the end they need few iterations
LARGE = 300
MAX_ITERATIONS = 250
ITERATION_TOLERANCE = 1e-2

# the methods `sum` and `min` take twice as long on a few numbers
_sum, _least = np.add.reduce, np.minimum.reduce


@dataclass(slots=True)
class Iterate:
    """Primal (theta, x) and dual (s, u) variables, stacked, and the price of time; scaled."""

    primal: FloatArray
    dual: FloatArray
    rho: float


def starting_point(rates: Any, values: FloatArray, weights: FloatArray) -> Iterate:
    """Half of the time in the best action of each request, by number, the rest spread evenly."""
    n_actions, n_requests = rates.shape
    best = rates.argmax(axis=0) if isinstance(rates, np.ndarray) else np.asarray(rates.argmax(axis=0)).ravel()
    theta = np.full(n_actions, 0.5 / n_actions)
    np.add.at(theta, best, 0.5 / n_requests)
    x = theta @ rates
    m = float(weights.sum() + values @ x) / (n_actions + n_requests)
    return restart(rates, values, theta, x, (weights + m) / x, m)


def restart(rates: Any, values: FloatArray, theta: FloatArray, x: FloatArray, u: FloatArray, m: float) -> Iterate:
    """An iterate at given shares, rates and log prices; the price of time gives every action a product >= about m."""
    worth = rates @ (values + u)
    rho = float(worth.max() + m / theta.max())
    return Iterate(np.concatenate([theta, x]), np.concatenate([rho - worth, u]), rho)


class InteriorPoint:
    """One solve over scaled rates; see the module docstring.

    Parameters
    ----------
    rates : ndarray or csr_array, shape (n_actions, n_requests)
        Scaled so that every column's largest entry is 1.
    values, weights : ndarray, shape (n_requests,)
        Scaled v and f, of sum about 1.
    iterate : Iterate
        Where to start.
    """

    def __init__(self, rates: Any, values: FloatArray, weights: FloatArray, iterate: Iterate) -> None:
        self.Y, self.v, self.f = rates, values, weights
        self.at = iterate
        self.dense = isinstance(rates, np.ndarray)
        self.iterative = not self.dense and rates.shape[1] >= LARGE
        self.Yt = rates.T if self.dense else rates.T.tocsr()
        self.n_actions = rates.shape[0]
        self.least_weight = float(weights.min())
        self.total_weight = float(weights.sum())
        self._squared: Any = None
        self.careful = True
        self.base = np.concatenate([np.zeros(self.n_actions), weights])

    @property
    def theta(self) -> FloatArray:
        """Time shares."""
        return self.at.primal[: self.n_actions]

    @property
    def x(self) -> FloatArray:
        """Rates."""
        return self.at.primal[self.n_actions :]

    @property
    def u(self) -> FloatArray:
        """Log prices."""
        return self.at.dual[self.n_actions :]

    def measure(self) -> tuple[float, float]:
        """The mean product m and the gap relative to sum v x + sum f."""
        products = self.at.primal * self.at.dual
        n = self.n_actions
        idle = float(_sum(products[:n]))
        ratio = products[n:] / self.f
        bent = float(self.f @ (ratio - 1 - np.log(ratio)))
        return idle / n, (idle + bent) / (self.total_weight + float(self.v @ self.x))

    def solve(self, *, gap: float, m_below: float, max_steps: int = MAX_STEPS) -> int:
        """Steps until the gap and m (beside the least weight) are below their bounds, or no longer fall."""
        best, stale, n_steps = np.inf, 0, 0
        # far from the end the next step makes good what a rough direction leaves
        self.careful = gap < 1e-8
        while n_steps < max_steps:
            m, here = self.measure()
            if here < gap and m < m_below * self.least_weight:
                break
            stale = 0 if here < 0.9 * best else stale + 1
            best = min(best, here)
            if stale > 8 or not np.isfinite(here):
                break
            try:
                # a step that hardly moves may be followed by one that does; `stale` counts them
                self._step(m)
            except np.linalg.LinAlgError:
                # the system is singular to working precision: nothing more can be gained
                break
            n_steps += 1
        return n_steps

    def _step(self, m: float) -> float:
        at, n = self.at, self.n_actions
        direction = self._by_actions() if n <= at.primal.size - n else self._by_requests()
        products = at.primal * at.dual
        bent = self.base - products
        d_primal, d_dual, _ = direction(bent)
        length = min(1.0, 1 / max(self._reach(d_primal, d_dual), 1e-300))
        aimed = float((at.primal[:n] + length * d_primal[:n]) @ (at.dual[:n] + length * d_dual[:n])) / n
        sigma = min(max((aimed / m) ** 3, 1e-6), 1.0)
        move = direction(bent + (sigma * m - d_primal * d_dual))
        length = self._length(move, products, m, sigma)
        if length < 0.2:
            # the second-order term led out of the neighbourhood: centre instead
            move = direction(bent + 0.5 * m)
            length = self._length(move, products, m, 0.5)
        self.at = Iterate(at.primal + length * move[0], at.dual + length * move[1], at.rho + length * float(move[2]))
        return length

    def _reach(self, d_primal: FloatArray, d_dual: FloatArray) -> float:
        """1 / (the step length at which the first variable meets 0)."""
        return -min(float(_least(d_primal / self.at.primal)), float(_least(d_dual / self.at.dual)))

    def _length(self, move: Any, products: FloatArray, m: float, sigma: float) -> float:
        at, n = self.at, self.n_actions
        length = min(1.0, TO_BOUNDARY / max(self._reach(move[0], move[1]), 1e-300))
        for _ in range(40):
            after = (at.primal[n:] + length * move[0][n:]) * (at.dual[n:] + length * move[1][n:])
            # a price that runs ahead of its rate blocks all later steps
            floor = np.minimum(self.f + m * (1 - length * (1 - sigma)), products[n:])
            if _least(after - 0.1 * floor) >= 0:
                break
            length *= 0.8
        return length

    def _residuals(self) -> tuple[FloatArray, float, FloatArray]:
        at, n = self.at, self.n_actions
        theta, x = at.primal[:n], at.primal[n:]
        s, u = at.dual[:n], at.dual[n:]
        return self.Yt @ theta - x, 1 - float(_sum(theta)), at.rho - self.Y @ (self.v + u) - s

    def _by_requests(self) -> Any:
        """Directions from the system in du and d rho."""
        at, Y, n = self.at, self.Y, self.n_actions
        ratio = at.primal / at.dual
        d = ratio[:n]
        r_x, r_sum, r_s = self._residuals()
        solve = self._request_solver(d, ratio[n:])

        rhs = np.empty(at.primal.size - n + 1)
        r_sd = d * r_s

        def direction(c: FloatArray) -> tuple[FloatArray, FloatArray, float]:
            c_dual = c / at.dual
            w = c_dual[:n] - r_sd
            np.subtract(c_dual[n:] - r_x, self.Yt @ w, out=rhs[:-1])
            rhs[-1] = _sum(w) - r_sum
            y = solve(rhs)
            d_dual = np.empty(at.primal.size)
            d_dual[n:] = y[:-1]
            np.subtract(r_s + y[-1], Y @ y[:-1], out=d_dual[:n])
            return c_dual - ratio * d_dual, d_dual, float(y[-1])

        return direction

    def _request_solver(self, d: FloatArray, own: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Solve with [[diag(own) + Y^T diag(d) Y, -Y^T d], [-d^T Y, sum d]]."""
        if not self.iterative:
            return self._request_factors(d, own)
        Y, Yt = self.Y, self.Yt
        diagonal = np.append(own + self._squares() @ d, d.sum())

        def product(y: FloatArray) -> FloatArray:
            w = d * (Y @ y[:-1] - y[-1])
            return np.append(own * y[:-1] + Yt @ w, -w.sum())

        factors: list[Callable[[FloatArray], FloatArray]] = []

        def solve(rhs: FloatArray) -> FloatArray:
            if self.iterative:
                y = _conjugate_gradients(product, diagonal, rhs)
                if y is not None:
                    return y
                self.iterative = False
            if not factors:
                factors.append(self._request_factors(d, own))
            return factors[0](rhs)

        return solve

    def _squares(self) -> Any:
        if self._squared is None:
            self._squared = self.Yt.multiply(self.Yt).tocsr()
        return self._squared

    def _request_factors(self, d: FloatArray, own: FloatArray) -> Callable[[FloatArray], FloatArray]:
        Y = self.Y
        size = own.size + 1
        H = np.empty((size, size))
        H[:-1, :-1] = _gram(Y, d) if self.dense else (self.Yt @ Y.multiply(d[:, None]).tocsr()).toarray()
        H[-1, :-1] = H[:-1, -1] = -(self.Yt @ d)
        H[-1, -1] = _sum(d)
        H.flat[: (size - 1) * (size + 1) : size + 1] += own
        return _solver(H, definite=True, refine=self.careful)

    def _by_actions(self) -> Any:
        """Directions from the system in d theta and d rho."""
        at, Y, n = self.at, self.Y, self.n_actions
        ratio = at.dual / at.primal
        bend = ratio[n:]
        H = np.empty((n + 1, n + 1))
        H[:n, :n] = (Y * bend) @ Y.T if self.dense else (Y.multiply(bend[None, :]).tocsr() @ Y.T).toarray()
        H.flat[: n * (n + 2) : n + 2] += ratio[:n]
        H[n, :n] = H[:n, n] = 1
        H[n, n] = 0
        r_x, r_sum, r_s = self._residuals()
        bend_r_x = bend * r_x
        solve = _solver(H, definite=False, refine=self.careful)

        def direction(c: FloatArray) -> tuple[FloatArray, FloatArray, float]:
            c_primal = c / at.primal
            rhs = np.empty(n + 1)
            np.add(c_primal[:n] - r_s, Y @ (c_primal[n:] - bend_r_x), out=rhs[:n])
            rhs[n] = r_sum
            y = solve(rhs)
            d_primal = np.empty(at.primal.size)
            d_primal[:n] = y[:n]
            np.add(self.Yt @ y[:n], r_x, out=d_primal[n:])
            return d_primal, c_primal - ratio * d_primal, float(y[n])

        return direction


def _gram(Y: FloatArray, d: FloatArray) -> FloatArray:
    """Y^T diag(d) Y, in pieces that BLAS keeps on one thread while the whole is small."""
    n_actions, n = Y.shape
    if n_actions * n * n <= ONE_THREAD or n > SMALL:
        return np.asarray(Y.T @ (Y * d[:, None]))
    rows = max(1, ONE_THREAD // (n * n))
    out = np.zeros((n, n))
    for first in range(0, n_actions, rows):
        piece = Y[first : first + rows]
        out += piece.T @ (piece * d[first : first + rows, None])
    return out


def _conjugate_gradients(
    product: Callable[[FloatArray], FloatArray], diagonal: FloatArray, rhs: FloatArray
) -> FloatArray | None:
    """Jacobi-preconditioned conjugate gradients; None where they do not converge soon."""
    y = np.zeros(rhs.size)
    r = rhs.copy()
    z = r / diagonal
    p = z.copy()
    rz = float(r @ z)
    goal = ITERATION_TOLERANCE**2 * rz
    for _ in range(MAX_ITERATIONS):
        if rz <= goal:
            return y
        hp = product(p)
        step = rz / float(p @ hp)
        if not np.isfinite(step):
            return None
        y += step * p
        r -= step * hp
        z = r / diagonal
        last, rz = rz, float(r @ z)
        p *= rz / last
        p += z
    return None


def _solver(H: FloatArray, *, definite: bool, refine: bool) -> Callable[[FloatArray], FloatArray]:
    """Solve with H, refined once where asked."""
    if H.shape[0] <= SMALL:
        inverse = np.linalg.inv(H)

        def by_inverse(rhs: FloatArray) -> FloatArray:
            y = inverse @ rhs
            return y + inverse @ (rhs - H @ y) if refine else y

        return by_inverse
    # scipy loads slowly, and most calls come by without it
    from scipy.linalg import LinAlgError, cho_factor, cho_solve, lu_factor, lu_solve

    if definite:
        scale = 1 / np.sqrt(H.diagonal())
        scaled = H * scale
        scaled *= scale[:, None]
        try:
            factor = cho_factor(scaled, overwrite_a=True, check_finite=False)
        except LinAlgError:
            factor = None
        if factor is not None:

            def by_cholesky(rhs: FloatArray) -> FloatArray:
                y = scale * cho_solve(factor, scale * rhs, check_finite=False)
                return np.asarray(y + scale * cho_solve(factor, scale * (rhs - H @ y), check_finite=False))

            return by_cholesky
    factors = lu_factor(H, check_finite=False)

    def by_lu(rhs: FloatArray) -> FloatArray:
        y = lu_solve(factors, rhs, check_finite=False)
        return np.asarray(y + lu_solve(factors, rhs - H @ y, check_finite=False))

    return by_lu
