"""What a statement takes for granted: divisors that are never zero, implications that apply somewhere.

Division is total for a solver, so a divisor that may vanish would prove false things: a claim divides only where its
hypotheses, those that stand before it, keep the divisor off zero. And ``implies(a, b)`` says nothing where a never
holds. Both are questions of their own; what they need is stated by the claim or proved, never assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fairlane.proofs.claims import term as t
from fairlane.proofs.claims.domain import Variable
from fairlane.proofs.claims.smtlib import divisor_guards, query
from fairlane.proofs.claims.solving import Answer, Question, Reply
from fairlane.proofs.claims.status import Outcome, Status
from fairlane.proofs.claims.term import Op, Term
from fairlane.proofs.claims.witness import points, refutes, satisfies, show_point


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """Divisors of one hypothesis or of the statement, with what is known before it is read."""

    known: tuple[Term, ...]
    guards: tuple[Term, ...]


def guarded(hypotheses: Sequence[Term], statement: Term) -> tuple[Guarded, ...]:
    """The divisors of an obligation, in the order in which a reader meets them."""
    found: list[Guarded] = []
    known: list[Term] = []
    for term in (*hypotheses, statement):
        guards = divisor_guards(term)
        if guards:
            found.append(Guarded(known=tuple(known), guards=guards))
        known.append(term)
    return tuple(found)


def guard_questions(
    piece: Guarded, facts: Sequence[Term], by_name: Mapping[str, Variable], *, whole: bool
) -> tuple[Question, ...]:
    """Whether a divisor can be zero where everything before it holds; "unsat" is the answer wanted.

    Parameters
    ----------
    piece : Guarded
        Powers already split.
    facts : sequence of Term
        Domains, and what is true of the opaque powers.
    by_name : mapping
        The variables.
    whole : bool
        Whether some variable is a whole number, which real arithmetic leaves out at first.
    """
    some_zero = t.negation(t.conjunction(piece.guards))
    conditions = (*facts, *piece.known, some_zero)
    relaxed = Question(text=query(conditions, by_name, whole=False), stop_if=Answer.UNSAT)
    return (relaxed, Question(text=query(conditions, by_name, whole=True))) if whole else (relaxed,)


def unguarded(piece: Guarded, variables: Sequence[Variable], last: Reply, prefix: str) -> Outcome | None:
    """The outcome where a divisor is not kept off zero, None where it is."""
    if last.answer is Answer.UNSAT:
        return None
    need = "need that in the hypotheses, or implies(...) around it"
    for guard in piece.guards:
        for point in points(variables):
            if refutes(piece.known, guard, variables, point):
                summary = f"{prefix}divides by zero at {show_point(point)}: {guard} is neither given nor true; {need}"
                return Outcome(status=Status.FAILED, strength=None, summary=summary)
    shown = " and ".join(str(guard) for guard in piece.guards)
    return Outcome(
        status=Status.UNKNOWN,
        strength=None,
        summary=f"{prefix}may divide by zero: {shown} is neither given nor proved ({last.answer}); {need}",
    )


def antecedents(statement: Term, known: Sequence[Term] = ()) -> tuple[tuple[Term, ...], ...]:
    """For every ``implies`` of a statement, what has to hold together for it to say anything."""

    def visit(node: Term, path: tuple[Term, ...]) -> Iterator[tuple[Term, ...]]:
        if node.op is Op.IMPLIES:
            yield (*path, node.args[0])
            yield from visit(node.args[1], (*path, node.args[0]))
            return
        for arg in node.args:
            yield from visit(arg, path)

    return tuple(dict.fromkeys(visit(statement, tuple(known))))


def antecedent_question(conditions: Sequence[Term], facts: Sequence[Term], by_name: Mapping[str, Variable]) -> Question:
    """Whether the conditions of one implication can hold together."""
    return Question(text=query((*facts, *conditions), by_name, whole=True))


def vacuous(
    conditions: Sequence[Term], plain: Sequence[Term], variables: Sequence[Variable], reply: Reply, prefix: str
) -> Outcome | None:
    """The outcome where an implication never applies, or is not known to; None where it does.

    Parameters
    ----------
    conditions : sequence of Term
        As written, the antecedent last.
    plain : sequence of Term
        Hypotheses that a point must satisfy besides.
    variables : sequence of Variable
        With their domains.
    reply : Reply
        The solver's, to :func:`antecedent_question`.
    prefix : str
        What the message starts with.
    """
    if reply.answer is Answer.SAT:
        return None
    if reply.answer is Answer.UNSAT:
        summary = f"{prefix}an implication is vacuous: {conditions[-1]} never holds here"
        return Outcome(status=Status.FAILED, strength=None, summary=summary)
    if any(satisfies((*plain, *conditions), variables, point) for point in points(variables)):
        return None
    summary = f"{prefix}no point is known at which an implication applies: {conditions[-1]}"
    return Outcome(status=Status.UNKNOWN, strength=None, summary=summary)
