"""Total reward until the end of an explicit model that others wrote.

Acyclic models are solved exactly by backward induction. A cyclic one is solved by policy iteration in rationals,
provided that every policy reaches the end with certainty, so that total rewards exist; a model where some policy
can avoid the end forever is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import networkx
from flint import fmpq, fmpq_mat

from fairlane.oracle.explicit_model import Choice, ExplicitModel
from fairlane.oracle.plain import Sense
from fairlane.reference.errors import TooLarge, Unsupported
from fairlane.reference.state import ZERO

MAX_CYCLIC_STATES = 700


class ModelMethod(StrEnum):
    """How a model was solved."""

    ACYCLIC = "acyclic_backward_induction"
    POLICY_ITERATION = "policy_iteration"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSolution:
    """Exact best total reward from the initial state, with the choice of every state."""

    value: Fraction
    choices: tuple[int, ...]
    states: int
    method: ModelMethod


def solve_model(model: ExplicitModel, *, sense: Sense = Sense.MAX) -> ModelSolution:
    """Exact best expected total reward until a final state.

    Parameters
    ----------
    model : ExplicitModel
        Any model in which every policy ends.
    sense : Sense
        MAX or MIN.

    Raises
    ------
    Unsupported
        Some policy never ends.
    TooLarge
        A cyclic model too large for rational linear systems.
    """
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(model.choices)))
    for s, row in enumerate(model.choices):
        if s not in model.final:
            graph.add_edges_from((s, t) for choice in row for t, _ in choice.to)
    if networkx.is_directed_acyclic_graph(graph):
        return _acyclic(model, sense, list(networkx.topological_sort(graph)))
    if _can_avoid_the_end(model):
        raise Unsupported("some policy of the model never reaches a final state, so total rewards may not exist")
    if len(model.choices) > MAX_CYCLIC_STATES:
        raise TooLarge(f"the model has {len(model.choices)} states and cycles; the limit is {MAX_CYCLIC_STATES}")
    return _policy_iteration(model, sense)


def _better(sense: Sense, a: Fraction, b: Fraction) -> bool:
    return a > b if sense is Sense.MAX else a < b


def _worth(choice: Choice, values: list[Fraction]) -> Fraction:
    return choice.reward + sum((p * values[t] for t, p in choice.to), ZERO)


def _acyclic(model: ExplicitModel, sense: Sense, order: list[int]) -> ModelSolution:
    values = [ZERO] * len(model.choices)
    picked = [0] * len(model.choices)
    for s in reversed(order):
        if s in model.final:
            continue
        worth = [_worth(choice, values) for choice in model.choices[s]]
        best = 0
        for k in range(1, len(worth)):
            if _better(sense, worth[k], worth[best]):
                best = k
        values[s], picked[s] = worth[best], best
    return ModelSolution(
        value=values[model.initial], choices=tuple(picked), states=len(model.choices), method=ModelMethod.ACYCLIC
    )


def _can_avoid_the_end(model: ExplicitModel) -> bool:
    """Whether some set of states without final ones can be kept forever: the greatest closed set is not empty."""
    kept = set(range(len(model.choices))) - model.final
    while True:
        leaving = {s for s in kept if not any(all(t in kept for t, _ in c.to) for c in model.choices[s])}
        if not leaving:
            return bool(kept)
        kept -= leaving


def _policy_iteration(model: ExplicitModel, sense: Sense) -> ModelSolution:
    live = [s for s in range(len(model.choices)) if s not in model.final]
    place = {s: k for k, s in enumerate(live)}
    picked = [0] * len(model.choices)
    while True:
        matrix, right = fmpq_mat(len(live), len(live)), fmpq_mat(len(live), 1)
        for s in live:
            k, choice = place[s], model.choices[s][picked[s]]
            matrix[k, k] += 1
            for t, p in choice.to:
                if t in place:
                    matrix[k, place[t]] -= fmpq(p.numerator, p.denominator)
            right[k, 0] = fmpq(choice.reward.numerator, choice.reward.denominator)
        solved = matrix.solve(right)
        values = [ZERO] * len(model.choices)
        for s in live:
            x = solved[place[s], 0]
            values[s] = Fraction(int(x.p), int(x.q))
        improved = False
        for s in live:
            for k, choice in enumerate(model.choices[s]):
                if _better(sense, _worth(choice, values), values[s]) and (
                    picked[s] == k
                    or _better(sense, _worth(choice, values), _worth(model.choices[s][picked[s]], values))
                ):
                    picked[s], improved = k, True
        if not improved:
            return ModelSolution(
                value=values[model.initial],
                choices=tuple(picked),
                states=len(model.choices),
                method=ModelMethod.POLICY_ITERATION,
            )
