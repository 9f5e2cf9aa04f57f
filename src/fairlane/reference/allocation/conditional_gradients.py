"""Pairwise conditional gradients with a scalar line search: the plain reference method, good at any time it is stopped.

A step moves share from the worst action held to the best action there is, as far as the utility rises. Each iterate is
feasible and carries its gap <q, best - x>, q = v + f / x. Linear convergence is slow where faces are large: a hundred
requests do not reach 1e-9 in any reasonable time.

References
----------
Lacoste-Julien, S. and Jaggi, M. (2015). On the global linear convergence of Frank-Wolfe optimization variants. NeurIPS.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fairlane.reference.allocation.arrays import FloatArray
from fairlane.reference.allocation.cohort_columns import CohortColumns

MAX_STEPS = 200_000
MAX_SECONDS = 60.0
REFRESH = 64


class TableAtoms:
    """Rows of a table as the atoms of the method."""

    def __init__(self, rates: Any) -> None:
        self._rates = rates
        self._dense = isinstance(rates, np.ndarray)

    def best(self, prices: FloatArray) -> tuple[int, float]:
        """The place and value of the best atom."""
        worth = self._rates @ prices
        place = int(worth.argmax())
        return place, float(worth[place])

    def atom(self, place: int) -> FloatArray:
        """Rates of one atom."""
        row = self._rates[[place]]
        return np.asarray(row if self._dense else row.toarray()).ravel()

    def best_for(self, request: int) -> int:
        """An atom that serves a request best."""
        column = self._rates[:, [request]]
        return int(np.asarray(column if self._dense else column.toarray()).argmax())


class CohortAtoms:
    """Cohorts as atoms, made by ranking."""

    def __init__(self, columns: CohortColumns) -> None:
        self.columns = columns

    def best(self, prices: FloatArray) -> tuple[int, float]:
        """The place and value of the best cohort; only that one is added."""
        columns = self.columns
        best_value, best_graph, best_lanes = -1.0, 0, None
        for graph in range(len(columns.problem.catalog)):
            lanes = columns.best_lanes(graph, prices)
            value = float((columns.lane_rates[graph, lanes] * prices[lanes]).sum()) if lanes.size else 0.0
            if value > best_value:
                best_value, best_graph, best_lanes = value, graph, lanes
        assert best_lanes is not None
        return columns.add(best_graph, best_lanes), best_value

    def atom(self, place: int) -> FloatArray:
        """Rates of one cohort."""
        columns = self.columns
        return np.where(columns.members[place], columns.lane_rates[columns.graphs[place]], 0.0)

    def best_for(self, request: int) -> int:
        """A cohort that serves a request best."""
        columns = self.columns
        prices = np.full(columns.lane_rates.shape[1], 1e-6)
        prices[request] = 1.0
        graph = int(columns.lane_rates[:, request].argmax())
        return columns.add(graph, columns.best_lanes(graph, prices))


Atoms = TableAtoms | CohortAtoms


def solve(
    atoms: Atoms,
    values: FloatArray,
    weights: FloatArray,
    *,
    tolerance: float,
    max_steps: int = MAX_STEPS,
    max_seconds: float = MAX_SECONDS,
    on_progress: Callable[[int, float], None] | None = None,
) -> dict[int, float]:
    """Shares of the atoms held when the relative gap meets the tolerance or a limit is reached.

    Parameters
    ----------
    atoms : TableAtoms or CohortAtoms
        The actions.
    values, weights : ndarray, shape (n_requests,)
        Scaled v and f.
    tolerance : float
        Relative gap to stop at.
    max_steps, max_seconds : int, float
        Limits; the caller certifies whatever was reached.
    on_progress : callable or None
        Called now and then with the step and the relative gap.
    """
    n = weights.size
    begun = time.perf_counter()
    held: dict[int, int] = {}
    vectors = np.empty((2 * n + 16, n))
    share = np.zeros(vectors.shape[0])
    for i in range(n):
        place = atoms.best_for(i)
        if place not in held:
            held[place] = len(held)
            vectors[held[place]] = atoms.atom(place)
        share[held[place]] += weights[i] / weights.sum()
    size = len(held)
    x = share[:size] @ vectors[:size]
    for step in range(max_steps):
        if step % REFRESH == 0:
            x = share[:size] @ vectors[:size]
            if time.perf_counter() - begun > max_seconds:
                break
        q = values + weights / x
        place, value = atoms.best(q)
        scale = float(weights.sum() + values @ x)
        gap = value - scale
        if on_progress is not None and step % REFRESH == 0:
            on_progress(step, gap / scale)
        if gap <= 0.5 * tolerance * scale:
            break
        if place not in held:
            if size == share.size:
                vectors = np.concatenate([vectors, np.empty_like(vectors)])
                share = np.concatenate([share, np.zeros_like(share)])
            held[place] = size
            vectors[size] = atoms.atom(place)
            share[size] = 0.0
            size += 1
        toward = held[place]
        active = np.flatnonzero(share[:size] > 0)
        away = int(active[(vectors[active] @ q).argmin()])
        if away == toward:
            break
        direction = vectors[toward] - vectors[away]
        length = line_search(x, direction, values, weights, float(share[away]))
        x = x + length * direction
        share[toward] += length
        share[away] = 0.0 if length >= share[away] else share[away] - length
    total = share.sum()
    return {place: float(share[k] / total) for place, k in held.items() if share[k] > 0}


def line_search(x: FloatArray, direction: FloatArray, values: FloatArray, weights: FloatArray, longest: float) -> float:
    """The step in [0, longest] of most utility: the root of a falling derivative, by Newton kept in a bracket."""
    moving = direction != 0
    x, d, f = x[moving], direction[moving], weights[moving]
    linear = float(values[moving] @ d)
    low, high = 0.0, longest
    falling = d < 0
    if falling.any():
        limit = float((-x[falling] / d[falling]).min())
        high = min(high, limit * (1 - 1e-12))
    if linear + float((f * d / (x + high * d)).sum()) >= 0:
        return high
    at = 0.0
    for _ in range(60):
        after = x + at * d
        slope = linear + float((f * d / after).sum())
        if slope > 0:
            low = at
        else:
            high = at
        bend = float((f * d * d / (after * after)).sum())
        step = at + slope / bend
        step = step if low < step < high else 0.5 * (low + high)
        if abs(step - at) <= 1e-15 * step or high - low <= 1e-16 * high:
            return step
        at = step
    return at
