"""Linear age area over one graph.

Statement: A stream whose output age is A when a graph of T ms starts accrues A·T + T²/2 of age area until the graph
completes, whether it is served or not; areas of consecutive stretches add up, and a request that arrives decoding
u ms before the completion accrues u²/2.

Assumptions: A >= 0, T >= 0; output is published at completion only, so the age grows at rate one throughout.

Source: the section on stream age of the source text; the integral of a linear function.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.nonnegativity import certify_nonnegative
from fairlane.proofs.obligations import check_all, check_zero, forall, prove_identity, settle
from fairlane.reference.model.age import output_age_area

AREA = "(A*T + T**2/2)"


def prove(area: str = AREA) -> Sequence[Evidence]:
    """Evidence for a formula of the area; other formulas are refused."""
    age, duration, u = sympy.symbols("A T u", nonnegative=True)
    integral = sympy.integrate(age + u, (u, 0, duration))
    written = sympy.parse_expr(area, local_dict={"A": age, "T": duration})

    def at(start: str, length: str) -> str:
        return area.replace("A", f"({start})").replace("T", f"({length})")

    grid = [Fraction(i, 3) for i in range(6)]
    return settle(
        check_zero("the integral of A + u over [0, T]", integral - written),
        # An area is additive and has slope A at T = 0: these two determine it without any calculus.
        prove_identity("A, S, T", at("A", "S+T"), f"{at('A', 'S')} + {at('A+S', 'T')}", label="areas add up"),
        forall(
            "A in nonnegative, T in nonnegative",
            f"A*T <= {area}, {area} <= (A+T)*T",
            label="between the area at the first age and the area at the last",
        ),
        certify_nonnegative(f"{area} - A*T", [("1/2", "T")], label="over the area at the first age: half of T²"),
        forall("u in nonnegative", f"{at('0', 'u')} == u**2/2", label="arrival u before the completion"),
        check_all(
            "the reference function equals a midpoint sum, which is exact for linear functions",
            [(a, t) for a in grid for t in grid],
            lambda at: output_age_area(*at) == _midpoint_sum(*at),
            count=36,
        ),
    )


def _midpoint_sum(age: Fraction, duration: Fraction, n_cells: int = 4) -> Fraction:
    width = duration / n_cells
    return sum(((age + (i + Fraction(1, 2)) * width) * width for i in range(n_cells)), Fraction(0))


PROOF = proof_from(
    __doc__,
    "age-area",
    prove,
    {
        "the half is forgotten": lambda: prove("(A*T + T**2)"),
        "the starting age is forgotten": lambda: prove("(T**2/2)"),
        "served streams pay half": lambda: prove("(A*T/2 + T**2/2)"),
    },
)
