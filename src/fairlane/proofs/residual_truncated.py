"""Remaining work under an explicit limit.

Statement: With all mass above the limit m moved to it, E[min(L, m) - g | L > g] = Σ_{n=g}^{m-1} S(n)/S(g); this depends
on the belief below m alone, does not decrease in m, and is at most both m - g and the residual without a limit.

Assumptions: a belief over whole lengths with some mass above g; g < m.

Source: the remark of the source's section on remaining work that explicit limits truncate any prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, induction, settle
from fairlane.reference.model.remaining import conditional_remaining
from fairlane.reference.model.yields import truncated_prior

Prior = tuple[tuple[int, Fraction], ...]

# j = m - g. s: P(L >= g + j | L > g); A: the sum of i p(g + i) over i < j; D: the sum of S(n)/S(g) over n < m.
_VARIABLES = "A, D, s in unit, p in nonnegative, V"


def prove(*, moved: str = "j*s", increment: str = "s - p") -> Sequence[Evidence]:
    """Evidence for the share that the limit collects and for the next term of the sum."""
    state = {"A": ("0", "A + j*p"), "D": ("1", f"D + {increment}"), "s": ("1", "s - p"), "V": ("0", "D")}
    return settle(
        induction(
            _VARIABLES,
            f"A + {moved} == D",
            over="j",
            first=1,
            state=state,
            given=["p <= s"],
            label="mean of the truncated length = sum of survivals, every limit",
        ),
        induction(
            _VARIABLES,
            "V <= D and D <= j and 0 <= s and s <= 1",
            over="j",
            first=1,
            state=state,
            given=["p <= s"],
            label="it does not decrease in the limit and is at most m - g",
        ),
        check_all(
            "the reference truncation, against survivals",
            _CASES,
            lambda at: mean_remaining(truncated_prior(at[0], at[2]), at[1]) == _survivals(*at),
            count=60,
        ),
        check_all(
            "the reference residual, against survivals",
            _CASES,
            lambda at: conditional_remaining(at[0], at[1], limit=at[2]) == _survivals(*at),
            count=60,
        ),
        check_all(
            "at most the residual without a limit",
            _CASES,
            lambda at: mean_remaining(truncated_prior(at[0], at[2]), at[1]) <= mean_remaining(at[0], at[1]),
            count=60,
        ),
    )


def mean_remaining(prior: Prior, generated: int) -> Fraction:
    """E[L - g | L > g] by its definition."""
    left = [(length - generated, mass) for length, mass in prior if length > generated]
    total = sum((mass for _, mass in left), Fraction(0))
    return sum((remaining * mass for remaining, mass in left), Fraction(0)) / total


def _survivals(prior: Prior, generated: int, limit: int) -> Fraction:
    def survival(n: int) -> Fraction:
        return sum((mass for length, mass in prior if length > n), Fraction(0))

    return sum((survival(n) for n in range(generated, limit)), Fraction(0)) / survival(generated)


_PRIORS: tuple[Prior, ...] = tuple(
    tuple((2 * i + 1, Fraction(w, sum(weights))) for i, w in enumerate(weights))
    for weights in product((1, 2), (1, 3), (1, 5))
)
_CASES = [(prior, g, m) for prior in _PRIORS for g, m in ((0, 1), (0, 3), (1, 3), (1, 4), (2, 4), (3, 9))] + [
    (prior, 4, m) for prior in _PRIORS[:6] for m in (5, 6)
]

PROOF = proof_from(
    __doc__,
    "residual-truncated",
    prove,
    {
        "the limit collects only what ends beyond it": lambda: prove(moved="j*(s - p)"),
        "survival shifted by one": lambda: prove(increment="s"),
    },
)
