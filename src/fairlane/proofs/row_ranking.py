"""Ranking rows one by one is exact for additive rewards.

Statement: With a fixed duration and rewards that add up over rows, the B highest-valued rows, those of negative value
left out, form a best cohort of at most B rows; a cohort-dependent duration or a reward for a pair breaks this.

Assumptions: any number of rows, any capacity B >= 1; the row values do not depend on the cohort.

Source: the ranking remark in the source's section on one metric for graph selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product

from fairlane.proofs.evidence import Evidence, proof_from
from fairlane.proofs.obligations import Task, check_all, check_equal, forall, induction, settle
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.request import Request
from fairlane.reference.prefill.fixed_value_cohort import best_cohort


def support_tasks(threshold: str = "nonnegative") -> tuple[Task, Task, Task]:
    """No choice of shares beats the ranking: every value against the lowest value w that the ranking lets in."""
    return (
        induction(
            # one row more in each step: value c, share s; C: value so far; U: sum of max(c - w, 0); S: shares so far
            f"c, s in unit, w in {threshold}, C, U, S",
            "C <= U + w*S",
            over="n",
            first=0,
            state={"C": ("0", "C + s*c"), "U": ("0", "U + max(c - w, 0)"), "S": ("0", "S + s")},
            label="any cohort, or any mixture of cohorts, earns at most U + w S",
        ),
        induction(
            # the ranking takes a row only at or above w, and every row above it
            f"c, w in {threshold}, taken in natural, C, U, S",
            "C == U + w*S",
            over="n",
            first=0,
            state={"C": ("0", "C + taken*c"), "U": ("0", "U + max(c - w, 0)"), "S": ("0", "S + taken")},
            given=["taken <= 1", "implies(taken == 1, c >= w)", "implies(taken == 0, c <= w)"],
            label="the ranking earns exactly U + w S",
        ),
        forall(
            f"C, R, U, w in {threshold}, S, N, B",
            "C <= R",
            given=["C <= U + w*S", "R == U + w*N", "S <= B", "N == B or w == 0 and N <= B"],
            label="so no cohort earns more than the ranking, which fills B rows or stops at value 0",
        ),
    )


def prove(*, threshold: str = "nonnegative", pair_value: Fraction | None = None) -> Sequence[Evidence]:
    """Evidence for a threshold's domain; ``pair_value`` is what the non-additive example is said to earn."""
    return settle(
        *support_tasks(threshold),
        check_all(
            "every cohort of up to 4 rows and 3 lanes",
            [(values, b) for n in range(1, 5) for values in product((-1, 0, 2, 3), repeat=n) for b in range(1, 4)],
            lambda at: _ranked(*at) == _best_cohort(*at),
            count=3 * (4 + 16 + 64 + 256),
        ),
        check_all(
            "the reference cohort, rows of width 1 weighted by their value",
            [(values, b) for n in range(1, 5) for values in product((1, 2, 3), repeat=n) for b in range(1, 4)],
            lambda at: _reference_value(*at) == _best_cohort(*at),
            count=3 * (3 + 9 + 27 + 81),
        ),
        # by hand: rows worth 3 and 2; alone 1 ms, together 4 ms: ranking fills both lanes and earns 5/4, the best is 3
        check_equal("durations that depend on the cohort: the ranking's rate", Fraction(3 + 2, 4), "5/4", beside=False),
        check_equal(
            "durations that depend on the cohort: the best rate", max(Fraction(3), Fraction(2)), 3, beside=False
        ),
        # by hand: values 3, 2, 2 and two lanes, the last two earn 2 more together: ranking 3 + 2, best 2 + 2 + 2
        check_equal(
            "a reward for a pair: the best cohort", _best_pair() if pair_value is None else pair_value, 6, beside=False
        ),
    )


def _ranked(values: Sequence[int], capacity: int) -> int:
    return sum(value for value in sorted(values, reverse=True)[:capacity] if value > 0)


def _best_cohort(values: Sequence[int], capacity: int) -> int:
    return max(sum(cohort) for size in range(capacity + 1) for cohort in combinations(values, size)) if values else 0


def _reference_value(values: Sequence[int], capacity: int) -> Fraction:
    graph = Graph(name="d", duration_ms=1, decode_capacity=capacity)
    rows = [Request(id=str(i), prompt=0, limit=1, weight=value) for i, value in enumerate(values)]
    cohort = best_cohort(graph, rows, decode_value=1)
    assert cohort is not None, "there are rows"
    return cohort.value


def _best_pair() -> Fraction:
    values, bonus = (3, 2, 2), {(1, 2): 2}
    return Fraction(max(values[i] + values[j] + bonus.get((i, j), 0) for i, j in combinations(range(3), 2)))


PROOF = proof_from(
    __doc__,
    "row-ranking",
    prove,
    {
        "rows of negative value are taken in": lambda: prove(threshold="real"),
        "a pair's reward left to the ranking": lambda: prove(pair_value=Fraction(3 + 2)),
    },
)
