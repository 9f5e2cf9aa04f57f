"""The value rate of a cycle of actions.

Statement: The rate of a cycle, (Σ reward)/(Σ time), is the duration-weighted mean of its actions' rates and lies
between the worst and the best of them, for cycles of any length.

Assumptions: every duration is positive; rewards of any sign, unchanged from round to round.

Source: the closing identity of the source's section on the dynamic objective.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import forall, induction, prove_identity, refute_forall, settle


def prove(*, best: str = "r <= M*t", weight: str = "t1/(t1 + t2)") -> Sequence[Evidence]:
    """Evidence for what the best rate M bounds and for the weights of the mean."""
    other = weight.replace("t1", "t3").replace("t2", "t1").replace("t3", "t2")
    return settle(
        induction(
            # one action more in each step: reward r over t ms; R and T: sums so far
            "r, t in positive, m, M, R, T in nonnegative",
            "m*T <= R and R <= M*T and T >= 0",
            over="n",
            first=0,
            state={"R": ("0", "R + r"), "T": ("0", "T + t")},
            given=[best, "m*t <= r"],
            label="m Σt <= Σr <= M Σt, any number of actions",
        ),
        forall(
            "R, T in positive, M", "R/T <= M", given=["R <= M*T"], label="the cycle's rate is at most the best rate"
        ),
        prove_identity(
            "r1, r2, t1 in positive, t2 in positive",
            "(r1 + r2)/(t1 + t2)",
            f"({weight})*(r1/t1) + ({other})*(r2/t2)",
            label="two actions: the duration-weighted mean",
        ),
        induction(
            # the weighted mean as it grows: A is the mean so far, which the next action joins with its duration
            "r, t in positive, A, R, T in positive, t0 in positive, r0",
            "A*T == R",
            over="n",
            first=1,
            state={
                "A": ("r0/t0", "(T/(T + t))*A + (t/(T + t))*(r/t)"),
                "R": ("r0", "R + r"),
                "T": ("t0", "T + t"),
            },
            label="the duration-weighted mean, any number of actions",
        ),
        refute_forall(
            "r1, r2, t1 in positive, t2 in positive",
            "(r1 + r2)/(t1 + t2) == (r1/t1 + r2/t2)/2",
            {"r1": 1, "r2": 1, "t1": 1, "t2": 3},
            label="the plain mean of the rates is another number",
            beside=True,
        ),
    )


PROOF = proof_from(
    __doc__,
    "cycle-rate",
    prove,
    {
        "the best reward instead of the best rate": lambda: prove(best="r <= M"),
        "weights by count": lambda: prove(weight="1/2"),
    },
)
