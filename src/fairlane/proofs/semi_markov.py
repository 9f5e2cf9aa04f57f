"""The two forms of the semi-Markov optimality equation.

Statement: For T > 0, h >= r - ρT + E h' holds exactly where (r + E h' - h)/T <= ρ, and equality holds in one exactly
where it holds in the other; hence h = max_a {r - ρT + E h'} exactly where ρ = max_a (r + E h' - h)/T, with the same
maximising actions. Under such an h, n transitions earn at most ρ·(their time) + h_0 - E h_n in expectation.

Assumptions: finitely many actions, positive durations; bounded h makes ρ the best long-run rate.

Source: the optimality equation in the source's section on the dynamic objective and its equivalent ratio form.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, forall, induction, settle


def prove(*, duration: str = "positive", ratio: str = "(r + e - h)/T") -> Sequence[Evidence]:
    """Evidence for durations of a domain and for the ratio form of an action."""

    return settle(
        forall(
            f"h, w, r, e, T in {duration}",
            f"implies(h >= r - w*T + e, {ratio} <= w), implies({ratio} <= w, h >= r - w*T + e)",
            label="per action, the inequalities: any number of actions follows",
        ),
        forall(
            f"h, w, r, e, T in {duration}",
            f"implies(h == r - w*T + e, {ratio} == w), implies({ratio} == w, h == r - w*T + e)",
            label="per action, the equalities: the same actions are optimal",
        ),
        induction(
            # one action more in each step, with difference d = r - w T + e and ratio q; D, Q: the largest so far
            "w, h, d0, q0, d, q, D, Q",
            "(D <= h) == (Q <= w), (D >= h) == (Q >= w)",
            over="n",
            first=1,
            state={"D": ("d0", "max(D, d)"), "Q": ("q0", "max(Q, q)")},
            assume=["(d0 <= h) == (q0 <= w)", "(d0 >= h) == (q0 >= w)"],
            given=["(d <= h) == (q <= w)", "(d >= h) == (q >= w)"],
            label="h = max of differences exactly where w = max of ratios, any number of actions",
        ),
        induction(
            # expectations along any policy: each transition has r <= w T + h - e; R, S: reward and time so far
            "w, r, T in positive, h0, h, e, R, S",
            "R <= w*S + h0 - h",
            over="n",
            first=0,
            state={"R": ("0", "R + r"), "S": ("0", "S + T"), "h": ("h0", "e")},
            given=["h >= r - w*T + e"],
            label="no policy earns more than the rate and the change of h, any number of transitions",
        ),
        check_all(
            "both forms on a grid, one by one",
            list(product((-1, 0, 2), (-2, 1, 3), (-1, 0, 3), (0, 1, 2), (1, 2, 5))),
            _same_side,
            count=3**5,
        ),
    )


def _same_side(at: tuple[int, int, int, int, int]) -> bool:
    h, rate, reward, following, duration = at
    difference, excess = h - (reward - rate * duration + following), rate - Fraction(reward + following - h, duration)
    return (difference > 0) == (excess > 0) and (difference == 0) == (excess == 0)


PROOF = proof_from(
    __doc__,
    "semi-markov-forms",
    prove,
    {
        "durations of either sign": lambda: prove(duration="nonzero"),
        "the present value is not subtracted": lambda: prove(ratio="(r + e)/T"),
    },
)
