"""Estimated loss of a probe against the ordinary choice.

Statement: The loss max(0, s_i - s_c)·T_c/v_i of a challenger of score s_c over T_c ms, where the incumbent has score
s_i and gross value rate v_i, is never negative and is 0 where s_c >= s_i; for equal work without prices it is
max(0, T_c - T_i), so that a limit of zero on extra duration leaves nothing for a limit on loss to allow.

Assumptions: positive durations and work, v_i > 0; without prices s = work/T and v_i = s_i.

Source: the challengers' admission in the source's section on learning graph timings.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, forall, refute_forall, settle

# w: work of both graphs, t: the incumbent's duration, u: the challenger's
_LOSS = "max(0, w/t - w/u)*u/({rate})"


def prove(*, rate: str = "w/t", sign: str = "positive") -> Sequence[Evidence]:
    """Evidence for what the loss is divided by, and for the domain of the work."""
    loss = _LOSS.format(rate=rate)
    variables = f"w in {sign}, t in positive, u in positive"
    return settle(
        forall(variables, f"{loss} == max(0, u - t)", label="equal work: the loss is the extra duration"),
        forall(
            f"{variables}, extra in nonnegative",
            f"{loss} <= extra",
            given=["u - t <= extra"],
            label="equal work: within the limit on extra duration, within the same limit on loss",
        ),
        forall(
            # score r/T less prices c in general; g: the incumbent's gross rate
            "s, q, u in positive, g in positive",
            "max(0, s - q)*u/g >= 0, implies(q >= s, max(0, s - q)*u/g == 0)",
            label="no loss where the challenger's mean score is as high, whatever the prices",
        ),
        refute_forall(
            "w in positive, v in positive, t in positive, u in positive",
            "max(0, w/t - v/u)*u/(w/t) >= u - t",
            {"w": 1, "v": 3, "t": 1, "u": 2},
            label="with more work a longer graph loses less than its extra duration",
        ),
        check_all(
            "evaluated on a grid",
            list(product((1, 3), (1, 2, 5), (1, 2, 5))),
            lambda at: (
                max(Fraction(0), Fraction(at[0], at[1]) - Fraction(at[0], at[2])) * at[2] / Fraction(at[0], at[1])
                == max(0, at[2] - at[1])
            ),
            count=18,
        ),
    )


PROOF = proof_from(
    __doc__,
    "probe-loss",
    prove,
    {
        "divided by the challenger's own rate": lambda: prove(rate="w/u"),
        "work of either sign": lambda: prove(sign="nonzero"),
    },
)
