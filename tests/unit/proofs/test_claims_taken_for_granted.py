"""What a claim may not take for granted: divisors off zero, facts that hold together, implications that apply."""

from __future__ import annotations

import pytest

from fairlane.proofs.claims.status import Status
from fairlane.proofs.evidence import Refuted
from fairlane.proofs.obligations import prove_forall, prove_identity
from tests.claim_texts import outcome

HOLDS, FAILED, UNKNOWN = Status.HOLDS, Status.FAILED, Status.UNKNOWN


def test_an_induction_may_not_divide_by_what_is_zero_on_its_way() -> None:
    # S is 0, 0, 0, 1, 1, ...: S(k)/(k-3) is 1 at k = 4, yet each step is "true" where division by zero is anything
    found = outcome(
        "induction",
        "S(k)/(k-3) == 0",
        over="k",
        base="S(0) == 0",
        step="S(k+1) == S(k) + (1 if k == 2 else 0)",
    )
    assert found.status is UNKNOWN
    assert "may divide by zero: ((k + (-3)) != 0)" in found.summary


def test_a_fact_of_the_step_may_not_divide_by_zero() -> None:
    found = outcome("induction", "S(k) == 0", over="k", base="S(0) == 0", step="S(k+1) == S(k)*(k-2)/(k-2)")
    assert found.status is not HOLDS
    assert "by zero" in found.summary


def test_a_division_under_its_own_condition_is_fine() -> None:
    assert outcome("forall", "implies(x != 0, x*x/x == x)", vars="x").status is HOLDS


@pytest.mark.parametrize(
    ("kind", "body", "given"),
    [
        ("forall", "1/x > 0", "x >= 0"),
        # true of every solver's total division, and of no number
        ("forall", "x == x", "1/x == 1/x"),
        ("forall", "x/x == 1", "y == 1"),
        ("identity", "(x**2 - 1)/(x - 1) == x + 1", "y == 1"),
    ],
)
def test_a_divisor_that_nothing_keeps_off_zero_is_refused(kind: str, body: str, given: str) -> None:
    found = outcome(kind, body, vars="x, y", given_=given)
    assert found.status is FAILED
    assert " at x = " in found.summary


def test_a_hypothesis_that_comes_later_does_not_guard_an_earlier_one() -> None:
    assert outcome("forall", "y > 0", vars="x, y", given_="y == 1/x, x > 0").status is FAILED
    assert outcome("forall", "y > 0", vars="x, y", given_="x > 0, y == 1/x").status is HOLDS


def test_identities_say_where_they_hold() -> None:
    assert outcome("identity", "(x**2 - 1)/(x - 1) == x + 1", vars="x", given_="x != 1").status is HOLDS
    with pytest.raises(Refuted, match=r"a divisor may be zero: false at t = 0"):
        prove_identity("t", "t**2/t", "t")
    assert prove_identity("t in nonzero", "t**2/t", "t").lines


@pytest.mark.parametrize(
    ("base", "step", "said"),
    [
        ("S(0) == 0, S(1) == 5", "S(k+1) == S(k)", "S(1) is given by the base and by the step"),
        ("S(0) == 0", "S(k+1) == S(k), S(k+1) == S(k) + (1 if k == 7 else 0)", "facts about S((k + 1)) agree"),
        ("S(0) == 0, S(0) == 1", "S(k+1) == S(k)", ""),
        ("S(0) == -1", "S(k+1) == S(k) + 1, S(k) >= 0", ""),
        ("S(0) == 0", "S(k+1) + T(k+1) == 1", "need one function's value alone on a side"),
        ("S(0) == 0", "S(k+1) == S(2*k)", "need one function's value alone on a side"),
    ],
)
def test_base_and_step_that_no_function_satisfies_prove_nothing(base: str, step: str, said: str) -> None:
    # S(k) == S(k) is true of anything that exists
    found = outcome("induction", "S(k) == S(k)", over="k", base=base, step=step)
    assert found.status is not HOLDS
    assert said in found.summary


def test_bounds_that_agree_are_no_contradiction() -> None:
    found = outcome("induction", "S(k) <= k", over="k", base="S(0) == 0", step="S(k+1) <= S(k) + 1, S(k) <= S(k+1)")
    assert found.status is HOLDS


def test_a_recursion_over_two_earlier_values() -> None:
    # Fibonacci's numbers; the base gives both first values
    body, step = "F(k) >= 0 and F(k+1) >= 1", "F(k+2) == F(k+1) + F(k)"
    assert outcome("induction", body, over="k", base="F(0) == 0, F(1) == 1", step=step).status is HOLDS


def test_an_implication_that_never_applies_is_refused() -> None:
    found = outcome("forall", "implies(x < 0, x > 5)", vars="x in positive")
    assert (found.status, found.summary) == (FAILED, "an implication is vacuous: (x < 0) never holds here")
    with pytest.raises(Refuted, match="an implication is vacuous"):
        prove_forall("x in positive", "implies(x < 0, x > 5)")


def test_an_implication_of_an_induction_may_be_idle_at_the_base_alone() -> None:
    step = "S(k+1) == S(k) + 1"
    assert outcome("induction", "implies(k >= 1, S(k) >= 1)", over="k", base="S(0) == 0", step=step).status is not HOLDS
    held = outcome("induction", "S(k) == k and implies(k >= 1, S(k) >= 1)", over="k", base="S(0) == 0", step=step)
    assert held.status is HOLDS
    idle = outcome("induction", "S(k) == k and implies(k < 0, S(k) == 9)", over="k", base="S(0) == 0", step=step)
    assert idle.status is not HOLDS


@pytest.mark.parametrize("body", ["all(n > 3 for n in range(0))", "not any(n > 3 for n in range(0))"])
def test_all_of_nothing_says_nothing(body: str) -> None:
    found = outcome("exact", body)
    assert found.status is FAILED
    assert "of nothing says nothing" in found.summary
