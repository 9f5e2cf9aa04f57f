"""A learning policy as the event loop sees it: it decides from views, and learns from its own completed timings.

The object holds the state of one run; the memory that the loop hands around is the number of completions, so that
planning the same decision again gives the same plan with the same draws and counts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from fairlane.policies.ongoing import Ongoing
from fairlane.policies.service_rates import Measured, Rate, current_rates, observed
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.policy import Completion, Decision, Memory, View
from fairlane.simulator.draws import Stream, keyed_uniform
from fairlane.simulator.learning import estimators
from fairlane.simulator.learning.accounts import Accounts
from fairlane.simulator.learning.board import OF_LIFETIME, Board, Clocks, GraphRecord
from fairlane.simulator.learning.config import LearningConfig
from fairlane.simulator.learning.estimator import Estimator
from fairlane.simulator.learning.planning import Plan, plan
from fairlane.simulator.learning.policies.spec import Lifetime
from fairlane.simulator.learning.service_delay import Lane
from fairlane.simulator.learning.situation import Reason
from fairlane.simulator.learning.timing import Timing

# what the lifetime of a jittered measurement is multiplied by: 24 to 36 s of 30
JITTER = (0.8, 1.2)


class Parts(NamedTuple):
    """GPU and host time of a completed execution as its timer showed them, ms; None or 0 for nothing."""

    gpu_ms: float | None
    host_ms: float


class Settled(NamedTuple):
    """A completion with the plan and the situation that it settled, and what the accounts stand at afterwards."""

    plan: Plan
    board: Board
    completion: Completion
    timing: Timing
    credit_ms: float
    delay: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class _Planned:
    """A plan with what it was made from."""

    memory: Memory
    now_ms: float
    board: Board
    plan: Plan


class Learner:
    """The policy of one run.

    Parameters
    ----------
    config : LearningConfig
        Who decides, and from what.
    rule : Ongoing
        The ordinary score.
    geometry : Catalog
        Graphs whose durations say nothing.
    seed : int
        Of the policy's stream.
    parts : callable
        Measured parts of the last completed execution.
    told_ms : callable or None
        Conditional means at a view, for a policy that is told.
    on_settled : callable or None
        Is given every settled completion.
    """

    def __init__(
        self,
        config: LearningConfig,
        rule: Ongoing,
        geometry: Catalog,
        seed: int,
        *,
        parts: Callable[[], Parts],
        told_ms: Callable[[View], Sequence[float]] | None = None,
        on_settled: Callable[[Settled], None] | None = None,
    ) -> None:
        assert config.spec.told == (told_ms is not None), "costs are told to the reference alone"
        self.config = config
        self.accounts = Accounts.of(config)
        self.estimator = estimators.make(config.estimator, config.estimator_options)
        self.records = [GraphRecord(estimate=self.estimator.initial()) for _ in geometry]
        self.last: Plan | None = None
        self.busy_ms = 0.0
        self._rule = rule
        self._geometry = geometry
        self._seed = seed
        self._parts = parts
        self._told_ms = told_ms
        self._on_settled = on_settled
        self._rates: dict[str, Rate] = {}
        self._planned: _Planned | None = None

    def initial(self, catalog: Catalog) -> Memory:
        """No completion."""
        return 0

    def decide(self, view: View, memory: Memory) -> Decision:
        """The plan's graph and lanes."""
        planned = self._plan(view, memory)
        cohort = planned.plan.cohort
        names = {r.index: r.id for r in view.requests}
        return Decision(
            graph=self._geometry.graphs[cohort.graph].name,
            prefill=tuple(names[i] for i in cohort.prefill),
            decode=tuple(names[i] for i in cohort.decode),
        )

    def _plan(self, view: View, memory: Memory) -> _Planned:
        now_ms = float(view.now_ms)
        if self._planned is None or (self._planned.memory, self._planned.now_ms) != (memory, now_ms):
            accounts = self.accounts
            board = Board(
                view,
                self._rule,
                self._rates,
                self.records,
                self.estimator,
                self.config,
                None if self._told_ms is None else self._told_ms(view),
                Clocks(
                    now_ms=now_ms,
                    busy_ms=self.busy_ms,
                    opportunity=accounts.opportunities + 1,
                    contention=accounts.contention,
                ),
                self._seed,
            )
            self._planned = _Planned(memory, now_ms, board, plan(board, self.config, accounts))
        return self._planned

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        """Counters, accounts, estimates and service rates after a completion, each exactly once."""
        planned = self._planned
        assert planned is not None, "a completion settles the plan it belongs to"
        assert planned.memory == memory, "a completion settles the plan it belongs to"
        self._planned = None
        now, board = planned.plan, planned.board
        elapsed_ms = float(completion.elapsed_ms)
        self.busy_ms += elapsed_ms
        parts = self._parts()
        shown = completion.measured_ms
        timing = Timing(
            completed_ms=float(completion.ended_ms),
            duration_ms=None if shown is None else float(shown),
            gpu_ms=parts.gpu_ms,
            host_ms=parts.host_ms,
        )
        self.accounts.commit(opportunity=now.opportunity, contended=now.contended)
        self._learn(now, board, timing)
        index = {r.id: r.index for r in completion.view.requests}
        self.accounts.settle(
            now.kind,
            elapsed_ms=elapsed_ms,
            valid=timing.valid,
            incumbent=now.incumbent_lanes,
            incumbent_ms=0.0 if now.incumbent is None else now.incumbent.cost_ms,
            committed=[Lane(index[lane.id], lane.consumed) for lane in completion.lanes],
        )
        self._rates = _rates_after(self._rates, completion, board.measured, self._rule.history_ms)
        self.last = now
        if self._on_settled is not None:
            delay = self.accounts.delay
            balances = None if delay is None else (delay.prefill.balance, delay.decode.balance)
            credit_ms = self.accounts.credit.balance_ms
            self._on_settled(Settled(now, board, completion, timing, credit_ms, balances))
        assert isinstance(memory, int)
        return memory + 1

    def _learn(self, now: Plan, board: Board, timing: Timing) -> None:
        graph = now.cohort.graph
        record = self.records[graph]
        record.last_attempt_ms = board.now_ms
        if not timing.valid:
            # a confirmation without a timing waits among the due checks
            record.awaiting = record.awaiting or now.reason is Reason.CONFIRMATION
            return
        record.estimate = self._estimator_now(record).observe(record.estimate, timing, prior_ms=board.prior_ms(graph))
        record.awaiting = False
        record.last_valid_busy_ms = self.busy_ms
        record.lifetime_ms = self._lifetime_ms(graph, record)

    def _estimator_now(self, record: GraphRecord) -> Estimator:
        if record.lifetime_ms is None or record.lifetime_ms == self.config.ttl_ms:
            return self.estimator
        # a jittered lifetime also decides when the exponential mean starts afresh
        options = replace(self.config.estimator_options, expiry_ms=record.lifetime_ms)
        return estimators.make(self.config.estimator, options)

    def _lifetime_ms(self, graph: int, record: GraphRecord) -> float | None:
        match self.config.spec.lifetime:
            case Lifetime.KEPT:
                return None
            case Lifetime.TTL:
                return self.config.ttl_ms
            case Lifetime.JITTERED:
                low, high = JITTER
                count = record.estimate.lifetime.count
                u = keyed_uniform(self._seed, Stream.POLICY, OF_LIFETIME, graph, count)
                return self.config.ttl_ms * (low + (high - low) * u)

    def mature(self, graph: int, durations_ms: Sequence[float]) -> None:
        """Observations of a graph before the run, completed at time 0."""
        record = self.records[graph]
        for duration_ms in durations_ms:
            timing = Timing(completed_ms=0.0, duration_ms=duration_ms)
            record.estimate = self.estimator.observe(record.estimate, timing, prior_ms=durations_ms[0])
        record.last_valid_busy_ms = 0.0
        record.lifetime_ms = self._lifetime_ms(graph, record)

    def idle(self) -> None:
        """An interval without feasible work."""
        self.accounts.idle()


def _rates_after(
    known: dict[str, Rate], completion: Completion, measured: Sequence[Measured], history_ms: float
) -> dict[str, Rate]:
    """Rates after a completion; one without a normaliser so far stays unknown, so that its price stays out."""
    before = current_rates(completion.view, known, measured)
    after = observed(tuple(known.items()), completion, measured, history_ms)
    return {
        name: Rate(
            rate.tokens_per_ms, (rate.deliveries_per_ms or None) if before[name].deliveries_per_ms != 0 else None
        )
        for name, rate in after
        if before[name].tokens_per_ms
    }
