"""The rate region without cohorts.

Statement: With constant durations, rates are feasible exactly where x_i = Σ_g r_gi z_gi with 0 <= z_gi <= θ_g,
Σ_i z_gi <= B_g θ_g and Σ_g θ_g = 1: every mixture of cohorts satisfies this, and in no direction does the compact form
reach further than a cohort. For prefill, Σ_i z_gi <= θ_g with r_gi = capacity/T_g whatever the number of lanes.

Assumptions: at most B_g decode rows a graph; backlogged prompts, so that one prompt can fill a graph; a mixed graph's
decode and prefill parts are chosen independently given θ_g.

Source: reformulation of the source's rate region; two closed convex sets with one support function are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import check_all, forall, induction, prove_identity, settle
from fairlane.proofs.row_ranking import support_tasks


def prove(*, rows: str = "rows <= B", share: str = "y/C") -> Sequence[Evidence]:
    """Evidence for the size of cohorts and for the time share of a prompt that receives y of a capacity C."""
    settled = settle(
        induction(
            # one cohort more in each step, for a time d; z: time of one request; t: all time; R: row time
            "d in nonnegative, served in natural, rows in natural, B in count, z, t, R",
            "0 <= z and z <= t and R <= B*t",
            over="n",
            first=0,
            state={"z": ("0", "z + d*served"), "t": ("0", "t + d"), "R": ("0", "R + d*rows")},
            given=["served <= 1", rows],
            label="mixtures of cohorts satisfy the compact form, any number of cohorts and requests",
        ),
        # and back: a linear function is largest over the compact form at one cohort, for every direction
        *support_tasks(),
        prove_identity(
            "y, C in positive", f"({share})*C", "y", label="prefill: a prompt's work as a time share of full graphs"
        ),
        induction(
            # prompts y that share one graph of capacity C: their time shares use one graph at most
            "y in nonnegative, C in positive, Y, W",
            "W*C == Y",
            over="n",
            first=0,
            state={"Y": ("0", "Y + y"), "W": ("0", f"W + {share}")},
            label="prefill: shares add up to the work over C, any number of lanes",
        ),
        forall("Y, C in positive, W", "W <= 1", given=["W*C == Y", "Y <= C"], label="prefill: lanes add nothing"),
    )
    return (
        *settled,
        check_all(
            "largest value over cohorts = least bound of the compact form, every direction",
            [(c, b) for n in (2, 3, 4) for c in product((-1, 0, 1, 2), repeat=n) for b in range(1, n + 1)],
            lambda at: _over_cohorts(*at) == _compact_bound(*at),
            count=2 * 16 + 3 * 64 + 4 * 256,
        ),
    )


def _over_cohorts(direction: Sequence[int], capacity: int) -> int:
    return max(sum(cohort) for size in range(capacity + 1) for cohort in combinations(direction, size))


def _compact_bound(direction: Sequence[int], capacity: int) -> int:
    """min over w >= 0 of Σ max(c - w, 0) + w B, which is piecewise linear with its kinks at the c and at 0."""
    levels = {0, *(c for c in direction if c > 0)}
    return min(sum(max(c - w, 0) for c in direction) + w * capacity for w in levels)


PROOF = proof_from(
    __doc__,
    "compact-region",
    prove,
    {
        "one row too many": lambda: prove(rows="rows <= B + 1"),
        "prompts each take a whole graph": lambda: prove(share="1"),
    },
)
