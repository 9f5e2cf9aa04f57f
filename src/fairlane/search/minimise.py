"""Make a witness smaller, one step at a time, until no step is left that keeps it a witness.

A step drops a request or a graph, takes tokens away, shortens a prior, makes two durations equal, divides all of them
by what they have in common, takes a price to 0 or a number to a simpler one. Only steps that lead to a smaller
instance, in the order of size, are tried, so that minimising ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from math import gcd, lcm
from typing import TypeVar

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.request import Request
from fairlane.search.size import size_of
from fairlane.search.space import IDS, renamed
from fairlane.search.variation import (
    graph_with,
    numbers,
    plainly_named,
    request_with,
    simpler,
    with_number,
    with_parts,
)

Built = TypeVar("Built")
Build = Callable[[], Built]


def minimise(
    instance: Instance, holds: Callable[[Instance], bool], *, max_instances: int
) -> tuple[Instance, int, bool]:
    """A smaller witness.

    Parameters
    ----------
    instance : Instance
        A witness.
    holds : callable
        Whether an instance is one, exactly.
    max_instances : int
        How many instances may be looked at.

    Returns
    -------
    Instance, int, bool
        The smallest one reached, how many were looked at, and whether every step from it was tried in vain.
    """
    tried: set[str] = set()
    looked = 0
    best = plainly_named(instance)
    size = size_of(best)
    while True:
        for candidate in steps(best):
            smaller = size_of(candidate)
            if smaller >= size or smaller.text in tried:
                continue
            if looked == max_instances:
                return best, looked, False
            tried.add(smaller.text)
            looked += 1
            if holds(candidate):
                best, size = candidate, smaller
                break
        else:
            return best, looked, True


def steps(instance: Instance) -> Iterator[Instance]:
    """Instances with one thing simpler, the boldest steps first; those that are no instance are left out."""
    for build in _steps(instance):
        try:
            yield plainly_named(build())
        except InvalidInstance:
            # a graph that was needed, a prior without mass: no instance, so no step
            continue


def _steps(instance: Instance) -> Iterator[Build[Instance]]:
    requests, graphs = instance.requests, instance.graphs.graphs
    for i in range(len(requests)):
        kept = [renamed(r, IDS[k]) for k, r in enumerate((*requests[:i], *requests[i + 1 :]))]
        yield partial(with_parts, instance, requests=kept)
    for i, request in enumerate(requests):
        for build in _smaller_requests(request):
            yield partial(_with_request, instance, i, build)
    for k in range(len(graphs)):
        yield partial(with_parts, instance, graphs=[*graphs[:k], *graphs[k + 1 :]])
    for k, graph in enumerate(graphs):
        for less in _below(graph.prefill_capacity, 0):
            yield partial(_with_graph, instance, k, partial(graph_with, graph, prefill_capacity=less))
        for less in _below(graph.prefill_lanes, 1):
            yield partial(_with_graph, instance, k, partial(graph_with, graph, prefill_lanes=less))
        for less in _below(graph.decode_capacity, 0):
            yield partial(_with_graph, instance, k, partial(graph_with, graph, decode_capacity=less))
        for less in _below(graph.width, 1):
            yield partial(_with_graph, instance, k, partial(graph_with, graph, width=less))
    yield partial(_rescaled, instance)
    for k, graph in enumerate(graphs):
        for span in dict.fromkeys(other.duration_ms for other in graphs):
            if span != graph.duration_ms:
                yield partial(_with_graph, instance, k, partial(graph_with, graph, duration_ms=span))
    for number in numbers(instance):
        if number.value and not number.positive:
            yield partial(with_number, instance, number, Fraction(0))
        for value in simpler(number.value) if number.value else ():
            if number.highest is None or value <= number.highest:
                yield partial(with_number, instance, number, value)


def _below(now: int, least: int) -> Iterator[int]:
    """Smaller whole numbers worth trying, the boldest first."""
    yield from (n for n in dict.fromkeys((least, least + 1, now // 2, now - 1)) if least <= n < now)


def _with_request(instance: Instance, i: int, build: Build[Request]) -> Instance:
    return with_parts(instance, requests=[*instance.requests[:i], build(), *instance.requests[i + 1 :]])


def _with_graph(instance: Instance, k: int, build: Build[Graph]) -> Instance:
    rows = instance.graphs.graphs
    return with_parts(instance, graphs=[*rows[:k], build(), *rows[k + 1 :]])


def _smaller_requests(request: Request) -> Iterator[Build[Request]]:
    for prompt in _below(request.prompt, 0):
        yield partial(request_with, request, prompt=prompt)
    left = request.limit - request.generated
    for rest in _below(left, 1):
        yield partial(request_with, request, limit=request.generated + rest)
        if request.generated:
            yield partial(request_with, request, generated=request.limit - rest)
    if request.generated:
        # the same output left, counted from its start
        yield partial(request_with, request, generated=0, limit=left)
    for drafts in range(len(request.acceptance)):
        yield partial(request_with, request, acceptance=request.acceptance[:drafts])
    prior = request.length_prior
    if prior is None:
        return
    yield partial(request_with, request, certain=True)
    for k in range(len(prior) if len(prior) > 1 else 0):
        rest_of = [*prior[:k], *prior[k + 1 :]]
        mass = sum((p for _, p in rest_of), Fraction(0))
        yield partial(request_with, request, length_prior=tuple((n, p / mass) for n, p in rest_of))
    yield partial(request_with, request, length_prior=tuple((n, Fraction(1, len(prior))) for n, _ in prior))


def _rescaled(instance: Instance) -> Instance:
    """Durations divided by the largest number that leaves all of them whole."""
    spans = [g.duration_ms for g in instance.graphs]
    below = lcm(*(s.denominator for s in spans))
    common = Fraction(gcd(*(int(s * below) for s in spans)), below)
    return with_parts(instance, graphs=[graph_with(g, duration_ms=g.duration_ms / common) for g in instance.graphs])
