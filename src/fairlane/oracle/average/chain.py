"""Exact long-run rates of a semi-Markov chain: a model in which every state has one move.

Rates are exact rationals: stationary distributions and absorption probabilities come from linear systems that
FLINT solves over the rationals. A chain with several closed classes has a rate a class; from a start that can
reach several of them the expected rate weighs each by the chance of ending there, which is not the ratio of
expected reward and expected time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import networkx
from flint import fmpq, fmpq_mat

from fairlane.oracle.average.workload_model import Move
from fairlane.reference.rationals import to_fmpq, to_fraction

ZERO = Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedClass:
    """A closed class of a chain: its states, long-run reward per ms, and period in graphs."""

    states: tuple[int, ...]
    rate: Fraction
    period: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainRates:
    """Closed classes, and the expected long-run rate from every state."""

    classes: tuple[ClosedClass, ...]
    rates: tuple[Fraction, ...]


def closed_classes(chain: Sequence[Move]) -> list[tuple[int, ...]]:
    """Strongly connected components that nothing leaves, each sorted."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(chain)))
    graph.add_edges_from((i, j) for i, move in enumerate(chain) for j, _ in move.to)
    out = []
    for component in networkx.strongly_connected_components(graph):
        if all(j in component for i in component for j, _ in chain[i].to):
            out.append(tuple(sorted(component)))
    return sorted(out)


def period_of(chain: Sequence[Move], states: Sequence[int]) -> int:
    """Period of a closed class, counted in graphs."""
    level = {states[0]: 0}
    queue = [states[0]]
    common = 0
    for i in queue:
        for j, _ in chain[i].to:
            if j in level:
                common = gcd(common, level[i] + 1 - level[j])
            else:
                level[j] = level[i] + 1
                queue.append(j)
    return abs(common) or 1


def stationary_rate(chain: Sequence[Move], states: Sequence[int]) -> Fraction:
    """Long-run reward per ms in a closed class, exactly."""
    place = {state: k for k, state in enumerate(states)}
    n = len(states)
    matrix = fmpq_mat(n, n)
    for i in states:
        for j, p in chain[i].to:
            matrix[place[j], place[i]] += to_fmpq(p)
    for k in range(n):
        matrix[k, k] -= 1
    # one balance equation is implied by the others; the sum of probabilities takes its place
    for k in range(n):
        matrix[n - 1, k] = fmpq(1)
    right = fmpq_mat(n, 1)
    right[n - 1, 0] = fmpq(1)
    weights = matrix.solve(right)
    reward = sum((weights[k, 0] * to_fmpq(chain[i].reward) for k, i in enumerate(states)), fmpq(0))
    time = sum((weights[k, 0] * to_fmpq(chain[i].duration_ms) for k, i in enumerate(states)), fmpq(0))
    return to_fraction(reward / time)


def chain_rates(chain: Sequence[Move]) -> ChainRates:
    """Closed classes with their rates, and the expected rate from every state.

    Parameters
    ----------
    chain : sequence of Move
        One move a state; `to` refers to positions in the sequence.

    Returns
    -------
    ChainRates
        All exact.
    """
    classes = tuple(
        ClosedClass(states=states, rate=stationary_rate(chain, states), period=period_of(chain, states))
        for states in closed_classes(chain)
    )
    rates: list[Fraction | None] = [None] * len(chain)
    for closed in classes:
        for i in closed.states:
            rates[i] = closed.rate
    transient = [i for i, rate in enumerate(rates) if rate is None]
    if transient:
        if len({closed.rate for closed in classes}) == 1:
            for i in transient:
                rates[i] = classes[0].rate
        else:
            for i, rate in zip(transient, _absorbed(chain, transient, rates), strict=True):
                rates[i] = rate
    return ChainRates(classes=classes, rates=tuple(rate for rate in rates if rate is not None))


def _absorbed(chain: Sequence[Move], transient: Sequence[int], rates: Sequence[Fraction | None]) -> list[Fraction]:
    place = {state: k for k, state in enumerate(transient)}
    n = len(transient)
    matrix, right = fmpq_mat(n, n), fmpq_mat(n, 1)
    for i in transient:
        k = place[i]
        matrix[k, k] += 1
        for j, p in chain[i].to:
            rate = rates[j]
            if rate is None:
                matrix[k, place[j]] -= to_fmpq(p)
            else:
                right[k, 0] += to_fmpq(p * rate)
    solved = matrix.solve(right)
    return [to_fraction(solved[k, 0]) for k in range(n)]
