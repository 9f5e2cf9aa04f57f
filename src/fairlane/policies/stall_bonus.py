"""``stall-bonus``: fixed value with a stall-clearing bonus on every token of a burst. A warning.

A stream that has waited A ms has each of its tokens valued beta (1 + A / 50 ms). Ending a stall is worth
something once; multiplying the whole burst by it overvalues deep speculation for a neglected stream.

Source: the approximation that the stream-age analysis warns of.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairlane.policies.choosing import choose
from fairlane.policies.fixed_value import candidates
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.policy import Completion, Decision, Memory, PolicySpec, Sees, View
from fairlane.reference.model.policy_parameter import PolicyParameter
from fairlane.reference.model.score import RowValues


@dataclass(frozen=True, slots=True)
class StallBonus:
    """The policy; `per_ms` is the bonus factor a ms of age adds to a token's value."""

    per_ms: Fraction = Fraction(1, 50)
    sees: frozenset[Sees] = frozenset({Sees.AGE})

    def initial(self, catalog: Catalog) -> Memory:
        """No memory."""
        return None

    def decide(self, view: View, memory: Memory) -> Decision:
        """The best cohort of every graph under the bonus, then the best graph."""
        value = RowValues(view.objective.decode_value)
        # a clock in doubles gives doubles
        factor = {r.id: 1 + self.per_ms * (r.age_ms or 0) for r in view.requests if r.prompt == 0}
        return choose(candidates(view, lambda r, width: value(r, width) * factor[r.id]))

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        """No memory."""
        return None


POLICY = PolicySpec(
    name="stall-bonus",
    policy=StallBonus(),
    source="a stall-clearing bonus on the whole burst, the approximation warned of",
    assumes="known durations and acceptance",
    parameters=(PolicyParameter(name="per_ms", meaning="bonus factor that a ms of age adds to a token", exact=True),),
)
