"""Whether the base and the step of an induction can be true of any functions at all.

Base and step give values, or bounds, of functions such as S; two that contradict each other prove anything. Each
fact therefore has one function's value alone on one side, at the largest counter it speaks of. What is given of a
value already given by the other part is refused, and several facts about one value become obligations of their own:
every lower bound has to be at most every upper bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fairlane.proofs.claims import term as t
from fairlane.proofs.claims.ball import CONSTANTS, FUNCTIONS
from fairlane.proofs.claims.domain import Variable
from fairlane.proofs.claims.powers import linear_exponent
from fairlane.proofs.claims.proving import Obligation
from fairlane.proofs.claims.term import Op, Term
from fairlane.reference.errors import InvalidInstance


@dataclass(frozen=True, slots=True)
class _Bound:
    """One side of a fact about a value: the fact says ``bound <= place`` (lower), ``place <= bound``, or both."""

    place: Term
    offset: int
    bound: Term
    lower: bool
    upper: bool
    strict: bool
    known: tuple[Term, ...]

    def at(self, values: dict[str, Term]) -> _Bound:
        """The bound with variables replaced."""
        known = tuple(t.substitute(term, values) for term in self.known)
        return replace(
            self, place=t.substitute(self.place, values), bound=t.substitute(self.bound, values), known=known
        )


def consistency(
    counter: Variable,
    first: int,
    others: Sequence[Variable],
    given: Sequence[Term],
    base_facts: Sequence[Term],
    step_facts: Sequence[Term],
    where: str,
) -> tuple[Obligation, ...]:
    """What has to be proved so that functions exist of which base and step are true.

    Parameters
    ----------
    counter, first : Variable, int
        What is counted, and from where.
    others : sequence of Variable
        Every other variable.
    given : sequence of Term
        Hypotheses of the whole claim.
    base_facts, step_facts : sequence of Term
        What is said of functions at the first values, and from one value to the next.
    where : str
        Place of the claim, for messages.

    Returns
    -------
    tuple of Obligation
        None where every value is given once.

    Raises
    ------
    InvalidInstance
        A fact with no value alone on one side, or a value that both base and step give.
    """
    at_first = {counter.name: t.number(first)}
    base = [bound for fact in base_facts for bound in _bounds(t.substitute(fact, at_first), counter, where)]
    step = [bound for fact in step_facts for bound in _bounds(fact, counter, where)]
    shifts: dict[str, int] = {}
    for bound in step:
        shifts[bound.place.name] = max(bound.offset, shifts.get(bound.place.name, bound.offset))
    for bound in base:
        if bound.place.name in shifts and bound.offset >= first + shifts[bound.place.name]:
            raise InvalidInstance(
                f"{where}: {bound.place} is given by the base and by the step; need it in one of them"
            )
    # What a step says of an earlier value it says of every later one, and of those the base gives.
    moved: list[_Bound] = []
    for bound in step:
        behind = shifts[bound.place.name] - bound.offset
        base += [bound.at({counter.name: t.number(first + i)}) for i in range(behind)]
        moved.append(bound.at({counter.name: t.add(t.variable(counter.name), t.number(behind))}))
    from_first = Term(Op.LE, (t.number(first), t.variable(counter.name)))
    return (
        *_compatible(base, tuple(t.substitute(term, at_first) for term in given), tuple(others), "base"),
        *_compatible(moved, (from_first, *given), (*others, counter), "step"),
    )


def _compatible(
    bounds: Sequence[_Bound], known: tuple[Term, ...], variables: tuple[Variable, ...], label: str
) -> Iterator[Obligation]:
    """Every lower bound of a value is at most every upper bound of it."""
    for i, low in enumerate(bounds):
        for j, high in enumerate(bounds):
            if not (low.lower and high.upper and low.place == high.place) or i == j:
                continue
            if low.upper and high.lower and i > j:
                continue  # two equations are compared once
            both = low.upper and high.lower
            op = Op.EQ if both else Op.LT if low.strict or high.strict else Op.LE
            goal = Term(op, (low.bound, high.bound))
            free = t.variables(Term(Op.AND, (goal, *known)))
            yield Obligation(
                hypotheses=(*known, *low.known, *high.known),
                statement=goal,
                variables=tuple(variable for variable in variables if variable.name in free),
                label=f"{label}: facts about {low.place} agree",
            )


def _bounds(fact: Term, counter: Variable, where: str, known: tuple[Term, ...] = ()) -> Iterator[_Bound]:
    """A fact as bounds of one value; the value stands alone on a side and is the last that the fact speaks of."""
    if fact.op is Op.AND:
        for part in fact.args:
            yield from _bounds(part, counter, where, known)
        return
    if fact.op is Op.IMPLIES and not _calls(fact.args[0]):
        yield from _bounds(fact.args[1], counter, where, (*known, fact.args[0]))
        return
    if fact.op in (Op.EQ, Op.LE, Op.LT):
        left, right = fact.args
        for place, bound, is_left in ((left, right, True), (right, left, False)):
            offset = _offset(place, counter) if place in _calls(place) else None
            if offset is None or not _is_last(place, bound, counter):
                continue
            equal = fact.op is Op.EQ
            yield _Bound(place, offset, bound, equal or not is_left, equal or is_left, fact.op is Op.LT, known)
            return
    if not _calls(fact):
        return  # a hypothesis about the variables alone; whether it can hold is asked elsewhere
    raise InvalidInstance(
        f"{where}: {fact}: need one function's value alone on a side, at the largest counter of the line"
    )


def _is_last(place: Term, bound: Term, counter: Variable) -> bool:
    """Whether a value may be defined by an expression: what that speaks of comes earlier, or is another function's."""
    mine = _offset(place, counter)
    for call in _calls(bound):
        theirs = _offset(call, counter)
        if mine is None or theirs is None or theirs > mine:
            return False
        if theirs == mine and call.name >= place.name:
            # within one value of the counter, functions are defined in the order of their names
            return False
    return True


def _calls(term: Term) -> tuple[Term, ...]:
    """Values of functions that facts are about; the logarithm and its like are what they are."""
    return tuple(part for part in t.subterms(term) if part.op is Op.CALL and part.name not in FUNCTIONS | CONSTANTS)


def _offset(call: Term, counter: Variable) -> int | None:
    """How far the counter of a value is ahead: 1 of ``S(k+1)``, 0 of ``S(k)``, 5 of ``S(5)``; None of anything else."""
    if not call.args:
        return None
    linear = linear_exponent(call.args[0])
    if linear is None or linear[1] not in ((), ((1, counter.name),)):
        return None
    return linear[0]
