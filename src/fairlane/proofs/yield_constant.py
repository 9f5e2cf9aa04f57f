"""Yield with one acceptance throughout.

Statement: With q_j = q for all j a row of width k publishes (1 - q^k)/(1 - q) tokens in expectation where q < 1, and k
where q = 1; it is below 1/(1 - q) for every k.

Assumptions: 0 <= q <= 1; neither end of sequence nor limit cuts the row.

Source: geometric sum of the source's yield formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, check_zero, induction, settle
from fairlane.reference.model.yields import expected_yield

_STATE = {"D": ("1", "D + R*q"), "R": ("1", "R*q")}


def prove(*, power: str = "q**k") -> Sequence[Evidence]:
    """Evidence for a closed form with numerator 1 - ``power``."""
    q, j = sympy.symbols("q j", positive=True)
    k = sympy.symbols("k", integer=True, positive=True)
    closed = (1 - sympy.parse_expr(power, local_dict={"q": q, "k": k})) / (1 - q)
    rationals = [Fraction(n, 7) for n in range(7)]
    return settle(
        induction(
            "q in open_unit, D, R in unit",
            f"D == (1 - {power})/(1 - q) and R*q == {power}",
            over="k",
            first=1,
            state=_STATE,
            label="closed form for 0 < q < 1, all k",
        ),
        check_zero(
            "SymPy's own sum of q^j over j < k, with the case q = 1 removed",
            sympy.summation(q**j, (j, 0, k - 1)).args[-1].args[0] - closed,
        ),
        induction(
            "D, R", "D == k and R == 1", over="k", first=1, state={"D": ("1", "D + R"), "R": ("1", "R")}, label="q = 1"
        ),
        induction("D, R", "D == 1", over="k", first=1, state={"D": ("1", "D + R*0"), "R": ("1", "R*0")}, label="q = 0"),
        induction(
            "q in open_unit, D, R in unit",
            "D*(1-q) < 1 and D*(1-q) == 1 - R*q and R > 0",
            over="k",
            first=1,
            state=_STATE,
            label="below 1/(1 - q) for every k",
        ),
        check_all(
            "the reference function at q = 0, 1/7 ... 6/7 and k = 1 ... 6",
            [(r, n) for r in rationals for n in range(1, 7)],
            lambda at: expected_yield([at[0]] * (at[1] - 1), at[1]) == (1 - at[0] ** at[1]) / (1 - at[0]),
            count=42,
        ),
    )


PROOF = proof_from(
    __doc__,
    "yield-constant-acceptance",
    prove,
    {"one power too many": lambda: prove(power="q**(k+1)"), "one power too few": lambda: prove(power="q**(k-1)")},
)
