"""Exact Python in a claim: expressions evaluated with rationals, in which a float is an error.

The division of two whole numbers is a rational here, a decimal is read by its text (or refused), and a float that an
imported function returns is caught where it is compared.
"""

from __future__ import annotations

import ast
import copy
import importlib
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, StrEnum
from fractions import Fraction
from itertools import chain, combinations, permutations, product
from numbers import Rational
from types import CodeType
from typing import Any

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.expression import bad_node, parse_python
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import parse_number


def _some(items: Iterable[object], name: str) -> list[object]:
    """The items, refused where there are none: ``all`` of nothing is true whatever is claimed."""
    found = list(items)
    if not found:
        raise InvalidInstance(f"{name}(...) of nothing says nothing; need at least one member")
    return found


NAMES: dict[str, object] = {
    "abs": abs,
    "all": lambda items: all(_some(items, "all")),
    "any": lambda items: any(_some(items, "any")),
    "bool": bool,
    "ceil": math.ceil,
    "chain": chain,
    "comb": math.comb,
    "combinations": combinations,
    "dict": dict,
    "enumerate": enumerate,
    "factorial": math.factorial,
    "floor": math.floor,
    "Fraction": Fraction,
    "frozenset": frozenset,
    "gcd": math.gcd,
    "implies": lambda a, b: bool(b) or not a,
    "int": int,
    "isinstance": isinstance,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "permutations": permutations,
    "prod": math.prod,
    "product": product,
    "range": range,
    "reversed": reversed,
    "set": set,
    "sorted": sorted,
    "str": str,
    "sum": sum,
    "tuple": tuple,
    "zip": zip,
}


class FloatInExact(InvalidInstance):
    """A number that is not rational where the claim promises rationals."""


# What a comparison may be about besides numbers: names, and nothing at all.
_PLAIN = (Rational, str, bytes, Enum, type(None), range)


def exact(value: object) -> Any:
    """The value itself, refused unless it is a rational, a name, or made of such at any depth.

    What a type's own ``==`` decides, a tolerance for instance, is no exact comparison; so everything that is not
    known to be exact is refused, floats of every library included.

    Raises
    ------
    FloatInExact
        It is or holds anything else.
    """
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Mapping):
        exact(tuple(value))
        exact(tuple(value.values()))
    elif isinstance(value, (tuple, list, set, frozenset)):
        for item in value:
            exact(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            if item.compare:
                exact(getattr(value, item.name))
    else:
        raise FloatInExact(f"{_kind(value)} ({value!r}) came up; need rationals throughout")
    return value


def _kind(value: object) -> str:
    name = type(value).__name__
    return "a float" if isinstance(value, float) else f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _divide(left: Any, right: Any) -> Any:
    """``left / right`` with whole numbers divided exactly."""
    if isinstance(left, int) and isinstance(right, int):
        return Fraction(left, right)
    return operator.truediv(exact(left), exact(right))


def _power(left: Any, right: Any) -> Any:
    """``left ** right`` with whole bases kept rational under a negative exponent."""
    if isinstance(left, int) and isinstance(right, int) and right < 0:
        return Fraction(left) ** right
    if isinstance(right, Fraction) and right.denominator == 1:
        right = int(right)
    return exact(operator.pow(left, right))


def _divide_freely(left: Any, right: Any) -> Any:
    return Fraction(left, right) if isinstance(left, int) and isinstance(right, int) else left / right


def _power_freely(left: Any, right: Any) -> Any:
    return Fraction(left) ** right if isinstance(left, int) and isinstance(right, int) else left**right


def _as_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Statement:
    """A compiled expression with its line and text, and both sides where it is a plain equation."""

    code: CodeType
    line: int
    text: str
    left: CodeType | None = None
    right: CodeType | None = None


@dataclass(frozen=True, slots=True)
class Binding:
    """A compiled line ``name = expression``."""

    name: str
    code: CodeType
    line: int


class Numbers(StrEnum):
    """What numbers a program may meet."""

    RATIONAL = "rational"  # a decimal literal is refused, a float is an error
    DECIMAL = "decimal"  # a decimal literal is read by its text, a float is an error
    DOUBLE = "double"  # floats that imported functions return are let through


@dataclass(frozen=True, slots=True)
class Program:
    """Compiled lines in order, and the numbers they may meet."""

    lines: tuple[Statement | Binding, ...]
    numbers: Numbers

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The expressions, without the abbreviations."""
        return tuple(line for line in self.lines if isinstance(line, Statement))


_STRICT: dict[str, object] = {"_divide": _divide, "_power": _power, "_exact": exact}
_ARITHMETIC: dict[Numbers, dict[str, object]] = {
    Numbers.RATIONAL: _STRICT,
    Numbers.DECIMAL: _STRICT,
    Numbers.DOUBLE: {"_divide": _divide_freely, "_power": _power_freely, "_exact": _as_is},
}


class _Exactly(ast.NodeTransformer):
    def __init__(self, path: str, first_line: int, text: str, decimals: bool) -> None:
        self.path, self.first_line, self.text, self.decimals = path, first_line, text, decimals

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, complex) or (isinstance(node.value, float) and not self.decimals):
            raise bad_node(node, self.path, self.first_line, self.text, "a float literal; need a ratio such as 9/5")
        if isinstance(node.value, float):
            written = ast.get_source_segment(self.text, node) or repr(node.value)
            value = parse_number(written.replace("_", ""), self.path)
            pair: list[ast.expr] = [ast.Constant(value.numerator), ast.Constant(value.denominator)]
            return ast.copy_location(ast.Call(ast.Name("_divide", ast.Load()), pair, []), node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = "_divide" if isinstance(node.op, ast.Div) else "_power" if isinstance(node.op, ast.Pow) else None
        if name is None:
            return node
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], []), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)

        def checked(side: ast.expr) -> ast.expr:
            return ast.copy_location(ast.Call(ast.Name("_exact", ast.Load()), [side], []), side)

        node.left = checked(node.left)
        node.comparators = [checked(side) for side in node.comparators]
        return node


def compile_program(text: str, *, path: str, first_line: int, numbers: Numbers = Numbers.DECIMAL) -> Program:
    """A claim's body as lines that can be evaluated.

    Parameters
    ----------
    text : str
        Lines ``name = expression`` and expressions, in Python.
    path, first_line : str, int
        For messages.
    numbers : Numbers
        Whether decimals are refused or read by their text, and whether floats may come up.

    Raises
    ------
    InvalidInstance
        Syntax, or a decimal that is refused.
    """

    def compiled(node: ast.expr) -> CodeType:
        changed = _Exactly(path, first_line, text, numbers is not Numbers.RATIONAL).visit(copy.deepcopy(node))
        return compile(ast.fix_missing_locations(ast.Expression(changed)), path, "eval")

    result: list[Statement | Binding] = []
    for node in parse_python(text, path, first_line).body:
        line = first_line + node.lineno - 1
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            result.append(Binding(node.targets[0].id, compiled(node.value), line))
        elif isinstance(node, ast.Expr):
            sides: tuple[CodeType | None, CodeType | None] = (None, None)
            value = node.value
            if isinstance(value, ast.Compare) and len(value.ops) == 1 and isinstance(value.ops[0], ast.Eq):
                sides = (compiled(value.left), compiled(value.comparators[0]))
            result.append(Statement(compiled(value), line, ast.unparse(value), *sides))
        else:
            raise bad_node(node, path, first_line, text, "need expressions or lines `name = expression`")
    return Program(tuple(result), numbers)


def run_bindings(program: Program, names: Mapping[str, object], *, path: str) -> dict[str, object]:
    """Names for a program's statements: the standard ones, the given ones and its own lines ``name = ...``."""
    scope: dict[str, object] = {
        **NAMES,
        **names,
        "__builtins__": {},
        **_ARITHMETIC[program.numbers],
    }
    for item in program.lines:
        if isinstance(item, Binding):
            scope[item.name] = evaluate(item.code, scope, path=path, line=item.line)
    return scope


def evaluate(code: CodeType, scope: dict[str, object], *, path: str, line: int) -> Any:
    """An expression's value.

    Raises
    ------
    InvalidInstance
        An unknown name, a division by zero, or a float.
    """
    try:
        # A note is its author's own code and runs as such, like a test.
        return eval(code, scope)
    except NameError as error:
        raise InvalidInstance(f"{path}:{line}: {error}; need it in :import: or defined above") from None
    except (ZeroDivisionError, FloatInExact, TypeError, AttributeError, IndexError, KeyError) as error:
        raise InvalidInstance(f"{path}:{line}: {type(error).__name__}: {error}") from error


def imported(claim: Claim) -> dict[str, object]:
    """Objects of ``:import:``, such as ``fairlane.reference:expected_yield, statistics:mean as average``.

    Raises
    ------
    InvalidInstance
        Not of that form, or no such module or attribute.
    """
    found: dict[str, object] = {}
    for module, attribute, name in import_list(claim, "import"):
        found[name] = load_object(f"{module}:{attribute}", claim.where("import"))
    return found


def import_list(claim: Claim, option: str) -> tuple[tuple[str, str, str], ...]:
    """Module, attribute and local name of each entry of an import option; nothing is imported.

    Raises
    ------
    InvalidInstance
        An entry of another form.
    """
    text = claim.text(option, "")
    result: list[tuple[str, str, str]] = []
    for entry in filter(None, (part.strip() for part in text.replace("\n", ",").split(","))):
        target, _, alias = entry.partition(" as ")
        module, colon, attribute = target.strip().partition(":")
        if not colon or not all(part.isidentifier() for part in (*module.split("."), *attribute.split("."))):
            raise InvalidInstance(f"{claim.where(option)}: :{option}: holds {entry!r}; need module:attribute [as name]")
        result.append((module, attribute, alias.strip() or attribute.split(".")[-1]))
    return tuple(result)


def load_object(target: str, where: str) -> Any:
    """The object that ``module:attribute`` names.

    Raises
    ------
    InvalidInstance
        No such module or attribute.
    """
    module, _, attribute = target.partition(":")
    try:
        value: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InvalidInstance(f"{where}: {target!r}: {error}") from None
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise InvalidInstance(f"{where}: {target!r}: {module} has no attribute {attribute!r}")
        value = getattr(value, part)
    return value


def load_callable(target: str, where: str) -> Callable[..., Any]:
    """The function that ``module:attribute`` names.

    Raises
    ------
    InvalidInstance
        No such object, or it cannot be called.
    """
    value = load_object(target, where)
    if not callable(value):
        raise InvalidInstance(f"{where}: {target!r} is no function; need one that can be called")
    return value  # type: ignore[no-any-return]  # callable() narrows Any no further


def as_rational(value: object) -> Fraction | None:
    """The value as a rational where it is one."""
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        return None
    return Fraction(value)
