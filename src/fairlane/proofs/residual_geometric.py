"""Remaining work of a geometric length.

Statement: If P(L > n) = r^n with 0 < r < 1, then E[L - g | L > g] = 1/(1 - r) at every g; under a limit m it is
(1 - r^{m-g})/(1 - r), which does not depend on g other than through m - g.

Assumptions: lengths are 1, 2, …; a limit collects the mass above it.

Source: the memoryless case named in the source's section on remaining work.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, check_zero, forall, induction, settle
from fairlane.proofs.residual_truncated import mean_remaining
from fairlane.reference.model.yields import truncated_prior


def prove(*, survival: str = "r**n", truncated: str = "(1 - r**j)/(1 - r)") -> Sequence[Evidence]:
    """Evidence for a survival law's memory and for the residual j tokens before the limit."""
    r, n, j = sympy.symbols("r n j", positive=True)

    def at(index: str) -> str:
        return "(" + survival.replace("n", f"({index})") + ")"

    series = sympy.summation(r**n, (n, 0, sympy.oo)).args[0].args[0]
    return settle(
        forall(
            "r in open_unit, g in natural, n in natural",
            f"{at('g + n')}/{at('g')} == {at('n')}",
            label="P(L > g + n | L > g) = P(L > n): no memory",
        ),
        induction(
            # D sums r^i over i < j; R is the next term
            "r in open_unit, D, R in unit",
            f"D == {truncated} and R == r**j",
            over="j",
            first=1,
            state={"D": ("1", "D + R"), "R": ("r", "R*r")},
            label="residual under a limit, all m - g",
        ),
        induction(
            "r in open_unit, D, R in unit",
            "1/(1-r) - D == R/(1-r) and R > 0",
            over="j",
            first=1,
            state={"D": ("1", "D + R"), "R": ("r", "R*r")},
            label="what is missing to 1/(1 - r) is r^j/(1 - r)",
        ),
        check_zero("SymPy's infinite sum of r^n", series - 1 / (1 - r)),
        check_zero(
            "r^j vanishes as the limit is lifted, here with r = 1/(1 + x)",
            sympy.limit((1 + sympy.Rational(1, 3)) ** (-j), j, sympy.oo),
        ),
        check_all(
            "the definition on a truncated prior",
            [(Fraction(a, 5), g, m) for a in range(1, 5) for m in range(1, 7) for g in range(m)],
            lambda x: _residual(*x) == (1 - x[0] ** (x[2] - x[1])) / (1 - x[0]),
            count=84,
        ),
    )


def _residual(ratio: Fraction, generated: int, limit: int) -> Fraction:
    beyond = limit + 3
    prior = [(length, ratio ** (length - 1) * (1 - ratio)) for length in range(1, beyond)]
    prior.append((beyond, ratio ** (beyond - 1)))
    return mean_remaining(truncated_prior(tuple(prior), limit), generated)


PROOF = proof_from(
    __doc__,
    "residual-geometric",
    prove,
    {
        "a law with memory": lambda: prove(survival="r**n/(n + 1)"),
        "the limit collects one term too many": lambda: prove(truncated="(1 - r**(j+1))/(1 - r)"),
    },
)
