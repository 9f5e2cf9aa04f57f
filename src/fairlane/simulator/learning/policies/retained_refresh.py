"""``retained-refresh``: unknown graphs first, retained exponential means, funded remeasurement of stale graphs.

A measured mean stays in use after ttl_ms; the first valid timing after that replaces it. At full credit the stale
alternative that was touched longest ago (last valid completion or last attempt, whichever is later) runs its ordinary
best cohort; equal times go by useful value.
"""

from __future__ import annotations

from fairlane.simulator.learning.kernels import columns
from fairlane.simulator.learning.policies.spec import LearningPolicySpec
from fairlane.simulator.learning.situation import Nomination, Reason, Situation, alternatives, best


def nominate(situation: Situation) -> Nomination | None:
    """The stale alternative touched longest ago, or nothing."""
    stale: dict[int, float] = {}
    for graph in alternatives(situation):
        known = situation.known(graph)
        if known.mean_ms is not None and situation.now_ms - known.last_valid_ms > situation.config.ttl_ms:
            stale[graph] = max(known.last_valid_ms, known.last_attempt_ms)
    if not stale:
        return None
    oldest = min(stale.values())
    tied = [g for g, touched in stale.items() if touched == oldest]
    return Nomination(best(situation.scored(g, situation.nominal_ms(g)) for g in tied), Reason.STALE)


POLICY = LearningPolicySpec(
    name="retained-refresh",
    source="retained costs with funded remeasurement of stale graphs",
    nominate=nominate,
    means=("ema", "median9"),
    unknown_first=True,
    fresh_ttl=True,
    refreshes=False,
    compiled=columns.STALE,
)
