"""``epsilon``: with chance epsilon a uniform nomination over all feasible graphs, the incumbent's among them."""

from __future__ import annotations

from fairlane.simulator.learning.kernels import columns
from fairlane.simulator.learning.policies.spec import LearningPolicySpec
from fairlane.simulator.learning.situation import Nomination, Reason, Situation


def nominate(situation: Situation) -> Nomination | None:
    """A random graph, or nothing."""
    if situation.uniform(0) >= situation.config.epsilon:
        return None
    k = int(situation.uniform(1) * len(situation.feasible))
    graph = situation.feasible[k]
    return Nomination(situation.scored(graph, situation.nominal_ms(graph)), Reason.RANDOM)


POLICY = LearningPolicySpec(
    name="epsilon", source="uniform epsilon exploration", nominate=nominate, compiled=columns.RANDOM
)
