"""Obligations of a proof: stated as text, put to two solvers or two computer algebra systems, replayed in rationals.

Every function returns evidence or raises: :class:`~fairlane.proofs.evidence.Refuted` with the point that refutes,
:class:`~fairlane.proofs.evidence.Undecided` where the limits were reached. Hypotheses that cannot hold together are
refused, since anything follows from them, and every divisor is kept off zero by a hypothesis of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import sympy

from fairlane.proofs.claims.base_and_step import base_and_step, counter_from
from fairlane.proofs.claims.domain import Domain, Variable
from fairlane.proofs.claims.expression import Reader
from fairlane.proofs.claims.powers import split_powers
from fairlane.proofs.claims.proving import Obligation, prove_all, prove_defined
from fairlane.proofs.claims.rational_function import residue_is_zero_flint, residue_is_zero_sympy
from fairlane.proofs.claims.side_conditions import antecedents
from fairlane.proofs.claims.smtlib import divisor_guards
from fairlane.proofs.claims.status import STRENGTHS, Outcome, Status, Strength
from fairlane.proofs.claims.term import Op, Term
from fairlane.proofs.claims.witness import points, refutes, satisfies, show_point, truth_at
from fairlane.proofs.evidence import Evidence, EvidenceKind, Refuted, Undecided
from fairlane.reference.errors import InvalidInstance, Unsupported

# Every proof here needs a small part of this; a false variant should not search for long.
LIMIT = 1_000_000

Member = TypeVar("Member")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Obligations that together give one piece of evidence, not yet put to a solver."""

    kind: EvidenceKind
    detail: str
    obligations: tuple[Obligation, ...]


def settle(*pieces: Evidence | Task, limit: int | None = LIMIT) -> tuple[Evidence, ...]:
    """The evidence of several pieces, all of their obligations put to each solver in one process.

    Parameters
    ----------
    pieces : Evidence or Task
        What is known already, and what the solvers have to settle.
    limit : int or None
        z3 resource units a question; None takes the default.

    Returns
    -------
    tuple of Evidence
        One a piece, in their order.

    Raises
    ------
    Refuted
        A point satisfies some hypotheses and not their statement, or some hypotheses contradict each other.
    Undecided
        Nothing is refuted, and something is not proved.
    """
    tasks = [piece for piece in pieces if isinstance(piece, Task)]
    obligations = [obligation for task in tasks for obligation in task.obligations]
    outcomes = iter(prove_all(obligations, limit=limit, all_or_nothing=True))
    told = {id(task): [next(outcomes) for _ in task.obligations] for task in tasks}
    for status, failure in ((Status.FAILED, Refuted), (Status.UNKNOWN, Undecided)):
        for task in tasks:
            for outcome in told[id(task)]:
                if outcome.status is status:
                    raise failure(f"{task.detail}: {outcome.summary}")
    return tuple(_evidence(piece, told[id(piece)]) if isinstance(piece, Task) else piece for piece in pieces)


def _evidence(task: Task, outcomes: Sequence[Outcome]) -> Evidence:
    strengths = [outcome.strength for outcome in outcomes if outcome.strength is not None]
    assert len(strengths) == len(task.obligations), "an outcome that holds has a strength"
    return Evidence(
        kind=task.kind,
        strength=max(strengths, key=STRENGTHS.index),
        detail=task.detail,
        lines=tuple(line for outcome in outcomes for line in outcome.evidence),
    )


def read_variables(text: str) -> tuple[Variable, ...]:
    """Variables of a text such as ``k in natural, q in unit, x``; without a domain, real.

    Raises
    ------
    InvalidInstance
        An unknown domain, or a name twice.
    """
    found: dict[str, Variable] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, domain = (word.strip() for word in part.partition(" in "))
        if (domain or "real") not in list(Domain) or not name.isidentifier() or name in found:
            raise InvalidInstance(f"variables hold {part!r}; need distinct `name` or `name in domain`")
        found[name] = Variable(name, Domain(domain or "real"))
    return tuple(found.values())


def forall(variables: str, statement: str, *, given: Sequence[str] = (), label: str = "") -> Task:
    """The task to show that hypotheses imply a statement for all values of the variables.

    Parameters
    ----------
    variables : str
        Names with domains, ``"A in nonnegative, T in positive"``.
    statement : str
        A condition in Python's syntax, or several with commas; ``implies``, ``min``, ``max``, ``abs`` and
        ``x if c else y`` are understood.
    given : sequence of str
        Hypotheses beyond the domains.
    label : str
        What is shown, for the reader; the statement itself where left out.
    """
    declared = read_variables(variables)
    read = _reader(declared)
    hypotheses = tuple(_condition(read, text) for text in given)
    goal = _condition(read, statement)
    obligation = Obligation(
        hypotheses=hypotheses, statement=goal, variables=declared, applies=antecedents(goal, hypotheses)
    )
    return Task(kind=EvidenceKind.FORALL, detail=label or statement, obligations=(obligation,))


def induction(
    variables: str,
    invariant: str,
    *,
    over: str,
    first: int,
    state: Mapping[str, tuple[str, str]],
    given: Sequence[str] = (),
    assume: Sequence[str] = (),
    label: str = "",
) -> Task:
    """The task to show that an invariant of a recursion holds for every number of steps.

    Parameters
    ----------
    variables : str
        Every variable with its domain: parameters, the state's own, and inputs that are new in each step.
    invariant : str
        A condition over the counter, the state and the parameters, never over inputs.
    over : str
        The counter; it need not be among ``variables``.
    first : int
        Its first value, >= 0.
    state : mapping of str to (str, str)
        For each state variable its first value and its next one; the next value is an expression over the
        counter, the present state, parameters and inputs.
    given : sequence of str
        Hypotheses of every step, over parameters, inputs and the present state.
    assume : sequence of str
        Hypotheses over parameters alone, used in the base as well.
    label : str
        What is shown.

    Returns
    -------
    Task
        Base and step; both are derived here, so that no author gets the shift wrong.
    """
    declared = read_variables(variables)
    counter = counter_from(over, first)
    others = tuple(variable for variable in declared if variable.name != over)
    read = _reader((*others, counter))
    base, onward = base_and_step(
        _condition(read, invariant),
        counter=counter,
        first=first,
        variables=others,
        always=tuple(_condition(read, text) for text in assume),
        step_facts=tuple(_condition(read, text) for text in given),
        start={name: _number(read, text) for name, (text, _) in state.items()},
        following={name: _number(read, text) for name, (_, text) in state.items()},
    )
    detail = label or f"{invariant} for all {over} >= {first}"
    return Task(kind=EvidenceKind.INDUCTION, detail=detail, obligations=(base, onward))


def prove_forall(
    variables: str, statement: str, *, given: Sequence[str] = (), label: str = "", limit: int | None = LIMIT
) -> Evidence:
    """Evidence for one :func:`forall` by itself.

    Raises
    ------
    Refuted, Undecided
        As for :func:`settle`.
    """
    return settle(forall(variables, statement, given=given, label=label), limit=limit)[0]


def prove_identity(variables: str, left: str, right: str, *, given: Sequence[str] = (), label: str = "") -> Evidence:
    """Evidence that two rational functions are equal, by one normal form in flint and in SymPy.

    Parameters
    ----------
    variables : str
        Names with domains; domains matter to powers with a variable exponent only.
    left, right : str
        Both sides.
    given : sequence of str
        Hypotheses that keep divisors off zero where the domains do not.
    label : str
        What is shown.

    Raises
    ------
    Refuted
        A point at which the sides differ.
    Undecided
        The residue is not zero and no point refutes, or there is no normal form.
    """
    declared = read_variables(variables)
    read = _reader(declared)
    equation = Term(Op.EQ, (_number(read, left), _number(read, right)))
    shown = label or f"{left} == {right}"
    hypotheses = tuple(_condition(read, text) for text in given)
    defined = prove_defined(equation, hypotheses, declared)
    if defined.status is not Status.HOLDS:
        failure = Refuted if defined.status is Status.FAILED else Undecided
        raise failure(f"{shown}: a divisor may be zero: {defined.summary}")
    try:
        sides = split_powers(equation, {variable.name: variable for variable in declared}).args
        by_flint, residue = residue_is_zero_flint(*sides)
        by_sympy = residue_is_zero_sympy(*sides)
    except Unsupported as error:
        raise Undecided(f"{shown}: no normal form: {error}") from None
    if by_flint and by_sympy:
        guards = tuple(f"never divides by zero: {guard}" for guard in divisor_guards(equation))
        lines = (*guards, "flint: residue 0", "sympy: residue 0")
        return Evidence(kind=EvidenceKind.IDENTITY, strength=Strength.TWO_SOLVERS, detail=shown, lines=lines)
    for point in points(declared):
        if refutes(hypotheses, equation, declared, point):
            raise Refuted(f"{shown}: sides differ at {show_point(point)}")
    raise Undecided(f"{shown}: residue {residue} is not zero, and no point refutes")


def refute_forall(
    variables: str,
    statement: str,
    witness: Mapping[str, Fraction | int],
    *,
    given: Sequence[str] = (),
    label: str = "",
    beside: bool = False,
) -> Evidence:
    """Evidence that a statement does not hold for all values: a point of the hypotheses at which it is false.

    Raises
    ------
    Refuted
        The point is no counterexample.
    """
    declared = read_variables(variables)
    read = _reader(declared)
    point = {name: Fraction(value) for name, value in witness.items()}
    shown = label or f"not always {statement}"
    hypotheses = tuple(_condition(read, text) for text in given)
    if not satisfies(hypotheses, declared, point):
        raise Refuted(f"{shown}: the hypotheses do not hold at {show_point(point)}")
    if truth_at(_condition(read, statement), point) is not False:
        raise Refuted(f"{shown}: {statement} is not false at {show_point(point)}")
    lines = (f"false at {show_point(point)}, replayed in rationals",)
    return Evidence(kind=EvidenceKind.COUNTEREXAMPLE, strength=Strength.EXACT, detail=shown, lines=lines, beside=beside)


def check_equal(label: str, found: Fraction | int, expected: Fraction | int | str, *, beside: bool = True) -> Evidence:
    """Evidence that two exact numbers are equal; a spot check unless ``beside`` says that the statement needs it.

    Raises
    ------
    Refuted
        They differ, or one is no exact number.
    """
    for value in (found, expected):
        if isinstance(value, float):
            raise Refuted(f"{label}: {value!r} is a float; need exact numbers")
    if Fraction(found) != Fraction(expected):
        raise Refuted(f"{label}: found {found}, need {Fraction(expected)}")
    return Evidence(
        kind=EvidenceKind.EXACT,
        strength=Strength.EXACT,
        detail=f"{label} = {Fraction(found)}",
        lines=("rationals",),
        beside=beside,
    )


def check_all(
    label: str, members: Iterable[Member], holds: Callable[[Member], bool], *, count: int, beside: bool = True
) -> Evidence:
    """Evidence that every member of a finite space has a property; the space's size is part of the claim.

    Parameters
    ----------
    label : str
        What is shown.
    members : iterable
        The space.
    holds : callable
        The property, decided exactly.
    count : int
        How many members there must be.
    beside : bool
        Whether it is a spot check, or what the statement rests on.

    Raises
    ------
    Refuted
        A member without the property, or another number of members.
    """
    n_members = 0
    for member in members:
        n_members += 1
        if not holds(member):
            raise Refuted(f"{label}: false for {member!r}")
    if n_members != count:
        raise Refuted(f"{label}: the space has {n_members} members; need {count}")
    return Evidence(
        kind=EvidenceKind.ENUMERATION,
        strength=Strength.ENUMERATED,
        detail=label,
        lines=(f"all {count} members",),
        beside=beside,
    )


def check_zero(label: str, expression: object) -> Evidence:
    """Evidence that a SymPy expression is zero by its own simplification, integrals and limits included.

    Raises
    ------
    Undecided
        What is left is not visibly zero; with SymPy that says nothing about its being zero.
    Refuted
        It is a nonzero number.
    """
    left: Any = sympy.simplify(sympy.sympify(expression))
    if left == 0:
        return Evidence(
            kind=EvidenceKind.CALCULUS, strength=Strength.ONE_SOLVER, detail=label, lines=("sympy: difference 0",)
        )
    if left.is_number and left.is_zero is False:
        raise Refuted(f"{label}: difference {left}")
    symbols = sorted(left.free_symbols, key=str)
    for i in range(1, 6):
        at = left.subs({symbol: sympy.Rational(2 * i + j, i + 1 + j) for j, symbol in enumerate(symbols)})
        if at.is_number and sympy.N(at, 30).is_zero is False and abs(sympy.N(at, 30)) > sympy.Float("1e-20"):
            raise Refuted(f"{label}: difference {left}, about {sympy.N(at, 6)} at a point")
    raise Undecided(f"{label}: SymPy leaves {left}")


def _reader(declared: Sequence[Variable]) -> Reader:
    return Reader(path="proof", variables=frozenset(variable.name for variable in declared))


def _condition(read: Reader, text: str) -> Term:
    conditions = read.conditions(text, 1)
    return conditions[0] if len(conditions) == 1 else Term(Op.AND, conditions)


def _number(read: Reader, text: str) -> Term:
    ((term, _),) = read.statements(text, 1)
    if term.logical:
        raise InvalidInstance(f"{text!r} is a condition; need a number")
    return term
