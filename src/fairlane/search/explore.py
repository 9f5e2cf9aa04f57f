"""The search: everything by size first, then proposals, then minimising, an exact replay, and how far it reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import partial
from itertools import islice

from fairlane.oracle.batch.in_order import in_order
from fairlane.reference.errors import PolicyError
from fairlane.reference.model.instance import Instance
from fairlane.reference.rationals import to_fraction
from fairlane.search.case import Aim, Case
from fairlane.search.enumeration import (
    Found,
    Piece,
    PieceResult,
    Task,
    block_pieces,
    merge,
    n_block_pieces,
    work,
    work_packed,
)
from fairlane.search.explain import explanation
from fairlane.search.failure import PolicyBroke, PolicyFailure
from fairlane.search.minimise import minimise
from fairlane.search.propose import climb, draw
from fairlane.search.region import regions
from fairlane.search.result import Counterexample, Report, Status
from fairlane.search.shared_costs import SharedCosts
from fairlane.search.space import Space

# pieces that are handed out together
WAVE = 64
CLIMBS = 4

OnPiece = Callable[[int, Piece, PieceResult], None]


class Phase(StrEnum):
    """What a search is at; minimising and widening end by their own budgets."""

    ENUMERATION = "enumeration"
    PROPOSALS = "proposals"


GoOn = Callable[[Phase], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much may be looked at.

    Parameters
    ----------
    instances : int or None
        In order of size; the search stops with the piece of at most 500 that reaches this.
    proposals : int
        Draws and steps of the optimiser, after an enumeration that ended early without a witness.
    minimising : int
        Steps of the minimisation of a witness that is not smallest by enumeration.
    first : bool
        Stop after the first block of sizes that holds a witness.
    """

    instances: int | None = 100_000
    proposals: int = 2_000
    minimising: int = 2_000
    first: bool = False


@dataclass(kw_only=True)
class _Enumerated:
    """How far the enumeration came."""

    total: PieceResult = field(default_factory=PieceResult)
    complete: tuple[int, int, int] | None = None
    exhaustive: bool = False
    # whether the smallest witness lies in a block that was looked at whole
    settled: bool = False


def explore(
    policy: object,
    space: Space | None = None,
    *,
    label: str | None = None,
    aim: Aim | None = None,
    budget: Budget | None = None,
    widen: bool = True,
    limit_s: float = 2.0,
    executor: Executor | None = None,
    known: Mapping[int, PieceResult] | None = None,
    on_piece: OnPiece | None = None,
    go_on: GoOn | None = None,
) -> Report:
    """Search a space for instances on which a policy is worse than optimal.

    Parameters
    ----------
    policy : str, Policy, PolicySpec or callable
        A built-in name, ``module:attribute``, or the object itself.
    space : Space or None
        Where to search; a small one of all basic kinds when None.
    label : str or None
        What to call the policy; its name when None.
    aim : Aim or None
        What a witness is; any gap at all when None.
    budget : Budget or None
        How much may be looked at.
    widen : bool
        Whether to find the regions in which the witness remains one.
    limit_s : float
        Seconds of processor time after which a single call of the policy counts as hanging; see `Guard`.
    executor : Executor or None
        Any ``concurrent.futures`` executor; None works in this process. The report does not depend on it.
    known : mapping of int to PieceResult, or None
        Results of earlier work on the same search, by number of the piece.
    on_piece : callable or None
        Called with (number, piece, result) for each new piece, in order.
    go_on : callable or None
        Asked with the :class:`Phase` after each piece and before each proposal; where it says no, the phase ends there.

    Returns
    -------
    Report
        The smallest witness known, and what is proved of all that was looked at.

    Raises
    ------
    PolicyError
        A policy that cannot be loaded, or cannot be sent to other processes.

    Examples
    --------
    >>> from fairlane.search import graph_options, request_options
    >>> small = Space(n_requests=(1,), requests=request_options(prompt=[0], limit=[1]), n_graphs=(1, 2),
    ...               graphs=graph_options(prefill_capacity=[], decode_capacity=[1], duration_ms=[1, 2]))
    >>> report = explore("fixed-value", small)
    >>> report.counterexample, report.instances, report.exhaustive
    (None, 3, True)
    """
    task = Task(policy=policy, space=space or Space(), aim=aim or Aim(), limit_s=limit_s)
    name = label if label is not None else policy if isinstance(policy, str) else "the policy"
    budget = budget or Budget()
    task.guard()
    walked = _enumerate(task, budget, executor, known or {}, on_piece, go_on)
    total = walked.total
    proposed = 0
    counterexample = None
    failure = total.failure
    if failure is None:
        witness, origin, status = total.smallest, "enumeration", Status.FOUND
        if witness is not None and walked.settled:
            status = Status.GLOBAL_MIN
        try:
            if witness is None and not walked.exhaustive:
                witness, origin, proposed = _propose(task, budget, total.worst, go_on)
            if witness is not None:
                instance = witness.instance
                if status is not Status.GLOBAL_MIN:
                    instance, looked, done = minimise(instance, partial(_holds, task), max_instances=budget.minimising)
                    proposed += looked
                    status = Status.LOCAL_MIN if done else Status.FOUND
                counterexample = _witness(task, name, instance, status, origin, widen=widen)
        except PolicyBroke as broke:
            failure = broke.failure
    return Report(
        policy=name,
        aim=task.aim,
        counterexample=counterexample,
        worst=total.worst,
        instances=total.instances,
        unmeasured=total.unmeasured,
        proposed=proposed,
        exhaustive=walked.exhaustive,
        complete=walked.complete,
        failure=failure,
    )


def search(
    policy: object, space: Space | None = None, *, aim: Aim | None = None, **options: object
) -> Counterexample | None:
    """The smallest counterexample that a search finds, or None.

    Parameters
    ----------
    policy : str, Policy, PolicySpec or callable
        As for :func:`explore`.
    space : Space or None
        Where to search.
    aim : Aim or None
        What a witness is; any gap at all when None.
    **options
        Further options of :func:`explore`, whose report also says what None means.

    Raises
    ------
    PolicyError
        The policy broke: it raised, hung, idled or decided what is not legal; the message has the view.
    """
    report = explore(policy, space, aim=aim, **options)  # type: ignore[arg-type]  # checked by explore
    if report.failure is not None:
        raise PolicyError(failure_text(report.policy, report.failure))
    return report.counterexample


def failure_text(policy: str, failure: PolicyFailure) -> str:
    """A failure in one line, with the view that caused it."""
    seen = "; ".join(
        f"{r.id}: prompt {r.prompt}, generated {r.generated} of {r.limit}"
        + (f", age {r.age_ms} ms" if r.age_ms else "")
        for r in failure.view.requests
    )
    return f"{policy} {failure.breach} ({failure.message}) on the view at {failure.view.now_ms} ms of {seen}"


def _enumerate(
    task: Task,
    budget: Budget,
    executor: Executor | None,
    known: Mapping[int, PieceResult],
    on_piece: OnPiece | None,
    go_on: GoOn | None,
) -> _Enumerated:
    out = _Enumerated()
    blocks = tuple(task.space.blocks())
    number = 0
    for block in blocks:
        before = out.total.smallest
        pieces, done, stop = n_block_pieces(task.space, *block), 0, False
        numbered = enumerate(block_pieces(task.space, *block), number)
        for at, piece, result in _results(task, numbered, executor, known):
            if on_piece is not None and at not in known:
                on_piece(at, piece, result)
            out.total = merge(task.aim, out.total, result)
            done += 1
            full = budget.instances is not None and out.total.instances >= budget.instances
            stop = out.total.failure is not None or full or (go_on is not None and not go_on(Phase.ENUMERATION))
            if stop:
                break
        if out.total.failure is not None or done < pieces:
            return out
        number += pieces
        out.complete = block
        out.settled = out.settled or (before is None and out.total.smallest is not None)
        out.exhaustive = block == blocks[-1]
        if stop or (budget.first and out.settled):
            return out
    return out


def _results(
    task: Task, numbered: Iterator[tuple[int, Piece]], executor: Executor | None, known: Mapping[int, PieceResult]
) -> Iterator[tuple[int, Piece, PieceResult]]:
    """Results of the pieces of a block, in order, whoever works on them."""
    if executor is None or isinstance(executor, ThreadPoolExecutor):
        # threads would share tables that are not made for it, and run one at a time anyway
        for number, piece in numbered:
            yield number, piece, known[number] if number in known else work(piece, task=task)
        return
    packed = task.packed()
    while wave := list(islice(numbered, WAVE)):
        fresh = [(number, piece) for number, piece in wave if number not in known]
        done = in_order(
            partial(work_packed, packed=packed),
            [piece for _, piece in fresh],
            costs=[1] * len(fresh),
            names=[f"piece {number}" for number, _ in fresh],
            executor=executor,
        )
        for number, piece in wave:
            yield number, piece, known[number] if number in known else next(done)


def _measured(task: Task, instance: Instance) -> tuple[Fraction, Fraction]:
    """Exact gap and optimum of one instance."""
    costs = SharedCosts(instance.graphs, instance.objective, task.guard())
    with task.guard().watching():
        try:
            least, mine = costs.least(instance.requests), costs.policy(instance.requests)
        except PolicyBroke as broke:
            raise PolicyBroke(broke.on(instance)) from None
    return mine - least, to_fraction(costs.optimum(instance.requests))


def _holds(task: Task, instance: Instance) -> bool:
    """Whether an instance is a witness."""
    gap, optimum = _measured(task, instance)
    if task.aim.predicate is not None:
        return task.aim.asks(Case(instance, task.guard().policy, gap=gap))
    measured = task.aim.gap_of(gap, optimum)
    return measured is not None and measured > task.aim.exceeds


def _propose(task: Task, budget: Budget, worst: Found | None, go_on: GoOn | None) -> tuple[Found | None, str, int]:
    """A witness from draws, then from the optimiser; with what proposed it and how many were looked at."""
    looked = 0
    best = worst
    for number in range(budget.proposals // 2):
        if go_on is not None and not go_on(Phase.PROPOSALS):
            return None, "random draw", looked
        instance = draw(task.space, number)
        if instance is None:
            continue
        looked += 1
        gap, optimum = _measured(task, instance)
        found = Found(instance=instance, gap=gap, optimum=optimum)
        if _holds(task, instance) if task.aim.predicate is not None else _size_of_gap(task, found) > task.aim.exceeds:
            return found, "random draw", looked
        if task.aim.predicate is None and (best is None or _size_of_gap(task, found) > _size_of_gap(task, best)):
            best = found
    if best is None or task.aim.predicate is not None:
        return None, "random draw", looked

    def measure(instance: Instance) -> Fraction:
        gap, optimum = _measured(task, instance)
        return task.aim.gap_of(gap, optimum) or Fraction(0)

    for seed in range(CLIMBS):
        each = budget.proposals // 2 // CLIMBS
        if each == 0 or (go_on is not None and not go_on(Phase.PROPOSALS)):
            break
        instance, most, steps = climb(best.instance, measure, enough=task.aim.exceeds, max_instances=each, seed=seed)
        looked += steps
        gap, optimum = _measured(task, instance)
        best = Found(instance=instance, gap=gap, optimum=optimum)
        if most > task.aim.exceeds:
            return best, "optimiser", looked
    return None, "optimiser", looked


def _size_of_gap(task: Task, found: Found) -> Fraction:
    return task.aim.gap_of(found.gap, found.optimum) or Fraction(0)


def _witness(task: Task, label: str, instance: Instance, status: Status, origin: str, *, widen: bool) -> Counterexample:
    """The witness with its exact replay by the public evaluation, which shares nothing with the search's tables."""
    policy = task.guard().policy
    case = Case(instance, policy)
    with task.guard().watching():
        if not task.aim.holds(case):
            raise PolicyError(
                f"{label} gives another value when it is replayed: it decides differently on equal views; "
                "need a policy whose decision depends on the view and its memory alone"
            )
        found = regions(instance, partial(_holds, task)) if widen else ()
    return Counterexample(
        instance=instance,
        policy=label,
        evaluation=case.evaluation,
        status=status,
        origin=origin,
        explanation=explanation(instance, label, case.evaluation),
        regions=found,
    )
