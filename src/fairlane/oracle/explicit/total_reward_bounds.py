"""Proved bounds on total rewards of cyclic models too large for exact linear systems.

Sweeps in doubles propose values v and a step bound w with w(s) > E w(s') for every choice. In rationals, with
e = max over choices of (r + E v' - v) / (w - E w'), the function v + e w is superharmonic and therefore above the best
value; with the greedy choices' own e' = max (v - r - E v') / (w - E w'), v - e' w is below what they earn. No rounding
enters: doubles are read as the rationals they are.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fairlane.oracle.explicit.explicit_model import Choice, ExplicitModel
from fairlane.oracle.rational.plain import Sense
from fairlane.reference.errors import Unsupported
from fairlane.reference.model.state import ZERO

MAX_SWEEPS = 100_000
# least drop of the step bound, of which an exact step bound would have 1
LEAST_DROP = 0.5


def total_reward_bounds(
    model: ExplicitModel, sense: Sense, *, on_progress: Callable[[int, int], None] | None = None
) -> tuple[Fraction, Fraction]:
    """Bounds on the best total reward from the initial state.

    Parameters
    ----------
    model : ExplicitModel
        Every policy ends.
    sense : Sense
        MAX or MIN.
    on_progress : callable or None
        Called with (sweeps done, most sweeps).

    Raises
    ------
    Unsupported
        The sweeps did not settle: the end is too far away.
    """
    sign = 1 if sense is Sense.MAX else -1
    live = [s for s in range(len(model.choices)) if s not in model.final]
    flat = [(s, choice) for s in live for choice in model.choices[s]]
    try:
        arrays = _Arrays(model, live, flat, sign)
    except OverflowError:
        raise Unsupported("a reward is beyond the range of doubles: the model is too large for exact totals") from None
    steps = arrays.settle(np.ones(len(flat)), lambda w, top: bool((w - top >= LEAST_DROP - 1).all()), on_progress)
    values = arrays.settle(arrays.reward, _settled, on_progress)
    v = [Fraction(float(x)) for x in values]
    w = [Fraction(float(x)) for x in steps]
    above = below = ZERO
    for s in live:
        gains: list[tuple[Fraction, Fraction]] = []
        for choice in model.choices[s]:
            drop = w[s] - _mean(choice, w)
            if drop <= 0:
                raise Unsupported("no step bound was found: the model's end is too far away for proved bounds")
            gains.append((sign * choice.reward + _mean(choice, v) - v[s], drop))
        above = max(above, *(gain / drop for gain, drop in gains))
        gain, drop = max(gains, key=lambda pair: pair[0])
        below = max(below, -gain / drop)
    root = model.initial
    low, high = v[root] - below * w[root], v[root] + above * w[root]
    return (low, high) if sign > 0 else (-high, -low)


def _mean(choice: Choice, values: list[Fraction]) -> Fraction:
    return sum((p * values[t] for t, p in choice.to), ZERO)


def _settled(values: npt.NDArray[np.float64], top: npt.NDArray[np.float64]) -> bool:
    return bool(np.abs(top - values).max() <= 1e-14 * max(1.0, float(np.abs(top).max())))


class _Arrays:
    """All choices in doubles, those of final states left out."""

    def __init__(self, model: ExplicitModel, live: list[int], flat: list[tuple[int, Choice]], sign: int) -> None:
        # scipy loads slowly, and most calls come by without it
        from scipy.sparse import csr_matrix

        self.n = len(model.choices)
        self.live = np.array(live)
        self.first = np.cumsum([0] + [len(model.choices[s]) for s in live])[:-1]
        self.reward = np.array([sign * float(choice.reward) for _, choice in flat])
        indptr = np.cumsum([0] + [len(choice.to) for _, choice in flat])
        columns = np.array([t for _, choice in flat for t, _ in choice.to])
        data = np.array([float(p) for _, choice in flat for _, p in choice.to])
        # what leads to a final state ends there: its value stays 0
        self.matrix = csr_matrix((data, columns, indptr), shape=(len(flat), self.n))

    def settle(
        self,
        reward: npt.NDArray[np.float64],
        enough: Callable[[npt.NDArray[np.float64], npt.NDArray[np.float64]], bool],
        on_progress: Callable[[int, int], None] | None,
    ) -> npt.NDArray[np.float64]:
        """Values of the best choices after enough sweeps; 0 at final states."""
        values = np.zeros(self.n)
        for sweep in range(MAX_SWEEPS):
            if on_progress is not None and sweep % 500 == 0:
                on_progress(sweep, MAX_SWEEPS)
            top = np.maximum.reduceat(reward + self.matrix @ values, self.first)
            if enough(values[self.live], top):
                return values
            values[self.live] = top
        raise Unsupported(f"values did not settle within {MAX_SWEEPS:,} sweeps: the model's end is too far away")
