"""Dinkelbach's equation of a ratio.

Statement: With F(ρ) = max_i (N_i - ρ D_i) over policies of reward N_i and duration D_i > 0, F(ρ) = 0 exactly where ρ is
the best ratio max_i N_i/D_i, F(ρ) > 0 exactly where ρ is below it; and where a policy attains F(ρ) >= 0, its own ratio
is between ρ and the best.

Assumptions: finitely many policies; positive durations.

Source: W. Dinkelbach, On nonlinear fractional programming, Management Science 13 (1967), doi:10.1287/mnsc.13.7.492.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, forall, induction, settle


def prove(*, duration: str = "positive", excess: str = "N - w*D") -> Sequence[Evidence]:
    """Evidence for durations of a domain and for the excess of a policy over a rate w."""

    return settle(
        forall(
            f"w, N, D in {duration}",
            f"({excess} <= 0) == (N/D <= w), ({excess} >= 0) == (N/D >= w)",
            label="per policy: any number of policies follows",
        ),
        induction(
            # one policy more in each step, with excess e and ratio q; F: largest excess so far; Q: largest ratio
            "w, e0, q0, e, q, F, Q",
            "(F <= 0) == (Q <= w), (F >= 0) == (Q >= w)",
            over="n",
            first=1,
            state={"F": ("e0", "max(F, e)"), "Q": ("q0", "max(Q, q)")},
            assume=["(e0 <= 0) == (q0 <= w)", "(e0 >= 0) == (q0 >= w)"],
            given=["(e <= 0) == (q <= w)", "(e >= 0) == (q >= w)"],
            label="F(w) and max N/D - w have one sign, any number of policies",
        ),
        forall(
            f"w, N, D in {duration}, M",
            "w <= N/D, N/D <= M",
            given=[f"{excess} >= 0", "N <= M*D"],
            label="the next iterate does not fall and does not pass the best ratio",
        ),
        forall(
            f"w, u, N, D in {duration}",
            f"({excess.replace('w', 'u')}) < ({excess})",
            given=["w < u"],
            label="F decreases strictly, policy by policy",
        ),
        check_all(
            "iterates reach the best ratio of three policies",
            list(product([(1, 1), (3, 2), (-2, 3), (5, 4)], repeat=3)),
            _iterates_reach_best,
            count=64,
        ),
    )


def _iterates_reach_best(policies: Sequence[tuple[int, int]]) -> bool:
    rate = Fraction(*policies[0])
    for _ in range(len(policies) + 1):
        reward, duration = max(policies, key=lambda policy: policy[0] - rate * policy[1])
        if reward - rate * duration == 0:
            return rate == max(Fraction(*policy) for policy in policies)
        rate = Fraction(reward, duration)
    return False


PROOF = proof_from(
    __doc__,
    "dinkelbach",
    prove,
    {
        "durations of either sign": lambda: prove(duration="nonzero"),
        "the rate is not multiplied by the duration": lambda: prove(excess="N - w"),
    },
)
