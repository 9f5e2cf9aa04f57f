"""Every kind of claim: what it accepts, what it refuses, and what it leaves open."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlane.proofs.claims.status import Status, Strength
from fairlane.reference.errors import CertificateRejected
from tests.claim_texts import claim_text, outcome, read_claim

HOLDS, FAILED, UNKNOWN = Status.HOLDS, Status.FAILED, Status.UNKNOWN


def test_exact_compares_rationals() -> None:
    found = outcome("exact", "1/3 + 1/6 == 1/2\n2**-1 < 2/3")
    assert (found.status, found.strength) == (HOLDS, Strength.EXACT)
    assert found.evidence[0] == "1 / 3 + 1 / 6 == 1 / 2: 1/2 == 1/2"


def test_exact_fails_on_a_false_line_and_names_it() -> None:
    found = outcome("exact", "x = 1/3\nx + x == 2/3\nx * x == 1/6")
    assert (found.status, found.summary) == (FAILED, "line 6: x * x == 1 / 6: 1/9 != 1/6")


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ("0.1 + 0.2 == 3/10", "note.md:4: '0.1': a float literal"),
        ("1 == 1\n1e0 == 1", "note.md:5: '1.0': a float literal"),
        ("f(x=2.5) == 1", "note.md:4: '2.5': a float literal"),
    ],
)
def test_exact_refuses_float_literals(body: str, where: str) -> None:
    found = outcome("exact", body)
    assert found.status is FAILED
    assert found.summary.startswith(where)


def test_exact_refuses_floats_that_functions_return() -> None:
    found = outcome("exact", "sqrt(4) == 2", import_="math:sqrt")
    assert found.status is FAILED
    assert "a float (2.0) came up" in found.summary


@pytest.mark.parametrize("maker", ["decimal:Decimal", "mpmath:mpf", "numpy:float32", "flint:arb"])
def test_exact_refuses_the_floats_of_other_packages(maker: str) -> None:
    name = maker.partition(":")[2]
    found = outcome("exact", f"({name}(1), 2) == (1, 2)", import_=maker)
    assert found.status is FAILED
    assert "came up; need rationals throughout" in found.summary


def test_exact_reads_fairlane_itself() -> None:
    # by hand: 1 + 1/2 + 1/2*3/5 = 9/5
    text = "expected_yield((Fraction(1, 2), Fraction(3, 5)), 3) == 9/5"
    found = outcome("exact", text, import_="fairlane.reference.yields:expected_yield")
    assert (found.status, found.value) == (HOLDS, "9/5")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("1/2 = 1/2", "an equation is written with =="),
        ("1/0 == 1", "ZeroDivisionError"),
        ("y == 1", "name 'y' is not defined"),
        ("1/2", "need a statement that is true or false"),
    ],
)
def test_exact_says_what_is_wrong_and_where(body: str, message: str) -> None:
    found = outcome("exact", body)
    assert found.status is FAILED
    assert found.summary.startswith("note.md:4:")
    assert message in found.summary


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
    assert found.evidence[0].startswith("assumes ")


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


def test_forall_keeps_divisors_off_zero_and_says_so() -> None:
    found = outcome("forall", "x/x == 1", vars="x")
    assert found.status is HOLDS
    assert "assumes (x != 0)" in found.evidence


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


def test_enumerate_visits_everything_and_counts() -> None:
    # pairs b < a below 5: 0 + 1 + 2 + 3 + 4 = 10
    found = outcome("enumerate", "a > b", space="a in range(5), b in range(a)", count="10")
    assert (found.status, found.strength, found.value) == (HOLDS, Strength.ENUMERATED, "10")
    assert outcome("enumerate", "a > b", space="a in range(5), b in range(a)", count="11").status is FAILED


def test_enumerate_names_the_first_false_point() -> None:
    found = outcome("enumerate", "a*b < 6", space="a in range(4), b in range(4)", count="16")
    assert (found.status, found.summary) == (FAILED, "a * b < 6 is false at a = 2, b = 3")


def test_enumerate_refuses_an_empty_space() -> None:
    assert outcome("enumerate", "False", space="a in range(0)", count="0").status is FAILED


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


CITATION = {"reference": "Little 1961", "locator": "Theorem 1", "read": "2026-01-01", "expires": "2027-01-01"}


def test_cited_is_grey_and_a_false_spot_check_is_red() -> None:
    found = outcome("cited", "L equals lambda W.", check="2*3 == 6", **CITATION)
    assert (found.status, found.strength) == (Status.CITED, Strength.CITED)
    assert outcome("cited", "L equals lambda W.", check="2*3 == 5", **CITATION).status is FAILED


@pytest.mark.parametrize(("name", "value"), [("read", "yesterday"), ("read", "2027-06-01"), ("expires", "2025-01-01")])
def test_cited_refuses_impossible_dates(name: str, value: str) -> None:
    assert outcome("cited", "x", **(CITATION | {name: value})).status is FAILED


def test_assumptions_and_definitions_are_grey() -> None:
    assert outcome("assumed", "Arrivals are independent.").status is Status.ASSUMED
    assert outcome("definition", "D is the yield.").status is Status.DEFINED
    assert outcome("definition", "D is the yield.", import_="fairlane.reference.yields:nothing").status is FAILED


def test_a_claim_whose_code_raises_fails_alone() -> None:
    found = outcome("exact", "parse(5) == 1", import_="json:loads as parse")
    assert found.status is FAILED
    assert "TypeError" in found.summary


# one row of 2 ms, three tokens of one request: 3*5 - 3*2*1 = 9, whatever the policy does
INSTANCE = (
    '{"graphs": [{"name": "d", "duration_ms": 2, "decode_capacity": 1}], '
    '"requests": [{"id": "a", "prompt": 0, "limit": 3}], "objective": {"decode_value": 5, "time_price": 1}}'
)


def test_oracle_compares_the_certified_optimum() -> None:
    found = outcome("oracle", "optimum == 3*5 - 3*2", instance=INSTANCE, quantity="value", value="9")
    assert (found.status, found.strength, found.value) == (HOLDS, Strength.CERTIFICATE, "9")
    assert "certificate accepted" in found.evidence


def test_oracle_fails_on_another_value() -> None:
    found = outcome("oracle", "", instance=INSTANCE, quantity="value", value="8")
    assert (found.status, found.summary) == (FAILED, "value is 9, and the claim says 8")


def test_oracle_reads_a_file_beside_the_note_and_measures_a_policy(tmp_path: Path) -> None:
    (tmp_path / "tiny.json").write_text(INSTANCE, encoding="utf-8")
    found = outcome(
        "oracle",
        "n_losses == 0",
        folder=tmp_path,
        instance="tiny.json",
        policy="decode-first",
        quantity="gap",
        value="0",
    )
    assert (found.status, found.strength) == (HOLDS, Strength.EXACT)


def test_oracle_turns_red_when_the_certificate_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairlane.oracle import certificate

    def reject(*_: object, **__: object) -> None:
        raise CertificateRejected("state 0: value is not superharmonic")

    monkeypatch.setattr(certificate, "certify", reject)
    found = outcome("oracle", "", instance=INSTANCE, quantity="value", value="9")
    assert found.status is FAILED
    assert found.summary.startswith("certificate rejected")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantity": "gap", "value": "0"}, "quantity gap needs a :policy:"),
        ({"quantity": "beauty", "value": "0"}, "quantity is 'beauty'; need one of value"),
        ({"quantity": "value"}, "compares nothing"),
        ({"quantity": "value", "value": "0", "policy": "nobody"}, "policy is 'nobody'"),
        ({"quantity": "value", "value": "0", "sense": "min", "policy": "decode-first"}, "need no :policy: with it"),
    ],
)
def test_oracle_says_what_is_missing(options: dict[str, str], message: str) -> None:
    found = outcome("oracle", "", instance=INSTANCE, **options)
    assert found.status is FAILED
    assert found.summary.startswith("note.md:")
    assert message in found.summary


def test_proof_runs_a_proof_of_fairlane() -> None:
    found = outcome("proof", "", module="age-area")
    assert found.status is HOLDS
    assert found.evidence[0].startswith("statement: ")
    assert outcome("proof", "", module="no-such-proof").status is FAILED


def test_proof_takes_the_weakest_evidence_and_no_evidence_is_nothing() -> None:
    from fairlane.proofs.claims.kinds.proof import outcome_of
    from fairlane.proofs.evidence import Evidence, EvidenceKind, Proof, Refuted, Undecided

    strong = Evidence(kind=EvidenceKind.FORALL, strength=Strength.TWO_SOLVERS, detail="a")
    weak = Evidence(kind=EvidenceKind.EXACT, strength=Strength.EXACT, detail="b")
    assert outcome_of(Proof(name="p", statement="s", prove=lambda: (strong, weak))).strength is Strength.EXACT
    assert outcome_of(Proof(name="p", statement="s", prove=tuple)).status is UNKNOWN

    def refuted() -> tuple[Evidence, ...]:
        raise Refuted("no")

    def undecided() -> tuple[Evidence, ...]:
        raise Undecided("who knows")

    assert outcome_of(Proof(name="p", statement="s", prove=refuted)).status is FAILED
    assert outcome_of(Proof(name="p", statement="s", prove=undecided)).status is UNKNOWN


def test_statements_and_effort_are_told_apart() -> None:
    first = read_claim(claim_text("forall", "x*x >= 0", vars="x"))
    harder = read_claim(claim_text("forall", "x*x >= 0", vars="x", rlimit="1000000"))
    other = read_claim(claim_text("forall", "x*x >= 0", vars="x in positive"))
    assert first.statement == harder.statement
    assert first.statement != other.statement
    assert len({first.content, harder.content, other.content}) == 3
