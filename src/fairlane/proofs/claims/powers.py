"""Powers with a variable exponent: one normal form, so that ``q**(k+1)`` and ``q*q**k`` are the same term.

An exponent that is a whole-number combination of variables is split: ``b**(2*k+1)`` becomes ``(b**k)**2 * b``.
The remaining atoms ``b**k`` are opaque to every solver. Splitting is valid where the base is not zero, or where the
exponents stay nonnegative, and anything else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from fairlane.proofs.claims import term as t
from fairlane.proofs.claims.domain import Domain, Variable
from fairlane.proofs.claims.term import Op, Term
from fairlane.reference.errors import Unsupported

_NEVER_NEGATIVE = frozenset({Domain.NATURAL, Domain.COUNT})
_NEVER_ZERO = frozenset({Domain.POSITIVE, Domain.NONZERO, Domain.OPEN_UNIT, Domain.COUNT})


def is_constant_power(term: Term) -> bool:
    """Whether a POW has a whole constant exponent."""
    exponent = term.args[1]
    return exponent.op is Op.NUMBER and exponent.number.denominator == 1


def linear_exponent(exponent: Term) -> tuple[int, tuple[tuple[int, str], ...]] | None:
    """An exponent as ``c + Σ a·v`` with whole c and a, or None."""
    constant = 0
    parts: dict[str, int] = {}
    for part in exponent.args if exponent.op is Op.ADD else (exponent,):
        factor, rest = Fraction(1), part
        if part.op is Op.MUL and len(part.args) == 2 and part.args[0].op is Op.NUMBER:
            factor, rest = part.args[0].number, part.args[1]
        if rest.op is Op.NUMBER:
            factor, rest = factor * rest.number, t.number(1)
        if factor.denominator != 1:
            return None
        if rest.op is Op.NUMBER:
            constant += int(factor)
        elif rest.op is Op.VARIABLE:
            parts[rest.name] = parts.get(rest.name, 0) + int(factor)
        else:
            return None
    return constant, tuple(sorted((a, v) for v, a in parts.items() if a))


def split_powers(term: Term, variables: Mapping[str, Variable]) -> Term:
    """The term with every variable exponent split.

    Raises
    ------
    Unsupported
        An exponent that is no whole combination of whole variables, or a base that may be zero under one that may be
        negative.
    """
    if not term.args:
        return term
    rebuilt = t.rebuild(term, tuple(split_powers(arg, variables) for arg in term.args))
    if rebuilt.op is not Op.POW or is_constant_power(rebuilt):
        return rebuilt
    base, exponent = rebuilt.args
    linear = linear_exponent(exponent)
    if linear is None:
        raise Unsupported(f"exponent {exponent} of {rebuilt}; need a whole-number combination of variables")
    constant, parts = linear
    for _, name in parts:
        if name not in variables or not variables[name].integral:
            raise Unsupported(f"exponent {exponent} of {rebuilt}; need {name} in integer, natural or count")
    nonnegative = all(variables[name].domain in _NEVER_NEGATIVE for _, name in parts)
    if not nonnegative and not _never_zero(base, variables):
        raise Unsupported(
            f"{rebuilt} may be zero to a negative power; "
            "need its base declared positive or nonzero, or natural exponents"
        )
    factors = [t.power(Term(Op.POW, (base, t.variable(name))), t.number(a)) for a, name in parts]
    factors.append(t.power(base, t.number(constant)) if constant else t.number(1))
    return t.multiply(*factors)


def _never_zero(base: Term, variables: Mapping[str, Variable]) -> bool:
    if base.op is Op.NUMBER:
        return bool(base.number)
    return base.op is Op.VARIABLE and base.name in variables and variables[base.name].domain in _NEVER_ZERO


def atoms(term: Term) -> tuple[Term, ...]:
    """Opaque subterms, in order of first appearance: variable powers and calls of uninterpreted functions."""
    found: dict[Term, None] = {}
    for part in t.subterms(term):
        if part.op is Op.CALL or (part.op is Op.POW and not is_constant_power(part)):
            found[part] = None
    return tuple(found)


def power_facts(atom: Term) -> tuple[Term, ...]:
    """What is true of every ``b**n`` with whole n, said to a solver that knows the atom by name only."""
    if atom.op is not Op.POW:
        return ()
    base, exponent = atom.args
    zero, one = t.number(0), t.number(1)

    def implies(*parts: Term) -> Term:
        return Term(Op.IMPLIES, (t.conjunction(parts[:-1]), parts[-1]))

    def at_most(a: Term, b: Term) -> Term:
        return Term(Op.LE, (a, b))

    nonnegative = at_most(zero, exponent)
    return (
        implies(Term(Op.LT, (zero, base)), Term(Op.LT, (zero, atom))),
        implies(nonnegative, at_most(zero, base), at_most(zero, atom)),
        implies(nonnegative, at_most(zero, base), at_most(base, one), at_most(atom, one)),
        implies(nonnegative, at_most(one, base), at_most(one, atom)),
        implies(Term(Op.EQ, (exponent, zero)), Term(Op.EQ, (atom, one))),
        implies(at_most(one, exponent), Term(Op.EQ, (base, zero)), Term(Op.EQ, (atom, zero))),
    )
