"""What every learning policy must do: one battery over the registry."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.simulator.clock import Clock
from fairlane.simulator.learning import estimators, policies
from fairlane.simulator.learning.config import LearningConfig
from fairlane.simulator.learning.learner import Learner, Parts, Settled
from fairlane.simulator.learning.outcome import KINDS, REASONS, LearningRun
from fairlane.simulator.learning.readable import ordinary_rule
from fairlane.simulator.learning.run import run
from fairlane.simulator.learning.scenario import Pause
from fairlane.simulator.learning.situation import Kind, Reason
from fairlane.simulator.ledger import Ledger
from tests.learning_scenarios import GRAPHS, hidden_graph, mixed

EXPLORING = [name for name in policies.names() if policies.spec(name).nominate is not None]


@pytest.fixture(params=policies.names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def kinds(ran: LearningRun) -> Counter[Kind]:
    return Counter(KINDS[k] for k in ran.kind)


def reasons(ran: LearningRun) -> Counter[Reason]:
    return Counter(REASONS[k] for k in ran.reason)


@pytest.mark.parametrize("funded", [True, False])
def test_accounts_add_up_and_the_bound_holds(name: str, funded: bool) -> None:
    """Credits are recomputed from the launches by the text's rules; the run itself asserts its bounds."""
    ran = run(LearningConfig(policy=name, funded=funded), mixed(), 3)
    elapsed = ran.end_ms - ran.start_ms
    valid = ran.measured_ms > 0
    of = {kind: ran.kind == KINDS.index(kind) for kind in Kind}
    rate = 0.02 / 0.98
    credit, spent, foreground, latest = 0.0, 0.0, 0.0, 0.0
    for k in range(ran.n_launches):
        if k and ran.start_ms[k] > ran.end_ms[k - 1]:
            credit = min(credit, 0.0)
        if of[Kind.PROBE][k]:
            assert not funded or credit >= 5.0 - 1e-6
            credit -= elapsed[k]
            spent, latest = spent + elapsed[k], elapsed[k]
        elif of[Kind.ORDINARY][k] and valid[k]:
            credit = min(5.0, credit + rate * elapsed[k])
            foreground += elapsed[k]
        assert ran.credit_ms[k] == pytest.approx(credit, abs=1e-6)
        assert not funded or spent <= rate * foreground + latest + 1e-6
    totals = ran.totals
    assert (totals.exploration_ms, totals.foreground_ms) == pytest.approx((spent, foreground), rel=1e-9)
    assert totals.bootstrap_ms == pytest.approx(elapsed[of[Kind.BOOTSTRAP]].sum(), rel=1e-9)


def test_same_seed_same_run_and_another_seed_another(name: str) -> None:
    config = LearningConfig(policy=name)
    first = run(config, mixed(), 3)
    assert first.difference(run(config, mixed(), 3)) is None
    assert first.difference(run(config, mixed(), 4)) is not None


def test_durations_in_the_catalog_are_not_seen(name: str) -> None:
    scenario = mixed()
    told = Catalog(
        [
            Graph(
                name=g.name,
                duration_ms=100 - k,
                prefill_capacity=g.prefill_capacity,
                decode_capacity=g.decode_capacity,
                width=g.width,
            )
            for k, g in enumerate(scenario.graphs)
        ]
    )
    config = LearningConfig(policy=name)
    first, second = run(config, scenario, 5), run(config, replace(scenario, graphs=told), 5)
    assert np.array_equal(first.graph, second.graph)
    assert np.array_equal(first.end_ms, second.end_ms)


def test_timings_are_keyed_by_graph_and_execution_count(name: str) -> None:
    """The k-th execution of a graph without mismatch or change takes what it takes for every other policy."""
    scenario = mixed()
    other = run(LearningConfig(policy="ttl"), scenario, 7)
    mine = run(LearningConfig(policy=name), scenario, 7)
    for graph in (0, 1, 2):
        durations = [(r.end_ms - r.start_ms)[r.graph == graph] for r in (mine, other)]
        n = min(len(d) for d in durations)
        assert durations[0][:n] == pytest.approx(durations[1][:n], abs=1e-6)


def test_planning_twice_counts_nothing_and_decides_the_same(name: str) -> None:
    config = LearningConfig(policy=name, funded=False)
    scenario = mixed()
    told = (lambda view: [3.0, 6.0, 17.0, 24.0, 19.0]) if config.spec.told else None
    learner = Learner(config, ordinary_rule(scenario.service), GRAPHS, 1, parts=lambda: Parts(None, 0.0), told_ms=told)
    for graph in range(len(GRAPHS)):
        learner.mature(graph, [10.0 + graph] * 20)
    ledger = Ledger(scenario.templates, [0] * 4, GRAPHS, Objective(decode_value=1), Clock(1))
    for rank in range(4):
        ledger.admit(rank)
    view, memory = ledger.view(), learner.initial(GRAPHS)
    first = [learner.decide(view, memory) for _ in range(3)]
    assert len(set(first)) == 1
    assert (learner.accounts.opportunities, learner.accounts.contention) == (0, 0)


@pytest.mark.parametrize("estimator", estimators.names())
@pytest.mark.parametrize("policy", EXPLORING)
def test_every_estimator_serves_every_exploring_policy(policy: str, estimator: str) -> None:
    ran = run(LearningConfig(policy=policy, estimator=estimator, funded=False), mixed(busy_ms=300.0), 2)
    assert ran.end_ms[-1] > 250.0
    assert all(g.count == int(((ran.graph == k) & (ran.measured_ms > 0)).sum()) for k, g in enumerate(ran.graphs))


def test_known_never_tries_a_graph_that_a_first_use_penalty_hides_and_retained_policies_find_it() -> None:
    """Equal work: 10 ms beats 20 ms, but the first use takes 310; only who tries it blindly learns that."""
    scenario = hidden_graph()
    shares = {}
    for policy in ("known", "ema", "retained-refresh", "targeted", "ttl"):
        ran = run(LearningConfig(policy=policy, probe_extra_ms=1000.0), scenario, 0)
        late = ran.start_ms > 30_000.0
        shares[policy] = float((ran.graph[late] == 1).mean())
        if policy == "known":
            assert not (ran.graph == 1).any()
    assert shares["known"] == 0.0
    # tried first of all, its penalty is in its mean until executions on its own account or a fresh mean wash it out
    assert shares["retained-refresh"] > 0.9
    assert shares["ttl"] > 0.9


def test_native_discovery_runs_unmeasured_graphs_first_and_charges_nobody() -> None:
    ran = run(LearningConfig(policy="greedy", initial_discovery="native"), hidden_graph(busy_ms=2_000.0), 0)
    assert sorted(ran.graph[:2]) == [0, 1]
    assert [KINDS[k] for k in ran.kind[:2]] == [Kind.BOOTSTRAP] * 2
    assert kinds(ran)[Kind.BOOTSTRAP] == 2
    assert ran.totals.bootstrap_ms == pytest.approx(float((ran.end_ms - ran.start_ms)[:2].sum()))
    productive = run(LearningConfig(policy="greedy"), hidden_graph(busy_ms=2_000.0), 0)
    assert kinds(productive)[Kind.BOOTSTRAP] == 1


def test_every_sixteenth_opportunity_refreshes() -> None:
    ran = run(LearningConfig(policy="epsilon", epsilon=1e-9, funded=False), hidden_graph(busy_ms=8_000.0), 0)
    at = np.flatnonzero(ran.reason == REASONS.index(Reason.REFRESH))
    # the first launch is the bootstrap and no opportunity
    assert at[:4].tolist() == [16, 32, 48, 64]
    off = run(
        LearningConfig(policy="epsilon", epsilon=1e-9, funded=False, refresh_every=0), hidden_graph(busy_ms=8_000.0), 0
    )
    assert reasons(off)[Reason.REFRESH] == 0


def test_bursts_shorter_than_245_ms_never_fund_a_probe() -> None:
    """5 ms of credit need 245 ms at alpha 0.02, and idle takes what a burst has earned."""
    base = hidden_graph(busy_ms=3_000.0)
    pauses = tuple(Pause(after_busy_ms=80.0 * k, idle_ms=10.0) for k in range(1, 36))
    short = replace(base, templates=tuple(with_limit(t, 4) for t in base.templates), pauses=pauses)
    ran = run(LearningConfig(policy="thompson"), short, 0)
    assert kinds(ran)[Kind.PROBE] == 0
    assert kinds(run(LearningConfig(policy="thompson"), base, 0))[Kind.PROBE] > 0


def with_limit(template: Request, limit: int) -> Request:
    return Request(id=template.id, prompt=template.prompt, limit=limit)


def test_a_hard_delay_limit_is_kept_by_every_probe() -> None:
    seen: list[float] = []

    def keep(settled: Settled) -> None:
        plan, board = settled.plan, settled.board
        if plan.kind is Kind.PROBE and board.n_live > 1:
            mean_ms = board.known(plan.cohort.graph).mean_ms
            assert mean_ms is not None
            seen.append(board.delay(plan.cohort._replace(cost_ms=mean_ms)).total)

    config = LearningConfig(
        policy="targeted", probe_harm_ms=60.0, probe_extra_ms=100.0, probe_loss_ms=100.0, refresh_busy_ms=300.0
    )
    run(config, replace(mixed(busy_ms=4_000.0), history=20), 1, on_settled=keep)
    assert seen
    assert max(seen) <= 60.0


def test_earned_delay_is_charged_and_bounded() -> None:
    config = LearningConfig(
        policy="targeted", harm_alpha=0.05, probe_extra_ms=100.0, probe_loss_ms=100.0, refresh_busy_ms=300.0
    )
    ran = run(config, replace(mixed(busy_ms=4_000.0), history=20), 1)
    assert kinds(ran)[Kind.PROBE] > 0
    assert sum(ran.totals.delay_charged) > 0


def test_audits_take_every_fourth_contended_opportunity() -> None:
    """Every graph is due at once, so that checks always contend with challengers that optimism admits."""
    config = LearningConfig(
        policy="targeted",
        funded=False,
        audit_every=4,
        refresh_busy_ms=1e-3,
        probe_extra_ms=1000.0,
        probe_loss_ms=1000.0,
    )
    picked: list[tuple[Reason, bool]] = []
    run(
        config,
        replace(mixed(busy_ms=3_000.0), history=0),
        1,
        on_settled=lambda s: picked.append((s.plan.reason, s.plan.contended)),
    )
    contended = [reason for reason, both in picked if both]
    assert len(contended) >= 12
    assert all((reason is Reason.CHECK) == ((k + 1) % 4 == 0) for k, reason in enumerate(contended)), contended
