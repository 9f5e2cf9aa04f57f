"""Shape of the yield in the verification width and in the acceptance.

Statement: The yield D(k) lies in [1, k], does not decrease in k, is concave in k, and does not decrease in any
acceptance.

Assumptions: every conditional acceptance is a probability.

Source: consequence of the source's yield formula; it is why a wider graph can win and why the gain per position falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, induction, settle
from fairlane.reference.model.yields import expected_yield


def prove(*, acceptance: str = "unit", curvature: str = "<=") -> Sequence[Evidence]:
    """Evidence for acceptances of a domain and for the sign of the second difference."""
    one = f"q in {acceptance}, D, R, G"
    # G is the last increment D(k) - D(k-1); the next one is R q.
    state = {"D": ("1", "D + R*q"), "R": ("1", "R*q"), "G": ("1", "R*q")}
    return settle(
        induction(
            one,
            "1 <= D and D <= k and 0 <= R and R <= 1",
            over="k",
            first=1,
            state=state,
            label="1 <= D(k) <= k, all k",
        ),
        induction(
            one, "0 <= G and 0 <= R and R <= 1", over="k", first=1, state=state, label="D does not decrease in k"
        ),
        induction(
            # the two latest increments, F before G
            f"q in {acceptance}, R, G, F",
            f"0 <= R and G == R and G - F {curvature} 0",
            over="k",
            first=1,
            state={"R": ("1", "R*q"), "G": ("1", "R*q"), "F": ("1", "G")},
            label="second differences of D are not positive",
        ),
        induction(
            f"q in {acceptance}, r in {acceptance}, D, E, R, P",
            "D <= E and 0 <= R and R <= P",
            over="k",
            first=1,
            state={"D": ("1", "D + R*q"), "E": ("1", "E + P*r"), "R": ("1", "R*q"), "P": ("1", "P*r")},
            given=["q <= r"],
            label="D does not decrease in any acceptance",
        ),
        check_all(
            "the reference function: increments fall and stay nonnegative",
            list(product([Fraction(n, 3) for n in range(4)], repeat=3)),
            _is_concave,
            count=64,
        ),
    )


def _is_concave(acceptance: Sequence[Fraction]) -> bool:
    values = [expected_yield(acceptance, k) for k in range(1, len(acceptance) + 2)]
    gains = [b - a for a, b in pairwise(values)]
    return values[0] == 1 and all(0 <= b <= a for a, b in zip([Fraction(1), *gains], gains, strict=False))


PROOF = proof_from(
    __doc__,
    "yield-shape",
    prove,
    {
        "acceptance that may be negative": lambda: prove(acceptance="real"),
        "acceptance that may exceed one": lambda: prove(acceptance="nonnegative"),
        "convex instead of concave": lambda: prove(curvature=">="),
    },
)
