"""Yield with a belief over the output length.

Statement: With survival S(g) = P(L > g) and R(n) = q_1···q_{n-1}, a row of width k at g published tokens publishes
Σ_{n=1}^{k} R(n)·S(g+n-1)/S(g) tokens in expectation, and its outcome probabilities, R(n)·p(g+n)/S(g) for finishing and
R(n)·(1 - q_n)·S(g+n)/S(g) for going on with q_k read as 0, sum to 1.

Assumptions: acceptance and length are independent; the belief conditions on a length above what was published and on
nothing else; mass above the limit has been moved to the limit.

Source: the source names a length model as a possible extension; the row law is the one of the readable step.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, induction, prove_identity, settle
from fairlane.reference.model.yields import row_outcomes

# s: share of the belief with at least k tokens left; p: the part that ends exactly there.
_VARIABLES = "A, M, D, R in unit, s in unit, p in nonnegative, q in unit"


def prove(*, finishing: str = "R*p", going_on: str = "R*(1-q)*(s-p)") -> Sequence[Evidence]:
    """Evidence for the two outcome probabilities of a row that stops within its width."""
    state = {
        "A": ("0", f"A + k*({finishing}) + k*({going_on})"),
        "M": ("0", f"M + {finishing} + {going_on}"),
        "D": ("1", "D + R*q*(s-p)"),
        "R": ("1", "R*q"),
        "s": ("1", "s - p"),
    }
    return settle(
        induction(
            _VARIABLES,
            "M + R*s == 1",
            over="k",
            first=1,
            state=state,
            given=["p <= s"],
            label="outcome probabilities sum to 1, all k",
        ),
        induction(
            _VARIABLES,
            "A + k*R*s == D",
            over="k",
            first=1,
            state=state,
            given=["p <= s"],
            label="the mean of the published count equals the formula, all k",
        ),
        prove_identity(
            "A, D, R, s, p, q, k",
            f"{state['A'][1]} + (k+1)*R*q*(s-p) - ({state['D'][1]})",
            "A + k*R*s - D",
            label="the step leaves mean - formula unchanged",
        ),
        check_all(
            "the reference law equals a listing of lengths and accepted drafts",
            [(q, prior, g) for q in _ACCEPTANCES for prior in _PRIORS for g in (0, 1)],
            lambda at: _law(*at) == _listed(*at),
            count=54,
        ),
    )


_ACCEPTANCES = list(product((Fraction(0), Fraction(1, 3), Fraction(1)), repeat=2))
_PRIORS = (
    ((2, Fraction(1, 3)), (5, Fraction(2, 3))),
    ((1, Fraction(1, 4)), (2, Fraction(1, 4)), (3, Fraction(1, 2))),
    ((4, Fraction(1)),),
)
_LIMIT = 4
_WIDTH = 3

Prior = tuple[tuple[int, Fraction], ...]
Law = dict[tuple[int, bool], Fraction]


def _law(acceptance: tuple[Fraction, ...], prior: Prior, generated: int) -> Law:
    return {(o.n, o.finished): o.probability for o in row_outcomes(acceptance, _WIDTH, prior, generated, _LIMIT)}


def _listed(acceptance: tuple[Fraction, ...], prior: Prior, generated: int) -> Law:
    """The same law with nothing but Bayes' rule: every length, every pattern of drafts, then normalised."""
    weight: Law = {}
    for length, mass in prior:
        if length <= generated:
            continue
        left = min(length, _LIMIT) - generated
        for pattern in product((True, False), repeat=_WIDTH - 1):
            probability, raw = mass, 1
            for q, accepted in zip(acceptance, pattern, strict=True):
                probability *= q if accepted else 1 - q
            for accepted in pattern:
                if not accepted:
                    break
                raw += 1
            if probability:
                key = (min(raw, left), raw >= left)
                weight[key] = weight.get(key, Fraction(0)) + probability
    total = sum(weight.values(), Fraction(0))
    return {key: w / total for key, w in weight.items()}


PROOF = proof_from(
    __doc__,
    "yield-with-length-prior",
    prove,
    {
        "finishing requires a rejected draft": lambda: prove(finishing="R*p*(1-q)"),
        "going on forgets the end of sequence": lambda: prove(going_on="R*(1-q)*s"),
    },
)
