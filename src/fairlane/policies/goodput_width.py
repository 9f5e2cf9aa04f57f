"""``goodput-width``: prompts first; for decodes the verification width of most expected tokens per millisecond.

Source: goodput-driven speculation length (Liu et al., "Optimizing Speculative Decoding for Serving Large
Language Models Using Goodput", 2024), with the catalog's durations in place of a fitted model.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlane.policies.choosing import choose, phases, queued
from fairlane.policies.phase_first import arrival_order, serve_prompts_first
from fairlane.reference.exact import Real
from fairlane.reference.graph import Graph
from fairlane.reference.policy import Decision, FunctionPolicy, PolicySpec, RequestView, View
from fairlane.reference.yields import exact_yield


def _goodput(graph: Graph, prefill: Sequence[RequestView], decode: Sequence[RequestView]) -> Real:
    tokens = sum(exact_yield(r.acceptance, graph.width, r.limit - r.generated) for r in decode)
    return tokens / graph.duration_ms


def decide(view: View) -> Decision:
    """Prompts in order of arrival while any waits, then decode rows by expected tokens per ms."""
    prompts, rows = phases(view)
    if prompts:
        return serve_prompts_first(view, arrival_order)
    rows.sort(key=arrival_order)
    return choose(queued(view, prompts=(), rows=rows, usable=lambda g: g.decode_capacity > 0, score=_goodput))


POLICY = PolicySpec(
    name="goodput-width",
    policy=FunctionPolicy(decide, frozenset()),
    source="goodput-driven speculation (Liu et al. 2024)",
    assumes="known acceptance and durations",
)
