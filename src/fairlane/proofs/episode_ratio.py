"""Dividing a negative net reward by the episode's duration rewards wasted time.

Statement: If an episode's net reward N is negative, then N/(T + s) > N/T for every s > 0, so that idle time raises the
ratio; a fixed time price c > 0 instead lowers the value of the longer episode for every N.

Assumptions: T > 0, s > 0; the added time changes no reward.

Source: the counterexample that the source reports against normalising episode rewards by episode duration.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_equal, forall, refute_forall, settle


def prove(*, sign: str = "N < 0", time_price: str = "positive") -> Sequence[Evidence]:
    """Evidence for the sign of the reward and for the domain of the time price."""
    return settle(
        forall(
            "N, T in positive, s in positive",
            "N/(T + s) > N/T",
            given=[sign],
            label="wasted time raises a negative ratio",
        ),
        forall(
            "N, T in positive, s in positive",
            "N/(T + s) < N/T",
            given=["N > 0"],
            label="it lowers a positive ratio",
        ),
        forall(
            f"N, T in positive, s in positive, c in {time_price}",
            "N - c*(T + s) < N - c*T",
            label="a fixed time price charges for it whatever the sign",
        ),
        refute_forall(
            "N, T in positive, s in positive",
            "N/(T + s) <= N/T",
            {"N": -1, "T": 1, "s": 1},
            label="the ratio is no safe objective",
            beside=True,
        ),
        check_equal("by hand: -1 over 2 ms", Fraction(-1, 2), "-1/2"),
    )


PROOF = proof_from(
    __doc__,
    "episode-ratio",
    prove,
    {
        "any sign of the reward": lambda: prove(sign="N < 1"),
        "a time price of either sign": lambda: prove(time_price="real"),
    },
)
