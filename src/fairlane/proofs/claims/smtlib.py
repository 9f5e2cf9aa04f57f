"""Terms as SMT-LIB text: one canonical spelling, so that the same claim always asks the same question.

Division is total in SMT-LIB, with any value at zero, which proves false things. Every divisor therefore becomes a
hypothesis ``divisor != 0``, under the conditions on which its branch is evaluated at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from fairlane.proofs.claims import term as t
from fairlane.proofs.claims.domain import Variable
from fairlane.proofs.claims.powers import atoms, is_constant_power
from fairlane.proofs.claims.term import Op, Term
from fairlane.reference.errors import Unsupported

MAX_POWER = 32


def divisor_guards(term: Term, path: tuple[Term, ...] = ()) -> tuple[Term, ...]:
    """Conditions under which no division by zero is evaluated, in order, each once.

    Parameters
    ----------
    term : Term
        A number or a condition.
    path : tuple of Term
        Conditions known to hold where the term is evaluated.

    Returns
    -------
    tuple of Term
        ``divisor != 0``, implied by the path that leads there.
    """
    found: dict[Term, None] = {}

    def visit(node: Term, known: tuple[Term, ...]) -> None:
        args = node.args
        if node.op is Op.IF:
            visit(args[0], known)
            visit(args[1], (*known, args[0]))
            visit(args[2], (*known, t.negation(args[0])))
            return
        if node.op in (Op.AND, Op.OR):
            for i, arg in enumerate(args):
                before = args[:i] if node.op is Op.AND else tuple(t.negation(a) for a in args[:i])
                visit(arg, (*known, *before))
            return
        if node.op is Op.IMPLIES:
            visit(args[0], known)
            visit(args[1], (*known, args[0]))
            return
        for arg in args:
            visit(arg, known)
        divisor = None
        if node.op is Op.DIV:
            divisor = args[1]
        elif node.op is Op.POW and is_constant_power(node) and args[1].number < 0:
            divisor = args[0]
        if divisor is not None and not (divisor.op is Op.NUMBER and divisor.number):
            nonzero = t.negation(Term(Op.EQ, (divisor, t.number(0))))
            found[nonzero if not known else Term(Op.IMPLIES, (t.conjunction(known), nonzero))] = None

    visit(term, path)
    return tuple(found)


def query(assertions: Sequence[Term], variables: Mapping[str, Variable], *, whole: bool) -> str:
    """One satisfiability question.

    Parameters
    ----------
    assertions : sequence of Term
        Conditions that are to hold together, powers already split.
    variables : mapping
        Declared variables by name.
    whole : bool
        True keeps whole variables whole; False lets them be real, which only makes more satisfiable: an "unsat"
        then still proves the claim, and nonlinear real arithmetic is decidable.

    Returns
    -------
    str
        SMT-LIB 2.6, ending in ``(check-sat)``.

    Raises
    ------
    Unsupported
        A power too large to write out.
    """
    used: set[str] = set()
    opaque: dict[Term, None] = {}
    for assertion in assertions:
        used |= t.variables(assertion)
        opaque.update(dict.fromkeys(atoms(assertion)))
    integral = {name for name in used if whole and name in variables and variables[name].integral}
    writer = _Writer(integral)
    body = [f"(assert {writer.truth(assertion)})" for assertion in assertions]
    lines = [f"(set-logic {_logic(assertions, bool(integral))})"]
    lines += [f"(declare-const {_symbol(n)} {'Int' if n in integral else 'Real'})" for n in sorted(used)]
    lines += [f"(declare-const {_symbol(str(atom))} Real)" for atom in sorted(opaque, key=str)]
    return "\n".join([*lines, *body, "(check-sat)", ""])


def _logic(assertions: Sequence[Term], integral: bool) -> str:
    # A named logic selects the decision procedure for real arithmetic; mixtures are left to the solver.
    if integral:
        return "ALL"
    return "QF_LRA" if all(_linear(term) for term in assertions) else "QF_NRA"


def _linear(term: Term) -> bool:
    for part in t.subterms(term):
        if part.op in (Op.DIV, Op.POW):
            return False
        if part.op is Op.MUL and sum(arg.op is not Op.NUMBER for arg in part.args) > 1:
            return False
    return True


def _symbol(name: str) -> str:
    return name if name.isidentifier() and name.isascii() and not name.startswith("_") else f"|{name}|"


class _Writer:
    def __init__(self, integral: set[str]) -> None:
        self.integral = integral

    def number(self, term: Term) -> str:
        """A real-valued term's text."""
        op = term.op
        if op is Op.NUMBER:
            return _constant(term.number)
        if op is Op.VARIABLE:
            symbol = _symbol(term.name)
            return f"(to_real {symbol})" if term.name in self.integral else symbol
        if op is Op.CALL or (op is Op.POW and not is_constant_power(term)):
            return _symbol(str(term))
        if op is Op.IF:
            return f"(ite {self.truth(term.args[0])} {self.number(term.args[1])} {self.number(term.args[2])})"
        parts = [self.number(arg) for arg in term.args]
        if op in (Op.ADD, Op.MUL, Op.DIV):
            return f"({op.value} {' '.join(parts)})"
        if op is Op.POW:
            exponent = int(term.args[1].number)
            if abs(exponent) > MAX_POWER:
                raise Unsupported(f"{term} has exponent {exponent}; solvers are given powers up to {MAX_POWER}")
            if exponent == 0:
                return "1.0"
            product = parts[0] if abs(exponent) == 1 else f"(* {' '.join([parts[0]] * abs(exponent))})"
            return product if exponent > 0 else f"(/ 1.0 {product})"
        if op is Op.ABS:
            return f"(ite (<= 0.0 {parts[0]}) {parts[0]} (- {parts[0]}))"
        assert op in (Op.MIN, Op.MAX), op
        result = parts[0]
        for part in parts[1:]:
            smaller, larger = (result, part) if op is Op.MIN else (part, result)
            result = f"(ite (<= {result} {part}) {smaller} {larger})"
        return result

    def truth(self, term: Term) -> str:
        """A condition's text."""
        op = term.op
        if op in (Op.AND, Op.OR):
            parts = [self.truth(arg) for arg in term.args]
            if not parts:
                return "true" if op is Op.AND else "false"
            return parts[0] if len(parts) == 1 else f"({op.value} {' '.join(parts)})"
        if op is Op.NOT:
            return f"(not {self.truth(term.args[0])})"
        if op is Op.IMPLIES:
            return f"(=> {self.truth(term.args[0])} {self.truth(term.args[1])})"
        if op is Op.IF:
            return f"(ite {' '.join(self.truth(arg) for arg in term.args)})"
        left, right = self.number(term.args[0]), self.number(term.args[1])
        return f"({'=' if op is Op.EQ else op.value} {left} {right})"


def _constant(value: Fraction) -> str:
    size = f"{abs(value.numerator)}.0"
    if value.denominator != 1:
        size = f"(/ {size} {value.denominator}.0)"
    return f"(- {size})" if value < 0 else size
