"""Terms evaluated in rationals: how witnesses and counterexamples are replayed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from fairlane.proofs.claims.term import Op, Term

MAX_EXPONENT = 10_000


class Undefined(Exception):
    """The term has no rational value there: a zero divisor, or a function without one."""


def value_of(term: Term, at: Mapping[str, Fraction]) -> Fraction:
    """A number term's value.

    Raises
    ------
    Undefined
        It has none in the rationals.
    """
    op, args = term.op, term.args
    if op is Op.NUMBER:
        return term.number
    if op is Op.VARIABLE:
        return at[term.name]
    if op is Op.IF:
        return value_of(args[1] if truth_of(args[0], at) else args[2], at)
    if op is Op.CALL:
        raise Undefined(f"{term} has no rational value here")
    values = [value_of(arg, at) for arg in args]
    if op is Op.ADD:
        return sum(values, Fraction(0))
    if op is Op.MUL:
        product = Fraction(1)
        for value in values:
            product *= value
        return product
    if op is Op.DIV:
        if values[1] == 0:
            raise Undefined(f"{args[1]} is zero")
        return values[0] / values[1]
    if op is Op.POW:
        base, exponent = values
        if exponent.denominator != 1 or abs(exponent) > MAX_EXPONENT:
            raise Undefined(f"{term} has exponent {exponent}; only whole ones to {MAX_EXPONENT} are rational")
        if base == 0 and exponent < 0:
            raise Undefined(f"{args[0]} is zero")
        return base ** int(exponent)
    if op is Op.MIN:
        return min(values)
    if op is Op.MAX:
        return max(values)
    assert op is Op.ABS, op
    return abs(values[0])


def truth_of(term: Term, at: Mapping[str, Fraction]) -> bool:
    """A condition's truth. Connectives look no further than they must, as in Python.

    Raises
    ------
    Undefined
        A number in it has no rational value.
    """
    op, args = term.op, term.args
    if op is Op.AND:
        return all(truth_of(arg, at) for arg in args)
    if op is Op.OR:
        return any(truth_of(arg, at) for arg in args)
    if op is Op.NOT:
        return not truth_of(args[0], at)
    if op is Op.IMPLIES:
        return not truth_of(args[0], at) or truth_of(args[1], at)
    if op is Op.IF:
        return truth_of(args[1] if truth_of(args[0], at) else args[2], at)
    left, right = value_of(args[0], at), value_of(args[1], at)
    if op is Op.LE:
        return left <= right
    if op is Op.LT:
        return left < right
    assert op is Op.EQ, op
    return left == right
