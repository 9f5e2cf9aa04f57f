"""``shortest-prompt``: prompts before decodes, the shortest remaining one first.

Source: shortest remaining processing time on the known part of the work (Schrage 1968,
doi:10.1287/opre.16.3.687), applied to prompts.
"""

from __future__ import annotations

from fairlane.policies.phase_first import serve_prompts_first
from fairlane.reference.exact import Real
from fairlane.reference.model.policy import Decision, FunctionPolicy, PolicySpec, RequestView, View


def _shortest(request: RequestView) -> tuple[Real, ...]:
    return request.prompt, request.arrival_ms, request.index


def decide(view: View) -> Decision:
    """Prompts by tokens left while any waits."""
    return serve_prompts_first(view, _shortest)


POLICY = PolicySpec(
    name="shortest-prompt",
    policy=FunctionPolicy(decide, frozenset()),
    source="shortest remaining processing time (Schrage 1968) on prompt tokens",
    assumes="known prompt lengths",
)
