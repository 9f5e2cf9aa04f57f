"""Equality of rational functions by normal form, twice: with flint's polynomials, and with SymPy's own.

Variable powers and calls count as independent generators, so a zero residue proves the identity and a nonzero one
proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flint
from sympy.polys.domains import QQ
from sympy.polys.fields import field

from fairlane.proofs.claims.powers import atoms, is_constant_power
from fairlane.proofs.claims.term import Op, Term, variables
from fairlane.reference.errors import Unsupported
from fairlane.reference.rationals import to_fmpq

MAX_POWER = 200


def generators(term: Term) -> tuple[Term, ...]:
    """Variables and opaque atoms of a term, in an order that depends on the term alone."""
    found = dict.fromkeys(atoms(term))
    plain = tuple(Term(Op.VARIABLE, name=name) for name in sorted(variables(term)))
    return (*plain, *found)


def residue_is_zero_flint(left: Term, right: Term) -> tuple[bool, str]:
    """Whether both sides have one normal form, by flint over the rationals.

    Returns
    -------
    tuple of bool and str
        The verdict, and the residue's numerator (shortened where long).

    Raises
    ------
    Unsupported
        A side is no rational function, or divides by zero identically.
    """
    gens = generators(Term(Op.EQ, (left, right)))
    names = tuple(f"g{i}" for i in range(max(1, len(gens))))
    context = flint.fmpq_mpoly_ctx.get(names, flint.Ordering.degrevlex)
    table = dict(zip(gens, context.gens(), strict=False))
    one = context.constant(1)

    def quotient(term: Term) -> tuple[Any, Any]:
        if term in table:
            return table[term], one
        if term.op is Op.NUMBER:
            return context.constant(to_fmpq(term.number)), one
        parts = [quotient(arg) for arg in _algebraic(term)]
        if term.op is Op.POW:
            (n, d), exponent = parts[0], int(term.args[1].number)
            if exponent >= 0:
                return n**exponent, d**exponent
            return d**-exponent, _nonzero(n, term) ** -exponent
        if term.op is Op.DIV:
            (n1, d1), (n2, d2) = parts
            return n1 * d2, d1 * _nonzero(n2, term)
        numerator, denominator = parts[0]
        for n, d in parts[1:]:
            if term.op is Op.ADD:
                if d == denominator:
                    numerator = numerator + n
                else:
                    numerator, denominator = numerator * d + n * denominator, denominator * d
            else:
                numerator, denominator = numerator * n, denominator * d
        common = numerator.gcd(denominator) if numerator != 0 else denominator
        return numerator / common, denominator / common

    (n1, d1), (n2, d2) = quotient(left), quotient(right)
    residue = n1 * d2 - n2 * d1
    return bool(residue == 0), _renamed(str(residue), names, gens)


def residue_is_zero_sympy(left: Term, right: Term) -> bool:
    """The same verdict by SymPy's sparse rational functions, which share no code with flint's.

    Raises
    ------
    Unsupported
        As above.
    """
    gens = generators(Term(Op.EQ, (left, right)))
    names = [f"g{i}" for i in range(max(1, len(gens)))]
    rational_functions, *symbols = field(names, QQ)
    table = dict(zip(gens, symbols, strict=False))

    def element(term: Term) -> Any:
        if term in table:
            return table[term]
        if term.op is Op.NUMBER:
            return rational_functions(QQ(term.number.numerator, term.number.denominator))
        parts = [element(arg) for arg in _algebraic(term)]
        if term.op is Op.POW:
            exponent = int(term.args[1].number)
            return (parts[0] if exponent >= 0 else 1 / _nonzero(parts[0], term)) ** abs(exponent)
        if term.op is Op.DIV:
            return parts[0] / _nonzero(parts[1], term)
        combine: Callable[[Any, Any], Any] = (lambda a, b: a + b) if term.op is Op.ADD else (lambda a, b: a * b)
        result = parts[0]
        for part in parts[1:]:
            result = combine(result, part)
        return result

    return bool(element(left) - element(right) == 0)


def _algebraic(term: Term) -> tuple[Term, ...]:
    if term.op in (Op.ADD, Op.MUL, Op.DIV):
        return term.args
    if term.op is Op.POW and is_constant_power(term):
        if abs(term.args[1].number) > MAX_POWER:
            raise Unsupported(f"{term}: normal forms take powers up to {MAX_POWER}")
        return term.args[:1]
    raise Unsupported(f"{term} is no rational function")


def _nonzero(value: Any, term: Term) -> Any:
    if value == 0:
        raise Unsupported(f"{term} divides by zero whatever the variables are")
    return value


def _renamed(text: str, names: Sequence[str], gens: Sequence[Term]) -> str:
    for name, generator in reversed(list(zip(names, gens, strict=False))):
        text = text.replace(name, str(generator))
    return text if len(text) <= 200 else text[:197] + "..."
