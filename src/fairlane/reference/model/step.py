"""The readable step of the model: one action from one state, every outcome with its probability and reward.

This is the meaning on which the compiled oracle and the simulator are checked. It favours plainness over speed.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import NamedTuple

from fairlane.reference.model.instance import Instance
from fairlane.reference.model.pricing import action_cost, output_worth, prompt_worth
from fairlane.reference.model.state import FINISHED, ZERO, Action, LocalState, State, prompt_shares
from fairlane.reference.model.yields import row_outcomes


class Outcome(NamedTuple):
    """One way an action can end.

    ``published`` has one (request, tokens) pair for each lane that published, ``consumed`` one for each prompt
    that was filled; ``reward`` is everything the objective counts over the graph.
    """

    probability: Fraction
    state: State
    reward: Fraction
    published: tuple[tuple[int, int], ...]
    consumed: tuple[tuple[int, int], ...]


def step(instance: Instance, state: State, action: Action) -> tuple[Outcome, ...]:
    """Every outcome of an action.

    Parameters
    ----------
    instance : Instance
        Graphs, requests and objective.
    state : State
        Not final.
    action : Action
        Legal in ``state``.

    Returns
    -------
    tuple of Outcome
        Positive probabilities that sum to 1. Rows are independent given the state; everything is published at
        the graph's completion, and time passes for every unfinished request.
    """
    graph = instance.graphs.graphs[action.graph]
    prices = instance.objective
    paid = action_cost(instance, state, graph)
    shares = prompt_shares(graph, state, action.prefill)
    consumed = tuple(zip(action.prefill, shares, strict=True))
    work = sum((prompt_worth(prices, instance.requests[i].weight, share) for i, share in consumed), ZERO)

    # per lane: (probability, tokens published, local state after)
    lanes: list[tuple[int, list[tuple[Fraction, int, LocalState]]]] = []
    for i, share in consumed:
        left = state[i].prompt - share
        if left > 0:
            lanes.append((i, [(Fraction(1), 0, LocalState(left, 0, ZERO, False))]))
        else:
            # the last prompt token publishes exactly one output token, as a row of width 1 does
            lanes.append((i, _row(instance, i, 0, 1)))
    for i in action.decode:
        lanes.append((i, _row(instance, i, state[i].generated, graph.width)))

    after = [
        local if local.finished or local.prompt > 0 else local._replace(age_ms=local.age_ms + graph.duration_ms)
        for local in state
    ]
    outcomes: list[Outcome] = []
    for combination in product(*(options for _, options in lanes)):
        probability = Fraction(1)
        reward = work - paid
        following = list(after)
        published: list[tuple[int, int]] = []
        for (i, _), (p, tokens, local) in zip(lanes, combination, strict=True):
            probability *= p
            following[i] = local
            if tokens:
                reward += output_worth(prices, instance.requests[i].weight, tokens)
                published.append((i, tokens))
        outcomes.append(Outcome(probability, tuple(following), reward, tuple(published), consumed))
    return tuple(outcomes)


def _row(instance: Instance, i: int, generated: int, width: int) -> list[tuple[Fraction, int, LocalState]]:
    request = instance.requests[i]
    outcomes = row_outcomes(request.acceptance, width, request.length_prior, generated, request.limit)
    return [
        (o.probability, o.n, FINISHED if o.finished else LocalState(0, generated + o.n, ZERO, False)) for o in outcomes
    ]
