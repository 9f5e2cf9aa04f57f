"""Partial blocks and their promotion.

Statement: With r of B observations of mean z, the weighted update by w = r/B replaces the previous partial one; at
r = B it is the update by a complete block, and until then its κ lies below that. Chaining the partial updates instead
would add (B + 1)/2 to κ where one block adds 1.

Assumptions: the update of normal-inverse-gamma, always applied to the posterior of the complete blocks.

Source: the partial-block alternative of the source's section on retained estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.normal_inverse_gamma import Parameters, updated
from fairlane.proofs.obligations import check_all, forall, induction, prove_identity, settle


def prove(*, weight: str = "r/B", chained: bool = False) -> Sequence[Evidence]:
    """Evidence for a partial block's weight; ``chained`` applies every partial update to the one before it."""
    promoted = weight.replace("r", "B")
    return settle(
        prove_identity("k in positive, B in positive", f"k + {promoted}", "k + 1", label="promotion: kappa"),
        prove_identity(
            "k in positive, m, z, B in positive",
            f"(k*m + {promoted}*z)/(k + {promoted})",
            "(k*m + z)/(k + 1)",
            label="promotion: location",
        ),
        prove_identity(
            "k in positive, m, z, B in positive",
            f"k*({promoted})*(z-m)**2/(2*(k + {promoted}))",
            "k*(z-m)**2/(2*(k + 1))",
            label="promotion: beta",
        ),
        forall(
            "k in positive, r in count, B in count, m, z",
            f"k < k + {weight}, k + {weight} < k + 1",
            given=["r < B"],
            label="before the block is complete, less than one block counts",
        ),
        forall(
            "k in positive, w in positive, m, z, M",
            "m <= M, M <= z",
            given=["m <= z", "M*(k + w) == k*m + w*z"],
            label="the location lies between the prior's and the partial mean",
        ),
        induction(
            # K: what chained partial updates would have added to kappa after r observations
            "B in positive, K",
            "K == r*(r+1)/(2*B)",
            over="r",
            first=0,
            state={"K": ("0", "K + (r+1)/B")},
            label="chained updates add r (r+1)/(2 B), at r = B that is (B+1)/2",
        ),
        check_all(
            "posterior after each block length equals one complete update",
            range(1, 9),
            lambda size: _after(size, chained=chained) == updated(_PRIOR, _mean(size)),
            count=8,
        ),
    )


_PRIOR: Parameters = (Fraction(4), Fraction(1, 4), Fraction(2), Fraction(16))
_DATA = tuple(Fraction(n, 3) for n in (5, 17, 2, 11, 30, 7, 8, 1))


def _mean(size: int) -> Fraction:
    return sum(_DATA[:size], Fraction(0)) / size


def _after(size: int, *, chained: bool) -> Parameters:
    """Parameters once a block of ``size`` observations has been seen one by one."""
    now = _PRIOR
    for r in range(1, size + 1):
        now = updated(now if chained else _PRIOR, _mean(r), Fraction(r, size))
    return now


PROOF = proof_from(
    __doc__,
    "partial-block",
    prove,
    {
        "a weight of one from the start": lambda: prove(weight="1"),
        "a weight per observation": lambda: prove(weight="r"),
        "partial updates chained": lambda: prove(chained=True),
    },
)
