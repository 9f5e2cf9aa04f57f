"""States of an episode, and the actions that are legal in them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, permutations
from typing import NamedTuple

from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance


class LocalState(NamedTuple):
    """One request: prompt tokens left, output published, its output age, and whether it has finished.

    The age is 0 before the first output and after the last, so that equal situations are equal states.
    """

    prompt: int
    generated: int
    age_ms: Fraction
    finished: bool


State = tuple[LocalState, ...]

ZERO = Fraction(0)
FINISHED = LocalState(0, 0, ZERO, True)


class Action(NamedTuple):
    """A graph with the requests in its lanes, all by index; prompts in the order they are filled."""

    graph: int
    prefill: tuple[int, ...]
    decode: tuple[int, ...]


def initial_state(instance: Instance) -> State:
    """All requests present; one that arrives decoding starts with age 0."""
    return tuple(LocalState(r.prompt, r.generated, ZERO, False) for r in instance.requests)


def is_final(state: State) -> bool:
    """Whether every request has finished."""
    return all(local.finished for local in state)


def prompt_shares(graph: Graph, state: State, prefill: tuple[int, ...]) -> tuple[int, ...]:
    """Prompt tokens each listed request receives when the list is filled in order."""
    left = graph.prefill_capacity
    out: list[int] = []
    for i in prefill:
        share = min(left, state[i].prompt)
        out.append(share)
        left -= share
    return tuple(out)


def actions(instance: Instance, state: State) -> Iterator[Action]:
    """Every legal action, graph by graph; lists that give the same shares to the same requests appear once."""
    prompts = [i for i, local in enumerate(state) if local.prompt > 0 and not local.finished]
    rows = [i for i, local in enumerate(state) if local.prompt == 0 and not local.finished]
    for g, graph in enumerate(instance.graphs):
        fills: dict[frozenset[tuple[int, int]], tuple[int, ...]] = {frozenset(): ()}
        if graph.prefill_capacity:
            for size in range(1, min(graph.prefill_lanes, len(prompts)) + 1):
                for order in permutations(prompts, size):
                    shares = prompt_shares(graph, state, order)
                    if shares[-1] > 0:
                        fills.setdefault(frozenset(zip(order, shares, strict=True)), order)
        for prefill in fills.values():
            for size in range(min(graph.decode_capacity, len(rows)) + 1):
                for decode in combinations(rows, size):
                    if prefill or decode:
                        yield Action(g, prefill, decode)
