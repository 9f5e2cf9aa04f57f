"""The logarithm lies below its tangent at one.

Statement: For every t > 0, log t <= t - 1, with equality at t = 1; hence also -log u <= 1/u - 1 for every u > 0, which
bounds a logarithm in rationals.

Assumptions: a function whose derivative is <= 0 up to a point and >= 0 beyond has its minimum there.

Source: a classical inequality; every certificate of the fair allocation rests on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import flint
import sympy

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, check_zero, forall, settle
from fairlane.reference.rationals import to_fmpq


def prove(*, bound: str = "t - 1", slope: str = "1 - 1/t") -> Sequence[Evidence]:
    """Evidence for a bound and for the derivative of bound - log."""
    t = sympy.symbols("t", positive=True)
    room = sympy.parse_expr(bound, local_dict={"t": t}) - sympy.log(t)
    return settle(
        check_zero("no room at t = 1", room.subs(t, 1)),
        check_zero("derivative of the room", sympy.diff(room, t) - sympy.parse_expr(slope, local_dict={"t": t})),
        forall("t in positive", f"{slope} <= 0", given=["t <= 1"], label="the room shrinks up to 1"),
        forall("t in positive", f"{slope} >= 0", given=["t >= 1"], label="the room grows from 1 on"),
        forall(
            "u in positive, t in positive, L",
            "-L <= 1/u - 1",
            # L stands for log u, so that log t = -L at t = 1/u
            given=["t == 1/u", f"-L <= {bound}"],
            label="-log u <= 1/u - 1",
        ),
        check_all(
            "enclosures of the logarithm at rationals",
            [Fraction(a, b) for a in range(1, 13) for b in range(1, 13) if a != b],
            _strictly_below,
            count=132,
        ),
    )


def _strictly_below(at: Fraction) -> bool:
    return bool(flint.arb(to_fmpq(at)).log() < to_fmpq(at) - 1)


PROOF = proof_from(
    __doc__,
    "log-bound",
    prove,
    {
        "half the tangent": lambda: prove(bound="t/2", slope="1/2 - 1/t"),
        "twice the tangent": lambda: prove(bound="2*t - 2", slope="2 - 1/t"),
    },
)
