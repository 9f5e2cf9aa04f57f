"""What an action costs and what it earns: every value and price of an objective, in one place.

    earned at completion    prefill value a prompt token, decode value an output token, times the request's weight
    per launch              energy price times the graph's energy
    per ms                  time price while anybody is unfinished; of each unfinished request, times its weight, the
                            completion price and, before its first output, the first-output price
    per request·ms²         age price times the weight, on A T + T²/2 of each decoding request, served or not

The readable step, the rational solvers, the constants of compiled sweeps, the scores of policies and what the simulator
books are made from these functions. The independent checkers write the same formulas down a second time.
"""

from __future__ import annotations

from fractions import Fraction

from fairlane.reference.model.age import output_age_area
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.state import ZERO, State


def prompt_worth(prices: Objective, weight: Fraction, tokens: int) -> Fraction:
    """Earned by consuming so many prompt tokens of a request."""
    return prices.prefill_value * weight * tokens


def output_worth(prices: Objective, weight: Fraction, tokens: Fraction | int) -> Fraction:
    """Earned by publishing so many output tokens of a request, or by so many in expectation."""
    return prices.decode_value * weight * tokens


def launch_cost(prices: Objective, graph: Graph) -> Fraction:
    """Paid for each launch of a graph, whatever is in it."""
    return prices.energy_price * graph.energy_j


def waiting_rate(prices: Objective, weight: Fraction, *, before_output: bool) -> Fraction:
    """Paid a ms for one unfinished request, output ages apart."""
    rate = prices.completion_price + prices.first_output_price if before_output else prices.completion_price
    return rate * weight


def age_rate(prices: Objective, weight: Fraction) -> Fraction:
    """Paid a request·ms² of a decoding request's output age."""
    return prices.age_price * weight


def age_cost(prices: Objective, weight: Fraction, age_ms: Fraction, duration_ms: Fraction) -> Fraction:
    """Paid for one decoding request's output age over ``duration_ms`` that begin at ``age_ms``."""
    return age_rate(prices, weight) * output_age_area(age_ms, duration_ms)


def keeps_age(prices: Objective) -> bool:
    """Whether output ages count, so that a state needs them."""
    return prices.age_price > 0


def charges_launches(instance: Instance) -> bool:
    """Whether some launch is paid for beyond its time."""
    return any(launch_cost(instance.objective, graph) for graph in instance.graphs)


def time_cost(instance: Instance, state: State, duration_ms: Fraction) -> Fraction:
    """Paid for letting ``duration_ms`` pass in a state: time, completion, first-output and age prices."""
    prices = instance.objective
    rate = prices.time_price if any(not local.finished for local in state) else ZERO
    aged = ZERO
    for request, local in zip(instance.requests, state, strict=True):
        if local.finished:
            continue
        rate += waiting_rate(prices, request.weight, before_output=local.prompt > 0)
        if local.prompt == 0 and prices.age_price:
            aged += age_cost(prices, request.weight, local.age_ms, duration_ms)
    return rate * duration_ms + aged


def action_cost(instance: Instance, state: State, graph: Graph) -> Fraction:
    """Paid for one launch of a graph in a state, time included; what it earns comes on top."""
    return time_cost(instance, state, graph.duration_ms) + launch_cost(instance.objective, graph)
