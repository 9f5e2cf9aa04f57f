"""Rate and relative values of one policy by renewal at an anchor state, in rationals and in doubles.

A run that keeps returning to a state earns, a unit of time, the expected reward between two visits over the expected
time between them. Both come from one linear system over the other states, whatever the period or the speed of mixing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from flint import fmpq, fmpq_mat

from fairlane.oracle.average.chain import closed_classes
from fairlane.oracle.average.workload_model import Move
from fairlane.oracle.rational.state_elimination import solve_sparse
from fairlane.reference.rationals import to_fmpq, to_fraction

# improvements in doubles
MAX_ROUNDS = 100
# below this relative gain two moves are equally good to a double
LEAST_GAIN = 1e-12


class Renewal(NamedTuple):
    """Long-run rate of a chain, and relative values of its states, 0 at the anchor."""

    rate: Fraction
    h: tuple[Fraction, ...]


def renewal(chain: Sequence[Move], states: Sequence[int], anchor: int, *, max_dense: int) -> Renewal | None:
    """Exact rate and relative values of a chain with one closed class.

    Parameters
    ----------
    chain : sequence of Move
        One move a state.
    states : sequence of int
        A set that nothing leaves, with one closed class in it.
    anchor : int
        A state of that class.
    max_dense : int
        Systems up to this size are solved whatever their shape; larger ones only where they stay sparse.

    Returns
    -------
    Renewal or None
        ``h`` in the order of ``states``; None where the system is too large.
    """
    others = [s for s in states if s != anchor]
    place = {s: k for k, s in enumerate(others)}
    rows = [[(place[t], to_fmpq(p)) for t, p in chain[s].to if t != anchor] for s in others]
    right = [[to_fmpq(chain[s].reward), to_fmpq(chain[s].duration_ms)] for s in others]
    solved = solve_sparse(rows, right)
    if solved is None:
        if len(states) > max_dense:
            return None
        solved = _dense(rows, right)
    start = chain[anchor]
    reward, time = to_fmpq(start.reward), to_fmpq(start.duration_ms)
    for t, p in start.to:
        if t != anchor:
            reward += to_fmpq(p) * solved[place[t]][0]
            time += to_fmpq(p) * solved[place[t]][1]
    rate = reward / time
    h = {s: to_fraction(gained - rate * spent) for s, (gained, spent) in zip(others, solved, strict=True)}
    h[anchor] = Fraction(0)
    return Renewal(to_fraction(rate), tuple(h[s] for s in states))


def _dense(rows: Sequence[Sequence[tuple[int, fmpq]]], right: Sequence[Sequence[fmpq]]) -> list[list[fmpq]]:
    n = len(rows)
    matrix, columns = fmpq_mat(n, n), fmpq_mat(n, 2)
    for k, row in enumerate(rows):
        matrix[k, k] += 1
        for j, p in row:
            matrix[k, j] -= p
        columns[k, 0], columns[k, 1] = right[k]
    solved = matrix.solve(columns)
    return [[solved[k, 0], solved[k, 1]] for k in range(n)]


def relative_values(moves: Sequence[Sequence[Move]], choice: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Relative values of a good policy in doubles, by Howard's improvement on sparse linear systems.

    Parameters
    ----------
    moves : sequence of sequences of Move
        The moves of each state, durations > 0; some state can be reached from every other one.
    choice : tuple of int
        The policy to start from.

    Returns
    -------
    float64, shape (n,)
        Whatever came out; bounds that are proved from it are wide where it is poor.
    """
    flat = [(float(m.reward), float(m.duration_ms), [(j, float(p)) for j, p in m.to]) for row in moves for m in row]
    first = np.cumsum([0] + [len(row) for row in moves])[:-1].tolist()
    h = np.zeros(len(moves))
    for _ in range(MAX_ROUNDS):
        chain = [row[k] for row, k in zip(moves, choice, strict=True)]
        classes = closed_classes(chain)
        target = classes[0]
        if len(classes) > 1:
            target = classes[int(np.argmax([_renewal_in_doubles(chain, states)[0] for states in classes]))]
            choice = lead_into(moves, choice, target)
            chain = [row[k] for row, k in zip(moves, choice, strict=True)]
        rate, h = _renewal_in_doubles(chain, [target[0], *(s for s in range(len(chain)) if s != target[0])])
        better = []
        for i, row in enumerate(moves):
            worth = [r - rate * t + sum(p * h[j] for j, p in to) for r, t, to in flat[first[i] : first[i] + len(row)]]
            top = int(np.argmax(worth))
            gain = worth[top] - worth[choice[i]]
            better.append(top if gain > LEAST_GAIN * (1 + abs(worth[top])) else choice[i])
        if tuple(better) == choice:
            return h
        choice = tuple(better)
    return h


def _renewal_in_doubles(chain: Sequence[Move], states: Sequence[int]) -> tuple[float, npt.NDArray[np.float64]]:
    """Rate, and relative values of all states of the chain; the anchor is the first of ``states``."""
    # scipy loads slowly, and most calls come by without it
    from scipy.sparse import csc_matrix, identity
    from scipy.sparse.linalg import splu

    anchor, others = states[0], list(states[1:])
    place = {s: k for k, s in enumerate(others)}
    h = np.zeros(len(chain))
    solved = np.zeros((len(others), 2))
    if others:
        entries = [(place[s], place[t], float(p)) for s in others for t, p in chain[s].to if t != anchor]
        rows, columns, data = (np.array(x) for x in zip(*entries, strict=True)) if entries else (np.zeros(0, int),) * 3
        inside = csc_matrix((data, (rows, columns)), shape=(len(others), len(others)))
        right = np.array([[float(chain[s].reward), float(chain[s].duration_ms)] for s in others])
        solved = splu(csc_matrix(identity(len(others)) - inside)).solve(right)
    reward, time = float(chain[anchor].reward), float(chain[anchor].duration_ms)
    for t, p in chain[anchor].to:
        if t != anchor:
            reward += float(p) * solved[place[t], 0]
            time += float(p) * solved[place[t], 1]
    h[others] = solved[:, 0] - reward / time * solved[:, 1]
    return reward / time, h


def lead_into(moves: Sequence[Sequence[Move]], choice: tuple[int, ...], target: Sequence[int]) -> tuple[int, ...]:
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
