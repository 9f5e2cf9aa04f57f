"""Fair allocation on one graph by water-filling.

Statement: On one graph with B rows, row rates r_i and row shares 0 < z_i <= 1, Σz <= B, the utility is maximised by
z_i = 1 where λ <= v_i r_i + f_i and z_i = f_i/(λ - v_i r_i) elsewhere, for a water level λ >= 0 at which Σz = B, or at
λ = 0; the shares do not increase with λ.

Assumptions: v >= 0, r > 0, f > 0, any number of requests; log t <= t - 1, proved as log-bound.

Source: optimality conditions of a separable concave program with one coupling constraint.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_equal, forall, induction, settle


def prove(*, full: str = "w <= a + f", partial: str = "f/(w - a)", water: str = "nonnegative") -> Sequence[Evidence]:
    """Evidence for when a row is full and for its share otherwise; a = v r, w the water level."""

    def share(level: str) -> str:
        return f"(1 if {full.replace('w', level)} else {partial.replace('w', level)})"

    return settle(
        forall(
            "a in nonnegative, f in positive, w in nonnegative, z",
            "0 < z, z <= 1",
            given=[f"z == {share('w')}"],
            label="the shares are feasible",
        ),
        forall(
            "a in nonnegative, f in positive, w in nonnegative, u in nonnegative, z, y",
            "y <= z",
            given=["w <= u", f"z == {share('w')}", f"y == {share('u')}"],
            label="the shares do not increase with the water level",
        ),
        forall(
            # y: another allocation's share; L stands for log(y/z)
            f"a in nonnegative, f in positive, w in {water}, y in positive, L",
            "a*(y - 1) + f*L <= w*(y - 1)",
            given=[full, "y <= 1", "L <= y - 1"],
            label="gain of another allocation, a full row",
        ),
        forall(
            # u = y/z
            f"a in nonnegative, f in positive, w in {water}, z in positive, u in positive, L",
            "a*(u*z - z) + f*L <= w*(u*z - z)",
            given=[f"not ({full})", f"z == {partial}", "L <= u - 1"],
            label="gain of another allocation, a row that is not full",
        ),
        induction(
            # one request more in each step, with gain d; G: gain so far; Y and Z: sums of shares
            f"w in {water}, y, z, d, G, Y, Z",
            "G <= w*(Y - Z)",
            over="n",
            first=0,
            state={"G": ("0", "G + d"), "Y": ("0", "Y + y"), "Z": ("0", "Z + z")},
            given=["d <= w*(y - z)"],
            label="gain of another allocation, any number of requests",
        ),
        forall(
            f"G, w in {water}, Y, Z, B",
            "G <= 0",
            given=["G <= w*(Y - Z)", "Y <= B", "w*(B - Z) == 0"],
            label="no gain where the rows are used up or cost nothing",
        ),
        # by hand: f = (1, 1, 2), v = 0, B = 2: w = 2 gives 1/2 + 1/2 + 1
        check_equal("three requests on two rows", sum(_share(0, f, 2) for f in (1, 1, 2)), 2),
    )


def _share(value: int, weight: int, level: int) -> Fraction:
    return Fraction(1) if level <= value + weight else Fraction(weight, level - value)


PROOF = proof_from(
    __doc__,
    "allocation-water-filling",
    prove,
    {
        "the value is left out of the share": lambda: prove(partial="f/w"),
        "rows fill too early": lambda: prove(full="w <= a + 2*f"),
        "a negative water level": lambda: prove(water="real"),
    },
)
