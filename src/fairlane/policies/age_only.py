"""``age-only``: the longest wait is served first: output age of a stream, time since arrival of a prompt.

Source: oldest-age-first scheduling, the greedy rule of the age-of-information literature (Kadota et al., 2018,
doi:10.1109/TNET.2018.2873606), which looks at no throughput.
"""

from __future__ import annotations

from fairlane.policies.phase_first import serve_head_first
from fairlane.reference.exact import Real
from fairlane.reference.model.policy import Decision, FunctionPolicy, PolicySpec, RequestView, Sees, View


def decide(view: View) -> Decision:
    """The oldest request decides the phase; other lanes by age."""

    def oldest(request: RequestView) -> tuple[Real, ...]:
        waited = view.now_ms - request.arrival_ms if request.age_ms is None else request.age_ms
        return -waited, request.index

    return serve_head_first(view, oldest)


POLICY = PolicySpec(
    name="age-only",
    policy=FunctionPolicy(decide, frozenset({Sees.AGE, Sees.NOW})),
    source="maximum-age-first (Kadota et al. 2018)",
    assumes="nothing",
)
