"""Kinds that speak of all values: what each proves, refutes, and leaves open."""

from __future__ import annotations

import pytest

from fairlane.proofs.claims.status import Status, Strength
from tests.claim_texts import outcome

HOLDS, FAILED, UNKNOWN = Status.HOLDS, Status.FAILED, Status.UNKNOWN


def test_numeric_encloses_the_value() -> None:
    # Basel: pi^2/6 = 1.6449340668...
    found = outcome("numeric", "pi**2/6", value="1.64493", tolerance="1e-5")
    assert (found.status, found.strength, found.value) == (HOLDS, Strength.NUMERIC, "164493/100000")
    assert len(found.evidence) == 2, "two evaluations"


def test_numeric_fails_beyond_its_tolerance() -> None:
    assert outcome("numeric", "pi**2/6", value="1.6450", tolerance="5e-5").status is FAILED


def test_numeric_without_a_finite_enclosure_is_unknown() -> None:
    assert outcome("numeric", "1/(exp(log(3)) - 3)", value="0", tolerance="1").status is UNKNOWN


def test_numeric_needs_a_positive_tolerance() -> None:
    found = outcome("numeric", "pi", value="3", tolerance="0")
    assert (found.status, found.summary) == (FAILED, "note.md:4: tolerance is 0; need > 0")


def test_numeric_says_when_it_was_computed_in_doubles() -> None:
    found = outcome("numeric", "fmean((1, 2, 4))", value="2.333", tolerance="1e-3", import_="statistics:fmean")
    assert found.status is HOLDS
    assert "in doubles" in found.summary


def test_identity_holds_by_two_normal_forms() -> None:
    found = outcome("identity", "(a + b)**3 == a**3 + 3*a**2*b + 3*a*b**2 + b**3", vars="a, b")
    assert (found.status, found.strength) == (HOLDS, Strength.TWO_SOLVERS)


def test_identity_splits_variable_exponents() -> None:
    body = "(1 - q**(n+1))/(1 - q) == (1 - q**n)/(1 - q) + q**n"
    found = outcome("identity", body, vars="q in open_unit, n in natural")
    assert found.status is HOLDS
    assert found.evidence[0].startswith("never divides by zero: ")


def test_identity_with_a_residue_and_a_refuting_point_fails() -> None:
    found = outcome("identity", "(a + b)**2 == a**2 + b**2", vars="a, b")
    assert (found.status, found.summary) == (FAILED, "sides differ at a = 1, b = 1")


def test_identity_with_a_residue_alone_is_unknown_never_false() -> None:
    # true for every positive x, but sqrt is opaque to the normal form
    assert outcome("identity", "sqrt(x)**2 == x", vars="x in positive").status is UNKNOWN


def test_identity_refuses_zero_to_a_negative_power() -> None:
    # q**n is undefined at q = 0, n < 0: splitting would be unsound, so nothing is claimed
    assert outcome("identity", "q**(n+1) == q*q**n", vars="q, n in integer").status is UNKNOWN


def test_forall_holds_by_two_solvers() -> None:
    found = outcome("forall", "a*a + b*b >= 2*a*b", vars="a, b")
    assert (found.status, found.strength) == (HOLDS, Strength.TWO_SOLVERS)


def test_forall_with_one_solver_installed_is_weaker(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairlane.proofs.claims import proving, solving

    monkeypatch.setattr(proving, "installed", lambda solver: solver is solving.Solver.Z3)
    assert outcome("forall", "a*a >= 0", vars="a").strength is Strength.ONE_SOLVER


def test_forall_fails_with_a_replayed_counterexample() -> None:
    found = outcome("forall", "k*k >= k", vars="k")
    assert found.status is FAILED
    assert "false at k = " in found.summary
    # the same over whole numbers is true: the domain matters
    assert outcome("forall", "k*k >= k", vars="k in integer").status is HOLDS


def test_forall_with_an_irrational_counterexample_is_unknown() -> None:
    # false at the square root of 2 only, which no rational replay reaches
    assert outcome("forall", "x*x != 2", vars="x").status is UNKNOWN


@pytest.mark.parametrize("given_", ["x > 1, x < 0", "x == 1, 1/(x - 1) > 0"])
def test_forall_under_contradictory_hypotheses_is_never_green(given_: str) -> None:
    assert outcome("forall", "x == 12345", vars="x", given=given_).status is FAILED


def test_forall_shows_that_divisors_are_off_zero() -> None:
    found = outcome("forall", "x/x == 1", vars="x in positive")
    assert found.status is HOLDS
    assert "never divides by zero: (x != 0)" in found.evidence


def test_forall_does_not_profit_from_the_solvers_division_by_zero() -> None:
    # SMT-LIB lets x/0 be anything; in mathematics the hypothesis is never met, so nothing may be concluded
    assert outcome("forall", "False", vars="x", given="x == 0, 1/x == 5").status is FAILED


def test_forall_leaves_functions_it_knows_nothing_about_open() -> None:
    assert outcome("forall", "log(t) <= t - 1", vars="t in positive").status is UNKNOWN
    # with the lemma as a hypothesis the consequence is proved
    assert outcome("forall", "log(t) <= t", vars="t in positive", given="log(t) <= t - 1").status is HOLDS


@pytest.mark.parametrize("given_", ["log(2) == 5", "exp(t) < 0", "pi == 3, t == 1"])
def test_forall_under_hypotheses_about_known_functions_that_are_false_is_never_green(given_: str) -> None:
    # to a solver log(2) is any number, so it finds the hypothesis possible; no replay does
    assert outcome("forall", "t == 12345", vars="t", given=given_).status is UNKNOWN


def test_forall_takes_an_unknown_functions_values_as_given() -> None:
    options = {"vars": "x", "functions": "f", "given": "f(x) >= 1, f(x) <= 2"}
    assert outcome("forall", "f(x)*f(x) <= 4", **options).status is HOLDS
    assert outcome("forall", "f(x)*f(x) <= 4", **(options | {"given": "f(x) >= 1, f(x) < 1"})).status is FAILED


def test_forall_knows_what_powers_in_the_unit_interval_do() -> None:
    assert outcome("forall", "q**(k+1) <= q**k", vars="q in unit, k in natural").status is HOLDS
    assert outcome("forall", "q**(k+1) < q**k", vars="q in unit, k in natural").status is FAILED


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vars": "x, x"}, "note.md:3: 'x': declares 'x' twice"),
        ({"vars": "x in complex"}, "unknown domain 'complex'; need one of real"),
        ({"vars": "y"}, "note.md:5: 'x': unknown name; need it in :vars: (declared: y)"),
        ({"vars": "x", "rlimit": "many"}, "note.md:4: rlimit is 'many'; need a whole number >= 1"),
        ({"vars": "x", "given": "x + 1"}, "note.md:4: 'x + 1': need a condition"),
    ],
)
def test_forall_says_what_is_wrong_and_where(options: dict[str, str], message: str) -> None:
    found = outcome("forall", "x >= 0 or x < 0", **options)
    assert found.status is FAILED
    assert message in found.summary


INDUCTION = {"over": "k", "base": "S(0) == 0", "step": "S(k+1) == S(k) + k + 1"}


def test_induction_meets_both_obligations() -> None:
    found = outcome("induction", "S(k) == k*(k+1)/2", **INDUCTION)
    assert (found.status, found.strength) == (HOLDS, Strength.TWO_SOLVERS)
    assert any(line.startswith("base k = 0") for line in found.evidence)
    assert any(line.startswith("step k to k + 1") for line in found.evidence)


def test_induction_with_variable_powers() -> None:
    step = {"over": "k", "base": "S(0) == 0", "step": "S(k+1) == S(k) + q**k"}
    assert outcome("induction", "S(k) == (1 - q**k)/(1 - q)", vars="q in open_unit", **step).status is HOLDS
    assert outcome("induction", "S(k) == (1 - q**k)/(2 - q)", vars="q in open_unit", **step).status is FAILED


@pytest.mark.parametrize("body", ["S(k) == k*(k+1)/3", "S(k) == k*(k+1)/2 + 1", "S(k) <= 5"])
def test_induction_over_a_false_statement_fails_with_a_case(body: str) -> None:
    found = outcome("induction", body, **INDUCTION)
    assert found.status is FAILED
    assert "false at k = " in found.summary


def test_induction_whose_step_does_not_follow_is_unknown() -> None:
    # every S(k) is 0, so it is true; but from S(k) > -1 alone, 2*S(k) > -1 does not follow
    found = outcome("induction", "S(k) > -1", over="k", base="S(0) == 0", step="S(k+1) == 2*S(k)")
    assert found.status is UNKNOWN


def test_induction_refuses_hypotheses_that_stop_the_counter() -> None:
    found = outcome("induction", "k <= 5", given="k <= 5", **INDUCTION)
    assert found.status is FAILED
    assert "a hypothesis about k alone" in found.summary


def test_induction_from_contradictory_facts_is_never_green() -> None:
    facts = {"over": "k", "base": "S(0) == 0, S(0) == 1", "step": "S(k+1) == S(k)"}
    assert outcome("induction", "S(k) == 0", **facts).status is FAILED


def test_not_forall_replays_its_witness() -> None:
    options = {"vars": "a in positive, b in positive, c in positive, d in positive"}
    body = "(a/b + c/d)/2 == (a + c)/(b + d)"
    # by hand: (1/1 + 1/3)/2 = 2/3, (1 + 1)/(1 + 3) = 1/2
    found = outcome("not-forall", body, witness="a = 1, b = 1, c = 1, d = 3", **options)
    assert (found.status, found.strength) == (HOLDS, Strength.EXACT)
    assert outcome("not-forall", body, witness="a = 1, b = 1, c = 1, d = 1", **options).status is FAILED


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vars": "x in integer", "witness": "x = 1/2"}, "leaves x in integer"),
        ({"vars": "x", "given": "x > 1", "witness": "x = 1/2"}, "breaks the hypothesis"),
        ({"vars": "x, y", "witness": "x = 1/2"}, "witness lacks y"),
        ({"vars": "x", "witness": "z = 1/2"}, "witness names 'z'"),
    ],
)
def test_not_forall_refuses_a_witness_that_is_none(options: dict[str, str], message: str) -> None:
    found = outcome("not-forall", "x**2 >= x", **options)
    assert found.status is FAILED
    assert message in found.summary
