"""Projecting a queued frame into copies, and committing it later.

Statement: The update x -> a·x + (1-a)·u with a = e^{-T/H} composes: two frames in order equal one affine update with
factor e^{-(T1+T2)/H}; so a copy that was advanced by the queued frame's expected service equals the history after that
frame completes with that service, before and after every later frame. An error in the projection shrinks by each later
factor, and the mean over outcomes of the committed history is the projection by the mean service. The order of frames
matters.

Assumptions: H > 0, durations > 0; frames complete in the order in which they were chosen. Prices are convex in the
history, so the price of the mean is at most the mean of the price.

Source: the two-frame projection in the source's section on runtime policy choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.nonnegativity import certify_nonnegative
from fairlane.proofs.obligations import check_zero, forall, induction, prove_identity, refute_forall, settle

_UPDATE = "({a}*({x}) + (1-{a})*{u})"


def prove(*, update: str = _UPDATE, factor: str = "a*b") -> Sequence[Evidence]:
    """Evidence for an update rule and for the factor of two frames together."""
    s, t, h = sympy.symbols("s t h", positive=True)

    def commit(x: str, a: str, u: str) -> str:
        return update.format(x=x, a=a, u=u)

    two = commit(commit("x", "a", "u"), "b", "v")
    return settle(
        check_zero("e^(-(S+T)/H) = e^(-S/H) e^(-T/H)", sympy.exp(-(s + t) / h) - sympy.exp(-s / h) * sympy.exp(-t / h)),
        prove_identity(
            "x, a, b, u, v", two, f"({factor})*x + b*(1-a)*u + (1-b)*v", label="two frames are one affine update"
        ),
        prove_identity(
            "x, a, b, u",
            commit(commit("x", "a", "u"), "b", "u"),
            commit("x", "a*b", "u"),
            label="a frame cut in two at a constant rate is the same frame",
        ),
        prove_identity(
            "x, a, b, u, w, v",
            f"{commit(commit('x', 'a', 'u'), 'b', 'v')} - {commit(commit('x', 'a', 'w'), 'b', 'v')}",
            "b*(1-a)*(u-w)",
            label="an error of the projection is carried on by the later factor alone",
        ),
        induction(
            # any number of frames; W: weight of the first history; V: weight of all service; lo, hi bound the rates
            "a in open_unit, u, x, x0, W, V, lo, hi",
            "lo <= x and x <= hi and W + V == 1 and W > 0 and W <= 1",
            over="n",
            first=0,
            state={"x": ("x0", commit("x", "a", "u")), "W": ("1", "a*W"), "V": ("0", "a*V + (1-a)")},
            assume=["lo <= x0", "x0 <= hi"],
            given=["lo <= u", "u <= hi"],
            label="a weighted mean of the first history and of all rates since, any number of frames",
        ),
        induction(
            # one outcome more in each step: probability p, rate u; P, U, X: sums of p, p u and p times the update
            "a in open_unit, p in nonnegative, u, x, P, U, X",
            "X == a*x*P + (1-a)*U",
            over="n",
            first=0,
            state={"P": ("0", "P + p"), "U": ("0", "U + p*u"), "X": ("0", f"X + p*{commit('x', 'a', 'u')}")},
            label="the mean committed history is the projection by the mean service, any number of outcomes",
        ),
        forall(
            "a in open_unit, x in positive, u in nonnegative",
            f"{commit('x', 'a', 'u')} > 0",
            label="a positive history stays positive, so no price divides by zero",
        ),
        forall(
            "p in open_unit, x in positive, y in positive",
            "1/(p*x + (1-p)*y) <= p/x + (1-p)/y",
            label="the price at the projected history is at most the mean price",
        ),
        certify_nonnegative(
            "(p*y + (1-p)*x)*(p*x + (1-p)*y) - x*y",
            [("p*(1-p)", "x-y")],
            nonnegative=["p", "(1-p)"],
            label="the same, cleared of x y and of the projected history",
        ),
        refute_forall(
            "x, a in open_unit, b in open_unit, u, v",
            f"{two} == {commit(commit('x', 'b', 'v'), 'a', 'u')}",
            {"x": 0, "a": Fraction(1, 2), "b": Fraction(1, 2), "u": 1, "v": 0},
            label="frames do not commute",
        ),
    )


PROOF = proof_from(
    __doc__,
    "frame-projection",
    prove,
    {
        "factors added instead of multiplied": lambda: prove(factor="a + b"),
        "service added without its weight": lambda: prove(update="({a}*({x}) + {u})"),
    },
)
