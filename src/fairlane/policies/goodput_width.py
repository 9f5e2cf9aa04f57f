"""``goodput-width``: prompts first; for decodes the verification width of most expected tokens per millisecond.

Source: goodput-driven speculation length (Liu et al., "Optimizing Speculative Decoding for Serving Large
Language Models Using Goodput", 2024), with the catalog's durations in place of a fitted model.
"""

from __future__ import annotations

from fractions import Fraction

from fairlane.policies.choosing import choose, phases, queued
from fairlane.policies.phase_first import arrival_order, serve_prompts_first
from fairlane.reference.model.policy import Decision, FunctionPolicy, PolicySpec, View
from fairlane.reference.model.score import RowValues


def decide(view: View) -> Decision:
    """Prompts in order of arrival while any waits, then decode rows by expected tokens per ms."""
    prompts, rows = phases(view)
    if prompts:
        return serve_prompts_first(view, arrival_order)
    rows.sort(key=arrival_order)
    return choose(
        queued(
            view,
            prompts=(),
            rows=rows,
            usable=lambda g: g.decode_capacity > 0,
            row_worth=RowValues(Fraction(1)).unweighted,
            share_worth=lambda r, share: 0,
        )
    )


POLICY = PolicySpec(
    name="goodput-width",
    policy=FunctionPolicy(decide, frozenset()),
    source="goodput-driven speculation (Liu et al. 2024)",
    assumes="known acceptance and durations",
)
