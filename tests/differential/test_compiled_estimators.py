"""The compiled estimators against the readable ones: every double the same, after every observation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from fairlane.simulator.learning import estimators
from fairlane.simulator.learning.estimate_table import estimate_of, row_options, unmeasured_rows
from fairlane.simulator.learning.estimator import EstimatorOptions, LogReference, MeanKind
from fairlane.simulator.learning.kernels import estimate_row, observe
from fairlane.simulator.learning.timing import Timing
from tests.counts import count


def stream(rng: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
    """Correlated log-normal noise with changes of every size, outliers, and failed timings."""
    noise = float(rng.choice([0.0, 0.002, 0.02, 0.1, 0.4]))
    rho = float(rng.choice([0.0, 0.3, 0.7]))
    away, level = 0.0, float(rng.uniform(0.5, 200.0))
    values = np.empty(n)
    for k in range(n):
        away = rho * away + math.sqrt(1.0 - rho * rho) * float(rng.normal())
        if rng.random() < 0.004:
            level *= float(rng.choice([0.3, 0.8, 0.9, 1.1, 1.2, 4.0]))
        values[k] = level * math.exp(noise * away) * (5.0 if rng.random() < 0.01 else 1.0)
    failed = rng.random(n) < 0.02
    values[failed] = rng.choice([0.0, -1.0, math.nan, math.inf], failed.sum())
    return values


OPTIONS = [
    EstimatorOptions(block_size=8),
    EstimatorOptions(block_size=32, partial_blocks=True, mean_estimator=MeanKind.EMA),
    EstimatorOptions(
        block_size=8, partial_blocks=True, mean_estimator=MeanKind.MEDIAN9, log_reference=LogReference.ONCE
    ),
    EstimatorOptions(block_size=32, mean_estimator=MeanKind.EMA, expiry_ms=500.0, log_reference=LogReference.ONCE),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", estimators.names())
def test_compiled_and_readable_estimators_agree_to_the_last_bit(name: str, options: EstimatorOptions) -> None:
    estimator = estimators.make(name, options)
    told = row_options(name, options)
    expiry_ms = math.inf if options.expiry_ms is None else options.expiry_ms
    resets = pendings = 0
    for seed in range(count(30)):
        rng = np.random.default_rng(seed)
        rows, graph = unmeasured_rows(2), seed % 2
        known = estimator.initial()
        now_ms, prior_ms = 0.0, float(rng.uniform(1.0, 50.0))
        for value in stream(rng, 900):
            now_ms += float(rng.choice([20.0, 500.0, 501.0]))
            gpu = float(rng.choice([math.nan, 0.9 * value, 0.9 * value, 0.9 * value]))
            host = math.nan if math.isnan(gpu) else 0.1 * float(value)
            parts = {} if math.isnan(gpu) else {"gpu_ms": gpu, "host_ms": host}
            timing = Timing(completed_ms=now_ms, duration_ms=float(value), **parts)
            before = known.resets
            known = estimator.observe(known, timing, prior_ms=prior_ms)
            changed = observe.observe(rows, graph, told, value, gpu, host, now_ms, expiry_ms, prior_ms)
            assert changed == (known.resets > before)
            assert estimate_of(rows, graph) == replace(known, memory=None)
            pendings += known.pending
            mean_ms = estimator.mean_ms(known)
            operational = rows[graph, estimate_row.OPERATIONAL]
            assert math.isnan(operational) if mean_ms is None else operational == mean_ms
            law = estimator.mean_law(known, prior_ms=prior_ms)
            compiled = estimate_row.mean_law(rows, graph, options.block_size, options.partial_blocks, prior_ms)
            assert compiled == (law.dof, law.location, law.scale)
            wider = estimator.execution_law(known, prior_ms=prior_ms)
            compiled = estimate_row.execution_law(
                rows, graph, options.block_size, options.partial_blocks, prior_ms, float(options.block_size)
            )
            assert compiled == (wider.dof, wider.location, wider.scale)
        assert estimate_of(rows, 1 - graph) == replace(estimator.initial(), memory=None)
        resets += known.resets
    # the streams reach what is compared
    assert (resets > 0, pendings > 0) == (name != "cumulative",) * 2
