"""Best long-run average reward a step of an explicit model, multichain and periodic ones included.

A run ends up in an end component and can then do no better than that component's best average, which does not
depend on where it enters (de Alfaro 1997). So the maximal end components are solved one by one, and the model with
each of them drawn together into one state, where a run may stop and receive the component's average, is a problem of
total reward in which every policy ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import networkx

from fairlane.oracle.average.policy_iteration import best_average
from fairlane.oracle.average.workload_model import Move
from fairlane.oracle.explicit.explicit_model import Choice, ExplicitModel
from fairlane.oracle.explicit.model_solver import ModelMethod, ModelSolution, as_total, solve_model
from fairlane.oracle.rational.plain import Sense
from fairlane.reference.model.state import ZERO, Action


@dataclass(frozen=True, slots=True, kw_only=True)
class EndComponent:
    """States among which the listed choices, by number, can keep a run forever."""

    states: tuple[int, ...]
    choices: dict[int, tuple[int, ...]]


def average_reward(
    model: ExplicitModel, *, sense: Sense = Sense.MAX, on_progress: Callable[[int, int], None] | None = None
) -> ModelSolution:
    """Best expected long-run reward a step from the initial state.

    Parameters
    ----------
    model : ExplicitModel
        Any model; final states go on as their choices say.
    sense : Sense
        MAX or MIN.
    on_progress : callable or None
        Called with (done, total) of the current phase.

    Returns
    -------
    ModelSolution
        Exact, or proved bounds where an end component is too large for exact linear systems.
    """
    sign = 1 if sense is Sense.MAX else -1
    components = maximal_end_components(model.choices, model.initial)
    lowest, highest = [], []
    for component in components:
        found = best_average(_moves(model, component, sign), on_progress=on_progress)
        lowest.append(found.lower)
        highest.append(found.upper)
    lower = _stopped(model, components, lowest)
    upper = lower if lowest == highest else _stopped(model, components, highest)
    if sign < 0:
        lower, upper = -upper, -lower
    return ModelSolution(
        value=lower if lower == upper else None,
        lower=lower,
        upper=upper,
        states=len(model.choices),
        method=ModelMethod.END_COMPONENTS,
    )


def maximal_end_components(choices: Sequence[Sequence[Choice]], initial: int) -> tuple[EndComponent, ...]:
    """Maximal end components among the states that can be reached from the initial one, by their least state."""
    kept: dict[int, set[int]] = {}
    queue = [initial]
    for s in queue:
        if s not in kept:
            kept[s] = set(range(len(choices[s])))
            queue += [t for choice in choices[s] for t, _ in choice.to]
    while True:
        graph = networkx.DiGraph()
        graph.add_nodes_from(kept)
        graph.add_edges_from((s, t) for s, row in kept.items() for k in row for t, _ in choices[s][k].to)
        groups = [tuple(sorted(group)) for group in networkx.strongly_connected_components(graph)]
        group_of = {s: g for g, group in enumerate(groups) for s in group}
        changed = False
        for s, row in kept.items():
            staying = {k for k in row if all(group_of.get(t) == group_of[s] for t, _ in choices[s][k].to)}
            changed = changed or staying != row
            kept[s] = staying
        # a state without a choice left belongs to no end component
        lost = [s for s, row in kept.items() if not row]
        for s in lost:
            del kept[s]
        if not changed and not lost:
            return tuple(
                EndComponent(states=group, choices={s: tuple(sorted(kept[s])) for s in group})
                for group in sorted(groups)
            )


def _moves(model: ExplicitModel, component: EndComponent, sign: int) -> list[list[Move]]:
    place = {s: i for i, s in enumerate(component.states)}
    return [
        [
            Move(Action(k, (), ()), Fraction(1), sign * c.reward, tuple((place[t], p) for t, p in c.to))
            for k, c in ((k, model.choices[s][k]) for k in component.choices[s])
        ]
        for s in component.states
    ]


def _stopped(model: ExplicitModel, components: Sequence[EndComponent], averages: Sequence[Fraction]) -> Fraction:
    """Best expected average of the component a run stops in."""
    drawn: dict[int, int] = {s: g for g, component in enumerate(components) for s in component.states}
    number = len(components)
    for s in range(len(model.choices)):
        if s not in drawn:
            drawn[s] = number
            number += 1
    end = number
    rows: list[list[Choice]] = [[] for _ in range(end + 1)]
    for g, average in enumerate(averages):
        rows[g].append(Choice(name="stay", reward=average, to=((end, Fraction(1)),)))
    for s, choices in enumerate(model.choices):
        own = drawn[s]
        inside = set(components[own].choices[s]) if own < len(components) else set()
        for k, choice in enumerate(choices):
            if k in inside:
                continue
            to: dict[int, Fraction] = {}
            for t, p in choice.to:
                to[drawn[t]] = to.get(drawn[t], ZERO) + p
            rows[own].append(Choice(name=choice.name, reward=ZERO, to=tuple(sorted(to.items()))))
    rows[end].append(Choice(name="end", reward=ZERO, to=((end, Fraction(1)),)))
    total = solve_model(as_total(rows, drawn[model.initial], end), max_component=end + 1)
    assert total.value is not None
    return total.value
