"""Weight shares on a resource that serves one request at a time.

Statement: If only one request can run at a time, at rate r_i, and v = 0, then the time shares f_i/Σf maximise
Σ f_i log x_i, whatever the rates are.

Assumptions: f > 0, r > 0, any number of requests; log t <= t - 1, proved as log-bound.

Source: the first property the source lists of its fair-allocation reference.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import forall, induction, prove_identity, refute_forall, settle


def prove(*, share: str = "f/T") -> Sequence[Evidence]:
    """Evidence for a request's share in terms of its weight f, the total T of the weights, and its rate r."""
    return settle(
        prove_identity(
            "f in positive, r in positive, T in positive",
            f"f/(r*({share}))*r",
            "T",
            label="every action's product with the gradient is T",
        ),
        induction(
            # y: another allocation's share; L stands for log(r y / (r share)); S: sum of y; P: sum of f; G: utility
            "f in positive, r in positive, y in positive, T in positive, L, G, S, P",
            "G <= T*S - P",
            over="n",
            first=0,
            state={"G": ("0", "G + f*L"), "S": ("0", "S + y"), "P": ("0", "P + f")},
            given=[f"L <= (r*y)/(r*({share})) - 1"],
            label="gain of another allocation, any number of requests",
        ),
        forall("G, T in positive, S, P", "G <= 0", given=["G <= T*S - P", "S <= 1", "P == T"], label="no gain"),
        refute_forall(
            "f in positive, g in positive, r in positive, s in positive",
            # equal rates instead of weighted shares: theta r = (1 - theta) s
            "s/(r + s) == f/(f + g)",
            {"f": 1, "g": 1, "r": 1, "s": 3},
            label="shares that equalise token rates are another allocation",
            beside=True,
        ),
    )


PROOF = proof_from(
    __doc__,
    "allocation-weight-shares",
    prove,
    {
        "shares in proportion to rate and weight": lambda: prove(share="f*r/T"),
        "shares in proportion to squared weights": lambda: prove(share="f**2/T"),
    },
)
