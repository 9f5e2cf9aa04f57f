"""``round-robin``: the request served least recently is next, whatever its phase.

Source: round-robin time sharing with graphs as quanta (Kleinrock 1964, doi:10.1002/nav.3800110105).
"""

from __future__ import annotations

from fairlane.policies.choosing import oldest_first
from fairlane.policies.phase_first import serve_head_first
from fairlane.reference.model.policy import Decision, FunctionPolicy, PolicySpec, View


def decide(view: View) -> Decision:
    """The longest unserved request decides the phase; other lanes in the same order."""
    return serve_head_first(view, oldest_first)


POLICY = PolicySpec(
    name="round-robin",
    policy=FunctionPolicy(decide, frozenset()),
    source="round robin (Kleinrock 1964) with graphs as quanta",
    assumes="nothing",
)
