"""``known``: conditional mean costs at dispatch; it optimises the next dispatch and never explores.

It knows the regime and the noise of each graph's last execution, never the next draw. A first-use penalty that it
knows can keep it for ever from a graph whose later executions would be faster.
"""

from __future__ import annotations

from fairlane.simulator.learning.kernels import columns
from fairlane.simulator.learning.policies.spec import LearningPolicySpec

POLICY = LearningPolicySpec(
    name="known",
    source="conditional means, the reference",
    means=("arithmetic",),
    refreshes=False,
    told=True,
    compiled=columns.NONE,
)
