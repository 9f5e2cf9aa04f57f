"""What every registered estimator must do, whatever its detector: one battery over the registry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median, variance

import numpy as np
import pytest

from fairlane.reference.errors import InvalidInstance
from fairlane.simulator.learning import estimators
from fairlane.simulator.learning.estimate import Estimate
from fairlane.simulator.learning.estimator import Estimator, EstimatorOptions, MeanKind
from fairlane.simulator.learning.timing import Timing

OPTIONS = [
    EstimatorOptions(block_size=size, partial_blocks=partial, mean_estimator=kind)
    for size in (8, 32)
    for partial in (False, True)
    for kind in MeanKind
]


def noise(n: int, seed: int, mean_ms: float = 20.0, cv: float = 0.05) -> list[float]:
    drawn = np.random.default_rng(seed).lognormal(0.0, cv, n)
    return [float(mean_ms * value) for value in drawn]


def fed(estimator: Estimator, durations_ms: Sequence[float], *, prior_ms: float = 20.0) -> list[Estimate]:
    """The estimate before the first and after every duration."""
    known = [estimator.initial()]
    for n, duration_ms in enumerate(durations_ms):
        timing = Timing(completed_ms=20.0 * (n + 1), duration_ms=duration_ms)
        known.append(estimator.observe(known[-1], timing, prior_ms=prior_ms))
    return known


@pytest.fixture(params=estimators.names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_statistics_are_those_of_the_definition(name: str, options: EstimatorOptions) -> None:
    """On durations without a change, against the statistics module over the whole list."""
    durations = noise(150, seed=3)
    estimator = estimators.make(name, options)
    for n, known in enumerate(fed(estimator, durations)[1:], start=1):
        seen = durations[:n]
        assert known.resets == 0
        assert known.lifetime.count == known.active.count == n
        assert known.lifetime.mean == pytest.approx(fmean(seen), rel=1e-12)
        assert known.active.mean == pytest.approx(fmean(seen), rel=1e-12)
        if n > 1:
            assert known.lifetime.variance == pytest.approx(variance(seen), rel=1e-9)
        exponential = seen[0]
        for value in seen[1:]:
            exponential = 0.875 * exponential + 0.125 * value
        expected = {"arithmetic": fmean(seen), "ema": exponential, "median9": median(seen[-9:])}
        assert estimator.mean_ms(known) == pytest.approx(expected[options.mean_estimator], rel=1e-12)


def test_an_unmeasured_graph_has_a_belief_and_no_mean(name: str) -> None:
    """Prior: 4 degrees of freedom, scale sqrt(2) m0, mean given a positive cost 9/5 m0 (closed form)."""
    estimator = estimators.make(name)
    start = estimator.initial()
    assert not start.measured
    assert start.prior_ms is None
    assert estimator.mean_ms(start) is None
    law = estimator.mean_law(start, prior_ms=7.0)
    assert (law.dof, law.location) == (4.0, 7.0)
    assert law.scale == pytest.approx(math.sqrt(2.0) * 7.0, rel=1e-15)
    assert law.positive_mean == pytest.approx(12.6, rel=1e-12)
    assert law.positive_probability == pytest.approx(20 / 27, rel=1e-12)


@pytest.mark.parametrize("bad", [None, 0.0, -1.0, math.nan, math.inf])
def test_an_invalid_timing_changes_nothing(name: str, bad: float | None) -> None:
    estimator = estimators.make(name)
    for known in (estimator.initial(), fed(estimator, noise(70, seed=1))[-1]):
        assert estimator.observe(known, Timing(completed_ms=1e6, duration_ms=bad), prior_ms=3.0) == known
        without_gpu = Timing(completed_ms=1e6, duration_ms=20.0, gpu_ms=0.0, host_ms=1.0)
        assert estimator.observe(known, without_gpu, prior_ms=3.0) == known


def test_the_prior_is_frozen_by_the_first_valid_timing(name: str) -> None:
    estimator = estimators.make(name)
    failed = estimator.observe(estimator.initial(), Timing(completed_ms=1.0, duration_ms=None), prior_ms=5.0)
    assert failed.prior_ms is None
    first = estimator.observe(failed, Timing(completed_ms=2.0, duration_ms=20.0), prior_ms=7.0)
    second = estimator.observe(first, Timing(completed_ms=3.0, duration_ms=20.0), prior_ms=11.0)
    assert (first.prior_ms, second.prior_ms) == (7.0, 7.0)
    assert estimator.mean_law(second, prior_ms=11.0).location == 7.0


def test_observing_is_pure(name: str) -> None:
    """Equal inputs give equal, hashable estimates and leave the old ones as they were."""
    estimator = estimators.make(name)
    durations = noise(80, seed=2) + noise(80, seed=4, mean_ms=40.0)
    once, again = fed(estimator, durations), fed(estimator, durations)
    assert once == again
    assert [hash(known) for known in once] == [hash(known) for known in again]


def test_parts_of_a_timing_keep_statistics_of_their_own(name: str) -> None:
    """GPU parts 18, 20 and host parts 1, 3, by hand: means 19 and 2, variances 2 and 2; one timing has neither."""
    estimator = estimators.make(name)
    known = estimator.initial()
    for timing in (
        Timing(completed_ms=1.0, duration_ms=19.0, gpu_ms=18.0, host_ms=1.0),
        Timing(completed_ms=2.0, duration_ms=23.0, gpu_ms=20.0, host_ms=3.0),
        Timing(completed_ms=3.0, duration_ms=21.0),
    ):
        known = estimator.observe(known, timing, prior_ms=20.0)
    assert (known.lifetime.count, known.gpu.count, known.host.count) == (3, 2, 2)
    assert (known.gpu.mean, known.gpu.variance, known.host.mean, known.host.variance) == (19.0, 2.0, 2.0, 2.0)


def test_a_confirmed_change_keeps_the_lifetime_and_starts_an_active_regime(name: str) -> None:
    """Durations that double five times over, far apart: whatever is confirmed, lifetime statistics know everything."""
    estimator = estimators.make(name)
    durations = [value for k in range(5) for value in noise(600, seed=k, mean_ms=20.0 * 2**k, cv=0.02)]
    known = fed(estimator, durations)
    for n, (before, after) in enumerate(pairwise(known), start=1):
        assert after.lifetime.count == n
        assert after.active.count <= n
        if after.resets > before.resets:
            assert after.active.count < before.active.count
            assert not after.pending
            assert after.active.mean == pytest.approx(fmean(durations[n - after.active.count : n]), rel=1e-12)
        else:
            assert after.resets == before.resets
            assert after.active.count == before.active.count + 1
        assert after.prior_ms == 20.0
    assert known[-1].lifetime.mean == pytest.approx(fmean(durations), rel=1e-12)


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("size", [8, 32])
def test_blocks_count_once(name: str, size: int, partial: bool) -> None:
    """The belief is the normal-inverse-gamma posterior of complete block means, with w = r/B of the unfinished one.

    Closed form of Murphy (2007), eq. 86 to 89, with sums over the blocks instead of one update after another.
    """
    estimator = estimators.make(name, EstimatorOptions(block_size=size, partial_blocks=partial))
    durations = noise(100, seed=9)
    for n, known in enumerate(fed(estimator, durations)[1:], start=1):
        blocks = [fmean(durations[k : k + size]) for k in range(0, n - n % size, size)]
        weights = [1.0] * len(blocks)
        if partial and n % size:
            blocks.append(fmean(durations[n - n % size : n]))
            weights.append((n % size) / size)
        total = math.fsum(weights)
        mean = math.fsum(w * y for w, y in zip(weights, blocks, strict=True)) / total if total else 0.0
        spread = math.fsum(w * (y - mean) ** 2 for w, y in zip(weights, blocks, strict=True))
        kappa, alpha = 0.25 + total, 2.0 + total / 2.0
        beta = 400.0 + spread / 2.0 + 0.25 * total * (mean - 20.0) ** 2 / (2.0 * kappa)
        law = estimator.mean_law(known, prior_ms=1.0)
        assert law.dof == pytest.approx(2.0 * alpha, rel=1e-12)
        assert law.location == pytest.approx((0.25 * 20.0 + total * mean) / kappa, rel=1e-12)
        assert law.scale == pytest.approx(math.sqrt(beta / (alpha * kappa)), rel=1e-11)
        wider = estimator.execution_law(known, prior_ms=1.0)
        assert (wider.dof, wider.location) == (law.dof, law.location)
        assert wider.scale == pytest.approx(math.sqrt(beta * (size + 1.0 / kappa) / alpha), rel=1e-11)


def test_exponential_mean_is_replaced_only_strictly_after_its_lifetime(name: str) -> None:
    """By hand: 10; 12 moves it by 2/8; at exactly 30,000 ms 20 moves it by 9.75/8; 0.001 ms later 20 replaces it."""
    estimator = estimators.make(name, EstimatorOptions(mean_estimator=MeanKind.EMA, expiry_ms=30_000.0))
    known = estimator.initial()
    for at_ms, duration_ms, expected in (
        (0.0, 10.0, 10.0),
        (100.0, 12.0, 10.25),
        (30_100.0, 20.0, 11.46875),
        (60_100.001, 20.0, 20.0),
    ):
        known = estimator.observe(known, Timing(completed_ms=at_ms, duration_ms=duration_ms), prior_ms=1.0)
        assert estimator.mean_ms(known) == expected


def test_an_unknown_estimator_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInstance, match=r"estimator is 'best'; need one of cumulative"):
        estimators.make("best")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"block_size": 16}, "block_size is 16; need one of 8, 32"),
        ({"mean_estimator": "mode"}, "mean_estimator is 'mode'; need one of arithmetic, ema, median9"),
        ({"expiry_ms": 0.0}, "expiry_ms is 0.0; need a finite number of ms above 0"),
        ({"expiry_ms": math.inf}, "expiry_ms is inf; need a finite number of ms above 0"),
    ],
)
def test_options_outside_their_range_are_refused_by_name(changed: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInstance) as refused:
        EstimatorOptions(**changed)  # type: ignore[arg-type]  # wrong on purpose
    assert str(refused.value) == message
