"""Expected output of a decode row with arbitrary acceptance.

Statement: A row of verification width k publishes 1 + Σ_{j=1}^{k-1} q_1···q_j tokens in expectation, for every k and
every sequence of conditional acceptances q_1, q_2, ….

Assumptions: draft j is accepted with probability q_j given that all earlier drafts were; the pending target token is
always published; no end of sequence and no output limit cuts the row.

Source: the yield formula of the source's section on one metric for graph selection; proved here by induction on k.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, induction, prove_identity, settle
from fairlane.reference.model.yields import expected_yield

# R: probability that k - 1 drafts are accepted; A: the sum of n P(raw = n) over n < k; D: the formula's value at k.
_VARIABLES = "A, M, D, R in unit, q in unit"
_NEXT_REACH = "R*q"


def prove(*, next_yield: str = "D + R*q", tokens: str = "k") -> Sequence[Evidence]:
    """Evidence for a recursion of the yield and for the tokens a row publishes after k - 1 accepted drafts."""
    state = {
        "A": ("0", f"A + ({tokens})*R*(1-q)"),
        "M": ("0", "M + R*(1-q)"),
        "D": ("1", next_yield),
        "R": ("1", _NEXT_REACH),
    }
    after = f"{state['A'][1]} + ({tokens.replace('k', '(k+1)')})*({_NEXT_REACH}) - ({next_yield})"
    return settle(
        induction(
            _VARIABLES,
            f"A + ({tokens})*R == D",
            over="k",
            first=1,
            state=state,
            label="the mean of the published count equals the formula, all k",
        ),
        prove_identity(
            "A, D, R, q, k", after, f"A + ({tokens})*R - D", label="the step leaves mean - formula unchanged"
        ),
        induction(_VARIABLES, "M + R == 1", over="k", first=1, state=state, label="the counts' probabilities sum to 1"),
        check_all(
            "the reference function equals a sum over all patterns of accepted drafts",
            [q for width in range(1, 5) for q in product((Fraction(0), Fraction(1, 3), Fraction(1)), repeat=width - 1)],
            lambda q: expected_yield(q, len(q) + 1) == mean_over_patterns(q),
            count=40,
        ),
    )


def mean_over_patterns(acceptance: Sequence[Fraction], budget: int | None = None) -> Fraction:
    """Mean count of one row by listing which drafts are accepted, cut by a budget where there is one."""
    total = Fraction(0)
    for pattern in product((True, False), repeat=len(acceptance)):
        probability = Fraction(1)
        for q, accepted in zip(acceptance, pattern, strict=True):
            probability *= q if accepted else 1 - q
        raw = 1
        for accepted in pattern:
            if not accepted:
                break
            raw += 1
        total += probability * (raw if budget is None else min(raw, budget))
    return total


PROOF = proof_from(
    __doc__,
    "yield-arbitrary-acceptance",
    prove,
    {
        "acceptance used without its prefix": lambda: prove(next_yield="D + q"),
        "the pending token is not counted": lambda: prove(tokens="k - 1"),
        "one draft too many": lambda: prove(next_yield="D + R"),
    },
)
