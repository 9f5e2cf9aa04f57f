"""Best long-run average reward of an explicit model, multichain and periodic ones included.

It counts a step where the model counts steps, and a unit of time where it takes time. A run ends up in an end
component and can then do no better than that component's best average, which does not depend on where it enters
(de Alfaro 1997). So the maximal end components are solved one by one, and the model with each of them drawn together
into one state, where a run may stop and receive the component's average, is a problem of total reward in which every
policy ends.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlane.oracle.average.policy_iteration import best_average
from fairlane.oracle.average.workload_model import Move
from fairlane.oracle.explicit.end_components import EndComponent, drawn_together, maximal_end_components
from fairlane.oracle.explicit.explicit_model import ExplicitModel
from fairlane.oracle.explicit.model_solver import ModelMethod, ModelSolution, solve_model
from fairlane.oracle.rational.plain import Sense
from fairlane.reference.errors import Unsupported
from fairlane.reference.model.state import Action


def average_reward(
    model: ExplicitModel, *, sense: Sense = Sense.MAX, on_progress: Callable[[int, int], None] | None = None
) -> ModelSolution:
    """Best expected long-run reward from the initial state, a step or a unit of time.

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

    Raises
    ------
    Unsupported
        A run of the model can go on forever without time passing.
    """
    sign = 1 if sense is Sense.MAX else -1
    if maximal_end_components(model.choices, model.initial, keep=lambda choice: choice.duration == 0):
        raise Unsupported("a run of the model can go on forever without time passing, so it has no average in time")
    components = maximal_end_components(model.choices, model.initial)
    lowest, highest = [], []
    for component in components:
        found = best_average(_moves(model, component, sign), on_progress=on_progress)
        lowest.append(found.lower)
        highest.append(found.upper)
    stopped = solve_model(drawn_together(model, components, lowest, rewards=False))
    lower, upper = stopped.lower, stopped.upper
    if lowest != highest:
        upper = solve_model(drawn_together(model, components, highest, rewards=False)).upper
    if sign < 0:
        lower, upper = -upper, -lower
    return ModelSolution(
        value=lower if lower == upper else None,
        lower=lower,
        upper=upper,
        states=len(model.choices),
        method=ModelMethod.END_COMPONENTS,
    )


def _moves(model: ExplicitModel, component: EndComponent, sign: int) -> list[list[Move]]:
    place = {s: i for i, s in enumerate(component.states)}
    return [
        [
            Move(Action(k, (), ()), c.duration, sign * c.reward, tuple((place[t], p) for t, p in c.to))
            for k, c in ((k, model.choices[s][k]) for k in component.choices[s])
        ]
        for s in component.states
    ]
