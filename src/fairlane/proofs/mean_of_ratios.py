"""The mean of ratios is not the ratio of means.

Statement: E[R/T] and E[R]/E[T] differ in general; they agree where all durations are equal; E[R]/E[T] is the mean of
R/T under probabilities weighted by T; for a constant positive reward E[R/T] is at least E[R]/E[T].

Assumptions: two outcomes with probabilities p and 1 - p, durations positive; the weighted form holds for any number.

Source: a warning for every score that divides an expectation by a duration.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.nonnegativity import certify_nonnegative
from fairlane.proofs.obligations import check_equal, forall, induction, prove_identity, refute_forall, settle

_MEAN_OF_RATIOS = "(p*r/t + (1-p)*s/u)"
_RATIO_OF_MEANS = "(p*r + (1-p)*s)/(p*t + (1-p)*u)"
_VARIABLES = "p in open_unit, r, s, t in positive, u in positive"


def prove(*, second: int = 3, direction: str = ">=") -> Sequence[Evidence]:
    """Evidence from a witness whose second outcome lasts ``second`` ms, and for the sense of the inequality."""
    half = Fraction(1, 2)
    return settle(
        refute_forall(
            _VARIABLES,
            f"{_MEAN_OF_RATIOS} == {_RATIO_OF_MEANS}",
            {"p": half, "r": 1, "s": 1, "t": 1, "u": second},
            label="the two differ",
        ),
        # by hand: (1 + 1/3)/2 = 2/3 and 2/4 = 1/2
        check_equal("the witness's mean of ratios", half * 1 + half * Fraction(1, 3), Fraction(2, 3)),
        check_equal("the witness's ratio of means", Fraction(1 + 1, 1 + 3), half),
        prove_identity(
            "p, r, s, t in positive",
            _MEAN_OF_RATIOS.replace("u", "t"),
            _RATIO_OF_MEANS.replace("u", "t"),
            label="equal durations: they agree",
        ),
        induction(
            # one outcome more in each step: probability p, reward r, duration t; W: the sum of p t (r/t)
            "p in nonnegative, r, t in positive, N, W",
            "N == W",
            over="n",
            first=0,
            state={"N": ("0", "N + p*r"), "W": ("0", "W + (p*t)*(r/t)")},
            label="weighted by duration the mean of ratios is the ratio of means, any number of outcomes",
        ),
        forall(
            "p in open_unit, t in positive, u in positive",
            f"p/t + (1-p)/u {direction} 1/(p*t + (1-p)*u)",
            label="a constant reward",
        ),
        certify_nonnegative(
            "(p*u + (1-p)*t)*(p*t + (1-p)*u) - t*u",
            [("p*(1-p)", "t-u")],
            nonnegative=["p", "(1-p)"],
            label="a constant reward, cleared of t u and of the mean duration",
        ),
    )


PROOF = proof_from(
    __doc__,
    "mean-of-ratios",
    prove,
    {
        "a witness without spread": lambda: prove(second=1),
        "the inequality turned round": lambda: prove(direction="<="),
    },
)
