"""One range of decoding requests in a step of the compact interior point: its variables and their elimination.

See `compact_interior_point` for the symbols. Slices keep the work of a step in cache; nothing here looks beyond one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # float64 or longdouble: the same steps run in both

# BLAS keeps a product of fewer multiplications on one thread; on a busy machine its threads wait and cost tenfold
ONE_THREAD = 250_000


def paired_sum(a: Array, b: Array) -> Array:
    """Sum of all products of two tables."""
    return np.einsum("pi,pi->", a, b)


class Slice:
    """The variables of a range of decoding requests, and what one step computes from them.

    Parameters
    ----------
    r, full : ndarrays, shapes (n_parts, n), (n_graphs, n)
        Rates in the decode parts, and in graphs that serve everybody (None where there are none).
    v, f : ndarrays, shape (n,)
        Values and weights.
    boxed : ndarray of int64
        Graphs of the parts of more than one row, which come first.
    n_graphs : int
        Number of graphs.
    """

    # fmt: off
    __slots__ = (
        "DA", "DT", "DU", "DW", "DX", "DZ", "E", "K", "KW", "M", "ME", "S", "W", "a", "b1", "b2", "boxed", "cw1", "cw2",
        "cx2", "f", "full", "n_boxed", "n_graphs", "n_parts", "r", "rk", "rt", "t", "u", "v", "w", "x", "z",
    )
    # fmt: on
    # row shares, multipliers, slacks, rates, prices; then what `prepare` and `move` compute from them
    DA: Array
    DT: Array
    DU: Array
    DW: Array
    DX: Array
    DZ: Array
    E: Array
    K: Array
    KW: Array
    M: Array
    ME: Array
    S: Array
    W: Array
    a: Array
    cw1: Array
    cw2: Array
    cx2: Array
    rk: Array
    rt: Array
    t: Array
    u: Array
    w: Array
    x: Array
    z: Array
    b1: tuple[Array, Array]
    b2: tuple[Array, Array]

    def __init__(self, r: Array, full: Array, v: Array, f: Array, boxed: Array, n_graphs: int) -> None:
        self.r, self.full, self.v, self.f = r, full, v, f
        self.boxed, self.n_boxed, self.n_graphs, self.n_parts = boxed, boxed.size, n_graphs, r.shape[0]

    def rate(self, theta: Array) -> Array:
        """sum r z over the graphs."""
        rate = np.einsum("pi,pi->i", self.r, self.z)
        if self.full is not None:
            rate += theta @ self.full
        return rate

    def prepare(self, theta: Array, system: Any) -> None:
        """Eliminate the slice: K, E and the coupling rows M, with its share of the system."""
        P, nb = self.n_parts, self.n_boxed
        A = self.a / self.z
        self.W = self.w / self.t
        D = A.copy()
        D[:nb] += self.W
        self.K = 1 / D
        self.rk = self.r * self.K
        squares = self.r * self.rk
        own = self.x / self.u
        self.E = 1 / (own + squares.sum(axis=0))
        others = np.empty_like(squares)
        others[:] = own
        if P > 1:
            others[1:] += np.cumsum(squares[:-1], axis=0)
            others[:-1] += np.cumsum(squares[:0:-1], axis=0)[::-1]
        self.S = self.K * self.E * others
        self.KW = self.K[:nb] * self.W
        self.M = np.zeros((P + self.n_graphs, self.f.size), dtype=self.f.dtype)
        np.negative(self.rk, out=self.M[:P])
        if self.full is not None:
            self.M[P:] = self.full
        self.M[P + self.boxed] += self.rk[:nb] * self.W
        self.ME = self.M * self.E
        self.rt = theta[self.boxed][:, None] - self.z[:nb] - self.t
        q = P + self.n_graphs
        columns = max(1, ONE_THREAD // (q * q))
        for first in range(0, self.f.size, columns):
            system.H[:q, :q] -= self.ME[:, first : first + columns] @ self.M[:, first : first + columns].T
        system.diagonal += self.S.sum(axis=1)
        system.across += (self.W * self.S[:nb]).sum(axis=1)
        system.inner[self.boxed] += (A[:nb] * self.KW).sum(axis=1)

    def side(self, b: Array, cw: Array, beta: Array, rhs: Array) -> tuple[Array, Array]:
        """Add a slice's right-hand side for targets (b, cw, beta); give K b and the reduced beta."""
        P, q = self.n_parts, self.n_parts + self.n_graphs
        Kb = self.K * b
        beta = beta - np.einsum("pi,pi->i", self.r, Kb)
        rhs[:q] -= np.einsum("qi,i->q", self.ME, beta)
        rhs[:P] += Kb.sum(axis=1)
        rhs[P + self.boxed] -= (cw + self.W * Kb[: self.n_boxed]).sum(axis=1)
        return Kb, beta

    def move(self, y: Array, Kb: Array, beta: Array, cw: Array, cx: Array) -> None:
        """The slice's dz, dt, du, dx for a solution y of the system."""
        P, nb, q = self.n_parts, self.n_boxed, self.n_parts + self.n_graphs
        self.DU = self.E * (beta - np.einsum("qi,q->i", self.M, y[:q]))
        self.DX = (cx - self.x * self.DU) / self.u
        self.DZ = self.rk * self.DU
        self.DZ -= self.K * y[:P][:, None]
        self.DZ += Kb
        d_theta = y[P:q][self.boxed][:, None]
        self.DZ[:nb] += self.KW * d_theta
        self.DT = d_theta - self.DZ[:nb]
        self.DT += self.rt
        self.DW = cw - self.W * (self.DT - self.rt)

    def reach(self) -> float:
        """1 / (the step length at which the first variable of the slice meets 0)."""
        worst = max(-float((self.DX / self.x).min()), -float((self.DU / self.u).min()))
        if self.n_parts:
            worst = max(worst, -float((self.DZ / self.z).min()), -float((self.DA / self.a).min()))
        if self.n_boxed:
            worst = max(worst, -float((self.DT / self.t).min()), -float((self.DW / self.w).min()))
        return worst

    def take(self, length: float) -> None:
        """Move along the directions, which are spent by it."""
        for name, step in (
            ("z", self.DZ),
            ("a", self.DA),
            ("t", self.DT),
            ("w", self.DW),
            ("x", self.DX),
            ("u", self.DU),
        ):
            step *= length
            step += getattr(self, name)
            setattr(self, name, step)
