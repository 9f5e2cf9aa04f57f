"""The likeliest run of a stream whose draft is accepted in two of three cases, by hand.

Width 2, a limit of 3: the first graph publishes 2 tokens with probability 2/3, the second the last one. So two blocks
of 5 ms, with 2 and then 1 token.
"""

from __future__ import annotations

from fairlane.oracle.policy_value.likely_run import optimal_run, policy_run
from fairlane.oracle.solve import solve
from fairlane.policies import load_policy
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request

ONE = Instance(
    graphs=[Graph(name="d", duration_ms=5, decode_capacity=1, width=2)],
    requests=[Request(id="a", prompt=0, limit=3, acceptance=["2/3"])],
    objective=Objective(decode_value=1),
)


def test_the_likeliest_outcome_happens_at_every_completion() -> None:
    for run in (policy_run(ONE, load_policy("fixed-value")), optimal_run(ONE, solve(ONE))):
        assert [(int(block.start_ms), int(block.end_ms)) for block in run] == [(0, 5), (5, 10)]
        assert [block.published for block in run] == [((0, 2),), ((0, 1),)]
        assert all(block.consumed == () for block in run)
