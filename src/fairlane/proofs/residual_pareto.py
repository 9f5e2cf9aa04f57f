"""Remaining work of a Pareto length.

Statement: If P(L > x) is proportional to x^{-α} with α > 1, then E[L - g | L > g] = g/(α - 1) above the minimum length,
and g/(α - 1)·(1 - (g/m)^{α-1}) under a limit m; at α = 3/2 the former is 2g, so remaining work grows with output.

Assumptions: a continuous law, g at or above its minimum; written with α = 1 + β, β > 0.

Source: the Pareto example of the source's section on remaining work, which says that the factor belongs to that law.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import Task, check_all, check_zero, forall, prove_identity, refute_forall, settle
from fairlane.reference.model.remaining import pareto_remaining


def prove(*, residual: str = "g/b", cut: str = "1 - (g/m)**b") -> Sequence[Evidence]:
    """Evidence for the residual in terms of b = alpha - 1 and for the factor that a limit m puts to it."""
    g, m, b, x = sympy.symbols("g m b x", positive=True)
    names = {"g": g, "m": m, "b": b}
    written = sympy.parse_expr(residual, local_dict=names)
    factor = sympy.parse_expr(cut, local_dict=names)
    conditional_survival = (g / x) ** (1 + b)

    def closed_at(beta: int) -> tuple[Evidence, Task]:
        # The antiderivative of (g/x)^(beta+1) is -g^(beta+1)/(beta x^beta); its difference over [g, m] is the area.
        form = f"({residual})*({cut})".replace("b", str(beta))
        area = f"g**{beta + 1}/{beta}*(1/g**{beta} - 1/m**{beta})"
        return (
            prove_identity(
                "g in positive, m in positive",
                area,
                form,
                label=f"alpha = {beta + 1}: the truncated area in closed form",
            ),
            forall(
                # per unit of g, with t = g/m
                "t in positive",
                f"{form.replace('g/m', 't').replace('g', '1')} <= 1/t - 1",
                given=["t <= 1"],
                label=f"alpha = {beta + 1}: at most m - g",
            ),
        )

    return settle(
        check_zero(
            "the integral of (g/x)^(1+b) over x > g",
            sympy.integrate(conditional_survival, (x, g, sympy.oo), conds="none") - written,
        ),
        check_zero(
            "derivative in m of the truncated residual is the survival at m",
            sympy.diff(written * factor, m) - conditional_survival.subs(x, m),
        ),
        check_zero("no room at m = g", (written * factor).subs(m, g)),
        check_zero("alpha = 3/2 gives 2 g", written.subs(b, sympy.Rational(1, 2)) - 2 * g),
        *closed_at(1),
        *closed_at(2),
        *closed_at(3),
        forall(
            "g in positive, h in positive, b in positive",
            f"({residual.replace('g', 'h')}) > ({residual})",
            given=["g < h"],
            label="longer output predicts more remaining work",
        ),
        check_all(
            "the reference function, by hand g/(alpha - 1)",
            [(g_, b_) for g_ in (1, 2, 7) for b_ in (Fraction(1, 2), Fraction(1), Fraction(3))],
            lambda at: pareto_remaining(at[0], 1 + at[1]) * at[1] == at[0],
            count=9,
        ),
        refute_forall(
            "a in positive, g in positive",
            "g/(a - 1) == 2*g",
            {"a": Fraction(3), "g": Fraction(1)},
            given=["a > 1"],
            label="twice the output is no consequence of the tail being a power law",
            beside=True,
        ),
    )


PROOF = proof_from(
    __doc__,
    "residual-pareto",
    prove,
    {
        "divided by the exponent itself": lambda: prove(residual="g/(b + 1)"),
        "the limit cuts with the wrong power": lambda: prove(cut="1 - (g/m)**(b + 1)"),
    },
)
