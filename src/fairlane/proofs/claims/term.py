"""Mathematical terms: what an expression in a claim means, before any solver sees it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


class Op(StrEnum):
    """Node types of a term; numbers and truth values live in one tree."""

    NUMBER = "number"
    VARIABLE = "variable"
    ADD = "+"
    MUL = "*"
    DIV = "/"
    POW = "**"
    MIN = "min"
    MAX = "max"
    ABS = "abs"
    IF = "if"
    CALL = "call"
    LE = "<="
    LT = "<"
    EQ = "=="
    AND = "and"
    OR = "or"
    NOT = "not"
    IMPLIES = "implies"


LOGICAL = frozenset({Op.LE, Op.LT, Op.EQ, Op.AND, Op.OR, Op.NOT, Op.IMPLIES})


@dataclass(frozen=True, slots=True)
class Term:
    """One node. ``name`` is a variable's or a called function's name; ``number`` a NUMBER's value."""

    op: Op
    args: tuple[Term, ...] = ()
    name: str = ""
    number: Fraction = Fraction(0)

    @property
    def logical(self) -> bool:
        """Whether it is true or false rather than a number."""
        return self.op in LOGICAL or (self.op is Op.IF and self.args[1].logical)

    def __str__(self) -> str:
        return show_term(self)


def number(value: Fraction | int) -> Term:
    """A constant."""
    return Term(Op.NUMBER, number=Fraction(value))


def variable(name: str) -> Term:
    """A variable."""
    return Term(Op.VARIABLE, name=name)


def add(*terms: Term) -> Term:
    """A sum; constants are folded so that equal texts give equal terms."""
    constant = Fraction(0)
    rest: list[Term] = []
    for term in terms:
        for part in term.args if term.op is Op.ADD else (term,):
            if part.op is Op.NUMBER:
                constant += part.number
            else:
                rest.append(part)
    if constant or not rest:
        rest.append(number(constant))
    return rest[0] if len(rest) == 1 else Term(Op.ADD, tuple(rest))


def multiply(*terms: Term) -> Term:
    """A product with its constants folded into one leading factor."""
    constant = Fraction(1)
    rest: list[Term] = []
    for term in terms:
        for part in term.args if term.op is Op.MUL else (term,):
            if part.op is Op.NUMBER:
                constant *= part.number
            else:
                rest.append(part)
    if constant != 1 or not rest:
        rest.insert(0, number(constant))
    return rest[0] if len(rest) == 1 else Term(Op.MUL, tuple(rest))


def negate(term: Term) -> Term:
    """The negative of a number term."""
    return multiply(number(-1), term)


def divide(left: Term, right: Term) -> Term:
    """A quotient; a constant divisor becomes a factor, a zero divisor stays and is reported where it is used."""
    if right.op is Op.NUMBER and right.number:
        return multiply(number(1 / right.number), left)
    return Term(Op.DIV, (left, right))


def power(base: Term, exponent: Term) -> Term:
    """A power; integer constants are folded."""
    if exponent.op is Op.NUMBER and exponent.number.denominator == 1:
        n = int(exponent.number)
        if n == 1:
            return base
        if base.op is Op.NUMBER and (base.number or n >= 0) and abs(n) <= 1000:
            return number(base.number**n)
    return Term(Op.POW, (base, exponent))


def conjunction(terms: tuple[Term, ...]) -> Term:
    """All of them; the empty conjunction is true."""
    return terms[0] if len(terms) == 1 else Term(Op.AND, terms)


def negation(term: Term) -> Term:
    """The opposite of a truth value."""
    return term.args[0] if term.op is Op.NOT else Term(Op.NOT, (term,))


def subterms(term: Term) -> Iterator[Term]:
    """The term and everything below it, parents first."""
    yield term
    for arg in term.args:
        yield from subterms(arg)


def variables(term: Term) -> frozenset[str]:
    """Names of the variables that occur."""
    return frozenset(t.name for t in subterms(term) if t.op is Op.VARIABLE)


def substitute(term: Term, values: dict[str, Term]) -> Term:
    """The term with variables replaced, constants folded again."""
    if term.op is Op.VARIABLE:
        return values.get(term.name, term)
    if not term.args:
        return term
    return rebuild(term, tuple(substitute(arg, values) for arg in term.args))


def rebuild(term: Term, args: tuple[Term, ...]) -> Term:
    """The same node over other arguments."""
    if term.op is Op.ADD:
        return add(*args)
    if term.op is Op.MUL:
        return multiply(*args)
    if term.op is Op.DIV:
        return divide(*args)
    if term.op is Op.POW:
        return power(*args)
    return Term(term.op, args, term.name, term.number)


_INFIX = {Op.ADD, Op.MUL, Op.DIV, Op.POW, Op.LE, Op.LT, Op.EQ, Op.AND, Op.OR}


def show_term(term: Term) -> str:
    """Text with every operator bracketed; equal terms have equal texts."""
    if term.op is Op.NUMBER:
        return f"({term.number})" if term.number < 0 or term.number.denominator != 1 else str(term.number)
    if term.op is Op.VARIABLE:
        return term.name
    if term.op is Op.NOT and term.args[0].op is Op.EQ:
        left, right = term.args[0].args
        return f"({show_term(left)} != {show_term(right)})"
    parts = [show_term(arg) for arg in term.args]
    if term.op in _INFIX:
        return "(" + f" {term.op.value} ".join(parts) + ")" if parts else "true"
    return f"{term.name or term.op.value}({', '.join(parts)})"
