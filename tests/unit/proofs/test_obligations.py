"""What an obligation accepts and what it refuses; the right answers are school algebra."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import fairlane.proofs
from fairlane.proofs import PROOFS, load
from fairlane.proofs.claims import proving
from fairlane.proofs.claims.solving import Solver
from fairlane.proofs.claims.status import Strength
from fairlane.proofs.evidence import Evidence, EvidenceKind, Proof, Refuted, Undecided, proof_from, weakest
from fairlane.proofs.obligations import (
    check_all,
    check_equal,
    check_zero,
    forall,
    induction,
    prove_forall,
    prove_identity,
    read_variables,
    refute_forall,
    settle,
)
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.yields import expected_yield


def test_forall_is_proved_by_both_solvers() -> None:
    evidence = prove_forall("x, y", "2*x*y <= x**2 + y**2")
    assert evidence.strength is Strength.TWO_SOLVERS
    assert any(line.startswith("z3") for line in evidence.lines)
    assert any(line.startswith("cvc5") for line in evidence.lines)


def test_forall_is_one_solver_strong_without_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "installed", lambda solver: solver is Solver.Z3)
    assert prove_forall("x", "x*x >= 0").strength is Strength.ONE_SOLVER


def test_false_statement_is_refuted_with_its_point() -> None:
    with pytest.raises(Refuted, match="false at x = "):
        prove_forall("x", "x*x > 0")


def test_contradictory_hypotheses_are_refused() -> None:
    with pytest.raises(Refuted, match="contradict"):
        prove_forall("x", "x == x + 1", given=["x > 1", "x < 0"])


def test_division_by_zero_proves_nothing() -> None:
    # SMT-LIB gives 1/0 some value, with which x*(1/x) == 1 is false at 0 and 1/0 == 1/0 could be anything
    assert any("never divides by zero" in line for line in prove_forall("x in nonzero", "x*(1/x) == 1").lines)
    with pytest.raises(Refuted, match="divides by zero at x = 0"):
        prove_forall("x", "x*(1/x) == 1")
    with pytest.raises(Refuted, match="contradict"):
        prove_forall("x", "1/x == 5", given=["x == 0"])


def test_whole_variables_are_whole() -> None:
    assert prove_forall("n in natural", "n*n >= n").strength is Strength.TWO_SOLVERS
    with pytest.raises(Refuted):
        prove_forall("x in nonnegative", "x*x >= x")


def test_undecided_is_not_refuted() -> None:
    with pytest.raises(Undecided):
        # false at the square root of 2 alone, which no replay in rationals reaches
        prove_forall("x", "x*x != 2")


def test_induction_needs_its_base_and_its_step() -> None:
    def gauss(first_value: str, closed: str) -> None:
        settle(induction("S", f"S == {closed}", over="k", first=0, state={"S": (first_value, "S + k + 1")}))

    gauss("0", "k*(k+1)/2")
    with pytest.raises(Refuted, match="base"):
        gauss("1", "k*(k+1)/2")
    with pytest.raises(Refuted, match="step"):
        gauss("0", "k*(k+3)/2*0 + k*k")


def test_several_tasks_keep_their_order_and_their_own_failure() -> None:
    good = forall("x", "x*x >= 0", label="square")
    known = check_equal("one half", Fraction(1, 2), "0.5")
    assert [piece.detail for piece in settle(good, known, forall("y", "y == y", label="same"))] == [
        "square",
        "one half = 1/2",
        "same",
    ]
    with pytest.raises(Refuted, match="wrong"):
        settle(good, forall("x", "x < 0", label="wrong"))


def test_identity_by_normal_form() -> None:
    assert prove_identity("x, y", "(x**2 - y**2)/(x - y)", "x + y", given=["x != y"]).kind is EvidenceKind.IDENTITY
    with pytest.raises(Refuted, match="sides differ"):
        prove_identity("x, y", "(x + y)**2", "x**2 + y**2")
    with pytest.raises(Undecided):
        prove_identity("x", "abs(x)*abs(x)", "x*x")


def test_counterexample_must_be_one() -> None:
    assert refute_forall("x", "x < x*x", {"x": Fraction(1, 2)}).strength is Strength.EXACT
    with pytest.raises(Refuted, match="not false"):
        refute_forall("x", "x < x*x", {"x": 2})
    with pytest.raises(Refuted, match="hypotheses"):
        refute_forall("x", "x < x*x", {"x": Fraction(1, 2)}, given=["x > 1"])


def test_enumeration_checks_members_and_their_number() -> None:
    assert check_all("even squares", range(0, 10, 2), lambda n: n * n % 4 == 0, count=5).strength is Strength.ENUMERATED
    with pytest.raises(Refuted, match="5 members; need 6"):
        check_all("even squares", range(0, 10, 2), lambda n: n * n % 4 == 0, count=6)
    with pytest.raises(Refuted, match="false for 1"):
        check_all("squares", range(5), lambda n: n * n % 4 == 0, count=5)


def test_exact_check_takes_no_float() -> None:
    with pytest.raises(Refuted, match="float"):
        check_equal("a tenth", 0.1, Fraction(1, 10))  # type: ignore[arg-type]  # the refusal is the point


def test_calculus_tells_false_from_unclear() -> None:
    import sympy

    x, k = sympy.symbols("x k", positive=True)
    check_zero("derivative", sympy.diff(x**2, x) - 2 * x)
    with pytest.raises(Refuted):
        check_zero("derivative", sympy.diff(x**2, x) - x)
    with pytest.raises(Undecided):
        check_zero("an unknown function", sympy.Function("f")(k))


@pytest.mark.parametrize("text", ["x in nowhere", "x, x", "2x"])
def test_bad_variables_are_named(text: str) -> None:
    with pytest.raises(InvalidInstance, match="variables hold"):
        read_variables(text)


def test_weakest_evidence_counts_and_spot_checks_do_not() -> None:
    exact, spot = check_equal("1", 1, 1, beside=False), check_all("0", [0], lambda n: n == 0, count=1)
    solved = Evidence(kind=EvidenceKind.FORALL, strength=Strength.TWO_SOLVERS, detail="")
    assert weakest((solved, exact, spot)) is Strength.EXACT
    assert weakest((solved, spot)) is Strength.TWO_SOLVERS
    assert weakest((spot,)) is Strength.ENUMERATED


def test_docstring_without_a_source_is_no_proof() -> None:
    with pytest.raises(ValueError, match="Source"):
        proof_from("Statement: a.\n\nAssumptions: b.", "nameless", lambda: (), {})


def test_every_proof_module_is_registered() -> None:
    folder = Path(next(iter(fairlane.proofs.__path__)))
    with_proof = {path.stem for path in folder.glob("*.py") if "\nPROOF = " in path.read_text(encoding="utf-8")}
    assert with_proof == {entry.module.rsplit(".", 1)[1] for entry in PROOFS}
    assert len({entry.name for entry in PROOFS}) == len(PROOFS)


def test_unknown_proof_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        load("no-such-proof")


def test_solvers_are_loaded_by_their_own_processes_and_algebra_with_a_proof() -> None:
    code = (
        "import sys, fairlane.proofs as p\n"
        "found = lambda: sorted({'sympy', 'z3', 'cvc5', 'flint'} & set(sys.modules))\n"
        "print(found())\n"
        "[p.load(e.name) for e in p.PROOFS]\n"
        "print(found())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "['flint', 'sympy']"]


def test_proof_carries_its_texts() -> None:
    proof = load("age-area")
    assert isinstance(proof, Proof)
    assert proof.statement.startswith("A stream whose output age is A")
    assert proof.assumptions
    assert proof.source


def test_proofs_notice_a_changed_reference_function(monkeypatch: pytest.MonkeyPatch) -> None:
    # by hand: A T + T² instead of A T + T²/2 is wrong at A = 0, T = 1/3
    monkeypatch.setattr("fairlane.proofs.age_area.output_age_area", lambda age, t: age * t + t * t)
    with pytest.raises(Refuted, match="midpoint"):
        load("age-area").prove()
    # the expectation cut by the budget: 2 instead of 19/10
    cut_mean = "fairlane.proofs.yield_budget.expected_yield"
    monkeypatch.setattr(cut_mean, lambda q, k, *, remaining: min(expected_yield(q, k), remaining))
    with pytest.raises(Refuted, match="9/10"):
        load("yield-under-budget").prove()
