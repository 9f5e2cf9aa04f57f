"""``enumerate``: a statement checked at every point of a finite space, whose size is part of the claim."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fractions import Fraction
from types import CodeType

from fairlane.proofs.claims.claim import Claim
from fairlane.proofs.claims.expression import bad_node, parse_list
from fairlane.proofs.claims.kinds import Context
from fairlane.proofs.claims.kinds.exact import value_option
from fairlane.proofs.claims.program import (
    Binding,
    Program,
    compile_program,
    evaluate,
    imported,
    run_bindings,
)
from fairlane.proofs.claims.status import Outcome, Status, Strength
from fairlane.reference.errors import InvalidInstance

MAX_POINTS = 5_000_000

Loops = tuple[tuple[str, CodeType], ...]


def run(claim: Claim, context: Context) -> Outcome:
    """Every point visited, every line true at each, and exactly ``:count:`` points."""
    scope = run_bindings(compile_program("", path=claim.path, first_line=claim.line), imported(claim), path=claim.path)
    wanted = _count(claim, scope)
    loops = _loops(claim)
    program = compile_program(claim.body, path=claim.path, first_line=claim.body_line)
    if not program.statements:
        raise InvalidInstance(f"{claim.path}:{claim.body_line}: claim {claim.id!r} states nothing; need a statement")
    visited = 0
    for point in _points(claim, loops, scope, 0, ()):
        visited += 1
        if visited > MAX_POINTS:
            raise InvalidInstance(f"{claim.where('space')}: space has more than {MAX_POINTS:,} points; need fewer")
        false_line = _false_line(program, scope, path=claim.path)
        if false_line is not None:
            names = ", ".join(f"{name} = {value}" for (name, _), value in zip(loops, point, strict=True))
            return Outcome(
                status=Status.FAILED,
                strength=None,
                summary=f"{false_line} is false at {names}",
                evidence=(f"point {visited} of the enumeration: {names}",),
            )
    if visited != wanted:
        return Outcome(
            status=Status.FAILED,
            strength=None,
            summary=f"the space has {visited} points, and the claim says {wanted}",
            evidence=(f"{visited} points, all true",),
        )
    value = value_option(claim, scope)
    return Outcome(
        status=Status.HOLDS,
        strength=Strength.ENUMERATED,
        summary=f"true at all {visited} points",
        evidence=(f"{visited} points visited, none left out, all true",),
        value=str(value if value is not None else Fraction(visited)),
    )


def _count(claim: Claim, scope: dict[str, object]) -> int:
    option = claim.find("count")
    assert option is not None, "the form was checked"
    found = compile_program(option.value, path=claim.path, first_line=option.line).statements
    count = evaluate(found[0].code, scope, path=claim.path, line=option.line) if len(found) == 1 else None
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InvalidInstance(f"{claim.where('count')}: count is {option.value!r}; need a whole number >= 1")
    return count


def _loops(claim: Claim) -> Loops:
    """Names with their compiled collections, from ``a in range(1, 5), b in range(a)``."""
    option = claim.find("space")
    assert option is not None, "the form was checked"
    result: list[tuple[str, CodeType]] = []
    for node in parse_list(option.value, claim.path, option.line):
        if not (
            isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Name)
            and len(node.ops) == 1
            and isinstance(node.ops[0], ast.In)
        ):
            raise bad_node(node, claim.path, option.line, option.value, "need `name in collection`")
        text = ast.unparse(node.comparators[0])
        statement = compile_program(text, path=claim.path, first_line=option.line).statements[0]
        result.append((node.left.id, statement.code))
    return tuple(result)


def _points(
    claim: Claim, loops: Loops, scope: dict[str, object], depth: int, point: tuple[object, ...]
) -> Iterator[tuple[object, ...]]:
    """Points in order; ``scope`` holds the current one, so that nothing is copied."""
    if depth == len(loops):
        yield point
        return
    name, code = loops[depth]
    option = claim.find("space")
    assert option is not None, "the form was checked"
    collection = evaluate(code, scope, path=claim.path, line=option.line)
    if not hasattr(collection, "__iter__"):
        raise InvalidInstance(f"{claim.where('space')}: {name} is in {collection!r}; need a collection")
    for value in collection:
        scope[name] = value
        yield from _points(claim, loops, scope, depth + 1, (*point, value))


def _false_line(program: Program, scope: dict[str, object], *, path: str) -> str | None:
    for line in program.lines:
        value = evaluate(line.code, scope, path=path, line=line.line)
        if isinstance(line, Binding):
            scope[line.name] = value
        elif not isinstance(value, bool):
            raise InvalidInstance(f"{path}:{line.line}: {line.text!r} is {value!r}; need true or false")
        elif not value:
            return line.text
    return None
