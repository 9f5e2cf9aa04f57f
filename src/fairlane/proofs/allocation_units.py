"""Units of work and of time in the fair allocation.

Statement: Measuring request i's work in another unit, x_i -> c_i x_i with v_i -> v_i/c_i and x_ref,i -> c_i x_ref,i,
changes neither F nor the gap; a factor inside the logarithm adds a constant and cannot favour a phase; with v = 0 a
change of the unit of time leaves the gap as it is.

Assumptions: c > 0, f > 0, x > 0.

Source: the source's remark that a unit conversion inside the logarithm is no phase preference.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_zero, forall, prove_identity, refute_forall, settle


def prove(*, value: str = "v/c", reference: str = "c*r") -> Sequence[Evidence]:
    """Evidence for how the token value and the reference rate turn under a factor c."""
    x, b, y = sympy.symbols("x b y", positive=True)
    return settle(
        prove_identity("v, c in positive, x", f"({value})*(c*x)", "v*x", label="the value term"),
        prove_identity(
            "c in positive, x, r in positive", f"(c*x)/({reference})", "x/r", label="the argument of the logarithm"
        ),
        prove_identity(
            "v, f, c in positive, x in positive, y",
            f"({value} + f/(c*x))*(c*y) - ({value} + f/(c*x))*(c*x)",
            "(v + f/x)*y - (v + f/x)*x",
            label="every term of the gap",
        ),
        check_zero(
            "a factor b inside the logarithm adds the constant log b",
            sympy.expand_log(sympy.log(b * x) - sympy.log(b * y) - (sympy.log(x) - sympy.log(y))),
        ),
        prove_identity(
            "f, c in positive, x in positive, y",
            "(f/(x/c))*(y/c)",
            "(f/x)*y",
            label="v = 0: the unit of time drops out",
        ),
        forall(
            "x in positive, y in positive, b in positive, f in positive",
            "f/x == (f/(b*x))*b",
            label="the marginal price per token of log(b x) is the one of log x",
        ),
        refute_forall(
            "v in nonnegative, f in positive, c in positive, x in positive, y in positive",
            "(v + f/(x/c))*(y/c) == (v + f/x)*y",
            {"v": 1, "f": 1, "c": 2, "x": 1, "y": 1},
            label="with a token value the unit of time matters",
            beside=True,
        ),
    )


PROOF = proof_from(
    __doc__,
    "allocation-units",
    prove,
    {
        "the token value is not converted": lambda: prove(value="v"),
        "the reference rate is not converted": lambda: prove(reference="r"),
    },
)
