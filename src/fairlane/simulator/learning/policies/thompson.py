"""``thompson``: the best graph at a draw of its mean cost."""

from __future__ import annotations

from fairlane.simulator.learning.kernels import columns
from fairlane.simulator.learning.policies.spec import LearningPolicySpec
from fairlane.simulator.learning.situation import Nomination, Reason, Situation, best


def nominate(situation: Situation) -> Nomination:
    """The best graph, every candidate of one graph at the same cost."""
    return Nomination(
        best(situation.scored(g, situation.drawn_mean_ms(g)) for g in situation.feasible), Reason.THOMPSON
    )


POLICY = LearningPolicySpec(
    name="thompson", source="Thompson sampling of mean costs", nominate=nominate, compiled=columns.THOMPSON
)
