"""Optimal long-run rate of an explicit semi-Markov model.

Relative value iteration in doubles on the uniformised model proposes a policy. The rest is exact: the policy's
rate and bias come from linear systems over the rationals, and Howard's improvement goes on until the optimality
equation holds at every state. Uniformising mixes every move with staying put, so a periodic model needs no
special care. Systems of thousands of states are solved exactly where eliminating them state by state stays sparse.
Where they are too large for exact arithmetic, the bias in doubles, read as rationals, still gives rigorous bounds
(Odoni 1969): for any h, the best rate is at most max over states and moves of
(r + E h' - h) / T, and the greedy policy earns at least the least of its own such ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from fairlane.oracle.average.chain import closed_classes
from fairlane.oracle.average.renewal import lead_into, relative_values, renewal
from fairlane.oracle.average.workload_model import Move
from fairlane.reference.errors import Unsupported

MAX_EXACT_STATES = 700
MAX_SWEEPS = 200_000
# sweeps that propose a policy where an exact one is sought: a poor proposal costs a few improvements more
WARM_SWEEPS = 5_000
MAX_IMPROVEMENTS = 200

ZERO = Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """Optimal rate with its evidence.

    ``choice[s]`` is the number of the move the policy takes in state s; ``h`` are relative values whose bounds
    are ``lower`` and ``upper``. ``rate`` is set where both meet, and then h solves the optimality equation.
    """

    rate: Fraction | None
    lower: Fraction
    upper: Fraction
    h: tuple[Fraction, ...]
    choice: tuple[int, ...]
    method: str


class _Arrays:
    """The model in doubles, moves of all states in one row each."""

    def __init__(self, moves: Sequence[Sequence[Move]]) -> None:
        flat = [move for row in moves for move in row]
        self.first = np.cumsum([0] + [len(row) for row in moves])[:-1]
        self.state = np.repeat(np.arange(len(moves)), [len(row) for row in moves])
        self.duration = np.array([float(m.duration_ms) for m in flat])
        self.reward = np.array([float(m.reward) for m in flat])
        indptr = np.cumsum([0] + [len(m.to) for m in flat])
        columns = np.array([j for m in flat for j, _ in m.to])
        data = np.array([float(p) for m in flat for _, p in m.to])
        self.matrix = csr_matrix((data, columns, indptr), shape=(len(flat), len(moves)))

    def ratios(self, h: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """(r + E h' - h) / T of every move."""
        gained: npt.NDArray[np.float64] = (self.reward + self.matrix @ h - h[self.state]) / self.duration
        return gained


def _propose(
    moves: Sequence[Sequence[Move]], on_progress: Callable[[int, int], None] | None, max_sweeps: int
) -> npt.NDArray[np.float64]:
    arrays = _Arrays(moves)
    step = 0.95 * float(arrays.duration.min())
    h = np.zeros(len(moves))
    best_width = np.inf
    stalled = 0
    for sweep in range(max_sweeps):
        top = np.maximum.reduceat(arrays.ratios(h), arrays.first)
        width = float(top.max() - top.min())
        scale = float(np.abs(top).max())
        if sweep % 1000 == 0 and on_progress is not None:
            on_progress(sweep, max_sweeps)
        if width <= 1e-13 * scale:
            break
        if width < 0.999 * best_width:
            best_width, stalled = width, 0
        else:
            stalled += 1
            if stalled > 2000:
                break
        h = h + step * top
        h -= h[0]
    return h


def best_average(
    moves: Sequence[Sequence[Move]], *, exact: bool = True, on_progress: Callable[[int, int], None] | None = None
) -> Average:
    """Optimal long-run reward per ms of a weakly communicating model.

    Parameters
    ----------
    moves : sequence of sequences of Move
        The moves of each state; some state can be reached from every other one.
    exact : bool
        False stops at rigorous bounds.
    on_progress : callable or None
        Called with (sweeps done, most sweeps).

    Returns
    -------
    Average
        An exact rate, or bounds where the model is too large or the improvement did not end.

    Raises
    ------
    Unsupported
        Some moves take no time, and the model is too large for exact linear systems.
    """
    if all(len(row) == 1 for row in moves):
        choice: tuple[int, ...] = (0,) * len(moves)
    elif any(move.duration_ms == 0 for row in moves for move in row):
        # nothing to divide by: improvement starts from anywhere
        choice = (0,) * len(moves)
    else:
        try:
            swept = _rationals(_propose(moves, on_progress, WARM_SWEEPS if exact else MAX_SWEEPS))
        except OverflowError:
            # numbers beyond doubles propose nothing; improvement starts from anywhere
            swept = (ZERO,) * len(moves)
        choice = _greedy(moves, swept)
        if not exact:
            return bounded(moves, swept)
    done = _improve(moves, choice) if exact else None
    if done is not None:
        return done
    if any(move.duration_ms == 0 for row in moves for move in row):
        raise Unsupported(
            f"a component of {len(moves):,} states, some of them left at once, is too large for exact averages"
        )
    try:
        return bounded(moves, _rationals(relative_values(moves, choice)))
    except (OverflowError, RuntimeError):
        # numbers beyond doubles, or a system that is singular in them
        raise Unsupported(
            f"not converged: a component of {len(moves):,} states is too large for exact averages, "
            "and its numbers are too far apart for doubles"
        ) from None


def _rationals(values: npt.NDArray[np.float64]) -> tuple[Fraction, ...]:
    return tuple(Fraction(float(x)) for x in values)


def bounded(moves: Sequence[Sequence[Move]], h: Sequence[Fraction]) -> Average:
    """Rigorous bounds on the best rate from any relative values, in rationals."""
    choice = _greedy(moves, h)
    ratios = [_ratio(row[k], i, h) for i, (row, k) in enumerate(zip(moves, choice, strict=True))]
    lower, upper = min(ratios), max(ratios)
    rate = lower if lower == upper else None
    return Average(rate=rate, lower=lower, upper=upper, h=tuple(h), choice=choice, method="relative_value_iteration")


def _ratio(move: Move, state: int, h: Sequence[Fraction]) -> Fraction:
    future = sum((p * h[j] for j, p in move.to), ZERO)
    return (move.reward + future - h[state]) / move.duration_ms


def _greedy(moves: Sequence[Sequence[Move]], h: Sequence[Fraction]) -> tuple[int, ...]:
    return tuple(max(range(len(row)), key=lambda k: (_ratio(row[k], i, h), -k)) for i, row in enumerate(moves))


def _improve(moves: Sequence[Sequence[Move]], choice: tuple[int, ...]) -> Average | None:
    """Howard's iteration in rationals; None where it does not end within its limit, or a system is too large."""
    for _ in range(MAX_IMPROVEMENTS):
        chain = [row[k] for row, k in zip(moves, choice, strict=True)]
        classes = closed_classes(chain)
        target = classes[0]
        if len(classes) > 1:
            # several closed classes: keep the best one and lead every other state into it
            cycles = [renewal(chain, states, states[0], max_dense=MAX_EXACT_STATES) for states in classes]
            rates = [cycle.rate for cycle in cycles if cycle is not None]
            if len(rates) < len(classes):
                return None
            target = classes[rates.index(max(rates))]
            choice = lead_into(moves, choice, target)
            chain = [row[k] for row, k in zip(moves, choice, strict=True)]
            if len(closed_classes(chain)) > 1:
                return None
        cycle = renewal(chain, range(len(chain)), target[0], max_dense=MAX_EXACT_STATES)
        if cycle is None:
            return None
        rate, h = cycle
        better = list(choice)
        changed = False
        for i, row in enumerate(moves):
            if len(row) == 1:
                continue
            values = [m.reward - rate * m.duration_ms + sum((p * h[j] for j, p in m.to), ZERO) for m in row]
            top = max(values)
            if top > values[choice[i]]:
                better[i] = values.index(top)
                changed = True
        if not changed:
            return Average(rate=rate, lower=rate, upper=rate, h=h, choice=choice, method="policy_iteration")
        choice = tuple(better)
    return None
