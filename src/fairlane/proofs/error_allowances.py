"""Lifetime error allowances of the log-regime detector.

Statement: The two-sided allowances 10^-4/(J(J+1)), J the next power of two at or above the reference index j, sum to
less than 10^-4 over all references; the sum is between 0.88224·10^-4 and 0.88226·10^-4.

Assumptions: indices 1, 2, 3, …, never reset; each reference is tested at most once at its allowance.

Source: the nominal error allowance of the source's section on retained estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, check_equal, forall, induction, settle

_N_BLOCKS = 20


def prove(*, rounding: str = "J >= n + 1", lowest: str = "0.88224") -> Sequence[Evidence]:
    """Evidence for how the index n + 1 is rounded to J, and for a lower bound of the sum in units of 10^-4."""
    blocks = [_block(i) for i in range(_N_BLOCKS)]
    partial = sum(blocks, Fraction(0))
    # a block with J = 2^i has 2^(i-1) members and weighs less than 2^-(i+1)
    rest = Fraction(1, 2**_N_BLOCKS)
    return settle(
        induction(
            "J in count, S",
            "S <= 1 - 1/(n+1)",
            over="n",
            first=0,
            state={"S": ("0", "S + 1/(J*(J+1))")},
            given=[rounding],
            label="the first n allowances sum to at most 1 - 1/(n+1), all n",
        ),
        induction(
            # after i blocks p = 2^i is the next block's J; U: sum of the blocks' bounds so far
            "p in positive, U",
            "U == 1 - 1/p",
            over="i",
            first=1,
            state={"p": ("2", "2*p"), "U": ("1/2", "U + 1/(2*p)")},
            label="the bounds 1/(2 J) of the blocks beyond the i-th sum to 2^-i",
        ),
        check_all(
            "each block against its members, one by one",
            range(11),
            lambda i: blocks[i] == sum((_share(j) for j in range(2 ** (i - 1) + 1 if i else 1, 2**i + 1)), Fraction(0)),
            count=11,
        ),
        forall(
            "p in positive",
            "(p/2)/(p*(p+1)) < 1/(2*p)",
            label="a block of J/2 members weighs less than 1/(2 J)",
        ),
        check_all(
            "enclosure of the sum",
            [(partial, partial + rest)],
            lambda at: Fraction(lowest) < at[0] and at[1] < Fraction("0.88226"),
            count=1,
            beside=False,
        ),
        check_equal("the first reference's share, by hand 1/(1·2)", _share(1), "1/2"),
        check_equal("the third reference's share, by hand 1/(4·5)", _share(3), "1/20"),
    )


def _share(index: int) -> Fraction:
    power = 1
    while power < index:
        power *= 2
    return Fraction(1, power * (power + 1))


def _block(i: int) -> Fraction:
    members = 1 if i == 0 else 2 ** (i - 1)
    return Fraction(members, 2**i * (2**i + 1))


PROOF = proof_from(
    __doc__,
    "error-allowances",
    prove,
    {
        "rounded down instead of up": lambda: prove(rounding="J <= n + 1"),
        "a larger sum": lambda: prove(lowest="0.8823"),
    },
)
