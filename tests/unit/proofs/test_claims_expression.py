"""Claim texts as terms, their SMT-LIB spelling, and the hypotheses that keep divisors off zero."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlane.proofs.claims.domain import Domain, Variable
from fairlane.proofs.claims.expression import Reader
from fairlane.proofs.claims.powers import split_powers
from fairlane.proofs.claims.rational import Undefined, truth_of, value_of
from fairlane.proofs.claims.smtlib import divisor_guards, query
from fairlane.proofs.claims.solving import Answer, Question, Solver, ask
from fairlane.proofs.claims.term import Term
from fairlane.reference.errors import InvalidInstance, Unsupported

READER = Reader(path="n.md", variables=frozenset("abcknqxy"), functions=frozenset({"log", "S"}))


def term(text: str) -> Term:
    ((found, _),) = READER.statements(text, 10)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1/3 + 0.1", Fraction(13, 30)),
        ("2**-3 * x", Fraction(1, 4)),
        ("sum(i*x for i in range(1, 4))", Fraction(12)),
        ("min(x, 1) - max(x, 1) + abs(1 - x)", Fraction(0)),
        ("x if x > 1 else 7", Fraction(2)),
        ("f = lambda t: t*t\nf(x + 1)", Fraction(9)),
        ("d = x + 1\nd/4", Fraction(3, 4)),
    ],
)
def test_numbers_are_rational(text: str, expected: Fraction) -> None:
    assert value_of(term(text), {"x": Fraction(2)}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 < x < 3", True),
        ("1 < x < 2", False),
        ("x != 2 or x == 2 and not x > 2", True),
        ("implies(x > 5, 1/(x - 2) > 0)", True),
        ("all(x > i for i in range(2)) and any(x == i for i in range(3))", True),
        ("(x > 1) == (x > 0)", True),
    ],
)
def test_conditions_look_no_further_than_python_does(text: str, expected: bool) -> None:
    assert truth_of(term(text), {"x": Fraction(2)}) is expected


def test_division_by_zero_has_no_value() -> None:
    with pytest.raises(Undefined):
        value_of(term("1/(x - 2)"), {"x": Fraction(2)})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a +", "n.md:10: "),
        ("a == a\nb + z > 0", "n.md:11: 'z': unknown name"),
        ("a.b == 1", "n.md:10: 'a.b': not understood here"),
        ("a % 2 == 0", "need one of + - * / **"),
        ("a + (b > 0) == 1", "is a condition; need a number"),
        ("a and b > 0", "is a number; need a condition"),
        ("sum(x for i in range(n)) == 0", "need a known whole number as the end of a range"),
        ("open(x) == 0", "unknown function"),
        ("x / 0 == 1", "division by zero"),
        ("x = 5\nx == 5", "n.md:10: 'x = 5': 'x' is already taken"),
        ("import os", "need expressions or lines"),
        ("x == '1'", "need a number"),
    ],
)
def test_what_is_no_mathematics_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InvalidInstance) as error:
        READER.statements(text, 10)
    assert message in str(error.value)
    assert str(error.value).startswith("n.md:1")


def test_divisors_are_guarded_where_they_are_evaluated() -> None:
    text = "(x/y if y != 0 else a**-2) == 1/(b - 1) and implies(c > 0, 1/c > 0)"
    first, second, third, fourth = (str(guard) for guard in divisor_guards(term(text)))
    assert first == "implies((y != 0), (y != 0))"
    assert second == "implies((y == 0), (a != 0))"
    assert third == "((b + (-1)) != 0)"
    # the last divisor is reached only where the equation before it held, and c > 0
    assert fourth.endswith(" and (0 < c)), (c != 0))")


VARIABLES = {
    "x": Variable("x", Domain.REAL),
    "k": Variable("k", Domain.INTEGER),
    "n": Variable("n", Domain.NATURAL),
    "q": Variable("q", Domain.REAL),
}


def test_the_same_claim_always_asks_the_same_question() -> None:
    text = query([term("x/3 - 0.5 <= max(x, k)"), term("x**2 == -1")], VARIABLES, whole=True)
    assert text == (
        "(set-logic ALL)\n"
        "(declare-const k Int)\n"
        "(declare-const x Real)\n"
        "(assert (<= (+ (* (/ 1.0 3.0) x) (- (/ 1.0 2.0))) (ite (<= x (to_real k)) (to_real k) x)))\n"
        "(assert (= (* x x) (- 1.0)))\n"
        "(check-sat)\n"
    )


@pytest.mark.parametrize(
    ("texts", "logic"),
    [(["x + q <= 2"], "QF_LRA"), (["x*q <= 2"], "QF_NRA"), (["x/q <= 2"], "QF_NRA"), (["k <= 2"], "QF_LRA")],
)
def test_the_logic_is_the_smallest_that_fits(texts: list[str], logic: str) -> None:
    question = Question(text=query([term(text) for text in texts], VARIABLES, whole=False))
    assert question.logic == logic


def test_variable_exponents_have_one_normal_form() -> None:
    # q**(2n + 1) = (q**n)**2 * q
    assert str(split_powers(term("q**(2*n + 1)"), VARIABLES)) == "(((q ** n) ** 2) * q)"
    assert split_powers(term("q**(n + 2 - 1)"), VARIABLES) == split_powers(term("q**(1 + n)"), VARIABLES)


@pytest.mark.parametrize("text", ["q**x", "q**(n*n)", "q**(n/2)", "q**k"])
def test_exponents_that_cannot_be_split_safely_are_refused(text: str) -> None:
    with pytest.raises(Unsupported):
        split_powers(term(text), VARIABLES)


@pytest.mark.parametrize("solver", list(Solver))
def test_solvers_answer_in_processes_of_their_own(solver: Solver) -> None:
    # x*x = 9/4 with x > 1 has the one solution 3/2; x*x < 0 has none
    first = Question(text=query([term("x*x == 9/4"), term("x > 1")], VARIABLES, whole=False))
    second = Question(text=query([term("x*x < 0")], VARIABLES, whole=False), stop_if=Answer.UNSAT)
    replies = ask([first, second, first], solver)
    assert [reply.answer for reply in replies] == [Answer.SAT, Answer.UNSAT]
    assert Fraction(3, 2) in replies[0].model["x"]


def test_a_solver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairlane.proofs.claims import solving

    monkeypatch.setattr(solving, "installed", lambda _: False)
    with pytest.raises(Unsupported, match=r"cvc5 is not installed; need fairlane\[solvers\]"):
        ask([Question(text="(set-logic ALL)\n(check-sat)\n")], Solver.CVC5)


def test_a_resource_limit_ends_in_unknown() -> None:
    hard = "(set-logic ALL)\n" + "".join(f"(declare-const {v} Int)\n(assert (<= 1 {v}))\n" for v in "xyz")
    hard += "(assert (= (+ (* x x x) (* y y y)) (* z z z)))\n(check-sat)\n"
    (reply,) = ask([Question(text=hard)], Solver.Z3, limit=200_000)
    assert reply.answer is Answer.UNKNOWN
    assert reply.in_time
