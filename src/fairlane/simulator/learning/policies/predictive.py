"""``predictive``: the best graph at a draw of its next execution, which stays wide however much is known."""

from __future__ import annotations

from fairlane.simulator.learning.kernels import columns
from fairlane.simulator.learning.policies.spec import LearningPolicySpec
from fairlane.simulator.learning.situation import Nomination, Reason, Situation, best


def nominate(situation: Situation) -> Nomination:
    """The best graph, every candidate of one graph at the same cost."""
    return Nomination(
        best(situation.scored(g, situation.drawn_execution_ms(g)) for g in situation.feasible), Reason.PREDICTIVE
    )


POLICY = LearningPolicySpec(
    name="predictive",
    source="predictive execution sampling, the control",
    nominate=nominate,
    compiled=columns.PREDICTIVE,
)
