"""Reading the mathematics of a claim: Python syntax in, terms out, every error with file and line.

``1/3`` is the rational, ``0.1`` is 1/10 by its decimal text, comparisons chain, ``and``, ``or``, ``not``,
``implies(a, b)``, ``x if c else y``, ``min``, ``max``, ``abs``, and ``sum``, ``all``, ``any`` over a ``range`` with
known ends are understood. A line ``name = expression`` introduces an abbreviation, ``f = lambda x: ...`` a function.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairlane.proofs.claims import term as t
from fairlane.proofs.claims.term import Op, Term
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import parse_number

MAX_TERMS = 10_000


@dataclass(frozen=True, slots=True)
class Function:
    """An abbreviation with arguments, from ``f = lambda x: ...``."""

    parameters: tuple[str, ...]
    body: ast.expr
    scope: Mapping[str, object]


Scope = Mapping[str, object]
_TRUE = Term(Op.AND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads the texts of one claim.

    Parameters
    ----------
    path : str
        For messages.
    variables : frozenset of str
        Declared names.
    functions : frozenset of str
        Names that may be called, such as ``log``.
    constants : frozenset of str
        Names of fixed numbers, such as ``pi``.
    """

    path: str
    variables: frozenset[str]
    functions: frozenset[str] = frozenset()
    constants: frozenset[str] = frozenset()

    def statements(self, text: str, first_line: int) -> tuple[tuple[Term, int], ...]:
        """Terms of a body with the line each starts on; abbreviations are put in place.

        Raises
        ------
        InvalidInstance
            Syntax, an unknown name, or something that is no mathematics.
        """
        tree = parse_python(text, self.path, first_line)
        scope: dict[str, object] = {}
        result: list[tuple[Term, int]] = []
        for node in tree.body:
            line = first_line + node.lineno - 1
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                if name in self.variables or name in scope:
                    raise self._bad(node, first_line, text, f"{name!r} is already taken; need a fresh name")
                value = node.value
                if isinstance(value, ast.Lambda):
                    names = tuple(a.arg for a in value.args.args)
                    scope[name] = Function(names, value.body, dict(scope))
                else:
                    scope[name] = _Walk(self, text, first_line).read(value, scope)
            elif isinstance(node, ast.Expr):
                result.append((_Walk(self, text, first_line).read(node.value, scope), line))
            else:
                raise self._bad(node, first_line, text, "need expressions or lines `name = expression`")
        return tuple(result)

    def conditions(self, text: str, first_line: int) -> tuple[Term, ...]:
        """Terms of a comma-separated list such as ``:given:``.

        Raises
        ------
        InvalidInstance
            As for :meth:`statements`, or a term that is a number.
        """
        result: list[Term] = []
        for node in parse_list(text, self.path, first_line):
            read = _Walk(self, text, first_line).read(node, {})
            if not read.logical:
                raise self._bad(node, first_line, text, "need a condition that is true or false")
            result.append(read)
        return tuple(result)

    def _bad(self, node: ast.AST, first_line: int, text: str, message: str) -> InvalidInstance:
        return bad_node(node, self.path, first_line, text, message)


def parse_python(text: str, path: str, first_line: int) -> ast.Module:
    """Python syntax of a claim's body.

    Raises
    ------
    InvalidInstance
        A syntax error, with its line.
    """
    try:
        return ast.parse(text)
    except SyntaxError as error:
        line = first_line + (error.lineno or 1) - 1
        said = error.msg or ""
        hint = "; an equation is written with ==" if "assign" in said or "'=='" in said else ""
        raise InvalidInstance(f"{path}:{line}: {(error.text or text).strip()!r}: {error.msg}{hint}") from None


def parse_list(text: str, path: str, first_line: int) -> tuple[ast.expr, ...]:
    """Elements of a comma-separated list; brackets protect commas and line ends.

    Raises
    ------
    InvalidInstance
        A syntax error, with its line.
    """
    if not text.strip():
        return ()
    tree = parse_python(f"({text}\n,)" if not text.rstrip().endswith(",") else f"({text}\n)", path, first_line)
    node = tree.body[0]
    if len(tree.body) != 1 or not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Tuple):
        raise InvalidInstance(f"{path}:{first_line}: {text!r}; need a comma-separated list")
    return tuple(node.value.elts)


def bad_node(node: ast.AST, path: str, first_line: int, text: str, message: str) -> InvalidInstance:
    """An error about one piece of syntax, quoting it."""
    line = first_line + getattr(node, "lineno", 1) - 1
    quoted = ast.unparse(node)
    shown = quoted if len(quoted) <= 60 else quoted[:57] + "..."
    return InvalidInstance(f"{path}:{line}: {shown!r}: {message}")


class _Walk:
    """One expression's walk, from syntax to a term."""

    def __init__(self, reader: Reader, text: str, first_line: int) -> None:
        self.reader = reader
        self.text = text
        self.first_line = first_line

    def bad(self, node: ast.AST, message: str) -> InvalidInstance:
        return bad_node(node, self.reader.path, self.first_line, self.text, message)

    def read(self, node: ast.expr, scope: Scope) -> Term:
        """The node's meaning."""
        if isinstance(node, ast.Constant):
            return self.constant(node)
        if isinstance(node, ast.Name):
            return self.name(node, scope)
        if isinstance(node, ast.UnaryOp):
            return self.unary(node, scope)
        if isinstance(node, ast.BinOp):
            return self.binary(node, scope)
        if isinstance(node, ast.BoolOp):
            parts = tuple(self.truth(value, scope) for value in node.values)
            return Term(Op.AND if isinstance(node.op, ast.And) else Op.OR, parts)
        if isinstance(node, ast.Compare):
            return self.comparison(node, scope)
        if isinstance(node, ast.IfExp):
            test = self.truth(node.test, scope)
            branches = (self.read(node.body, scope), self.read(node.orelse, scope))
            if branches[0].logical != branches[1].logical:
                raise self.bad(node, "need both branches to be numbers, or both conditions")
            return Term(Op.IF, (test, *branches))
        if isinstance(node, ast.Call):
            return self.call(node, scope)
        raise self.bad(node, "not understood here; need arithmetic, comparisons and min, max, abs, sum, all, any")

    def constant(self, node: ast.Constant) -> Term:
        if node.value is True:
            return _TRUE
        if node.value is False:
            return Term(Op.NOT, (_TRUE,))
        if isinstance(node.value, int):
            return t.number(node.value)
        if isinstance(node.value, float):
            written = ast.get_source_segment(self.text, node) or repr(node.value)
            return t.number(parse_number(written.replace("_", ""), self.reader.path))
        raise self.bad(node, "need a number")

    def name(self, node: ast.Name, scope: Scope) -> Term:
        if node.id in scope:
            value = scope[node.id]
            if isinstance(value, Term):
                return value
            raise self.bad(node, "is a function; need its arguments")
        if node.id in self.reader.variables:
            return t.variable(node.id)
        if node.id in self.reader.constants:
            return Term(Op.CALL, (), node.id)
        known = ", ".join(sorted(self.reader.variables)) or "none"
        raise self.bad(node, f"unknown name; need it in :vars: (declared: {known})")

    def unary(self, node: ast.UnaryOp, scope: Scope) -> Term:
        if isinstance(node.op, ast.Not):
            return t.negation(self.truth(node.operand, scope))
        if isinstance(node.op, ast.USub):
            return t.negate(self.value(node.operand, scope))
        if isinstance(node.op, ast.UAdd):
            return self.value(node.operand, scope)
        raise self.bad(node, "need -, + or not")

    def binary(self, node: ast.BinOp, scope: Scope) -> Term:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        if isinstance(node.op, ast.Add):
            return t.add(left, right)
        if isinstance(node.op, ast.Sub):
            return t.add(left, t.negate(right))
        if isinstance(node.op, ast.Mult):
            return t.multiply(left, right)
        if isinstance(node.op, ast.Div):
            if right.op is Op.NUMBER and not right.number:
                raise self.bad(node, "division by zero")
            return t.divide(left, right)
        if isinstance(node.op, ast.Pow):
            return t.power(left, right)
        raise self.bad(node, "need one of + - * / **")

    def comparison(self, node: ast.Compare, scope: Scope) -> Term:
        sides = [self.read(side, scope) for side in (node.left, *node.comparators)]
        parts: list[Term] = []
        for left, right, operator in zip(sides, sides[1:], node.ops, strict=False):
            if left.logical or right.logical:
                if not (left.logical and right.logical and isinstance(operator, ast.Eq)):
                    raise self.bad(node, "need numbers on both sides, or two conditions joined by ==")
                parts.append(Term(Op.AND, (Term(Op.IMPLIES, (left, right)), Term(Op.IMPLIES, (right, left)))))
                continue
            parts.append(self.relation(node, operator, left, right))
        return t.conjunction(tuple(parts))

    def relation(self, node: ast.Compare, operator: ast.cmpop, left: Term, right: Term) -> Term:
        if isinstance(operator, ast.Eq):
            return Term(Op.EQ, (left, right))
        if isinstance(operator, ast.NotEq):
            return Term(Op.NOT, (Term(Op.EQ, (left, right)),))
        if isinstance(operator, ast.LtE):
            return Term(Op.LE, (left, right))
        if isinstance(operator, ast.Lt):
            return Term(Op.LT, (left, right))
        if isinstance(operator, ast.GtE):
            return Term(Op.LE, (right, left))
        if isinstance(operator, ast.Gt):
            return Term(Op.LT, (right, left))
        raise self.bad(node, "need ==, !=, <, <=, > or >=")

    def call(self, node: ast.Call, scope: Scope) -> Term:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self.bad(node, "need a plain function with positional arguments")
        name = node.func.id
        if name in ("sum", "all", "any") and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            parts = self.unroll(node.args[0], scope, self.value if name == "sum" else self.truth)
            if name == "sum":
                return t.add(*parts)
            return Term(Op.AND if name == "all" else Op.OR, tuple(parts))
        function = scope.get(name)
        if isinstance(function, Function):
            if len(node.args) != len(function.parameters):
                raise self.bad(node, f"need {len(function.parameters)} arguments")
            values = [self.read(arg, scope) for arg in node.args]
            return self.read(function.body, {**function.scope, **dict(zip(function.parameters, values, strict=True))})
        if name == "implies" and len(node.args) == 2:
            return Term(Op.IMPLIES, (self.truth(node.args[0], scope), self.truth(node.args[1], scope)))
        args = tuple(self.value(arg, scope) for arg in node.args)
        if name == "abs" and len(args) == 1:
            return Term(Op.ABS, args)
        if name in ("min", "max") and len(args) >= 2:
            return Term(Op(name), args)
        if name == "Fraction" and len(args) == 2:
            return t.divide(*args)
        if name in self.reader.functions and args:
            return Term(Op.CALL, args, name)
        known = ", ".join(sorted(self.reader.functions)) or "none"
        raise self.bad(node, f"unknown function; need min, max, abs, implies, sum, all, any or one declared ({known})")

    def unroll(self, node: ast.GeneratorExp, scope: Scope, read: Callable[[ast.expr, Scope], Term]) -> Sequence[Term]:
        scopes: list[Scope] = [scope]
        for loop in node.generators:
            following: list[Scope] = []
            for inner in scopes:
                for i in self.integers(loop, inner):
                    if not isinstance(loop.target, ast.Name):
                        raise self.bad(loop.target, "need a single loop name")
                    following.append({**inner, loop.target.id: t.number(i)})
            scopes = following
            if len(scopes) > MAX_TERMS:
                raise self.bad(node, f"has more than {MAX_TERMS} terms")
        return [read(node.elt, inner) for inner in scopes]

    def integers(self, loop: ast.comprehension, scope: Scope) -> range:
        call = loop.iter
        if loop.ifs or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "range":
            raise self.bad(loop.iter, "need range(...) without a filter")
        ends: list[int] = []
        for arg in call.args:
            value = self.value(arg, scope)
            if value.op is not Op.NUMBER or value.number.denominator != 1:
                raise self.bad(arg, "need a known whole number as the end of a range")
            ends.append(int(value.number))
        if not 1 <= len(ends) <= 3 or (len(ends) == 3 and ends[2] == 0):
            raise self.bad(loop.iter, "need range(stop), range(start, stop) or range(start, stop, step)")
        return range(*ends)

    def value(self, node: ast.expr, scope: Scope) -> Term:
        read = self.read(node, scope)
        if read.logical:
            raise self.bad(node, "is a condition; need a number")
        return read

    def truth(self, node: ast.expr, scope: Scope) -> Term:
        read = self.read(node, scope)
        if not read.logical:
            raise self.bad(node, "is a number; need a condition")
        return read
