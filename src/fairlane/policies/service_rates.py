"""Observed service rates of live requests: how they start, how they fade, and what they are priced by.

Per request a useful-token rate x and, while it decodes, a delivery rate z, both per ms. Over a graph of T ms and
with the history length H,

    x <- e^(-T/H) x + (1 - e^(-T/H)) tokens / T,

z likewise with deliveries, for everyone live, served or not. A request that is new starts at its normaliser, the
best rate that a graph of known duration can give it, so no rate is ever zero when it is divided by. Rates are
doubles, since e^(-T/H) is irrational; a policy on them is still evaluated exactly, because its value depends on its
decisions only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.policy import Completion, Memory, RequestView, Running, View
from fairlane.reference.model.same import Same
from fairlane.reference.model.score import row_yields


class Rate(NamedTuple):
    """Useful tokens per ms, and deliveries per ms once it decodes; 0 stands for a term without a normaliser."""

    tokens_per_ms: float
    deliveries_per_ms: float | None


class Measured(NamedTuple):
    """A graph with what it is taken to last, ms, and its place in the catalog."""

    graph: Graph
    duration_ms: float
    order: int


Rates = tuple[tuple[str, Rate], ...]


class _Service(NamedTuple):
    """What one lane received, or is expected to: useful tokens, whether any of them is output, whether it ended."""

    tokens: float
    delivered: bool
    finished: bool


@lru_cache(maxsize=64)
def _durations(catalog: Same[Catalog]) -> tuple[Measured, ...]:
    return tuple(Measured(graph, float(graph.duration_ms), order) for order, graph in enumerate(catalog.of))


def measured_graphs(view: View) -> tuple[Measured, ...]:
    """Every graph that the dispatcher has an estimate of, in catalog order."""
    if view.estimates is view.catalog.durations_ms:
        return _durations(Same(view.catalog))
    return tuple(Measured(graph, float(known), order) for order, graph, known in view.known_graphs())


@lru_cache(maxsize=65536)
def _rounded(acceptance: Same[tuple[Fraction, ...]]) -> tuple[float, ...]:
    return tuple(float(expected) for expected in row_yields(acceptance))


def yields(acceptance: tuple[Fraction, ...]) -> tuple[float, ...]:
    """D(1), D(2), ... of an acceptance list, one more than its drafts; later widths add nothing."""
    return _rounded(Same(acceptance))


def row_tokens(request: RequestView, width: int) -> float:
    """Expected output of a decode row, cut by the limit and by no belief about the length."""
    if width == 1 or not request.acceptance:
        return 1.0
    of_width = yields(request.acceptance)
    return of_width[min(width, request.limit - request.generated, len(of_width)) - 1]


def token_normaliser(request: RequestView, graphs: Iterable[Measured]) -> float:
    """The best useful-token rate of a request's phase over graphs of known duration, 0 where there is none."""
    if request.prompt > 0:
        return max(
            (min(g.prefill_capacity, request.prompt) / t for g, t, _ in graphs if g.prefill_capacity), default=0.0
        )
    return max((row_tokens(request, g.width) / t for g, t, _ in graphs if g.decode_capacity), default=0.0)


def delivery_normaliser(n_decoding: int, graphs: Iterable[Measured]) -> float:
    """Delivery rate of each of ``n_decoding`` streams that share the best batch, 0 where there is none."""
    n = max(n_decoding, 1)
    return max((min(g.decode_capacity, n) / (n * t) for g, t, _ in graphs if g.decode_capacity), default=0.0)


def rates_of(memory: Memory) -> dict[str, Rate]:
    """A policy's memory as rates by request."""
    assert isinstance(memory, tuple)
    return dict(memory)


def current_rates(view: View, known: Mapping[str, Rate], graphs: Sequence[Measured]) -> dict[str, Rate]:
    """The rate of every live request; new ones, and streams without a delivery rate, start at their normalisers."""
    n_decoding = sum(1 for r in (*view.requests, *view.in_flight) if r.decoding)
    delivery = delivery_normaliser(n_decoding, graphs)
    out: dict[str, Rate] = {}
    for request in view.requests:
        rate = known.get(request.id)
        if rate is None:
            rate = Rate(token_normaliser(request, graphs), None)
        if request.decoding and rate.deliveries_per_ms is None:
            rate = rate._replace(deliveries_per_ms=delivery)
        out[request.id] = rate
    return out


def faded(rate: float, amount: float, duration_ms: float, history_ms: float) -> float:
    """A rate after a graph of ``duration_ms`` in which ``amount`` was received."""
    kept = math.exp(-duration_ms / history_ms)
    return kept * rate - math.expm1(-duration_ms / history_ms) * amount / duration_ms


def observed(memory: Memory, completion: Completion, graphs: Sequence[Measured], history_ms: float) -> Rates:
    """Rates of those still live after a completion, faded by the time that the graph took.

    A stream's delivery rate starts at its normaliser with its first output, and is not also credited with it.
    """
    services = {
        lane.id: _Service(lane.consumed + lane.published, lane.published > 0, lane.finished)
        for lane in completion.lanes
    }
    return _after(memory, completion.view, services, graphs, history_ms, float(completion.elapsed_ms))


def projected(memory: Memory, running: Running, graphs: Sequence[Measured], history_ms: float) -> Rates:
    """A copy of the rates as the expected service of a running graph would leave them; nothing is observed yet.

    Prompt tokens are certain, a row's output is its expected yield cut by the limit, and only who must reach the
    limit is taken to end. The update is linear in what was received, so this is the mean of the rates that the
    completion can leave, where nobody can end. Of a graph without an estimate nothing is expected.
    """
    span = next((m.duration_ms for m in graphs if m.graph == running.graph), None)
    if span is None:
        return tuple(rates_of(memory).items())
    live = {r.id: r for r in running.view.requests}
    services: dict[str, _Service] = {}
    left = running.graph.prefill_capacity
    for name in running.decision.prefill:
        request = live[name]
        consumed = min(left, request.prompt)
        left -= consumed
        ends = consumed == request.prompt
        services[name] = _Service(consumed + int(ends), ends, ends and request.limit - request.generated == 1)
    for name in running.decision.decode:
        request = live[name]
        tokens = row_tokens(request, running.graph.width)
        services[name] = _Service(tokens, True, request.limit - request.generated == 1)
    return _after(memory, running.view, services, graphs, history_ms, span)


def _after(
    memory: Memory,
    view: View,
    services: Mapping[str, _Service],
    graphs: Sequence[Measured],
    history_ms: float,
    span: float,
) -> Rates:
    before = current_rates(view, rates_of(memory), graphs)
    after: list[tuple[str, Rate]] = []
    n_decoding = sum(
        1
        for r in view.requests
        if (r.decoding or (r.id in services and services[r.id].delivered))
        and not (r.id in services and services[r.id].finished)
    )
    for request in view.requests:
        service = services.get(request.id)
        if service is not None and service.finished:
            continue
        tokens = 0 if service is None else service.tokens
        x, z = before[request.id]
        new_z = None
        if z is not None:
            new_z = faded(z, 1.0 if service is not None else 0.0, span, history_ms)
        elif service is not None and service.delivered:
            new_z = delivery_normaliser(n_decoding, graphs)
        after.append((request.id, Rate(faded(x, tokens, span, history_ms), new_z)))
    return tuple(after)


def price(coefficient: float, rate: float | None) -> float:
    """A fairness coefficient over a rate; a term without a normaliser is left out."""
    return coefficient / rate if rate else 0.0
