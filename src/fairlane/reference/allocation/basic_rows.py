"""Row shares with as few fractional parts as possible, all rates and all rows kept.

Fixed rates x_i = sum_g r_gi z_gi and rows sum_i z_gi make z a point of a generalised transportation polytope. A request
with parts of rows in k graphs can trade between them in k - 1 independent ways; each trade changes the rows used in
two graphs. More trades than graphs are dependent: some combination changes nothing but z, and is followed until a part
ends at 0 or at its graph's whole share. What is left has at most one fractional part a request plus one a graph.
"""

from __future__ import annotations

import numpy as np

from fairlane.reference.allocation.arrays import FloatArray

# parts that carry this little of a request's rate, or lack this little of a whole share, are rounding
NEGLIGIBLE = 1e-12
DEPENDENT = 1e-9


def basic_rows(rates: FloatArray, held: FloatArray, shares: FloatArray, rows: FloatArray) -> FloatArray:
    """A vertex of the row shares that give the same rates.

    Parameters
    ----------
    rates : ndarray, shape (n_graphs, n_requests)
        Tokens per millisecond of a row.
    held : ndarray, shape (n_graphs, n_requests)
        Row shares.
    shares : ndarray, shape (n_graphs,)
        Time shares.
    rows : ndarray, shape (n_graphs,)
        Decode rows; graphs without rows hold nothing.

    Returns
    -------
    ndarray, shape (n_graphs, n_requests)
        Row shares of the same rates and the same rows used, up to rounding.
    """
    z = np.where(rows[:, None] > 0, held, 0.0)
    x = (rates * z).sum(axis=0)
    z[rates * z <= NEGLIGIBLE * x] = 0.0
    whole = z >= shares[:, None] * (1 - NEGLIGIBLE)
    z = np.where(whole, shares[:, None], z)
    fractional = (z > 0) & ~whole
    trades = _Trades(rates, z, shares, fractional)
    for i in np.flatnonzero(fractional.sum(axis=0) > 1):
        trades.enter(int(i))
    return z


class _Trades:
    """Independent trades, as columns of rows used a graph."""

    def __init__(self, rates: FloatArray, z: FloatArray, shares: FloatArray, fractional: np.ndarray) -> None:
        self.rates, self.z, self.shares, self.fractional = rates, z, shares, fractional
        self.entries: list[tuple[int, int, int]] = []
        self.columns: list[FloatArray] = []

    def enter(self, request: int) -> None:
        """Bring in all trades of a request, following every dependence they make."""
        waiting = [request]
        while waiting:
            i = waiting.pop()
            graphs = np.flatnonzero(self.fractional[:, i])
            for g in graphs[1:]:
                ended = self._add(i, int(graphs[0]), int(g))
                if ended:
                    # a part has ended: the trades of its request are made anew from what is left
                    for j in {*ended, i}:
                        self._drop(j)
                        waiting.append(j)
                    break

    def _drop(self, request: int) -> None:
        keep = [k for k, entry in enumerate(self.entries) if entry[0] != request]
        self.entries = [self.entries[k] for k in keep]
        self.columns = [self.columns[k] for k in keep]

    def _add(self, i: int, p: int, q: int) -> set[int]:
        """Add a trade of request i from q to p; gives the requests of which a part ended, if it was dependent."""
        # scaled so that a unit of trade moves about one share
        unit = min(self.rates[p, i], self.rates[q, i])
        column = np.zeros(self.rates.shape[0])
        column[p] = unit / self.rates[p, i]
        column[q] = -unit / self.rates[q, i]
        if not self.entries:
            self.entries.append((i, p, q))
            self.columns.append(column)
            return set()
        basis = np.array(self.columns).T
        weights = np.linalg.lstsq(basis, column, rcond=None)[0]
        if np.abs(basis @ weights - column).max() > DEPENDENT * np.abs(column).max():
            self.entries.append((i, p, q))
            self.columns.append(column)
            return set()
        move: dict[tuple[int, int], float] = {}
        for (j, a, b), weight in [((i, p, q), 1.0), *zip(self.entries, (-weights).tolist(), strict=True)]:
            if abs(weight) > NEGLIGIBLE:
                worth = weight * min(self.rates[a, j], self.rates[b, j])
                move[a, j] = move.get((a, j), 0.0) + worth / self.rates[a, j]
                move[b, j] = move.get((b, j), 0.0) - worth / self.rates[b, j]
        ways = []
        for sign in (1.0, -1.0):
            steps = [
                ((self.shares[g] - self.z[g, j]) if sign * change > 0 else self.z[g, j]) / abs(change)
                for (g, j), change in move.items()
                if change != 0
            ]
            ways.append((min(steps), sign))
        step, sign = min(ways)
        ended = set()
        for (g, j), change in move.items():
            new = self.z[g, j] + sign * step * change
            if new <= NEGLIGIBLE * self.shares[g] * 1e-3 and sign * change < 0:
                new = 0.0
            elif new >= self.shares[g] * (1 - NEGLIGIBLE):
                new = self.shares[g]
            self.z[g, j] = new
            if new in (0.0, self.shares[g]):
                self.fractional[g, j] = False
                ended.add(j)
        if not ended:
            # rounding kept every part off its bound: end the nearest one
            g, j = min(move, key=lambda key: min(self.z[key], self.shares[key[0]] - self.z[key]))
            self.z[g, j] = 0.0 if self.z[g, j] < self.shares[g] / 2 else self.shares[g]
            self.fractional[g, j] = False
            ended.add(j)
        return ended
