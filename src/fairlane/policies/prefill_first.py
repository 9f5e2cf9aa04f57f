"""``prefill-first``: prompts before decodes, first come first served.

Source: the default order of iteration-level serving systems without chunking, where a waiting prompt preempts
decoding (Yu et al., "Orca", OSDI 2022; Kwon et al., "vLLM", SOSP 2023).
"""

from __future__ import annotations

from fairlane.policies.phase_first import arrival_order, serve_prompts_first
from fairlane.reference.model.policy import Decision, FunctionPolicy, PolicySpec, View


def decide(view: View) -> Decision:
    """Prompts in order of arrival while any waits."""
    return serve_prompts_first(view, arrival_order)


POLICY = PolicySpec(
    name="prefill-first",
    policy=FunctionPolicy(decide, frozenset()),
    source="Orca (OSDI 2022) and vLLM (SOSP 2023): waiting prompts run before decodes",
    assumes="nothing about lengths",
)
