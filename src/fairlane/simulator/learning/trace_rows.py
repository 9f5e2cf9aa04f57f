"""Why each graph was chosen: one row a launch with every candidate's scores and evidence, for traces.

Only the readable engine is traced. A row is a plain object for JSON lines; what has no value is null.
"""

from __future__ import annotations

import math

from fairlane.simulator.learning.board import Board
from fairlane.simulator.learning.learner import Settled
from fairlane.simulator.learning.situation import Scored, loss_ms

Row = dict[str, object]


def trace_row(settled: Settled) -> Row:
    """One launch: what was chosen, why, at which costs, what it took, and what every other graph looked like.

    Times in ms. ``candidates`` has one entry a feasible graph: ``mean_ms`` (null while unmeasured) and ``nominal_ms``,
    the score of its best cohort at the nominal cost and at the optimistic one, ``loss_ms`` and ``extra_ms`` of that
    optimistic cohort against the incumbent, occupied time since its last valid timing, valid timings, and whether
    evidence of a change waits for confirmation or for a timing. ``delay`` is what a probe delayed by estimate.
    """
    plan, board, completion, timing = settled.plan, settled.board, settled.completion, settled.timing
    names = [g.name for g in completion.view.catalog]
    return {
        "start_ms": float(completion.view.now_ms),
        "end_ms": float(completion.ended_ms),
        "graph": names[plan.cohort.graph],
        "kind": str(plan.kind),
        "reason": str(plan.reason),
        "cost_ms": plan.cohort.cost_ms,
        "score": plan.cohort.score,
        "incumbent": None if plan.incumbent is None else names[plan.incumbent.graph],
        "incumbent_score": None if plan.incumbent is None else plan.incumbent.score,
        "prefill": list(completion.decision.prefill),
        "decode": list(completion.decision.decode),
        "elapsed_ms": float(completion.elapsed_ms),
        "measured_ms": timing.duration_ms,
        "gpu_ms": timing.gpu_ms,
        "host_ms": timing.host_ms,
        "useful_tokens": sum(lane.consumed + lane.published for lane in completion.lanes),
        "credit_ms": settled.credit_ms,
        "delay_balances": None if settled.delay is None else list(settled.delay),
        "opportunity": board.opportunity if plan.opportunity else None,
        "contended": plan.contended,
        "delay": None if plan.incumbent is None else board.delay(plan.cohort).total,
        "candidates": [candidate_row(board, g, names[g]) for g in board.feasible],
    }


def candidate_row(board: Board, graph: int, name: str) -> Row:
    """What one feasible graph looked like at a decision."""
    known = board.known(graph)
    nominal_ms = board.nominal_ms(graph)
    optimistic = board.scored(graph, board.optimistic_ms(graph))
    return {
        "graph": name,
        "mean_ms": known.mean_ms,
        "nominal_ms": nominal_ms,
        "mean_score": board.scored(graph, nominal_ms).score,
        "optimistic_ms": optimistic.cost_ms,
        "optimistic_score": optimistic.score,
        "loss_ms": _loss(board, optimistic, nominal_ms),
        "extra_ms": None if board.incumbent is None else nominal_ms - board.incumbent.cost_ms,
        "age_busy_ms": _or_none(board.busy_ms - known.last_valid_busy_ms),
        "n_valid": known.n_valid,
        "pending": known.pending,
        "awaiting": known.awaiting,
    }


def _loss(board: Board, cohort: Scored, mean_ms: float) -> float | None:
    incumbent = board.incumbent
    if incumbent is None:
        return None
    return loss_ms(
        incumbent_score=incumbent.score,
        mean_score=board.rescored(cohort, mean_ms).score,
        mean_ms=mean_ms,
        incumbent_gross_per_ms=incumbent.gross_per_ms,
    )


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
