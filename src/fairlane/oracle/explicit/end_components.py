"""Maximal end components of an explicit model, and the model with each of them drawn together into one state.

An end component is a set of states with some of their choices that can keep a run inside forever and lead from every
state of it to every other one (de Alfaro 1997).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

import networkx

from fairlane.oracle.explicit.explicit_model import Choice, ExplicitModel
from fairlane.reference.model.state import ZERO


@dataclass(frozen=True, slots=True, kw_only=True)
class EndComponent:
    """States among which the listed choices, by number, can keep a run forever."""

    states: tuple[int, ...]
    choices: dict[int, tuple[int, ...]]


def maximal_end_components(
    choices: Sequence[Sequence[Choice]],
    initial: int,
    *,
    final: Collection[int] = (),
    keep: Callable[[Choice], bool] = lambda choice: True,
) -> tuple[EndComponent, ...]:
    """Maximal end components among the states that can be reached from the initial one, by their least state.

    Parameters
    ----------
    choices : sequence of sequences of Choice
        Those of each state.
    initial : int
        Where runs start.
    final : collection of int
        States in which runs end; they are in no component and nothing behind them counts.
    keep : callable
        Only choices it accepts can belong to a component.
    """
    kept: dict[int, set[int]] = {}
    queue = [initial]
    for s in queue:
        if s not in kept and s not in final:
            kept[s] = {k for k, choice in enumerate(choices[s]) if keep(choice)}
            queue += [t for choice in choices[s] for t, _ in choice.to]
    while True:
        graph = networkx.DiGraph()
        graph.add_nodes_from(kept)
        graph.add_edges_from((s, t) for s, row in kept.items() for k in row for t, _ in choices[s][k].to)
        groups = [tuple(sorted(group)) for group in networkx.strongly_connected_components(graph)]
        group_of = {s: g for g, group in enumerate(groups) for s in group}
        changed = False
        for s, row in kept.items():
            staying = {k for k in row if all(t in kept and group_of[t] == group_of[s] for t, _ in choices[s][k].to)}
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


def drawn_together(
    model: ExplicitModel,
    components: Sequence[EndComponent],
    worth: Sequence[Fraction],
    *,
    rewards: bool,
    final: Collection[int] = (),
) -> ExplicitModel:
    """The model in which each component is one state, where a run may also stop and receive the component's worth.

    Parameters
    ----------
    model : ExplicitModel
        Any model.
    components : sequence of EndComponent
        Disjoint; the choices that stay inside are left out.
    worth : sequence of Fraction
        What stopping in each earns.
    rewards : bool
        Whether the choices that are left keep their rewards, or earn nothing.
    final : collection of int
        States that end a run; they become the one end.

    Returns
    -------
    ExplicitModel
        With one final state, its last.
    """
    drawn: dict[int, int] = {s: g for g, component in enumerate(components) for s in component.states}
    number = len(components)
    for s in range(len(model.choices)):
        if s not in drawn and s not in final:
            drawn[s] = number
            number += 1
    end = number
    rows: list[list[Choice]] = [[] for _ in range(end + 1)]
    for g, reward in enumerate(worth):
        rows[g].append(Choice(name="stay", reward=reward, to=((end, Fraction(1)),)))
    for s, choices in enumerate(model.choices):
        if s in final:
            continue
        own = drawn[s]
        inside = set(components[own].choices[s]) if own < len(components) else set()
        for k, choice in enumerate(choices):
            if k in inside:
                continue
            to: dict[int, Fraction] = {}
            for t, p in choice.to:
                target = drawn.get(t, end)
                to[target] = to.get(target, ZERO) + p
            reward = choice.reward if rewards else ZERO
            rows[own].append(Choice(name=choice.name, reward=reward, to=tuple(sorted(to.items()))))
    rows[end].append(Choice(name="end", reward=ZERO, to=((end, Fraction(1)),)))
    return ExplicitModel(
        choices=tuple(map(tuple, rows)),
        initial=drawn.get(model.initial, end),
        final=frozenset({end}),
        reward_name=model.reward_name,
    )
