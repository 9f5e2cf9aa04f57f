"""Total reward until the end of an explicit model that others wrote.

The model is taken apart into strongly connected components, the last ones first. Where a component is one state
that does not lead to itself, its value is a maximum; otherwise policy iteration in rationals solves the component,
given the values behind it. With a component too large for that, sweeps in doubles propose values, and rationals
turn them into bounds that hold whatever the rounding.

Where a policy can go on forever without earning anything, going on is worth 0: such end components are drawn together
into one state in which a run may stop at 0. A model in which some policy never ends and earns is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import networkx
from flint import fmpq, fmpq_mat

from fairlane.oracle.explicit.end_components import drawn_together, maximal_end_components
from fairlane.oracle.explicit.explicit_model import Choice, ExplicitModel
from fairlane.oracle.explicit.total_reward_bounds import total_reward_bounds
from fairlane.oracle.rational.plain import Sense
from fairlane.oracle.rational.state_elimination import MAX_WORK, solve_sparse
from fairlane.reference.errors import Unsupported
from fairlane.reference.model.state import ZERO
from fairlane.reference.rationals import to_fmpq, to_fraction

# linear systems over the rationals up to this size
MAX_EXACT_COMPONENT = 400


class ModelMethod(StrEnum):
    """How a model was solved."""

    ACYCLIC = "acyclic_backward_induction"
    POLICY_ITERATION = "policy_iteration"
    BOUNDED_ITERATION = "bounded_value_iteration"
    END_COMPONENTS = "end_components"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSolution:
    """Best total or average reward from the initial state.

    ``value`` is exact, or None where only ``lower`` and ``upper`` were proved.
    """

    value: Fraction | None
    lower: Fraction
    upper: Fraction
    states: int
    method: ModelMethod


def solve_model(
    model: ExplicitModel,
    *,
    sense: Sense = Sense.MAX,
    max_component: int = MAX_EXACT_COMPONENT,
    max_work: int = MAX_WORK,
    on_progress: Callable[[int, int], None] | None = None,
) -> ModelSolution:
    """Best expected total reward until a final state.

    Parameters
    ----------
    model : ExplicitModel
        Any model in which every policy ends, or earns nothing for ever.
    sense : Sense
        MAX or MIN.
    max_component : int
        Components up to this many states are solved exactly, whatever their shape.
    max_work : int
        Larger ones are where eliminating state by state takes at most so many products.
    on_progress : callable or None
        Called with (states done, states).

    Returns
    -------
    ModelSolution
        An exact value; proved bounds where a component is larger.

    Raises
    ------
    Unsupported
        Some policy never ends and earns.
    """
    n_states = len(model.choices)
    components = _components(model)
    if _can_avoid_the_end(model, components):
        free = maximal_end_components(
            model.choices, model.initial, final=model.final, keep=lambda choice: choice.reward == 0
        )
        model = drawn_together(model, free, [ZERO] * len(free), rewards=True, final=model.final)
        components = _components(model)
        if _can_avoid_the_end(model, components):
            raise Unsupported(
                "some policy of the model never reaches a final state and earns rewards for ever, "
                "so total rewards may not exist"
            )
    values: list[fmpq] = [fmpq(0)] * len(model.choices)
    rows = [[_ready(choice) for choice in row] for row in model.choices]
    cyclic = False
    for done, component in enumerate(components):
        if on_progress is not None and done % 256 == 0:
            on_progress(done, len(components))
        s = component[0]
        if len(component) == 1 and not any(t == s for _, to in rows[s] for t, _ in to):
            worth = [_worth(choice, values) for choice in rows[s]]
            values[s] = max(worth) if sense is Sense.MAX else min(worth)
        else:
            cyclic = True
            if not _policy_iteration(rows, component, values, sense, max_component, max_work):
                return _bounded(model, n_states, sense, on_progress)
    value = to_fraction(values[model.initial])
    method = ModelMethod.POLICY_ITERATION if cyclic else ModelMethod.ACYCLIC
    return ModelSolution(value=value, lower=value, upper=value, states=n_states, method=method)


def _bounded(
    model: ExplicitModel, n_states: int, sense: Sense, on_progress: Callable[[int, int], None] | None
) -> ModelSolution:
    lower, upper = total_reward_bounds(model, sense, on_progress=on_progress)
    return ModelSolution(
        value=lower if lower == upper else None,
        lower=lower,
        upper=upper,
        states=n_states,
        method=ModelMethod.BOUNDED_ITERATION,
    )


_Row = tuple[fmpq, list[tuple[int, fmpq]]]


def _ready(choice: Choice) -> _Row:
    to = [(t, to_fmpq(p)) for t, p in choice.to]
    return to_fmpq(choice.reward), to


def _worth(choice: _Row, values: Sequence[fmpq]) -> fmpq:
    total = choice[0]
    for t, p in choice[1]:
        total += p * values[t]
    return total


def _components(model: ExplicitModel) -> list[list[int]]:
    """Strongly connected components of the reachable unfinished states, each after all that it leads to."""
    graph = networkx.DiGraph()
    graph.add_node(model.initial)
    queue = [model.initial]
    for s in queue:
        if s in model.final:
            continue
        for choice in model.choices[s]:
            for t, _ in choice.to:
                if t not in graph:
                    queue.append(t)
                graph.add_edge(s, t)
    graph.remove_nodes_from([s for s in model.final if s in graph])
    # Tarjan's order: a component comes out when everything behind it has
    return [sorted(component) for component in networkx.strongly_connected_components(graph)]


def _can_avoid_the_end(model: ExplicitModel, components: Sequence[Sequence[int]]) -> bool:
    """Whether some choices keep a run among unfinished states forever: the greatest such set is not empty."""
    live = [s for component in components for s in component]
    sources: dict[int, list[tuple[int, int]]] = {}
    for s in live:
        for k, choice in enumerate(model.choices[s]):
            for t, _ in choice.to:
                sources.setdefault(t, []).append((s, k))
    left = {s: len(model.choices[s]) for s in live}
    spoilt: set[tuple[int, int]] = set()
    removed = [t for t in sources if t in model.final]
    for t in removed:
        for s, k in sources.get(t, ()):
            if (s, k) not in spoilt:
                spoilt.add((s, k))
                left[s] -= 1
                if left[s] == 0:
                    removed.append(s)
    return any(left.values())


def _policy_iteration(
    rows: Sequence[Sequence[_Row]],
    component: Sequence[int],
    values: list[fmpq],
    sense: Sense,
    max_component: int,
    max_work: int,
) -> bool:
    """Settle a component whose every policy leaves it, given the values behind it; False where it is too large."""
    picked = dict.fromkeys(component, 0)
    while True:
        chosen = {s: rows[s][k] for s, k in picked.items()}
        solved = _evaluated(chosen, values, max_component, max_work)
        if solved is None:
            return False
        for s, value in zip(component, solved, strict=True):
            values[s] = value
        improved = False
        for s in component:
            worth = [_worth(choice, values) for choice in rows[s]]
            best = max(worth) if sense is Sense.MAX else min(worth)
            if best != worth[picked[s]]:
                picked[s], improved = worth.index(best), True
        if not improved:
            return True


def _evaluated(
    chosen: Mapping[int, _Row], values: Sequence[fmpq], max_component: int, max_work: int
) -> list[fmpq] | None:
    """Values of states under one choice each, given those behind them; None where the system is too large."""
    place = {s: k for k, s in enumerate(chosen)}
    n = len(place)
    inside = [[(place[t], p) for t, p in to if t in place] for _, to in chosen.values()]
    right = [reward + sum((p * values[t] for t, p in to if t not in place), fmpq(0)) for reward, to in chosen.values()]
    if n > max_component:
        solved = solve_sparse(inside, [[x] for x in right], max_work=max_work)
        return None if solved is None else [x for (x,) in solved]
    matrix, column = fmpq_mat(n, n), fmpq_mat(n, 1)
    for k, row in enumerate(inside):
        matrix[k, k] += 1
        for j, p in row:
            matrix[k, j] -= p
        column[k, 0] = right[k]
    dense = matrix.solve(column)
    return [dense[k, 0] for k in range(n)]
