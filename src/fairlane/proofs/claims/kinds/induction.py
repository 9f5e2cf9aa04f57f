"""``induction``: a statement for every whole number from a first one on, as a base case and a step.

    :over: k
    :vars: q in open_unit
    :base: S(0) == 0
    :step: S(k+1) == S(k) + q**k
    S(k) == (1 - q**k)/(1 - q)

``:base:`` and ``:step:`` are what is known of the functions in them: at the first number, and from one number to the
next. The engine derives both obligations from the body: it holds at the first number, and where it holds at k it
holds at k + 1. An author cannot get the shift wrong.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from fairlane.proofs.claims import term as t
from fairlane.proofs.claims.base_and_step import base_and_step, counter_from
from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.domain import Variable, read_variables
from fairlane.proofs.claims.expression import parse_python
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.kinds.reading import read_given, read_limit, read_statement, reader_of
from fairlane.proofs.claims.proving import prove_all
from fairlane.proofs.claims.rational import Undefined, value_of
from fairlane.proofs.claims.recursion import consistency
from fairlane.proofs.claims.status import STRENGTHS, Outcome, Status
from fairlane.proofs.claims.term import Op, Term
from fairlane.proofs.claims.witness import Point, points, satisfies, show_point, truth_at
from fairlane.reference.errors import InvalidInstance

MAX_POINTS, MAX_STEPS = 40, 6


def run(claim: Claim, context: Context) -> Outcome:
    """Both obligations; the weaker strength of the two."""
    over = claim.text("over").strip()
    if not over.isidentifier():
        raise InvalidInstance(f"{claim.where('over')}: over is {over!r}; need one variable's name")
    first = _first(claim)
    others = tuple(variable for variable in read_variables(claim) if variable.name != over)
    counter = counter_from(over, first)
    reader = reader_of(claim, (*others, counter), more=_recursive_names(claim))
    given = read_given(claim, reader)
    for term in given:
        if over in t.variables(term) and not any(part.op is Op.CALL for part in t.subterms(term)):
            raise InvalidInstance(
                f"{claim.where('given')}: {term}: a hypothesis about {over} alone; "
                "need it in the statement, as implies(...)"
            )
    base_facts, step_facts = read_given(claim, reader, "base"), read_given(claim, reader, "step")
    statement = read_statement(claim, reader)
    limit = read_limit(claim)

    base, step = base_and_step(
        statement,
        counter=counter,
        first=first,
        variables=others,
        always=given,
        base_facts=base_facts,
        step_facts=step_facts,
    )
    point = _false_value(statement, over, first, others, given, (base_facts, step_facts))
    if point is not None:
        shown = f"values computed from the base by the step: false at {point}"
        return Outcome(status=Status.FAILED, strength=None, summary=f"false at {point}", evidence=(shown,))
    agree = consistency(counter, first, others, given, base_facts, step_facts, claim.where("step"))
    outcomes = prove_all((base, step, *agree), limit=limit)
    evidence = tuple(line for outcome in outcomes for line in outcome.evidence)
    for status in (Status.FAILED, Status.UNKNOWN):
        for outcome in outcomes:
            if outcome.status is status:
                if outcome in outcomes[2:]:
                    return replace(outcome, strength=None, evidence=evidence)
                return _with_evidence(outcome, evidence, step_only=status is Status.FAILED and outcome is outcomes[1])
    strengths = [outcome.strength for outcome in outcomes if outcome.strength is not None]
    return Outcome(
        status=Status.HOLDS,
        strength=max(strengths, key=STRENGTHS.index),
        summary=f"base at {over} = {first} and step proved",
        evidence=evidence,
    )


def _false_value(
    statement: Term,
    over: str,
    first: int,
    others: tuple[Variable, ...],
    given: tuple[Term, ...],
    facts: tuple[tuple[Term, ...], tuple[Term, ...]],
) -> str | None:
    """A small case in which the statement is false, where base and step are equations that give every value."""
    plain = [term for term in given if over not in t.variables(term)]
    for point in itertools.islice(points(others), MAX_POINTS):
        if not satisfies(plain, others, point):
            continue
        known: dict[Term, Fraction] = {}
        for k in range(first, first + MAX_STEPS):
            at = {**point, over: Fraction(k)}
            before = {**point, over: Fraction(k - 1)}
            for fact in facts[0] if k == first else facts[1]:
                _learn(fact, at if k == first else before, known)
            truth = truth_at(_with_values(statement, at, known), at)
            if truth is False:
                return show_point(at)
            if truth is None:
                break
    return None


def _learn(fact: Term, at: Point, known: dict[Term, Fraction]) -> None:
    """Note the value that an equation ``S(...) == expression`` gives, where the expression has one."""
    if fact.op is not Op.EQ or fact.args[0].op is not Op.CALL:
        return
    place = t.substitute(fact.args[0], {name: t.number(value) for name, value in at.items()})
    with contextlib.suppress(Undefined):
        known.setdefault(place, value_of(_with_values(fact.args[1], at, known), at))


def _with_values(term: Term, at: Point, known: Mapping[Term, Fraction]) -> Term:
    numbers = {name: t.number(value) for name, value in at.items()}

    def visit(node: Term) -> Term:
        if node in known:
            return t.number(known[node])
        return t.rebuild(node, tuple(visit(arg) for arg in node.args)) if node.args else node

    return visit(t.substitute(term, numbers))


def _with_evidence(outcome: Outcome, evidence: tuple[str, ...], *, step_only: bool) -> Outcome:
    # A step that fails at some k does not make the statement false there, only the induction; a contradiction among
    # the hypotheses, or a false base, does settle it.
    weak = step_only and "contradict" not in outcome.summary
    return Outcome(
        status=Status.UNKNOWN if weak else outcome.status,
        strength=None,
        summary=f"{outcome.summary} (the step does not go through)" if weak else outcome.summary,
        evidence=evidence,
        settled=outcome.settled,
    )


def _first(claim: Claim) -> int:
    text = claim.text("from", "0").strip()
    if not text.lstrip("-").isdigit() or not text.isascii():
        raise InvalidInstance(f"{claim.where('from')}: from is {text!r}; need a whole number")
    return int(text)


def _recursive_names(claim: Claim) -> frozenset[str]:
    """Functions that the base or the step says something about."""
    names: set[str] = set()
    for name in ("base", "step"):
        option = claim.find(name)
        if option is None:
            continue
        tree = parse_python(f"({option.value}\n,)", claim.path, option.line)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                names.add(node.func.id)
    return frozenset(names - {"min", "max", "abs", "implies", "sum", "all", "any", "Fraction"})
