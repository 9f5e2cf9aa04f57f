"""The compiled engine: the whole run in arrays, equal to the readable one bit for bit."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairlane.policies.service_rates import yields
from fairlane.reference.model.request import Request
from fairlane.reference.model.yields import truncated_prior
from fairlane.simulator.draws import Stream, hash_words, kinds_of
from fairlane.simulator.learning import estimators
from fairlane.simulator.learning.board import OF_GRAPH, OF_LIFETIME, PLAIN, family
from fairlane.simulator.learning.config import LearningConfig
from fairlane.simulator.learning.costs import TICKS_PER_MS, change_table, history_of, law_table
from fairlane.simulator.learning.estimate_table import estimate_of, row_options, unmeasured_rows
from fairlane.simulator.learning.estimator import PredictiveKind
from fairlane.simulator.learning.kernels import columns as c
from fairlane.simulator.learning.kernels import estimate_row as row
from fairlane.simulator.learning.kernels.advance import advance
from fairlane.simulator.learning.kernels.columns import Fixed, Live
from fairlane.simulator.learning.kernels.settling import mature
from fairlane.simulator.learning.outcome import GraphOutcome, LearningRun, Totals
from fairlane.simulator.learning.policies.spec import Lifetime
from fairlane.simulator.learning.scenario import Scenario
from fairlane.simulator.learning.service_delay import DelayBalances
from fairlane.simulator.run import Integers

LIFETIMES = {Lifetime.KEPT: c.KEPT, Lifetime.TTL: c.EXPIRING, Lifetime.JITTERED: c.JITTERED}
FIRST_LAUNCHES = 4096
# a prior's draw is a whole number below this
DRAWS = 1 << 53


def why_readable(config: LearningConfig, scenario: Scenario) -> str | None:
    """What the compiled engine does not do, None where it can run."""
    if config.spec.compiled is None:
        return f"policy {config.policy!r} has no compiled nomination"
    if estimators.spec(config.estimator).row_detector is None:
        return f"estimator {config.estimator!r} has no compiled counterpart"
    for graph in scenario.graphs:
        if graph.prefill_capacity and graph.prefill_lanes > 1:
            return f"graph {graph.name!r} has {graph.prefill_lanes} prefill lanes"
    return None


def fixed_of(config: LearningConfig, scenario: Scenario, seed: int) -> Fixed:
    """What a run never changes, as arrays."""
    graphs, templates, service = scenario.graphs.graphs, scenario.templates, scenario.service
    spec = config.spec
    widths = sorted({g.width for g in graphs if g.decode_capacity}) or [1]
    kinds = kinds_of(templates)
    deepest = max(len(acceptance) for acceptance, _ in kinds.of)
    table = np.zeros((len(kinds.of), deepest + 1))
    chances = np.zeros((len(kinds.of), deepest + 1))
    for k, (acceptance, _) in enumerate(kinds.of):
        table[k, : len(acceptance) + 1] = yields(acceptance)
        chances[k, : len(acceptance)] = [float(q) for q in acceptance]
    laws = [_prior_of(t) for t in templates]
    longest = max((len(law[0]) for law in laws), default=0) + 1
    thresholds = np.zeros((len(templates), longest), dtype=np.int64)
    lengths = np.zeros((len(templates), longest), dtype=np.int64)
    for k, (steps, ends) in enumerate(laws):
        thresholds[k, : len(steps)] = steps
        lengths[k, : len(ends)] = ends
    rows = [
        (t.prompt, t.generated, t.limit, kinds.by_request[k], _fixed_length(t), len(laws[k][0]))
        for k, t in enumerate(templates)
    ]
    bounds = np.cumsum([scenario.learn_busy_ms, scenario.measure_busy_ms, scenario.drain_busy_ms])
    options = np.zeros(c.N_OPTIONS)
    options[[c.RATE, c.CAP, c.TTL]] = config.earning_rate, config.credit_cap_ms, config.ttl_ms
    options[[c.EPSILON, c.TEMPERATURE, c.QUANTILE]] = config.epsilon, config.temperature, config.quantile
    options[[c.EXTRA, c.LOSS]] = config.probe_extra_ms, config.probe_loss_ms
    options[[c.REFRESH_BUSY, c.HISTORY]] = config.refresh_busy_ms, service.history_ms
    options[[c.OUTPUT_VALUE, c.TOKEN_FAIR]] = service.output_value, service.token_fairness
    options[[c.DELIVERY_FAIR, c.AGE_VALUE]] = service.delivery_fairness, service.age_price
    options[c.VARIANCE_BLOCKS] = config.block_size if config.predictive == PredictiveKind.EXECUTION else 1.0
    rate = None if config.harm_alpha is None else DelayBalances.at(config.harm_alpha).rate
    options[[c.HARM_RATE, c.HARM_LIMIT]] = _or_nan(rate), _or_nan(config.probe_harm_ms)
    flags = np.zeros(c.N_FLAGS, dtype=np.int64)
    flags[[c.POLICY, c.FUNDED]] = spec.compiled or 0, config.funded
    flags[[c.REFRESH_EVERY, c.ANNEAL]] = config.refresh_every if spec.refreshes else 0, config.anneal
    flags[[c.NATIVE, c.UNKNOWN_FIRST]] = config.initial_discovery == "native", spec.unknown_first
    flags[[c.LIFETIME_KIND, c.FRESH]] = LIFETIMES[spec.lifetime], spec.fresh_ttl
    flags[[c.AUDIT, c.TOLD]] = config.audit_every, spec.told
    words = (
        (Stream.ACCEPTANCE,),
        (Stream.TIMING,),
        (Stream.LENGTHS,),
        (Stream.POLICY, PLAIN),
        (Stream.POLICY, OF_GRAPH),
        (Stream.POLICY, OF_LIFETIME),
    )
    coming = sorted((_ticks(float(t.arrival_ms)), k) for k, t in enumerate(templates))
    return Fixed(
        graphs=np.array(
            [
                (
                    g.prefill_capacity,
                    g.decode_capacity,
                    g.width,
                    g.capacity_tokens,
                    2 * family(g)[0] + family(g)[1],
                    widths.index(g.width) if g.decode_capacity else 0,
                )
                for g in graphs
            ],
            dtype=np.int64,
        ),
        widths=np.array(widths, dtype=np.int64),
        yields=table,
        n_yields=np.array([len(acceptance) + 1 for acceptance, _ in kinds.of], dtype=np.int64),
        chances=chances,
        n_chances=np.array([len(acceptance) for acceptance, _ in kinds.of], dtype=np.int64),
        templates=np.array(rows, dtype=np.int64),
        weights=np.array([float(t.weight) for t in templates]),
        thresholds=thresholds,
        lengths=lengths,
        coming=np.array(coming, dtype=np.int64),
        pauses=np.array(
            [(_ticks(p.after_busy_ms), _ticks(p.idle_ms)) for p in scenario.pauses], dtype=np.int64
        ).reshape(-1, 2),
        boundaries=np.array([_ticks(b) for b in bounds], dtype=np.int64),
        laws=law_table(scenario.laws),
        changes=change_table(scenario.laws),
        options=options,
        flags=flags,
        streams=np.array([hash_words(seed, *key) for key in words], dtype=np.uint64),
        rows=row_options(config.estimator, config.estimator_options),
    )


def _ticks(time_ms: float) -> int:
    return int(time_ms * TICKS_PER_MS)


def _fixed_length(template: Request) -> int:
    return template.limit if template.output_length is None else min(template.output_length, template.limit)


def _prior_of(template: Request) -> tuple[list[int], list[int]]:
    """Whole numbers of 2^-53 at which a draw leaves each length, and the lengths; empty for a certain one."""
    if template.output_length is not None or template.length_prior is None:
        return [], []
    law = [(n, p) for n, p in truncated_prior(template.length_prior, template.limit) if n > template.generated]
    total = sum(p for _, p in law)
    steps, passed = [], 0
    reached = total * 0
    for _, p in law:
        reached += p
        # the smallest draw u with u 2^-53 total >= reached
        passed = -int(-(reached * DRAWS / total) // 1)
        steps.append(passed)
    return steps, [n for n, _ in law]


def live_of(scenario: Scenario, fixed: Fixed) -> Live:
    """The start of a run, as arrays."""
    n_graphs, n_templates = len(scenario.graphs), len(scenario.templates)
    n_lanes = 1 + max(g.decode_capacity for g in scenario.graphs)
    room = FIRST_LAUNCHES * 2
    counters = np.zeros(c.N_COUNTERS, dtype=np.int64)
    counters[[c.MEASURED_FROM, c.DRAIN_FROM]] = -1
    knowledge = np.zeros((n_graphs, c.N_KNOWLEDGE))
    knowledge[:, [c.VALID_BUSY, c.ATTEMPT]] = -np.inf
    return Live(
        counters=counters,
        amounts=np.zeros(c.N_AMOUNTS),
        requests=np.zeros((room, c.N_REQUEST), dtype=np.int64),
        prices=np.zeros((room, c.N_PRICE)),
        line=np.zeros(n_templates + n_lanes, dtype=np.int64),
        waiting=np.zeros(n_templates + 1, dtype=np.int64),
        streams=np.zeros(n_templates + 1, dtype=np.int64),
        ranked=np.zeros((len(fixed.widths) + 3, n_templates + n_lanes), dtype=np.int64),
        sums=np.zeros((len(fixed.widths) + 1, n_templates + n_lanes, c.N_SUMS)),
        estimates=unmeasured_rows(n_graphs),
        knowledge=knowledge,
        offers=np.zeros((n_graphs + c.N_EXTRA_ROWS, c.N_OFFER)),
        offer_lanes=np.zeros((n_graphs + c.N_EXTRA_ROWS, c.LANE_FIRST + n_lanes), dtype=np.int64),
        draws=np.zeros(2 * n_graphs),
        exposed=np.zeros((n_lanes, 2), dtype=np.int64),
        noise=np.zeros(n_graphs),
        counts=np.zeros(n_graphs, dtype=np.int64),
        parts=np.zeros(2),
        chosen=np.zeros(n_lanes, dtype=np.int64),
        withheld=np.zeros(n_templates, dtype=np.int64),
        launches=np.zeros((FIRST_LAUNCHES, c.N_LAUNCH), dtype=np.int64),
        launch_ms=np.zeros((FIRST_LAUNCHES, 2)),
        lanes=np.zeros((room, 3), dtype=np.int64),
    )


def grown(live: Live) -> Live:
    """The same state with twice the room for launches, lanes and requests."""
    return live._replace(
        **{
            name: np.concatenate((getattr(live, name), np.zeros_like(getattr(live, name))))
            for name in ("requests", "prices", "launches", "launch_ms", "lanes")
        }
    )


def run_compiled(config: LearningConfig, scenario: Scenario, seed: int) -> LearningRun:
    """A run in arrays; see `fairlane.simulator.learning.run`. The caller asks `why_readable` first."""
    fixed = fixed_of(config, scenario, seed)
    live = live_of(scenario, fixed)
    if scenario.history:
        for g, durations in enumerate(history_of(scenario.laws, seed, scenario.history)):
            mature(fixed, live, g, durations)
    while True:
        outcome = advance(fixed, live)
        assert outcome != c.BROKEN_CREDIT, "exploration: E <= alpha / (1 - alpha) F + D"
        assert outcome != c.BROKEN_DELAY, "delay: charged <= earned + the latest exposure"
        if outcome == c.FINISHED:
            return _outcome(config, scenario, seed, live)
        live = grown(live)


def _outcome(config: LearningConfig, scenario: Scenario, seed: int, live: Live) -> LearningRun:
    n_launches, n_lanes, n_requests = (int(live.counters[k]) for k in (c.N_LAUNCHES, c.N_LANES, c.N_REQUESTS))
    launches, lanes, requests = live.launches[:n_launches], live.lanes[:n_lanes], live.requests[:n_requests]
    finished = requests[:, c.FINISHED_AT]
    firsts = [int(live.counters[k]) for k in (c.MEASURED_FROM, c.DRAIN_FROM)]
    amounts = [float(live.amounts[k]) for k in (c.FOREGROUND, c.SPENT, c.LATEST, c.BOOTSTRAP, c.CREDIT)]
    foreground_ms, exploration_ms, latest_probe_ms, bootstrap_ms, credit_ms = amounts
    return LearningRun(
        config=config,
        scenario=scenario,
        seed=seed,
        graph=launches[:, c.L_GRAPH].copy(),
        start_ms=launches[:, c.L_START] / TICKS_PER_MS,
        end_ms=launches[:, c.L_END] / TICKS_PER_MS,
        kind=launches[:, c.L_KIND].copy(),
        reason=launches[:, c.L_REASON].copy(),
        measured_ms=live.launch_ms[:n_launches, 0].copy(),
        credit_ms=live.launch_ms[:n_launches, 1].copy(),
        lane_offsets=_offsets(launches[:, c.L_OFFSET]),
        lane_request=lanes[:, 0].copy(),
        lane_consumed=lanes[:, 1].copy(),
        lane_published=lanes[:, 2].copy(),
        template=requests[:, c.TEMPLATE].copy(),
        arrival_ms=requests[:, c.ARRIVAL] / TICKS_PER_MS,
        finished_ms=np.where(finished >= 0, finished / TICKS_PER_MS, np.nan),
        measured_from=firsts[0] if firsts[0] >= 0 else n_launches,
        drain_from=firsts[1] if firsts[1] >= 0 else n_launches,
        graphs=tuple(_graph_outcome(live, g) for g in range(len(scenario.graphs))),
        totals=Totals(
            foreground_ms=foreground_ms,
            exploration_ms=exploration_ms,
            latest_probe_ms=latest_probe_ms,
            bootstrap_ms=bootstrap_ms,
            credit_ms=credit_ms,
            opportunities=int(live.counters[c.OPPORTUNITIES]),
            delay_earned=_delays(config, live, c.EARNED),
            delay_charged=_delays(config, live, c.CHARGED),
        ),
    )


def _delays(config: LearningConfig, live: Live, column: int) -> tuple[float, ...]:
    """Of prefill and decode; empty without balances."""
    if config.harm_alpha is None:
        return ()
    return tuple(float(live.amounts[c.DELAY + phase * c.N_DELAY + column]) for phase in range(2))


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _offsets(ends: Sequence[int] | Integers) -> Integers:
    return np.concatenate((np.zeros(1, dtype=np.int64), ends))


def _graph_outcome(live: Live, graph: int) -> GraphOutcome:
    estimate = estimate_of(live.estimates, graph)
    known = estimate.measured
    return GraphOutcome(
        count=estimate.lifetime.count,
        mean_ms=estimate.lifetime.mean if known else None,
        active_count=estimate.active.count,
        active_mean_ms=estimate.active.mean if known else None,
        operational_ms=float(live.estimates[graph, row.OPERATIONAL]) if known else None,
        resets=estimate.resets,
    )
