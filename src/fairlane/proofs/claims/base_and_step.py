"""The two obligations of an induction, derived in one place so that no author and no caller gets the shift wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairlane.proofs.claims import term as t
from fairlane.proofs.claims.domain import Domain, Variable
from fairlane.proofs.claims.proving import Obligation
from fairlane.proofs.claims.side_conditions import antecedents
from fairlane.proofs.claims.term import Op, Term

_NO_STATE: Mapping[str, Term] = {}


def counter_from(name: str, first: int) -> Variable:
    """The counter as a variable of the smallest domain that holds its values."""
    return Variable(name, Domain.COUNT if first >= 1 else Domain.NATURAL if first == 0 else Domain.INTEGER)


def base_and_step(
    statement: Term,
    *,
    counter: Variable,
    first: int,
    variables: Sequence[Variable],
    always: Sequence[Term] = (),
    base_facts: Sequence[Term] = (),
    step_facts: Sequence[Term] = (),
    start: Mapping[str, Term] = _NO_STATE,
    following: Mapping[str, Term] = _NO_STATE,
) -> tuple[Obligation, Obligation]:
    """What has to be shown: the statement at the first value, and at the next value where it holds at one.

    Parameters
    ----------
    statement : Term
        A condition over the counter, the state and the other variables.
    counter : Variable
        What is counted.
    first : int
        Its first value.
    variables : sequence of Variable
        All others.
    always : sequence of Term
        Hypotheses for every value of the counter; they are used at both ends of the step.
    base_facts, step_facts : sequence of Term
        Hypotheses of one of the obligations.
    start, following : mapping of str to Term
        What stands for each state variable at the first value, and at the next one.

    Returns
    -------
    tuple of Obligation
        Base and step.
    """
    at_first = {counter.name: t.number(first)}
    goal = t.substitute(t.substitute(statement, dict(start)), at_first)
    known = tuple(t.substitute(t.substitute(term, dict(start)), at_first) for term in (*always, *base_facts))
    free = t.variables(Term(Op.AND, (goal, *known)))
    base = Obligation(
        hypotheses=known,
        statement=goal,
        variables=tuple(variable for variable in variables if variable.name in free),
        label=f"base {counter.name} = {first}",
    )
    onward = t.add(t.variable(counter.name), t.number(1))
    # A hypothesis about the counter is one about each of its values: it may be used at the next one as well.
    moved = tuple(t.substitute(term, {counter.name: onward}) for term in always if counter.name in t.variables(term))
    from_first = Term(Op.LE, (t.number(first), t.variable(counter.name)))
    step = Obligation(
        hypotheses=(
            from_first,
            *always,
            *moved,
            *step_facts,
            statement,
        ),
        statement=t.substitute(statement, {**following, counter.name: onward}),
        variables=(*variables, counter),
        label=f"step {counter.name} to {counter.name} + 1",
        # An implication may be vacuous at one end of the step, as long as it applies at some value of the counter.
        applies=antecedents(statement, (from_first, *always)),
    )
    return base, step
