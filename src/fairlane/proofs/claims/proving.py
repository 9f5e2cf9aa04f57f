"""One obligation, "these hypotheses imply this statement", put to the solvers and to exact replay.

A proof needs four things: the hypotheses can hold at all, they keep every divisor off zero, the negation is
unsatisfiable, and the point behind a "no" survives a replay in rationals. Whatever falls short of that is "unknown".
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairlane.proofs.claims import term as t
from fairlane.proofs.claims.ball import CONSTANTS, FUNCTIONS
from fairlane.proofs.claims.domain import Variable
from fairlane.proofs.claims.powers import atoms, power_facts, split_powers
from fairlane.proofs.claims.side_conditions import (
    Guarded,
    antecedent_question,
    guard_questions,
    guarded,
    unguarded,
    vacuous,
)
from fairlane.proofs.claims.smtlib import divisor_guards, query
from fairlane.proofs.claims.solving import Answer, Question, Reply, Solver, ask, ask_groups, installed
from fairlane.proofs.claims.status import Outcome, Status, Strength
from fairlane.proofs.claims.term import Op, Term
from fairlane.proofs.claims.witness import Point, points, refutes, satisfies, show_point
from fairlane.reference.errors import Unsupported

MAX_TRIED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligation:
    """Hypotheses, a statement, and the variables both are about.

    Each entry of ``applies`` is conditions that must be able to hold together: those of the statement's implications.
    """

    hypotheses: tuple[Term, ...]
    statement: Term
    variables: tuple[Variable, ...]
    label: str = ""
    applies: tuple[tuple[Term, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    # domains, and what is true of opaque powers
    facts: tuple[Term, ...]
    assumptions: tuple[Term, ...]
    negated: Term
    divisors: tuple[Guarded, ...]
    applies: tuple[tuple[Term, ...], ...]
    # what a replay checks: the hypotheses as written, before anything was split or added
    plain: tuple[Term, ...]


def prove(obligation: Obligation, *, limit: int | None = None) -> Outcome:
    """What the solvers and the replay say of an obligation.

    Parameters
    ----------
    obligation : Obligation
        Variables range over their domains.
    limit : int or None
        z3 resource units a question; None takes the default.

    Returns
    -------
    Outcome
        HOLDS by one solver or two; FAILED with a counterexample, with contradictory hypotheses, a divisor that can be
        zero or an implication that never applies; else UNKNOWN.
    """
    return prove_all((obligation,), limit=limit)[0]


def prove_defined(equation: Term, given: Sequence[Term], variables: Sequence[Variable]) -> Outcome:
    """Whether the divisors of an equation are off zero wherever its hypotheses hold; HOLDS where there are none.

    A normal form multiplies divisors out and does not see that one of them may vanish.
    """
    guards = divisor_guards(equation)
    if not guards and not given:
        return Outcome(status=Status.HOLDS, strength=None, summary="no divisors")
    statement = t.conjunction(guards) if guards else equation
    return prove(Obligation(hypotheses=tuple(given), statement=statement, variables=tuple(variables)))


def prove_all(
    obligations: Sequence[Obligation], *, limit: int | None = None, all_or_nothing: bool = False
) -> tuple[Outcome, ...]:
    """What the solvers say of several obligations, put to each solver in one process with a context for each question.

    Parameters
    ----------
    obligations : sequence of Obligation
        Independent of each other.
    limit : int or None
        z3 resource units a question; None takes the default.
    all_or_nothing : bool
        True leaves out the second solver once one of the obligations has failed.

    Returns
    -------
    tuple of Outcome
        One an obligation, in their order.
    """
    outcomes: dict[int, Outcome] = {}
    trials: dict[int, _Trial] = {}
    for i, obligation in enumerate(obligations):
        prefix = f"{obligation.label}: " if obligation.label else ""
        by_name = {variable.name: variable for variable in obligation.variables}
        try:
            prepared = _prepare(obligation, by_name)
            questions = _questions(prepared, by_name)
            whole = any(variable.integral for variable in obligation.variables)
            divisors = [guard_questions(piece, prepared.facts, by_name, whole=whole) for piece in prepared.divisors]
            applies = [antecedent_question(conditions, prepared.facts, by_name) for conditions in prepared.applies]
        except Unsupported as error:
            outcomes[i] = Outcome(status=Status.UNKNOWN, strength=None, summary=f"{prefix}{error}")
            continue
        trials[i] = _Trial(obligation, prepared, questions, tuple(divisors), tuple(applies), prefix, [])
    by_z3 = _ask_all(trials, Solver.Z3, limit=limit)
    for i, trial in trials.items():
        refusal = _refusal(trial, by_z3[i])
        if refusal is not None:
            outcomes[i] = refusal
    left = {i: trial for i, trial in trials.items() if i not in outcomes}
    by_cvc5: dict[int, _Replies] = {}
    failed = any(outcome.status is Status.FAILED for outcome in outcomes.values())
    if installed(Solver.CVC5) and not (all_or_nothing and failed):
        by_cvc5 = _ask_all(left, Solver.CVC5)
    for i, trial in left.items():
        outcomes[i] = _verdict(trial, by_z3[i].main[-1], by_cvc5.get(i))
    return tuple(outcomes[i] for i in range(len(obligations)))


@dataclass(frozen=True, slots=True)
class _Trial:
    obligation: Obligation
    prepared: _Prepared
    questions: tuple[Question, ...]
    divisors: tuple[tuple[Question, ...], ...]
    applies: tuple[Question, ...]
    prefix: str
    evidence: list[str]


@dataclass(frozen=True, slots=True)
class _Replies:
    """Answers to a trial's questions: on the negation, on its divisors, on its implications."""

    main: tuple[Reply, ...]
    divisors: tuple[tuple[Reply, ...], ...]
    applies: tuple[Reply, ...]

    @property
    def late(self) -> Reply | None:
        """A reply that the clock cut off."""
        every = (*self.main, *(reply for group in self.divisors for reply in group), *self.applies)
        return next((reply for reply in every if not reply.in_time), None)


def _ask_all(trials: Mapping[int, _Trial], solver: Solver, *, limit: int | None = None) -> dict[int, _Replies]:
    """A solver's answers to all questions of all trials, in one process.

    Whether hypotheses and implications are possible at all is asked once; what has to be proved, of both solvers.
    """
    first = solver is Solver.Z3
    groups: list[Sequence[Question]] = []
    for trial in trials.values():
        groups += [trial.questions if first else trial.questions[1:], *trial.divisors]
        groups += [(question,) for question in trial.applies if first]
    replies = iter(ask_groups(groups, solver, limit=limit))
    return {
        i: _Replies(
            next(replies),
            tuple(next(replies) for _ in trial.divisors),
            tuple(next(replies)[0] for _ in trial.applies) if first else (),
        )
        for i, trial in trials.items()
    }


def _refusal(trial: _Trial, replies: _Replies) -> Outcome | None:
    """The outcome where the first solver's answers end the matter, None where a proof may still come of it."""
    prefix, evidence, prepared = trial.prefix, trial.evidence, trial.prepared
    variables = trial.obligation.variables
    if replies.late is not None:
        return Outcome(status=Status.UNKNOWN, strength=None, summary=f"{prefix}{replies.late.reason}", settled=False)
    possible = _hypotheses_can_hold(trial.obligation, prepared, replies.main[0], evidence, prefix)
    if possible is not None:
        return possible
    for piece, answers in zip(prepared.divisors, replies.divisors, strict=True):
        refusal = unguarded(piece, variables, answers[-1], prefix)
        if refusal is not None:
            return refusal
        evidence.extend(f"{prefix}never divides by zero: {guard}" for guard in piece.guards)
    for conditions, answer in zip(prepared.applies, replies.applies, strict=True):
        refusal = vacuous(conditions, (), variables, answer, prefix)
        if refusal is not None:
            return refusal
    point = _counterexample(trial.obligation, prepared, replies.main[1:])
    if point is None:
        return None
    return Outcome(
        status=Status.FAILED,
        strength=None,
        summary=f"{prefix}false at {show_point(point)}",
        evidence=(*evidence, f"{prefix}counterexample {show_point(point)}, replayed in rationals"),
    )


def _verdict(trial: _Trial, first: Reply, second: _Replies | None) -> Outcome:
    """What both solvers' last words on the negation amount to."""
    prefix, evidence = trial.prefix, trial.evidence
    proved = [Solver.Z3] if first.answer is Answer.UNSAT else []
    evidence.append(f"{prefix}z3: negation {_said(first)}")
    if second is not None:
        last = second.main[-1]
        evidence.append(f"{prefix}cvc5: negation {_said(last)}")
        if last.answer is Answer.UNSAT and all(group[-1].answer is Answer.UNSAT for group in second.divisors):
            proved.append(Solver.CVC5)
        elif proved and last.answer is Answer.SAT:
            summary = f"{prefix}z3 and cvc5 disagree on the negation"
            return Outcome(status=Status.UNKNOWN, strength=None, summary=summary, evidence=tuple(evidence))
    if not proved:
        said = "has a model that no replay confirms" if first.answer is Answer.SAT else f"is {_said(first)}"
        summary = f"{prefix}undecided: the negation {said}"
        return Outcome(status=Status.UNKNOWN, strength=None, summary=summary, evidence=tuple(evidence))
    strength = Strength.TWO_SOLVERS if len(proved) == 2 else Strength.ONE_SOLVER
    summary = f"{prefix}negation unsatisfiable ({', '.join(proved)})"
    # A second solver stopped by the clock, not by its own limit, may come through another time: not to be kept.
    settled = second is None or second.late is None
    return Outcome(status=Status.HOLDS, strength=strength, summary=summary, evidence=tuple(evidence), settled=settled)


def _prepare(obligation: Obligation, by_name: Mapping[str, Variable]) -> _Prepared:
    domains = tuple(condition for variable in obligation.variables for condition in variable.conditions())
    given = tuple(split_powers(term, by_name) for term in obligation.hypotheses)
    statement = split_powers(obligation.statement, by_name)
    applies = tuple(tuple(split_powers(term, by_name) for term in conditions) for conditions in obligation.applies)
    divisors = guarded(given, statement)
    guards = tuple(dict.fromkeys(guard for piece in divisors for guard in piece.guards))
    opaque: dict[Term, None] = {}
    for term in (*given, statement, *guards, *(term for conditions in applies for term in conditions)):
        opaque.update(dict.fromkeys(atoms(term)))
    facts = tuple(fact for atom in opaque for fact in power_facts(atom))
    return _Prepared(
        facts=(*domains, *facts),
        # the guards follow from the rest, which is asked apart; said aloud, they help a solver
        assumptions=(*domains, *given, *guards, *facts),
        negated=t.negation(statement),
        divisors=divisors,
        applies=applies,
        plain=(*obligation.hypotheses, *guards),
    )


def _questions(prepared: _Prepared, by_name: Mapping[str, Variable]) -> tuple[Question, ...]:
    whole = any(variable.integral for variable in by_name.values())
    negation = (*prepared.assumptions, prepared.negated)
    result = [Question(text=query(prepared.assumptions or (Term(Op.AND),), by_name, whole=True))]
    relaxed = query(negation, by_name, whole=False)
    result.append(Question(text=relaxed, stop_if=Answer.UNSAT))
    if whole:
        result.append(Question(text=query(negation, by_name, whole=True)))
    return tuple(result)


def _hypotheses_can_hold(
    obligation: Obligation, prepared: _Prepared, reply: Reply, evidence: list[str], prefix: str
) -> Outcome | None:
    """None where the hypotheses were seen to hold somewhere; otherwise the outcome that ends the matter."""
    if reply.answer is Answer.UNSAT:
        summary = f"{prefix}the hypotheses contradict each other, and anything follows from that"
        said = (f"{prefix}z3: hypotheses unsat",)
        return Outcome(status=Status.FAILED, strength=None, summary=summary, evidence=said)
    for point in itertools.chain(_models(reply, obligation.variables), points(obligation.variables)):
        if satisfies(prepared.plain, obligation.variables, point):
            evidence.append(f"{prefix}hypotheses hold at {show_point(point)}, replayed")
            return None
    opaque = [part for term in prepared.plain for part in atoms(term)]
    # Of log and the like a solver knows nothing: it takes log(2) == 5 for possible. Only a replay counts for those.
    replayable = all(part.op is not Op.CALL or part.name not in FUNCTIONS | CONSTANTS for part in opaque)
    if reply.answer is Answer.SAT and replayable and all(part.op is Op.CALL for part in opaque):
        # An irrational model, or functions of which nothing else is known: the solver's word is all there is.
        evidence.append(f"{prefix}z3: hypotheses satisfiable (no rational point replayed)")
        return None
    # A solver may give a variable power any value it likes; with numbers put in, the powers are what they are.
    tried = list(itertools.islice(points(obligation.variables), MAX_TRIED))
    asked = [
        Question(
            text=query([t.substitute(term, _numbers(point)) for term in prepared.plain], {}, whole=False),
            stop_if=Answer.SAT,
        )
        for point in tried
    ]
    replies = ask(asked, Solver.Z3) if asked and replayable else ()
    if replies and replies[-1].answer is Answer.SAT:
        evidence.append(f"{prefix}z3: hypotheses satisfiable at {show_point(tried[len(replies) - 1])}")
        return None
    summary = f"{prefix}no point is known at which the hypotheses hold"
    return Outcome(status=Status.UNKNOWN, strength=None, summary=summary, evidence=(f"{prefix}z3: {_said(reply)}",))


def _numbers(point: Point) -> dict[str, Term]:
    return {name: t.number(value) for name, value in point.items()}


def _counterexample(obligation: Obligation, prepared: _Prepared, replies: Sequence[Reply]) -> Point | None:
    if replies[-1].answer is Answer.UNSAT:
        return None
    tried = [_models(reply, obligation.variables) for reply in reversed(replies) if reply.answer is Answer.SAT]
    for point in itertools.chain(*tried, points(obligation.variables)):
        if refutes(prepared.plain, obligation.statement, obligation.variables, point):
            return point
    return None


def _models(reply: Reply, variables: Sequence[Variable]) -> list[Point]:
    """Points near a solver's model: its rationals, and several approximations of its irrational numbers."""
    choices = [reply.model.get(variable.name, (Fraction(1),)) for variable in variables]
    if reply.answer is not Answer.SAT:
        return []
    depth = max((len(c) for c in choices), default=1)
    names = [variable.name for variable in variables]
    return [dict(zip(names, (c[min(i, len(c) - 1)] for c in choices), strict=True)) for i in range(depth)]


def _said(reply: Reply) -> str:
    return f"{reply.answer} ({reply.reason})" if reply.reason else str(reply.answer)
