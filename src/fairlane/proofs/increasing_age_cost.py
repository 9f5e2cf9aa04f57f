"""Age cost of a general increasing price.

Statement: For every increasing cost c of the output age, a graph of T ms that starts at age A costs a decoding stream
between c(A)·T and c(A+T)·T, and halving the mesh of a sum over n equal cells halves the room left for the integral.

Assumptions: c is nondecreasing, hence integrable; the integral lies between the lower and the upper sum of every
partition of [0, T]. Both sums are treated for partitions of any length and any cell widths.

Source: the section on stream age of the source text, whose cost is any increasing function of the age.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.nonnegativity import certify_nonnegative
from fairlane.proofs.obligations import Task, check_all, forall, induction, settle

# c is the cost at the present end of the partition, d the cost at the end of the next cell, w that cell's width.
_VARIABLES = "c0, c, d, w in nonnegative, T in nonnegative, S"


def prove(*, order: str = "c <= d", gap: str = "h*(c - c0)") -> Sequence[Evidence]:
    """Evidence for costs that move as ``order`` says, and for the room between both sums."""

    def bracket(cell: str, label: str) -> Task:
        return induction(
            _VARIABLES,
            "c0*T <= S and S <= c*T and c0 <= c",
            over="n",
            first=0,
            state={"c": ("c0", "d"), "T": ("0", "T + w"), "S": ("0", f"S + w*{cell}")},
            given=[order],
            label=label,
        )

    return settle(
        bracket("c", "lower sums of every partition lie in [c(A) T, c(A+T) T]"),
        bracket("d", "upper sums of every partition lie in [c(A) T, c(A+T) T]"),
        induction(
            "c0, c, d, h in positive, L, U",
            f"U - L == {gap}",
            over="n",
            first=0,
            state={"c": ("c0", "d"), "L": ("0", "L + h*c"), "U": ("0", "U + h*d")},
            given=[order],
            label="with n equal cells of width h the sums differ by h (c(A+T) - c(A))",
        ),
        forall(
            "A in nonnegative, T in nonnegative",
            "A**2*T <= ((A+T)**3 - A**3)/3, ((A+T)**3 - A**3)/3 <= (A+T)**2*T",
            label="the bracket holds for the integral of a quadratic cost",
        ),
        certify_nonnegative(
            "((A+T)**3 - A**3)/3 - A**2*T",
            [("A", "T"), ("1/3*T", "T")],
            nonnegative=["A", "T"],
            label="a quadratic cost: room above the lower end",
        ),
        certify_nonnegative(
            "(A+T)**2*T - ((A+T)**3 - A**3)/3",
            [("A", "T"), ("2/3*T", "T")],
            nonnegative=["A", "T"],
            label="a quadratic cost: room below the upper end",
        ),
        check_all(
            "cubic cost: integral inside the sums of 8 cells",
            [(Fraction(a, 2), Fraction(t, 2)) for a in range(5) for t in range(5)],
            lambda at: _cubic_inside_sums(*at),
            count=25,
        ),
    )


def _cubic_inside_sums(age: Fraction, duration: Fraction, n_cells: int = 8) -> bool:
    width = duration / n_cells
    costs = [(age + i * width) ** 3 for i in range(n_cells + 1)]
    integral = ((age + duration) ** 4 - age**4) / 4
    return width * sum(costs[:-1], Fraction(0)) <= integral <= width * sum(costs[1:], Fraction(0))


PROOF = proof_from(
    __doc__,
    "increasing-age-cost",
    prove,
    {
        "a decreasing cost": lambda: prove(order="d <= c"),
        "sums that differ by half a cell": lambda: prove(gap="h*(c - c0)/2"),
    },
)
