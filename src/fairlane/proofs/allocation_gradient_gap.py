"""The conditional-gradient gap bounds what a fair allocation loses.

Statement: For F(x) = Σ v_i x_i + f_i log(x_i/x_ref,i) over mixtures of rate vectors y(a), every x > 0 has
max_y F(y) - F(x) <= max_a <∇F(x), y(a)> - <∇F(x), x>; where no action's product exceeds <∇F(x), x>, x is optimal.

Assumptions: v >= 0, f > 0; any number of requests and of actions; mixtures have nonnegative shares that sum to 1;
log t <= t - 1, proved as log-bound.

Source: the gap that the source's fair-allocation reference returns; first-order bound of a concave function.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_equal, check_zero, forall, induction, settle


def prove(*, price: str = "v + f/x", log_bound: str = "y/x - 1", total_share: str = "1") -> Sequence[Evidence]:
    """Evidence for a gradient, for a bound on log(y/x), and for what the shares add up to."""
    return settle(
        induction(
            # one request more in each step; L stands for log(y/x); G: F(y) - F(x) so far; H: <gradient, y - x> so far
            "v in nonnegative, f in positive, x in positive, y in positive, L, G, H",
            "G <= H",
            over="n",
            first=0,
            state={"G": ("0", "G + v*(y-x) + f*L"), "H": ("0", f"H + ({price})*(y-x)")},
            given=[f"L <= {log_bound}"],
            label="F(y) - F(x) <= <gradient, y - x>, any number of requests",
        ),
        induction(
            # one action more in each step; a: its product with the gradient, at most M; s: the mixture's product
            "M, a, s, w, theta in nonnegative",
            "s <= M*w and w >= 0",
            over="n",
            first=0,
            state={"s": ("0", "s + theta*a"), "w": ("0", "w + theta")},
            given=["a <= M"],
            label="a mixture's product is at most the best action's, any number of actions",
        ),
        forall(
            "G, s, M, c, w",
            "G <= M - c",
            given=["G <= s - c", "s <= M*w", f"w == {total_share}"],
            label="gap bound",
        ),
        forall(
            "G, s, M, c, w",
            "G <= 0",
            given=["G <= s - c", "s <= M*w", f"w == {total_share}", "M <= c"],
            label="the optimality conditions suffice",
        ),
        # By hand: y = (1,2,1) and (2,1,3) with f = (1,3,1) have their optimum at the share 6/5 - sqrt(34)/10.
        check_zero("two actions with an irrational optimum: both products equal", _irrational_optimum()),
        check_equal("five streams, four-row graph of 21 ms: product of its cohorts", _product(4, 21), 5),
        check_equal("five streams, five-row graph of 29 ms: product", _product(5, 29), Fraction(525, 116)),
    )


def _product(rows: int, duration_ms: int) -> Fraction:
    """Product with the gradient at the rotating allocation 4/(5·21) each, v = 0 and f = 1."""
    rate = Fraction(4, 5 * 21)
    return rows * (1 / rate) * Fraction(1, duration_ms)


def _irrational_optimum() -> object:
    share = sympy.Rational(6, 5) - sympy.sqrt(34) / 10
    first, second, weights = (1, 2, 1), (2, 1, 3), (1, 3, 1)
    rates = [share * a + (1 - share) * b for a, b in zip(first, second, strict=True)]
    return sum(f * (a - b) / x for f, a, b, x in zip(weights, first, second, rates, strict=True))


PROOF = proof_from(
    __doc__,
    "allocation-gradient-gap",
    prove,
    {
        "the gradient without its value term": lambda: prove(price="f/x"),
        "a logarithm above its tangent": lambda: prove(log_bound="y/x"),
        "shares that exceed one": lambda: prove(total_share="2"),
    },
)
