"""Variables of a claim and the sets they range over."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from fairlane.proofs.claims import term as t
from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.expression import bad_node, parse_list
from fairlane.proofs.claims.term import Op, Term


class Domain(StrEnum):
    """Where a variable lives; without one it is any real number."""

    REAL = "real"
    NONNEGATIVE = "nonnegative"
    POSITIVE = "positive"
    NONZERO = "nonzero"
    UNIT = "unit"
    OPEN_UNIT = "open_unit"
    INTEGER = "integer"
    NATURAL = "natural"
    COUNT = "count"


INTEGRAL = frozenset({Domain.INTEGER, Domain.NATURAL, Domain.COUNT})
_ZERO, _ONE = t.number(0), t.number(1)


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared name and its domain."""

    name: str
    domain: Domain

    @property
    def integral(self) -> bool:
        """Whether it takes whole numbers only."""
        return self.domain in INTEGRAL

    def conditions(self) -> tuple[Term, ...]:
        """What the domain says beyond whole or real."""
        x = t.variable(self.name)
        match self.domain:
            case Domain.NONNEGATIVE | Domain.NATURAL:
                return (Term(Op.LE, (_ZERO, x)),)
            case Domain.POSITIVE:
                return (Term(Op.LT, (_ZERO, x)),)
            case Domain.COUNT:
                return (Term(Op.LE, (_ONE, x)),)
            case Domain.NONZERO:
                return (t.negation(Term(Op.EQ, (x, _ZERO))),)
            case Domain.UNIT:
                return (Term(Op.LE, (_ZERO, x)), Term(Op.LE, (x, _ONE)))
            case Domain.OPEN_UNIT:
                return (Term(Op.LT, (_ZERO, x)), Term(Op.LT, (x, _ONE)))
            case _:
                return ()

    def contains(self, value: Fraction) -> bool:
        """Whether a rational lies in the domain."""
        match self.domain:
            case Domain.REAL:
                return True
            case Domain.NONNEGATIVE:
                return value >= 0
            case Domain.POSITIVE:
                return value > 0
            case Domain.NONZERO:
                return value != 0
            case Domain.UNIT:
                return 0 <= value <= 1
            case Domain.OPEN_UNIT:
                return 0 < value < 1
            case Domain.INTEGER:
                return value.denominator == 1
            case Domain.NATURAL:
                return value.denominator == 1 and value >= 0
            case Domain.COUNT:
                return value.denominator == 1 and value >= 1


def read_variables(claim: Claim) -> tuple[Variable, ...]:
    """Variables of ``:vars:``, such as ``k in natural, q in unit, x``.

    Raises
    ------
    InvalidInstance
        Not of that form, a name twice, or an unknown domain.
    """
    option = claim.find("vars")
    if option is None:
        return ()
    found: list[Variable] = []
    for node in parse_list(option.value, claim.path, option.line):

        def bad(message: str, at: ast.AST = node) -> Exception:
            return bad_node(at, claim.path, option.line, option.value, message)

        if isinstance(node, ast.Name):
            variable = Variable(node.id, Domain.REAL)
        elif (
            isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Name)
            and len(node.ops) == 1
            and isinstance(node.ops[0], ast.In)
            and isinstance(node.comparators[0], ast.Name)
        ):
            name = node.comparators[0].id
            if name not in list(Domain):
                raise bad(f"unknown domain {name!r}; need one of {', '.join(Domain)}")
            variable = Variable(node.left.id, Domain(name))
        else:
            raise bad("need `name` or `name in domain`")
        if any(variable.name == other.name for other in found):
            raise bad(f"declares {variable.name!r} twice; need distinct names")
        found.append(variable)
    return tuple(found)
