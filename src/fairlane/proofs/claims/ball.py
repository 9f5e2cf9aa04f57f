"""Terms evaluated with error bounds: flint's ball arithmetic, and mpmath as a second, unrelated evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import flint
import mpmath

from fairlane.proofs.claims.rational import Undefined
from fairlane.proofs.claims.term import Op, Term
from fairlane.reference.rationals import to_fmpq

FUNCTIONS = frozenset({"log", "exp", "sqrt", "sin", "cos", "tan", "atan", "gamma", "erf"})
CONSTANTS = frozenset({"pi", "e", "euler_gamma"})


def ball_of(term: Term, at: Mapping[str, Fraction], *, bits: int) -> Any:
    """A ball (flint ``arb``) that encloses a number term's value.

    Parameters
    ----------
    term : Term
        A number.
    at : mapping
        Values of its variables.
    bits : int
        Working precision.

    Raises
    ------
    Undefined
        No finite enclosure: a zero divisor, or a branch the balls cannot decide.
    """
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        result = _Balls(at).value(term)
    finally:
        flint.ctx.prec = before
    if not result.is_finite():
        raise Undefined(f"{term} has no finite enclosure")
    return result


def truth_by_balls(term: Term, at: Mapping[str, Fraction], *, bits: int = 256) -> bool | None:
    """A condition's truth as far as enclosures decide it; None where they do not."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        return _Balls(at).truth(term)
    except Undefined:
        return None
    finally:
        flint.ctx.prec = before


class _Balls:
    def __init__(self, at: Mapping[str, Fraction]) -> None:
        self.at = at
        self.arb: Any = flint.arb

    def constant(self, value: Fraction) -> Any:
        return self.arb(to_fmpq(value))

    def value(self, term: Term) -> Any:
        op = term.op
        if op is Op.NUMBER:
            return self.constant(term.number)
        if op is Op.VARIABLE:
            return self.constant(self.at[term.name])
        if op is Op.IF:
            test = self.truth(term.args[0])
            if test is None:
                raise Undefined(f"{term.args[0]} cannot be decided")
            return self.value(term.args[1] if test else term.args[2])
        if op is Op.CALL:
            return self.call(term)
        parts = [self.value(arg) for arg in term.args]
        if op is Op.POW:
            exponent = term.args[1]
            if exponent.op is Op.NUMBER and exponent.number.denominator == 1:
                return parts[0] ** int(exponent.number)
            return parts[0] ** parts[1]
        if op is Op.DIV:
            return parts[0] / parts[1]
        if op is Op.ABS:
            return abs(parts[0])
        result = parts[0]
        for part in parts[1:]:
            if op is Op.ADD:
                result = result + part
            elif op is Op.MUL:
                result = result * part
            else:
                result = result.min(part) if op is Op.MIN else result.max(part)
        return result

    def call(self, term: Term) -> Any:
        if term.name in CONSTANTS:
            arb = self.arb
            return {"pi": arb.pi, "e": arb.const_e, "euler_gamma": arb.const_euler}[term.name]()
        if term.name not in FUNCTIONS or len(term.args) != 1:
            raise Undefined(f"{term} is not a known function")
        return getattr(self.value(term.args[0]), term.name)()

    def truth(self, term: Term) -> bool | None:
        op, args = term.op, term.args
        if op is Op.NOT:
            inner = self.truth(args[0])
            return None if inner is None else not inner
        if op is Op.IMPLIES:
            first = self.truth(args[0])
            return True if first is False else (self.truth(args[1]) if first else (self.truth(args[1]) or None))
        if op in (Op.AND, Op.OR):
            stop = op is Op.OR
            open_ = False
            for arg in args:
                part = self.truth(arg)
                if part is stop:
                    return stop
                open_ = open_ or part is None
            return None if open_ else not stop
        if op is Op.IF:
            test = self.truth(args[0])
            return None if test is None else self.truth(args[1] if test else args[2])
        difference = self.value(args[1]) - self.value(args[0])
        if op is Op.EQ:
            return False if difference != 0 else (True if difference == 0 else None)
        if op is Op.LE:
            return True if difference >= 0 else (False if difference < 0 else None)
        return True if difference > 0 else (False if difference <= 0 else None)


def mpmath_of(term: Term, *, digits: int) -> Fraction:
    """A closed term's value by mpmath at so many digits, as the rational its binary result is.

    Raises
    ------
    Undefined
        Not a finite real number.
    """
    with mpmath.workdps(digits):
        try:
            result = _mpmath_value(term, mpmath)
        except ZeroDivisionError:
            raise Undefined(f"{term} divides by zero") from None
        if not isinstance(result, mpmath.mpf) or not mpmath.isfinite(result):
            raise Undefined(f"{term} is not a finite real number")
        sign, mantissa, exponent, _ = result._mpf_
        value = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
        return -value if sign else value


def _mpmath_value(term: Term, mp: Any) -> Any:
    op = term.op
    if op is Op.NUMBER:
        return mp.mpf(term.number.numerator) / term.number.denominator
    if op is Op.CALL:
        if term.name in CONSTANTS:
            return +{"pi": mp.pi, "e": mp.e, "euler_gamma": mp.euler}[term.name]
        if term.name in FUNCTIONS and len(term.args) == 1:
            return getattr(mp, term.name)(_mpmath_value(term.args[0], mp))
        raise Undefined(f"{term} is not a known function")
    if op is Op.IF:
        left, right = (_mpmath_value(arg, mp) for arg in term.args[0].args)
        holds = {Op.LE: left <= right, Op.LT: left < right, Op.EQ: left == right}.get(term.args[0].op)
        if holds is None:
            raise Undefined(f"{term.args[0]} is no plain comparison")
        return _mpmath_value(term.args[1] if holds else term.args[2], mp)
    parts = [_mpmath_value(arg, mp) for arg in term.args]
    if op is Op.ADD:
        return mp.fsum(parts)
    if op is Op.MUL:
        return mp.fprod(parts)
    if op is Op.DIV:
        return parts[0] / parts[1]
    if op is Op.POW:
        return parts[0] ** parts[1]
    if op is Op.ABS:
        return abs(parts[0])
    return min(parts) if op is Op.MIN else max(parts)
