"""Optimal long-run rate of an explicit semi-Markov model.

Relative value iteration in doubles on the uniformised model proposes a policy. The rest is exact: the policy's
rate and bias come from linear systems over the rationals, and Howard's improvement goes on until the optimality
equation holds at every state. Uniformising mixes every move with staying put, so a periodic model needs no
special care. Where the systems are too large for exact arithmetic, the bias in doubles, read as rationals, still
gives rigorous bounds (Odoni 1969): for any h, the best rate is at most max over states and moves of
(r + E h' - h) / T, and the greedy policy earns at least the least of its own such ratios.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fairlane.oracle.average.chain import bias, closed_classes, stationary_rate
from fairlane.oracle.average.workload_model import Move

MAX_EXACT_STATES = 700
MAX_SWEEPS = 200_000
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
        from scipy.sparse import csr_matrix

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
    moves: Sequence[Sequence[Move]], on_progress: Callable[[int, int], None] | None
) -> npt.NDArray[np.float64]:
    arrays = _Arrays(moves)
    step = 0.95 * float(arrays.duration.min())
    h = np.zeros(len(moves))
    best_width = np.inf
    stalled = 0
    for sweep in range(MAX_SWEEPS):
        top = np.maximum.reduceat(arrays.ratios(h), arrays.first)
        width = float(top.max() - top.min())
        scale = float(np.abs(top).max())
        if sweep % 1000 == 0 and on_progress is not None:
            on_progress(sweep, MAX_SWEEPS)
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
    """
    h = tuple(Fraction(float(x)) for x in _propose(moves, on_progress))
    choice = _greedy(moves, h)
    if exact and len(moves) <= MAX_EXACT_STATES:
        done = _improve(moves, choice)
        if done is not None:
            return done
    return bounded(moves, h)


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
    """Howard's iteration in rationals; None where it does not end within its limit."""
    for _ in range(MAX_IMPROVEMENTS):
        chain = [row[k] for row, k in zip(moves, choice, strict=True)]
        classes = closed_classes(chain)
        rates = [stationary_rate(chain, states) for states in classes]
        rate = max(rates)
        anchor_class = classes[rates.index(rate)]
        if len(classes) > 1:
            # several closed classes: keep the best one and lead every other state into it
            choice = _lead_into(moves, choice, anchor_class)
            chain = [row[k] for row, k in zip(moves, choice, strict=True)]
            if len(closed_classes(chain)) > 1:
                return None
        h = bias(chain, rate, anchor_class[0])
        better = list(choice)
        changed = False
        for i, row in enumerate(moves):
            values = [m.reward - rate * m.duration_ms + sum((p * h[j] for j, p in m.to), ZERO) for m in row]
            top = max(values)
            if top > values[choice[i]]:
                better[i] = values.index(top)
                changed = True
        if not changed:
            return Average(rate=rate, lower=rate, upper=rate, h=h, choice=choice, method="policy_iteration")
        choice = tuple(better)
    return None


def _lead_into(moves: Sequence[Sequence[Move]], choice: tuple[int, ...], target: Sequence[int]) -> tuple[int, ...]:
    """The same choices inside ``target``, elsewhere moves that come nearer to it with positive probability."""
    led = list(choice)
    reached = set(target)
    sources: dict[int, list[tuple[int, int]]] = {}
    for i, row in enumerate(moves):
        for k, move in enumerate(row):
            for j, _ in move.to:
                sources.setdefault(j, []).append((i, k))
    queue = sorted(target)
    for j in queue:
        for i, k in sources.get(j, ()):
            if i not in reached:
                reached.add(i)
                led[i] = k
                queue.append(i)
    return tuple(led)
