"""A primal-dual interior-point method on the compact form, O(graphs x requests) a step.

Symbols (in brackets the names here): theta_g time share, s_g its reduced cost; z_pi row share in decode part p and a_pi
its multiplier; t = theta - z the slack of z <= theta and w its multiplier; x_i rate and u_i = f_i / x_i the log part of
the token price p_i = v_i + u_i; lambda_p (row_price) price of a row, rho (time_price) price of time. Optimality:

    a_pi = lambda_p + w_pi - r_pi p_i,   s_g = rho - sum_{p in g} (B_p lambda_p + sum_i w_pi) - ...,
    a z = w t = s theta = 0,   x u = f.

The method drives every product to m and x u to f + m along m -> 0, with Mehrotra's second-order correction. The
equation x u = f is treated as one more product, which is why a weight of 1e-9 of the total needs no special case.

Each request couples the parts by a term of rank one; what is left after eliminating z, t, w, a, x and u is a
system of size parts + graphs + 2. Its diagonal sum_i (K_pi - E_i r_pi^2 K_pi^2), K = 1 / (a/z + w/t), loses every
digit if subtracted, so it is summed from positive terms. Work runs over column slices that stay in cache.

References
----------
Mehrotra, S. (1992). On the implementation of a primal-dual interior point method. SIAM J. Optim. 2(4).
Wright, S. J. (1997). Primal-dual interior-point methods, ch. 10. SIAM.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlane.reference.allocation._compact_slice import Slice, paired_sum
from fairlane.reference.allocation.compact_form import CompactForm, CompactPoint

MAX_STEPS = 120
# entries of the coupling rows in a slice: large enough to hide call overhead, small enough for the cache
SLICE_ENTRIES = 30_000
FINAL_ERROR = 1e-15
# from this gap on every better iterate is kept
LATE = 1e-6
# gaps and residuals below this are as good as none
SOUND = 1e-11
MAX_STALE = 8
MENDED = 0.01
TO_BOUNDARY = 0.995

Array = Any  # float64 or longdouble: the same steps run in both


class CompactInteriorPoint:
    """One solve; see the module docstring.

    Parameters
    ----------
    form : CompactForm
        At least two graphs and one decoding request.
    dtype : numpy dtype
        float64, or longdouble to polish.
    """

    def __init__(self, form: CompactForm, dtype: type[np.floating[Any]] = np.float64) -> None:
        self.dtype = dtype
        self.rows: Array = form.rows.astype(dtype)
        self.gop = form.part_graph
        self.boxed = form.part_graph[: form.n_boxed]
        self.n_boxed = form.n_boxed
        self.n_parts, n = form.row_rates.shape
        self.n_graphs = form.graphs.size
        self.c: Array = form.prefill_rates.astype(dtype)
        self.vp: Array = form.prefill_values.astype(dtype)
        self.fp: Array = form.prefill_weights.astype(dtype)
        self.prefill = self.fp.size > 0
        self.n = n
        self.least_weight = float(min(form.weights.min(initial=1.0), form.prefill_weights.min(initial=1.0)))
        self.n_products = self.n_parts * n + self.n_boxed * n + self.n_graphs
        width = max(64, SLICE_ENTRIES // (self.n_parts + self.n_graphs))
        full = form.full_rates
        self.slices = [
            Slice(
                np.ascontiguousarray(form.row_rates[:, k : k + width], dtype=dtype),
                None if full is None else np.ascontiguousarray(full[:, k : k + width], dtype=dtype),
                form.values[k : k + width].astype(dtype),
                form.weights[k : k + width].astype(dtype),
                self.boxed,
                self.n_graphs,
            )
            for k in range(0, n, width)
        ]
        self._start()

    def _start(self) -> None:
        # every share equal: feasible, and no row share sits at a bound
        dtype, G = self.dtype, self.n_graphs
        one = dtype(1)
        self.theta: Array = np.full(G, one / G, dtype=dtype)
        self.z0 = self.theta[self.gop] * self.rows / self.n
        total = self.fp.sum()
        if self.prefill:
            wish = self.fp + self.fp.mean()
            self.xp: Array = (self.c @ self.theta) * wish / wish.sum()
            total += self.vp @ self.xp
        else:
            self.xp = self.fp
        for k in self.slices:
            k.z = np.repeat(self.z0[:, None], k.f.size, axis=1)
            k.x = np.einsum("pi,pi->i", k.r, k.z)
            if k.full is not None:
                k.x = k.x + self.theta @ k.full
            total += k.f.sum() + k.v @ k.x
        m = total / (self.n_products + self.n + self.fp.size)
        for k in self.slices:
            k.u = (k.f + m) / k.x
        worth = np.concatenate([k.r * (k.v + k.u) for k in self.slices], axis=1)
        nb, n = self.n_boxed, self.n
        self.lam: Array = np.empty(self.n_parts, dtype=dtype)
        for p in range(self.n_parts):
            # between the last row served and the first left out, as at an optimum
            at = n - 1 - int(self.rows[p])
            self.lam[p] = np.partition(worth[p], at)[at]
        if self.n_parts > nb:
            self.lam[nb:] = worth[nb:].max(axis=1) + m / self.z0[nb:]
        del worth
        slack = self.theta[self.gop[:nb]] - self.z0[:nb]
        # a - w = lambda - r p with a w = m^2 / (z t): both positive, and their products near m
        product = (m * m / (self.z0[:nb] * slack))[:, None]
        for k in self.slices:
            e = self.lam[:, None] - k.r * (k.v + k.u)
            k.a = e.copy()
            root = np.sqrt(e[:nb] * e[:nb] + 4 * product)
            k.a[:nb] = np.where(e[:nb] > 0, (e[:nb] + root) / 2, 2 * product / (root - np.minimum(e[:nb], 0)))
            k.w = product / k.a[:nb]
            k.t = np.repeat(slack[:, None], k.f.size, axis=1)
        if self.prefill:
            self.lam_p: Any = (self.vp + (self.fp + m) / self.xp).max()
            self.up: Array = self.lam_p - self.vp
        else:
            self.lam_p = one * 0
            self.up = self.fp
        worth_of_graph = self._worth()
        self.rho: Any = worth_of_graph.max() + m / self.theta.min()
        self.s: Array = self.rho - worth_of_graph

    def _worth(self) -> Array:
        """Each graph's value at the current prices, with its multipliers rather than its best rows."""
        out = self.c * self.lam_p
        if self.n_parts:
            rows = self.rows * self.lam
            for k in self.slices:
                rows[: self.n_boxed] += k.w.sum(axis=1)
            out[self.gop] += rows
        for k in self.slices:
            if k.full is not None:
                out += k.full @ (k.v + k.u)
        return out

    def measure(self) -> tuple[float, float, float]:
        """The mean product m, the gap relative to sum v x + sum f, and the largest relative linear residual."""
        products = self.theta @ self.s
        total = self.fp.sum()
        bent = self.fp.sum() * 0
        room = self.rows * self.theta[self.gop]
        held: Array = np.zeros(self.n_parts, dtype=self.dtype)
        off = abs(float(self.theta.sum()) - 1)
        for k in self.slices:
            held += k.z.sum(axis=1)
            # a rate that its row shares miss is made good at the end; rows that exceed a graph cost everybody
            off = max(off, MENDED * float(np.abs(k.rate(self.theta) / k.x - 1).max()))
            products += paired_sum(k.a, k.z) + paired_sum(k.w, k.t)
            ratio = k.u * k.x / k.f
            bent += k.f @ (ratio - 1 - np.log(ratio))
            total += k.f.sum() + k.v @ k.x
        if self.prefill:
            ratio = self.up * self.xp / self.fp
            bent += self.fp @ (ratio - 1 - np.log(ratio))
            total += self.vp @ self.xp
        if self.n_parts:
            off = max(off, float(np.abs(held / room - 1).max()))
        return float(products / self.n_products), float((products + bent) / total), off

    # --- one step -------------------------------------------------------------------------------------------------

    def step(self, m: float) -> float:
        """One predictor-corrector step from mean product ``m``; gives the step length taken."""
        P, G, nb = self.n_parts, self.n_graphs, self.n_boxed
        q = P + G
        size = q + 1 + self.prefill
        self.H: Array = np.zeros((size, size), dtype=self.dtype)
        self.diagonal: Array = np.zeros(P, dtype=self.dtype)
        self.across: Array = np.zeros(nb, dtype=self.dtype)
        self.inner: Array = np.zeros(G, dtype=self.dtype)
        rhs, rhs1, rhs2 = (np.zeros(size, dtype=self.dtype) for _ in range(3))
        full_rows: Array = self.rows * self.theta[self.gop]
        affine = []
        for k in self.slices:
            k.prepare(self.theta, self)
            full_rows -= k.z.sum(axis=1)
            p = k.v + k.u
            b = k.r * p - self.lam[:, None]
            b[:nb] += k.W * k.rt
            # the residual of x = sum r z is part of every direction
            beta = k.f / k.u - k.rate(self.theta)
            cw = -k.w - k.W * k.rt
            affine.append((cw, *k.side(b, cw, beta, rhs)))
        H = self.H
        parts, graphs = np.arange(P), np.arange(P, q)
        # these entries replace, not add to, the rank-one sums: see the module docstring
        H[parts, parts] = self.diagonal
        off = self.rows.copy()
        off[:nb] -= self.across
        H[parts, P + self.gop] = off
        H[P + self.gop, parts] = off
        H[graphs, graphs] -= self.s / self.theta + self.inner
        H[P:q, q] = H[q, P:q] = -1
        rhs[:P] -= full_rows
        rhs[P:q] += self.s + (self.rho - self._worth() - self.s)
        rhs[q] -= 1 - self.theta.sum()
        if self.prefill:
            H[q + 1, q + 1] = (self.xp / self.up).sum()
            H[P:q, q + 1] = H[q + 1, P:q] = self.c
            rhs[q + 1] = (self.fp / self.up - self.xp).sum() - (self.c @ self.theta - self.xp.sum())
        y = self._solve(rhs)
        reach = self._graph_moves(y, -self.s * self.theta, self.fp - self.xp * self.up)
        linear = self.s @ self.d_theta + self.d_s @ self.theta
        square = self.d_s @ self.d_theta
        for k, (cw, Kb, beta) in zip(self.slices, affine, strict=True):
            k.move(y, Kb, beta, cw, k.f - k.x * k.u)
            k.DA = -k.a - k.a * k.DZ / k.z
            reach = max(reach, k.reach())
            linear += paired_sum(k.a, k.DZ) + paired_sum(k.DA, k.z) + paired_sum(k.w, k.DT) + paired_sum(k.DW, k.t)
            square += paired_sum(k.DA, k.DZ) + paired_sum(k.DW, k.DT)
        length = min(1.0, 1 / reach) if reach > 0 else 1.0
        aimed = m + length * (float(linear) + length * float(square)) / self.n_products
        sigma = min(max((aimed / m) ** 3, 1e-6), 1.0)
        # right-hand sides are linear in the targets: add one unit of centring and the second-order term
        for k in self.slices:
            b = 1 / k.z
            b[:nb] -= 1 / k.t
            k.b1, k.cw1 = _both(k, b, 1 / k.t, 1 / k.u, rhs1)
            b = -k.DA * k.DZ / k.z
            cw2 = -k.DW * k.DT / k.t
            b[:nb] -= cw2
            k.b2, k.cw2 = _both(k, b, cw2, -k.DX * k.DU / k.u, rhs2)
            k.cx2 = -k.DX * k.DU
        cs2 = -self.d_theta * self.d_s
        cp2 = -self.d_xp * self.d_up
        rhs1[P:q] -= 1 / self.theta
        rhs2[P:q] -= cs2 / self.theta
        if self.prefill:
            rhs1[q + 1] += (1 / self.up).sum()
            rhs2[q + 1] += (cp2 / self.up).sum()
        length = self._final(m, sigma, 1.0, rhs + sigma * m * rhs1 + rhs2, affine, cs2, cp2)
        if length < 0.2:
            # the second-order term led out of the neighbourhood: centre instead
            length = self._final(m, 0.5, 0.0, rhs + 0.5 * m * rhs1, affine, cs2, cp2)
        self._take(length)
        return length

    def _final(self, m: float, sigma: float, second: float, rhs: Array, affine: Array, cs2: Array, cp2: Array) -> float:
        """The combined direction, and the longest step that keeps every product in the neighbourhood."""
        target = sigma * m
        y = self._solve(rhs)
        reach = self._graph_moves(
            y, target - self.s * self.theta + second * cs2, self.fp + target - self.xp * self.up + second * cp2
        )
        for k, (cw, Kb, beta) in zip(self.slices, affine, strict=True):
            k.DA = target - k.a * k.z - (second * k.DA * k.DZ if second else 0)
            k.move(
                y,
                Kb + target * k.b1[0] + second * k.b2[0],
                beta + target * k.b1[1] + second * k.b2[1],
                cw + target * k.cw1 + second * k.cw2,
                k.f + target - k.x * k.u + second * k.cx2,
            )
            k.DA -= k.a * k.DZ
            k.DA /= k.z
            reach = max(reach, k.reach())
        length = min(1.0, TO_BOUNDARY / reach) if reach > 0 else 1.0
        for _ in range(40):
            after = m * (1 - length * (1 - sigma))
            if all(self._near(k.x, k.DX, k.u, k.DU, k.f, length, after) for k in self.slices) and (
                not self.prefill or self._near(self.xp, self.d_xp, self.up, self.d_up, self.fp, length, after)
            ):
                break
            length *= 0.8
        return length

    @staticmethod
    def _near(x: Array, dx: Array, u: Array, du: Array, f: Array, length: float, m: float) -> bool:
        # a price that runs ahead of its rate blocks all later steps
        return bool(((x + length * dx) * (u + length * du) >= 0.1 * np.minimum(f + m, x * u)).all())

    def _solve(self, rhs: Array) -> Array:
        """Solve the symmetric system in double precision, refined in the working precision."""
        H = self.H.astype(np.float64)
        y = np.linalg.solve(H, rhs.astype(np.float64)).astype(self.dtype)
        for _ in range(1 if self.dtype is np.float64 else 4):
            y += np.linalg.solve(H, (rhs - self.H @ y).astype(np.float64))
        return y

    def _graph_moves(self, y: Array, cs: Array, cp: Array) -> float:
        P, q = self.n_parts, self.n_parts + self.n_graphs
        self.d_lam, self.d_theta, self.d_rho = y[:P], y[P:q], y[q]
        self.d_s = (cs - self.s * self.d_theta) / self.theta
        reach = max(-float((self.d_theta / self.theta).min()), -float((self.d_s / self.s).min()))
        if self.prefill:
            self.d_lam_p: Any = y[q + 1]
            self.d_up: Array = np.full(self.fp.size, y[q + 1], dtype=self.dtype)
            self.d_xp: Array = (cp - self.xp * self.d_up) / self.up
            return max(reach, -float((self.d_xp / self.xp).min()), -float((self.d_up / self.up).min()))
        self.d_lam_p, self.d_up, self.d_xp = 0.0, self.fp, self.fp
        return reach

    def _take(self, length: float) -> None:
        self.theta = self.theta + length * self.d_theta
        self.s = self.s + length * self.d_s
        self.lam = self.lam + length * self.d_lam
        self.rho += length * self.d_rho
        if self.prefill:
            self.lam_p += length * self.d_lam_p
            self.up = self.up + length * self.d_up
            self.xp = self.xp + length * self.d_xp
        for k in self.slices:
            k.take(length)

    def solve(self) -> CompactPoint:
        """Steps until the products are negligible beside every weight; gives the best iterate.

        Pushed too far, the products fall below what the linear equations hold to, and these come apart: the best
        iterate is the one of least product beside the least weight among those whose gap and residual are small.
        """
        kept, best, least, stale = self.point(0), (np.inf, np.inf), np.inf, 0
        for n_steps in range(MAX_STEPS):
            m, gap, off = self.measure()
            sound = max(gap, off, SOUND)
            score = (sound, max(gap, m / self.least_weight))
            if not np.isfinite(score[1]):
                break
            stale = 0 if m < 0.9 * least and (off < LATE or gap > LATE) else stale + 1
            least = min(least, m)
            if score < best:
                best = score
                if n_steps == 0 or gap < LATE or n_steps % 8 == 0:
                    kept = self.point(n_steps)
            # products this small gain nothing more, and residuals only grow
            if max(gap, m / self.least_weight) < FINAL_ERROR or stale >= MAX_STALE or off > 1e6 * max(best[0], gap):
                break
            try:
                # a step that hardly moves may be followed by one that does; `stale` counts them
                self.step(m)
            except np.linalg.LinAlgError:
                # the system is singular to working precision: nothing more can be gained
                break
        return kept

    def point(self, n_steps: int) -> CompactPoint:
        """The current iterate."""
        return CompactPoint(
            time_shares=self.theta,
            row_shares=np.concatenate([k.z for k in self.slices], axis=1),
            rates=np.concatenate([k.x for k in self.slices]),
            prices=np.concatenate([k.u for k in self.slices]),
            prefill_rates=self.xp,
            prefill_prices=self.up,
            n_steps=n_steps,
        )


def _both(k: Slice, b: Array, cw: Array, cx: Array, rhs: Array) -> tuple[tuple[Array, Array], Array]:
    return k.side(b, cw, cx, rhs), cw
