"""Both engines of a learning run give the same run, bit for bit, on random policies, scenarios and seeds."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request
from fairlane.simulator.learning import compiled, estimators, policies
from fairlane.simulator.learning.compiled import run_compiled, why_readable
from fairlane.simulator.learning.config import LearningConfig
from fairlane.simulator.learning.costs import CostChange, CostLaw
from fairlane.simulator.learning.readable import run_readable
from fairlane.simulator.learning.scenario import Pause, Scenario, Service
from tests.counts import count
from tests.learning_scenarios import hidden_graph, mixed


def random_graph(rng: random.Random, k: int) -> Graph:
    kind = rng.choice(("prefill", "decode", "decode", "mixed"))
    prefill = rng.choice((16, 64, 64, 256)) if kind != "decode" else 0
    return Graph(
        name=f"g{k}",
        duration_ms=1,
        prefill_capacity=prefill,
        decode_capacity=rng.randint(1, 6) if kind != "prefill" else 0,
        width=rng.choice((1, 1, 2, 4)) if kind != "prefill" else 1,
    )


def random_law(rng: random.Random) -> CostLaw:
    gpu_ms = rng.choice((5.0, 10.0, rng.uniform(2.0, 30.0)))
    changes = (CostChange(at_busy_ms=rng.uniform(50.0, 600.0), gpu_ms=rng.uniform(2.0, 30.0)),)
    return CostLaw(
        gpu_ms=gpu_ms,
        host_ms=rng.choice((0.0, 0.7)),
        first_use_ms=rng.choice((0.0, 0.0, 40.0)),
        changes=changes if rng.random() < 0.4 else (),
        noise=rng.choice((0.0, 0.05, 0.3)),
        correlation=rng.choice((0.0, 0.7)),
        outlier_chance=rng.choice((0.0, 0.05)),
        missing_chance=rng.choice((0.0, 0.2)),
        zero_chance=rng.choice((0.0, 0.1)),
        occupancy=rng.choice((0.0, 0.5)),
        context_per_1000=rng.choice((0.0, 2.0)),
    )


def random_request(rng: random.Random, k: int) -> Request:
    prompt = rng.choice((0, 1, 40, 100, 300))
    limit = rng.randint(2, 30)
    priors: dict[int, Fraction] = {1: Fraction(1, 7), limit // 2 + 1: Fraction(2, 7), limit + 3: Fraction(4, 7)}
    return Request(
        id=f"r{k}",
        arrival_ms=rng.choice((0, 0, Fraction(15, 2), 40)),
        prompt=prompt,
        limit=limit,
        acceptance=rng.choice(((), ("1/2",), ("9/10", "4/5", "1/3"))),
        weight=rng.choice((1, 1, 1, "1/2", 3)),
        length_prior=priors if rng.random() < 0.3 and len(priors) == 3 else None,
    )


def random_scenario(rng: random.Random) -> Scenario:
    graphs = [random_graph(rng, k) for k in range(rng.randint(2, 6))]
    graphs.append(Graph(name="p", duration_ms=1, prefill_capacity=128))
    graphs.append(Graph(name="d", duration_ms=1, decode_capacity=3))
    busy_ms = rng.uniform(100.0, 700.0)
    pauses = (Pause(after_busy_ms=busy_ms / 3, idle_ms=rng.choice((50.0, 29_000.0, 31_000.0))),)
    return Scenario(
        name="random",
        group="stress",
        graphs=Catalog(graphs),
        laws=tuple(random_law(rng) for _ in graphs),
        templates=tuple(random_request(rng, k) for k in range(rng.randint(1, 6))),
        pauses=pauses if rng.random() < 0.5 else (),
        history=rng.choice((0, 0, 70)),
        service=Service(
            output_value=rng.choice((1.0, 16.0)),
            token_fairness=rng.choice((0.0, 1.0)),
            delivery_fairness=rng.choice((0.0, 1.0)),
            age_price=rng.choice((0.0, 0.002)),
            history_ms=rng.choice((100.0, 1000.0)),
        ),
        learn_busy_ms=busy_ms / 4,
        measure_busy_ms=busy_ms,
        drain_busy_ms=busy_ms / 4,
    )


def random_config(rng: random.Random, policy: str) -> LearningConfig:
    spec = policies.spec(policy)
    limit, earned = rng.choice(((None, None), (None, 0.05), (None, 0.3), (40.0, None), (150.0, None)))
    return LearningConfig(
        policy=policy,
        estimator=rng.choice(estimators.names()),
        funded=rng.random() < 0.4,
        alpha=rng.choice((0.02, 0.2)),
        refresh_every=rng.choice((0, 3, 16)),
        block_size=rng.choice((8, 32)),
        partial_blocks=rng.random() < 0.5,
        mean_estimator=rng.choice((None, *spec.means)),
        ttl_ms=rng.choice((100.0, 30_000.0)),
        epsilon=rng.choice((0.05, 0.5)),
        anneal=rng.random() < 0.5,
        quantile=rng.choice((0.01, 0.1, 0.5)),
        initial_discovery=rng.choice(("productive", "native")),
        probe_extra_ms=rng.choice((0.0, 10.0)),
        probe_loss_ms=rng.choice((0.0, 5.0, 50.0)),
        refresh_busy_ms=rng.choice((30.0, 300.0)),
        audit_every=rng.choice((0, 2, 4)),
        probe_harm_ms=limit if spec.bounds_delay else None,
        harm_alpha=earned if spec.bounds_delay else None,
        log_reference=rng.choice(("nomination", "once")),
        predictive=rng.choice(("execution", "block")),
    )


def assert_same(config: LearningConfig, scenario: Scenario, seed: int) -> int:
    fast = run_compiled(config, scenario, seed)
    assert fast.difference(run_readable(config, scenario, seed)) is None
    return fast.n_launches


@pytest.mark.parametrize("policy", policies.names())
def test_engines_agree_on_random_runs(policy: str) -> None:
    launches = 0
    for k in range(count(40)):
        rng = random.Random(f"{policy} {k}")
        config, scenario = random_config(rng, policy), random_scenario(rng)
        if why_readable(config, scenario) is None:
            launches += assert_same(config, scenario, rng.randrange(1 << 40))
    assert launches > 0


@pytest.mark.parametrize("funded", [True, False])
@pytest.mark.parametrize("policy", policies.names())
def test_engines_agree_on_stated_scenarios(policy: str, funded: bool) -> None:
    config = LearningConfig(policy=policy, funded=funded)
    assert assert_same(config, mixed(), 3) > 20
    assert assert_same(config, hidden_graph(busy_ms=1_500.0), 3) > 50


def test_tables_grow_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """From room for 16 launches to the hundred of a run."""
    monkeypatch.setattr(compiled, "FIRST_LAUNCHES", 16)
    assert assert_same(LearningConfig(policy="retained-refresh"), hidden_graph(busy_ms=3_000.0), 0) > 64


@pytest.mark.parametrize(("earned", "limit"), [(0.05, None), (0.3, None), (None, 60.0), (None, 0.0)])
def test_engines_agree_where_delay_is_accounted(earned: float | None, limit: float | None) -> None:
    plain = LearningConfig(policy="targeted", probe_extra_ms=100.0, probe_loss_ms=100.0, refresh_busy_ms=300.0)
    config = replace(plain, harm_alpha=earned, probe_harm_ms=limit)
    scenario = replace(mixed(busy_ms=4_000.0), history=20)
    fast = run_compiled(config, scenario, 1)
    assert fast.difference(run_readable(config, scenario, 1)) is None
    assert fast.totals.exploration_ms > 0 or limit == 0.0
