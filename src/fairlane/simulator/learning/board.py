"""The readable situation: one view, the `ongoing` scores, and the estimators' beliefs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fairlane.policies.choosing import oldest_first
from fairlane.policies.ongoing import Offer, Ongoing
from fairlane.policies.priced_prompts import NO_PROMPTS, PromptList, best_prompts
from fairlane.policies.service_rates import Measured, Rate
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.policy import RequestView, View
from fairlane.simulator.draws import Stream, keyed_uniform
from fairlane.simulator.learning.estimate import Estimate
from fairlane.simulator.learning.estimator import Estimator
from fairlane.simulator.learning.family_prior import family_prior_ms
from fairlane.simulator.learning.options import PolicyOptions
from fairlane.simulator.learning.service_delay import Delay, Lane, delay_of, row_choices
from fairlane.simulator.learning.situation import NEVER, Knowledge, Scored, best

# words of the policy's stream: plain uniforms, draws of graphs, lifetimes
PLAIN, OF_GRAPH, OF_LIFETIME = 0, 1, 2


@dataclass(slots=True, kw_only=True)
class GraphRecord:
    """What a policy keeps of one graph beside its estimate; times in ms, NEVER before the first."""

    estimate: Estimate
    last_valid_busy_ms: float = NEVER
    last_attempt_ms: float = NEVER
    awaiting: bool = False
    lifetime_ms: float | None = None


@dataclass(slots=True, kw_only=True)
class Clocks:
    """Now, in wall and in occupied ms, and the numbers of the next opportunity and of contended ones so far."""

    now_ms: float
    busy_ms: float
    opportunity: int
    contention: int


def family(graph: Graph) -> tuple[bool, bool]:
    """Prefill, decode or mixed."""
    return graph.prefill_capacity > 0, graph.decode_capacity > 0


class Board:
    """A `Situation` read from a view.

    Parameters
    ----------
    view : View
        Requests and geometry; its durations and estimates are not read.
    rule : Ongoing
        The ordinary score.
    rates : mapping
        Service rates by request id.
    records : sequence of GraphRecord
        One a graph.
    estimator : Estimator
        What reads the estimates.
    options : PolicyOptions
        Of the policy.
    told_ms : sequence of float or None
        Conditional means, for the reference alone; they stand for every measurement.
    clocks : Clocks
        Now.
    seed : int
        Of the policy's stream.
    """

    def __init__(
        self,
        view: View,
        rule: Ongoing,
        rates: Mapping[str, Rate],
        records: Sequence[GraphRecord],
        estimator: Estimator,
        options: PolicyOptions,
        told_ms: Sequence[float] | None,
        clocks: Clocks,
        seed: int,
    ) -> None:
        self.config = options
        self.now_ms, self.busy_ms = clocks.now_ms, clocks.busy_ms
        self.opportunity, self.contention = clocks.opportunity, clocks.contention
        self.n_live = len(view.requests)
        self._graphs = view.catalog.graphs
        self._records = records
        # as of now: records change when a completion is learned from
        self._estimates = tuple(record.estimate for record in records)
        self._estimator = estimator
        self._seed = seed
        self._known = tuple(self._knowledge(g, told_ms) for g in range(len(self._graphs)))
        self.measured = tuple(
            Measured(graph, known.mean_ms, order)
            for order, (graph, known) in enumerate(zip(self._graphs, self._known, strict=True))
            if known.mean_ms is not None
        )
        self._scores = rule.frozen(view, dict(rates), self.measured)
        # the tie rule's order of requests
        self._place = {r.index: k for k, r in enumerate(sorted(view.requests, key=oldest_first))}
        self._request = {r.index: r for r in view.requests}
        self.feasible = tuple(g for g, graph in enumerate(self._graphs) if self._serves(graph))
        self.incumbent = self._incumbent()

    def _serves(self, graph: Graph) -> bool:
        waiting = graph.prefill_capacity > 0 and bool(self._scores.waiting)
        return waiting or (graph.decode_capacity > 0 and bool(self._scores.streams))

    def _incumbent(self) -> Scored | None:
        offers = [self._as_scored(o) for m in self.measured if (o := self._scores.offer(m)) is not None]
        return best(offers) if offers else None

    def _knowledge(self, graph: int, told_ms: Sequence[float] | None) -> Knowledge:
        record = self._records[graph]
        estimate = record.estimate
        last_ms = NEVER if estimate.last_valid_ms is None else estimate.last_valid_ms
        if told_ms is not None:
            mean_ms: float | None = told_ms[graph]
        else:
            mean_ms = self._estimator.mean_ms(estimate)
            if record.lifetime_ms is not None and self.now_ms - last_ms > record.lifetime_ms:
                mean_ms = None
        return Knowledge(
            mean_ms,
            estimate.lifetime.count,
            last_ms,
            record.last_valid_busy_ms,
            record.last_attempt_ms,
            estimate.pending,
            record.awaiting,
        )

    def known(self, graph: int) -> Knowledge:
        """See `Situation`."""
        return self._known[graph]

    def prior_ms(self, graph: int) -> float:
        """The prior location of a graph as of now; only what is unmeasured uses it."""
        kind = family(self._graphs[graph])
        means = [
            estimate.active.mean
            for g, estimate in enumerate(self._estimates)
            if g != graph and estimate.measured and family(self._graphs[g]) == kind
        ]
        return family_prior_ms(means, None if self.incumbent is None else self.incumbent.cost_ms)

    def nominal_ms(self, graph: int) -> float:
        """See `Situation`; an expired mean is nominal too."""
        mean_ms = self._known[graph].mean_ms
        if mean_ms is None:
            mean_ms = self._estimator.mean_ms(self._estimates[graph])
        return self.prior_ms(graph) if mean_ms is None else mean_ms

    def optimistic_ms(self, graph: int) -> float:
        """See `Situation`."""
        law = self._estimator.mean_law(self._estimates[graph], prior_ms=self.prior_ms(graph))
        return law.positive_quantile(self.config.quantile)

    def drawn_mean_ms(self, graph: int) -> float:
        """See `Situation`."""
        law = self._estimator.mean_law(self._estimates[graph], prior_ms=self.prior_ms(graph))
        return law.positive_quantile(self._draw(graph))

    def drawn_execution_ms(self, graph: int) -> float:
        """See `Situation`."""
        law = self._estimator.execution_law(self._estimates[graph], prior_ms=self.prior_ms(graph))
        return law.positive_quantile(self._draw(graph))

    def _draw(self, graph: int) -> float:
        return keyed_uniform(self._seed, Stream.POLICY, OF_GRAPH, self.opportunity, graph)

    def uniform(self, word: int) -> float:
        """See `Situation`."""
        return keyed_uniform(self._seed, Stream.POLICY, PLAIN, self.opportunity, word)

    def scored(self, graph: int, cost_ms: float) -> Scored:
        """See `Situation`."""
        offer = self._scores.offer(self._at(graph, cost_ms))
        assert offer is not None, "a feasible graph"
        return self._as_scored(offer)

    def rescored(self, cohort: Scored, cost_ms: float) -> Scored:
        """See `Situation`."""
        measured = self._at(cohort.graph, cost_ms)
        rows = {row.request.index: row for row in self._scores.rows(measured)}
        prompts = self._prompts(cohort.graph, cohort.prefill)
        return self._as_scored(self._scores.cohort(measured, prompts, [rows[i] for i in cohort.decode]))

    def cohorts(self, graph: int, cost_ms: float) -> list[Scored]:
        """See `Situation`; best rows within and outside the incumbent's, for each count of the former."""
        assert self.incumbent is not None
        geometry = self._graphs[graph]
        theirs = set(self.incumbent.decode)
        rows = self._scores.rows(self._at(graph, cost_ms)) if geometry.decode_capacity else []
        choices = row_choices(
            rows, is_theirs=lambda row: row.request.index in theirs, capacity=geometry.decode_capacity
        )
        return [
            self._as_scored(self._scores.cohort(self._at(graph, cost_ms), prompts, lanes))
            for prompts in self._prompt_choices(geometry)
            for lanes in choices
            if prompts.requests or lanes
        ]

    def _prompt_choices(self, graph: Graph) -> list[PromptList]:
        """The best prompts, those of the incumbent, and the best without them; each once."""
        if not graph.prefill_capacity or not self._scores.waiting:
            return [NO_PROMPTS]
        assert self.incumbent is not None
        theirs = set(self.incumbent.prefill)
        waiting = self._scores.waiting
        lists = (
            best_prompts(graph, waiting),
            best_prompts(graph, [row for row in waiting if row.request.index in theirs]),
            best_prompts(graph, [row for row in waiting if row.request.index not in theirs]),
        )
        kept: dict[tuple[int, ...], PromptList] = {}
        for choice in lists:
            if choice.requests:
                kept.setdefault(tuple(r.index for r in choice.requests), choice)
        return list(kept.values())

    def _prompts(self, graph: int, indices: Sequence[int]) -> PromptList:
        rows = [row for row in self._scores.waiting if row.request.index in indices]
        return best_prompts(self._graphs[graph], rows)

    def lanes(self, cohort: Scored) -> tuple[Lane, ...]:
        """See `Situation`."""
        left = self._graphs[cohort.graph].prefill_capacity
        found = []
        for i in cohort.prefill:
            share = min(left, self._request[i].prompt)
            left -= share
            found.append(Lane(i, share))
        return (*found, *(Lane(i, 0) for i in cohort.decode))

    @cached_property
    def _incumbent_lanes(self) -> tuple[Lane, ...]:
        assert self.incumbent is not None
        return self.lanes(self.incumbent)

    def delay(self, cohort: Scored) -> Delay:
        """See `Situation`."""
        assert self.incumbent is not None
        return delay_of(
            self._incumbent_lanes, self.lanes(cohort), incumbent_ms=self.incumbent.cost_ms, probe_ms=cohort.cost_ms
        )

    def padded(self, graph: int) -> bool:
        """See `Situation`."""
        mine = self._graphs[graph]
        if not mine.prefill_capacity or not self._scores.waiting:
            return False
        consumed = self._consumed(mine)
        return any(
            0 < other.prefill_capacity < mine.prefill_capacity
            and (other.decode_capacity, other.width) == (mine.decode_capacity, mine.width)
            and self._consumed(other) >= consumed
            for other in self._graphs
        )

    def _consumed(self, graph: Graph) -> int:
        prompts: Sequence[RequestView] = best_prompts(graph, self._scores.waiting).requests
        return min(graph.prefill_capacity, sum(r.prompt for r in prompts))

    def _at(self, graph: int, cost_ms: float) -> Measured:
        return Measured(self._graphs[graph], cost_ms, graph)

    def _as_scored(self, offer: Offer) -> Scored:
        graph, cost_ms, order = offer.graph
        prefill = tuple(r.index for r in offer.prefill)
        decode = tuple(r.index for r in offer.decode)
        return Scored(
            order,
            cost_ms,
            offer.score,
            offer.gross_per_ms,
            prefill,
            decode,
            tuple(sorted(self._place[i] for i in (*prefill, *decode))),
            graph.capacity_tokens,
        )
