"""Yield under an output budget.

Statement: With m >= 1 tokens of output left, a row of width k publishes E min(raw, m) = D(min(k, m)) tokens in
expectation; that is at most min(D(k), m), and strictly less for q = 9/10, k = 8, m = 2, where it is 19/10.

Assumptions: the count is cut token by token, not in expectation; acceptances are probabilities.

Source: the source caps the expectation by the output budget left; the reading chosen here cuts the count itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, check_equal, induction, settle
from fairlane.proofs.yield_arbitrary import mean_over_patterns
from fairlane.reference.model.yields import expected_yield

_CUT = "D + (R*q if k + 1 <= m else 0)"


def prove(*, next_yield: str = _CUT, cut_value: Fraction | None = None) -> Sequence[Evidence]:
    """Evidence for a recursion of the cut yield; ``cut_value`` replaces the reference function's 19/10."""
    state = {
        "A": ("0", "A + min(k, m)*R*(1-q)"),
        "R": ("1", "R*q"),
        "D": ("1", next_yield),
        "U": ("1", "U + R*q"),
    }
    nines = [Fraction(9, 10)] * 7
    return settle(
        induction(
            "A, R in unit, D, U, q in unit, m in count",
            "A + min(k, m)*R == D",
            over="k",
            first=1,
            state=state,
            label="E min(raw, m) = D(min(k, m)), all k and m",
        ),
        induction(
            "A, R in unit, D, U, q in unit, m in count",
            "0 <= R and R <= 1 and D <= min(k, m) and D <= U",
            over="k",
            first=1,
            state=state,
            label="at most min(D(k), m)",
        ),
        check_equal(
            "q = 9/10, k = 8, m = 2",
            cut_value if cut_value is not None else expected_yield(nines, 8, remaining=2),
            1 + Fraction(9, 10),
            beside=False,
        ),
        check_all(
            "the reference function equals a sum over all patterns, each cut by the budget",
            [(q, m) for q in product((Fraction(0), Fraction(1, 2), Fraction(1)), repeat=3) for m in range(1, 5)],
            lambda at: expected_yield(at[0], 4, remaining=at[1]) == mean_over_patterns(at[0], at[1]),
            count=108,
        ),
    )


PROOF = proof_from(
    __doc__,
    "yield-under-budget",
    prove,
    {
        "one position beyond the budget": lambda: prove(next_yield="D + (R*q if k <= m else 0)"),
        "the expectation is cut instead of the count": lambda: prove(
            cut_value=min(expected_yield([Fraction(9, 10)] * 7, 8), Fraction(2))
        ),
    },
)
