"""Remaining work of a known length.

Statement: A length that is certainly n leaves E[L - g | L > g] = n - g tokens at g published ones, one less with each
token published.

Assumptions: the whole belief stands on one length n > g.

Source: the section on remaining work of the source text.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, induction, settle
from fairlane.proofs.residual_truncated import mean_remaining


def prove(*, slope: str = "- 1") -> Sequence[Evidence]:
    """Evidence for the change of the residual with each token."""
    return settle(
        induction(
            # W: the sum of (l - g) p(l) over lengths above g, when all mass stands on n; S: that mass
            "n in count, W, S",
            "implies(g < n, S == 1 and W == n - g)",
            over="g",
            first=0,
            state={"W": ("n", f"(W {slope}) if g + 1 < n else 0"), "S": ("1", "1 if g + 1 < n else 0")},
            label="n - g left at every g below n",
        ),
        check_all(
            "the definition, evaluated",
            [(n, g) for n in range(1, 7) for g in range(n)],
            lambda at: mean_remaining(((at[0], Fraction(1)),), at[1]) == at[0] - at[1],
            count=21,
        ),
    )


PROOF = proof_from(
    __doc__,
    "residual-fixed-length",
    prove,
    {"remaining work does not fall": lambda: prove(slope="- 0"), "it rises": lambda: prove(slope="+ 1")},
)
