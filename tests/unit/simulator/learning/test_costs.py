"""The executor against its definition: keys, moments, penalties, and what the reference is told."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairlane.simulator.draws import Stream, keyed_uniform
from fairlane.simulator.learning.costs import CostChange, CostLaw, Executor


def test_noise_is_made_from_the_keyed_uniforms_of_graph_and_count() -> None:
    """Box and Muller from the readable keyed draws, e_k = rho e_(k-1) + s sqrt(1 - rho^2) n_k."""
    s, rho, seed = 0.1, 0.7, 11
    executor = Executor([CostLaw(gpu_ms=5.0), CostLaw(gpu_ms=20.0, noise=s, correlation=rho)], seed)
    e = 0.0
    for k in range(50):
        u, v = (keyed_uniform(seed, Stream.TIMING, 1, k, word) for word in (0, 1))
        normal = math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)
        expected = 20.0 if k == 0 else 20.0 * math.exp(rho * e + s * s * (1 - rho * rho) / 2 - s * s / 2)
        assert executor.conditional_mean_ms(1, busy_ms=0.0) == pytest.approx(expected, rel=1e-12)
        e = s * normal if k == 0 else rho * e + s * math.sqrt(1 - rho * rho) * normal
        assert executor.execute(1, busy_ms=0.0).ticks == pytest.approx(20e6 * math.exp(e - s * s / 2), abs=1.0)
        # the other graph's executions change nothing
        executor.execute(0, busy_ms=0.0)


def test_noise_keeps_the_mean_and_has_the_stated_correlation() -> None:
    """20,000 executions at s = 0.1, rho = 0.5: the mean's standard error is 20 * 0.1 * sqrt(3 / 20000) = 0.0245."""
    executor = Executor([CostLaw(gpu_ms=20.0, noise=0.1, correlation=0.5)], 1)
    logs = np.log([executor.execute(0, busy_ms=0.0).ticks / 1e6 for _ in range(20_000)])
    assert np.exp(logs).mean() == pytest.approx(20.0, abs=4 * 0.0245)
    assert logs.std() == pytest.approx(0.1, rel=0.05)
    assert np.corrcoef(logs[1:], logs[:-1])[0, 1] == pytest.approx(0.5, abs=0.04)


def test_first_use_change_host_and_mismatch() -> None:
    law = CostLaw(
        gpu_ms=10.0,
        host_ms=1.0,
        first_use_ms=50.0,
        changes=(CostChange(at_busy_ms=100.0, gpu_ms=8.0),),
        occupancy=0.5,
        context_per_1000=0.1,
    )
    executor = Executor([law], 0)
    assert executor.conditional_mean_ms(0, busy_ms=0.0) == 61.0
    assert executor.execute(0, busy_ms=0.0).ticks == 61_000_000
    assert executor.execute(0, busy_ms=99.9).ticks == 11_000_000
    assert executor.execute(0, busy_ms=100.0).ticks == 9_000_000
    # a quarter full: 8 * (1 - 0.5 * 0.75) * (1 + 0.1 * 2) + 1 = 7
    assert executor.execute(0, busy_ms=200.0, occupancy=0.25, context_tokens=2000.0).ticks == 7_000_000


def test_lost_timings_take_their_time_and_show_nothing() -> None:
    executor = Executor([CostLaw(gpu_ms=10.0, missing_chance=0.2, zero_chance=0.1)], 3)
    shown = [executor.execute(0, busy_ms=0.0) for _ in range(5_000)]
    assert {e.ticks for e in shown} == {10_000_000}
    # standard errors are below 0.0057
    assert sum(e.gpu_ms is None for e in shown) / 5_000 == pytest.approx(0.2, abs=0.023)
    assert sum(e.gpu_ms == 0.0 for e in shown) / 5_000 == pytest.approx(0.1, abs=0.017)


def test_outliers_are_rare_and_in_the_conditional_mean() -> None:
    executor = Executor([CostLaw(gpu_ms=10.0, outlier_chance=0.02, outlier_factor=5.0)], 5)
    assert executor.conditional_mean_ms(0, busy_ms=0.0) == pytest.approx(10.8)
    durations = np.array([executor.execute(0, busy_ms=0.0).ticks / 1e6 for _ in range(10_000)])
    assert set(durations) == {10.0, 50.0}
    assert (durations == 50.0).mean() == pytest.approx(0.02, abs=0.006)
