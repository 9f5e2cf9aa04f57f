"""``decode-first``: all decodes, then prompt chunks in what is left.

Source: stall-free batching (Agrawal et al., "Sarathi-Serve", OSDI 2024).
"""

from __future__ import annotations

from fairlane.policies.phase_first import serve_decodes_first
from fairlane.reference.model.policy import Decision, FunctionPolicy, PolicySpec, View


def decide(view: View) -> Decision:
    """Decode rows while any request decodes; prompts ride along in mixed graphs."""
    return serve_decodes_first(view)


POLICY = PolicySpec(
    name="decode-first",
    policy=FunctionPolicy(decide, frozenset()),
    source="Sarathi-Serve (OSDI 2024): decodes first, prompt chunks in the remaining budget",
    assumes="nothing about lengths",
)
