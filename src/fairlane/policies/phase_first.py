"""Policies that keep a queue for each phase and serve one phase before the other.

Within the preferred phase the graph is the one of highest fixed-value score. Lanes of the other phase that the
chosen graph has are filled too: leaving them empty would waste what is paid for anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlane.policies.choosing import choose, phases, queued
from fairlane.reference.exact import Real
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.policy import Decision, RequestView, View
from fairlane.reference.model.score import RowValues, prompt_value


def valued(
    view: View,
    prompts: Sequence[RequestView],
    rows: Sequence[RequestView],
    usable: Callable[[Graph], bool],
) -> Decision:
    """The graph of highest fixed-value score, lanes filled from the front of both queues."""
    beta = view.objective.decode_value
    return choose(
        queued(
            view,
            prompts=prompts,
            rows=rows,
            usable=usable,
            row_worth=RowValues(beta),
            share_worth=lambda request, share: prompt_value(request, share, beta),
        )
    )


def arrival_order(request: RequestView) -> tuple[Real, int]:
    """First come, first served."""
    return request.arrival_ms, request.index


def serve_prompts_first(view: View, queue: Callable[[RequestView], tuple[Real, ...]]) -> Decision:
    """A prefill graph while any prompt waits, otherwise a decode graph."""
    prompts, rows = phases(view)
    prompts.sort(key=queue)
    rows.sort(key=arrival_order)
    wanted = (lambda g: g.prefill_capacity > 0) if prompts else (lambda g: g.decode_capacity > 0)
    return valued(view, prompts, rows, wanted)


def serve_decodes_first(view: View) -> Decision:
    """A decode graph while any request decodes, prompts in what its prefill lanes leave; otherwise a prefill graph."""
    prompts, rows = phases(view)
    prompts.sort(key=arrival_order)
    rows.sort(key=arrival_order)
    wanted = (lambda g: g.decode_capacity > 0) if rows else (lambda g: g.prefill_capacity > 0)
    return valued(view, prompts, rows, wanted)


def serve_head_first(view: View, key: Callable[[RequestView], tuple[Real, ...]]) -> Decision:
    """A graph that holds the first request of one queue over both phases; other lanes in the queue's order."""
    line = sorted(view.requests, key=key)
    if not line:
        return choose(())
    prompts = [r for r in line if r.prompt > 0]
    rows = [r for r in line if r.prompt == 0]
    wanted = (lambda g: g.prefill_capacity > 0) if line[0].prompt > 0 else (lambda g: g.decode_capacity > 0)
    return valued(view, prompts, rows, wanted)
