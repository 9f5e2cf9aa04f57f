"""Positive conditioning of the prior mean cost.

Statement: Under the prior κ = 1/4, α = 2, β = m0² located at m0 > 0, the mean cost is positive with probability 20/27
and its mean given that is 9/5·m0.

Assumptions: the marginal of μ is Student-t with 2α = 4 degrees of freedom, location m0 and squared scale β/(ακ); this
is re-derived here.

Source: the truncated mean stated in the source's section on retained estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_equal, check_zero, forall, prove_identity, settle


def prove(*, kappa: str = "1/4", truncated_mean: str = "9/5") -> Sequence[Evidence]:
    """Evidence for a prior weight and for the truncated mean in units of m0."""
    t, b = sympy.symbols("t b", positive=True)
    s, x = sympy.symbols("s", positive=True), sympy.symbols("x", real=True)
    # m0 = 1: location 1, squared scale 1/(2 kappa)
    scale = sympy.sqrt(1 / (2 * sympy.Rational(kappa)))
    density = sympy.Rational(3, 8) * (1 + x**2 / 4) ** sympy.Rational(-5, 2)
    below = x * (x**2 + 6) / (2 * (x**2 + 4) ** sympy.Rational(3, 2))
    moment = -((1 + x**2 / 4) ** sympy.Rational(-3, 2)) / 2
    cut = -1 / scale
    positive = sympy.Rational(1, 2) - below.subs(x, cut)
    mean = 1 + scale * (0 - moment.subs(x, cut)) / positive
    return settle(
        # the density of mu: the integral over the variance s of s^(-7/2) exp(-b/s), b = beta + kappa (mu - m0)²/2
        check_zero(
            "integral over the variance is proportional to b^(-5/2)",
            sympy.integrate(s ** sympy.Rational(-7, 2) * sympy.exp(-b / s), (s, 0, sympy.oo))
            - sympy.gamma(sympy.Rational(5, 2)) * b ** sympy.Rational(-5, 2),
        ),
        prove_identity(
            "a in positive, b in positive, k, d",
            "b + k*d**2/2",
            "b*(1 + (a*k*d**2/b)/(2*a))",
            label="b = beta (1 + t²/(2 alpha)) with t² = (mu - m)² alpha kappa/beta: a t law with 2 alpha degrees",
        ),
        check_zero("derivative of the distribution function", sympy.diff(below, x) - density),
        prove_identity("t", "(3*t**2 + 6)*(t**2 + 4) - 3*t**2*(t**2 + 6)", "24", label="the same, cleared of roots"),
        check_zero("half of the mass lies above 0", sympy.limit(below.subs(x, t), t, sympy.oo) - sympy.Rational(1, 2)),
        check_zero("derivative of the partial moment", sympy.diff(moment, x) - x * density),
        check_zero("the partial moment vanishes at infinity", sympy.limit(moment.subs(x, t), t, sympy.oo)),
        check_zero("P(mu > 0) = 20/27", positive - sympy.Rational(20, 27)),
        check_zero(f"E[mu | mu > 0] = {truncated_mean}", mean - sympy.Rational(truncated_mean)),
        forall(
            # c = 1/sqrt 2, w = sqrt(c² + 4), r = sqrt 2: the same two numbers, roots given by their equations
            "c in positive, w in positive, r in positive, P",
            f"P == 20/27, P*({truncated_mean} - 1) == r*4/(w*w*w)",
            given=["2*c*c == 1", "w*w == c*c + 4", "r*c == 1", "P == 1/2 + c*(c*c + 6)/(2*w*w*w)"],
            label="both numbers as algebraic equations",
        ),
        # by hand: the moment above 0 is sqrt 2 · (8/9)^(3/2)/2 = 16/27, and 1 + (16/27)/(20/27) = 9/5
        check_equal("by hand", 1 + Fraction(16, 27) / Fraction(20, 27), truncated_mean),
    )


PROOF = proof_from(
    __doc__,
    "truncated-mean",
    prove,
    {
        "twice the prior weight": lambda: prove(kappa="1/2"),
        "the location taken for the mean": lambda: prove(truncated_mean="1"),
        "another truncated mean": lambda: prove(truncated_mean="7/4"),
    },
)
