"""The dual value bounds what a fair allocation loses, at any price.

Statement: For every price p > v, h(p) + Σ f_i [log(f_i/((p_i - v_i) x_ref,i)) - 1] with h(p) = max_a <p, y(a)> is at
least max_y F(y); at p = ∇F(x) its distance to F(x) is exactly the conditional-gradient gap.

Assumptions: v >= 0, f > 0, x_ref > 0; log t <= t - 1, proved as log-bound; mixtures as in allocation-gradient-gap.

Source: Lagrange dual of the source's concave utility, coordinate by coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_equal, check_zero, forall, induction, prove_identity, settle


def prove(*, constant: str = "K - 1", price_given: str = "p > v") -> Sequence[Evidence]:
    """Evidence for the dual term f (log(...) - 1), with K = log(f/((p - v) x_ref)), and for allowed prices."""
    f, x, r = sympy.symbols("f x r", positive=True)
    margin = sympy.symbols("d", positive=True)  # p - v
    split = sympy.log(x / r) - sympy.log(f / (margin * r)) - sympy.log(x * margin / f)
    term = constant.replace("K", "J")
    return settle(
        check_zero("log(y/x_ref) = log(f/((p-v) x_ref)) + log(y (p-v)/f)", sympy.expand_log(split)),
        induction(
            # one request more in each step; L stands for log(y (p-v)/f); F: utility so far; U: <p, y>; C: dual terms
            "v in nonnegative, f in positive, p, y in positive, K, L, F, U, C",
            "F <= U + C",
            over="n",
            first=0,
            state={"F": ("0", "F + v*y + f*(K + L)"), "U": ("0", "U + p*y"), "C": ("0", f"C + f*({constant})")},
            given=[price_given, "L <= y*(p - v)/f - 1"],
            label="F(y) <= <p, y> + dual terms, any number of requests",
        ),
        forall(
            "v in nonnegative, f in positive, p, y in positive, r in positive",
            "f/((p - v)*r) > 0, y*(p - v)/f > 0",
            given=[price_given, "p != v"],
            label="every logarithm has a positive argument",
        ),
        forall(
            "F, U, C, h",
            "F <= h + C",
            given=["F <= U + C", "U <= h"],
            label="the dual value is an upper bound",
        ),
        # at p = v + f/x the logarithms of both terms coincide: J = log(x/x_ref)
        prove_identity(
            "f in positive, v, x in positive",
            "f/((v + f/x) - v)",
            "x",
            label="at the gradient the dual's own rates are x",
        ),
        prove_identity(
            "f in positive, v, x in positive, J",
            f"f*({term}) - (v*x + f*J)",
            "-(v + f/x)*x",
            label="at the gradient the dual gap is the conditional-gradient gap",
        ),
        # by hand: one request at a time with f = (1, 2), rates (1, 3): shares (1/3, 2/3), x = (1/3, 2), prices f/x =
        # (3, 1), so every action is worth 3 = 1 + 2 and the dual gap max <p, y> - <p, x> is 0
        check_equal("dual gap of the weight shares, by hand", _dual_gap((1, 2), (1, 3)), 0),
    )


def _dual_gap(weights: Sequence[int], rates: Sequence[int]) -> Fraction:
    """The gap at the price f/x of the weight shares, one request at a time, v = 0: the logarithms cancel."""
    x = [Fraction(f, sum(weights)) * rate for f, rate in zip(weights, rates, strict=True)]
    prices = [f / at for f, at in zip(weights, x, strict=True)]
    return max(p * rate for p, rate in zip(prices, rates, strict=True)) - sum(weights)


PROOF = proof_from(
    __doc__,
    "allocation-dual-gap",
    prove,
    {
        "two taken off the logarithm": lambda: prove(constant="K - 2"),
        "nothing taken off the logarithm": lambda: prove(constant="K"),
        "prices below the values": lambda: prove(price_given="p < v"),
    },
)
