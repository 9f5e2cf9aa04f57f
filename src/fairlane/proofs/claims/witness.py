"""Small rational points at which a statement is tried, and the replay of a point in exact arithmetic."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from fairlane.proofs.claims.ball import truth_by_balls
from fairlane.proofs.claims.domain import Variable
from fairlane.proofs.claims.rational import Undefined, truth_of
from fairlane.proofs.claims.term import Term

Point = dict[str, Fraction]

_PAIRS = ((1, 1), (2, 1), (1, 2), (3, 1), (1, 3), (0, 1), (5, 1), (2, 3), (7, 2), (-1, 1), (-3, 2), (-2, 1), (10, 1))
_POOL = tuple(Fraction(*pair) for pair in _PAIRS)
MAX_POINTS = 3_000


def points(variables: Sequence[Variable]) -> Iterator[Point]:
    """Points of the variables' domains: all of a small grid, or the same few thousand draws from it every time."""
    pools = [[value for value in _POOL if variable.contains(value)] for variable in variables]
    names = [variable.name for variable in variables]
    size = 1
    for pool in pools:
        size *= len(pool)
    if size <= MAX_POINTS:
        for values in itertools.product(*pools):
            yield dict(zip(names, values, strict=True))
        return
    draw = random.Random(2)
    for _ in range(MAX_POINTS):
        yield {name: draw.choice(pool) for name, pool in zip(names, pools, strict=True)}


def truth_at(term: Term, at: Mapping[str, Fraction]) -> bool | None:
    """A condition's truth at a point: in rationals, else by enclosures, else None."""
    try:
        return truth_of(term, at)
    except Undefined:
        pass
    return truth_by_balls(term, at)


def satisfies(conditions: Sequence[Term], variables: Sequence[Variable], at: Mapping[str, Fraction]) -> bool:
    """Whether a point lies in every domain and makes every condition certainly true."""
    if not all(variable.name in at and variable.contains(at[variable.name]) for variable in variables):
        return False
    return all(truth_at(condition, at) is True for condition in conditions)


def refutes(
    conditions: Sequence[Term], statement: Term, variables: Sequence[Variable], at: Mapping[str, Fraction]
) -> bool:
    """Whether a point satisfies the conditions and makes the statement certainly false."""
    return satisfies(conditions, variables, at) and truth_at(statement, at) is False


def show_point(at: Mapping[str, Fraction]) -> str:
    """``x = 1/2, y = 3``."""
    return ", ".join(f"{name} = {value}" for name, value in at.items()) or "no variables"
