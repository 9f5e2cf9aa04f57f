"""``softmax``: graphs by the utility Q of their best cohort, with chances that keep under shifts and scales of Q.

    p(graph) proportional to exp((Q - Qmax) / (temperature (Qmax - Qmin))),

uniform where all utilities are equal. Annealing divides the temperature by sqrt(1 + opportunities / 100).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairlane.simulator.learning.kernels import columns
from fairlane.simulator.learning.policies.spec import LearningPolicySpec
from fairlane.simulator.learning.situation import Nomination, Reason, Situation


def chances(utilities: Sequence[float], temperature: float, opportunities: int | None = None) -> list[float]:
    """Probability of each graph; ``opportunities`` passed so far where the temperature is annealed.

    Examples
    --------
    >>> chances([1.0, 1.0], 0.1)
    [0.5, 0.5]
    """
    if opportunities is not None:
        temperature = temperature / math.sqrt(1.0 + opportunities / 100.0)
    high, low = max(utilities), min(utilities)
    if high == low:
        return [1.0 / len(utilities)] * len(utilities)
    weights = [math.exp((q - high) / (temperature * (high - low))) for q in utilities]
    total = sum(weights)
    return [w / total for w in weights]


def nominate(situation: Situation) -> Nomination:
    """A graph drawn by utility under nominal costs."""
    config = situation.config
    offers = [situation.scored(g, situation.nominal_ms(g)) for g in situation.feasible]
    passed = situation.opportunity - 1 if config.anneal else None
    u = situation.uniform(0)
    for offer, chance in zip(offers, chances([o.score for o in offers], config.temperature, passed), strict=True):
        u -= chance
        if u < 0:
            return Nomination(offer, Reason.SOFTMAX)
    # the chances sum to 1 but for rounding
    return Nomination(offers[-1], Reason.SOFTMAX)


POLICY = LearningPolicySpec(
    name="softmax", source="normalised softmax over best cohorts", nominate=nominate, compiled=columns.SOFTMAX
)
