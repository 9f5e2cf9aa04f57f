"""Known answers for estimates and detectors, from outside the project; the folder is named by FAIRLANE_CASES."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fairlane.simulator.learning import estimators
from fairlane.simulator.learning.estimate import Estimate
from fairlane.simulator.learning.estimator import EstimatorOptions, LogReference, MeanKind
from fairlane.simulator.learning.estimators import log_regime
from fairlane.simulator.learning.estimators.log_regime import ALLOWANCE, GROUP, lifetime_allowance
from fairlane.simulator.learning.moments import LagMoments
from fairlane.simulator.learning.posterior import NormalInverseGamma, prior_belief
from fairlane.simulator.learning.retained import RetainedEstimator
from fairlane.simulator.learning.timing import Timing
from tests.cases import vectors

FILE = "timing_vectors.json"
RTOL = 1e-9
EVENTS = ("nominate", "group_passed", "group_failed", "confirmed")


def close(value: float, expected: float) -> bool:
    return value == pytest.approx(expected, rel=RTOL, abs=0.0)


def observed(
    estimator: RetainedEstimator, durations_ms: Sequence[float], m0: float, known: Estimate | None = None
) -> Estimate:
    known = estimator.initial() if known is None else known
    for duration_ms in durations_ms:
        known = estimator.observe(known, Timing(completed_ms=0.0, duration_ms=duration_ms), prior_ms=m0)
    return known


def retained(name: str, **options: Any) -> RetainedEstimator:
    estimator = estimators.make(name, EstimatorOptions(**options))
    assert isinstance(estimator, RetainedEstimator)
    return estimator


def assert_belief(belief: NormalInverseGamma, expected: dict[str, float]) -> None:
    for name in ("kappa", "alpha", "beta", "m"):
        assert close(getattr(belief, name), expected[name]), name


@pytest.mark.parametrize("vector", vectors(FILE, "nig_posterior"))
def test_posterior(vector: Any) -> None:
    """Each block mean is fed as a block of eight equal durations, through the estimator."""
    expected = vector["expect"]
    estimator = retained("cumulative")
    known = observed(estimator, [y for y in vector["block_means"] for _ in range(8)], vector["m0"])
    belief = estimator.belief(known, prior_ms=vector["m0"])
    assert_belief(belief, expected)
    law = estimator.mean_law(known, prior_ms=vector["m0"])
    assert close(law.dof, expected["mu_dof"])
    assert close(law.location, expected["mu_loc"])
    assert close(law.scale, expected["mu_scale"])
    assert close(belief.predictive_law().scale, expected["pred_scale"])
    for found, wanted in (
        (belief.predictive_law().interval(0.99), expected["pred99"]),
        (law.interval(0.95), expected["mean95"]),
    ):
        assert found == pytest.approx(wanted, rel=RTOL)
    assert close(law.positive_mean, expected["trunc_mean"])
    assert close(law.positive_probability, expected["P_positive"])
    for u, wanted in expected["lower_q"].items():
        assert close(law.positive_quantile(float(u)), wanted)


@pytest.mark.parametrize("vector", vectors(FILE, "trunc_claim"))
def test_mean_given_a_positive_cost(vector: Any) -> None:
    for row in vector["numeric"]:
        assert close(prior_belief(row["m0"]).mean_law().positive_mean, row["value"])


@pytest.mark.parametrize("vector", vectors(FILE, "partial_block"))
def test_partial_block(vector: Any) -> None:
    size = vector["block_size"]
    whole, partial = (
        retained("cumulative", block_size=size),
        retained("cumulative", block_size=size, partial_blocks=True),
    )
    base = observed(whole, [y for y in vector["block_means"] for _ in range(size)], vector["m0"])
    assert_belief(whole.belief(base, prior_ms=vector["m0"]), vector["base"])
    after = observed(partial, vector["partial_obs"], vector["m0"], base)
    assert_belief(partial.belief(after, prior_ms=vector["m0"]), vector["expect"])
    if vector["promoted"] is not None:
        assert_belief(whole.belief(after, prior_ms=vector["m0"]), vector["promoted"])
        assert after.regime.partial.count == 0


@pytest.mark.parametrize("vector", vectors(FILE, "promotion_once"))
def test_a_block_is_promoted_once(vector: Any) -> None:
    options = {"block_size": vector["B"]}
    whole, partial = retained("cumulative", **options), retained("cumulative", partial_blocks=True, **options)
    known = whole.initial()
    for value, step in zip(vector["obs"], vector["steps"], strict=True):
        known = observed(whole, [value], vector["m0"], known)
        assert (known.lifetime.count, known.regime.blocks.count) == (step["n"], step["blocks"])
        assert close(known.lifetime.mean, step["raw_mean"])
        assert_belief(whole.belief(known, prior_ms=1.0), step["complete"])
        assert_belief(partial.belief(known, prior_ms=1.0), step["with_partial"])


@pytest.mark.parametrize("vector", vectors(FILE, "ema"))
def test_exponential_mean(vector: Any) -> None:
    estimator = retained("cumulative", mean_estimator=MeanKind.EMA)
    start = [] if vector["start"] is None else [vector["start"]]
    found = estimator.mean_ms(observed(estimator, [*start, *vector["obs"]], 1.0))
    assert found is not None
    assert close(found, vector["expect"])


@pytest.mark.parametrize("vector", vectors(FILE, "ema_expiry"))
def test_exponential_mean_with_a_lifetime(vector: Any) -> None:
    estimator = retained("cumulative", mean_estimator=MeanKind.EMA, expiry_ms=30_000.0)
    known = estimator.initial()
    for (at_ms, duration_ms, valid), expected in zip(vector["events"], vector["expect"], strict=True):
        timing = Timing(completed_ms=at_ms, duration_ms=duration_ms if valid else None)
        known = estimator.observe(known, timing, prior_ms=1.0)
        found = estimator.mean_ms(known)
        assert found is not None
        assert close(found, expected)


@pytest.mark.parametrize("vector", vectors(FILE, "regime_detector"))
@pytest.mark.parametrize("size", [8, 32])
def test_regime_detector(size: int, vector: Any) -> None:
    """Blocks of equal durations; their size plays no part."""
    estimator = retained("regime", block_size=size)
    known, confirmed = estimator.initial(), []
    for n, block_ms in enumerate(vector["block_means"]):
        resets = known.resets
        known = observed(estimator, [block_ms] * size, vector["m0"], known)
        if known.resets > resets:
            confirmed.append(n)
            assert known.regime.blocks.count == 3
    assert confirmed == vector["confirm_at"]
    assert known.lifetime.count == size * len(vector["block_means"])


@pytest.mark.parametrize("vector", vectors(FILE, "log_regime"))
def test_working_interval_of_log_means(vector: Any) -> None:
    rho = log_regime.working_correlation(vector["r"], vector["N"])
    assert close(rho, vector["rho"])
    factor = log_regime.variance_factor(vector["N"], rho)
    assert close(factor, vector["F_N"])
    assert close(log_regime.variance_factor(4, rho), vector["F_4"])
    assert close(log_regime.variance_factor(8, rho), vector["F_8"])
    assert close(vector["N"] / factor, vector["ess"])
    dof = log_regime.degrees(vector["N"] / factor)
    assert dof == vector["dof"]
    reference = log_regime.Reference(0.0, 1.0, 1.0, rho, vector["N"], dof, 1)
    widths = vector["half_width_over_s"]
    assert close(reference.half_width(1, ALLOWANCE), widths["n1_1e-4"])
    assert close(reference.half_width(4, ALLOWANCE), widths["n4_1e-4"])
    for key in (key for key in widths if key.startswith("n8_j")):
        assert close(reference.half_width(8, lifetime_allowance(int(key.removeprefix("n8_j")))), widths[key])


@pytest.mark.parametrize("vector", vectors(FILE, "allowance"))
def test_lifetime_allowance(vector: Any) -> None:
    assert close(lifetime_allowance(vector["j"]), vector["value"])


@pytest.mark.parametrize("vector", vectors(FILE, "lag1"))
def test_lag_one_correlation(vector: Any) -> None:
    logs = LagMoments()
    for value in vector["log_obs"]:
        logs = logs.add(value)
    assert close(logs.lag_one, vector["biased_r"])
    assert close(logs.variance, vector["s2_n_minus_1"])


@pytest.mark.parametrize("vector", vectors(FILE, "positive_t_quantile"))
def test_quantiles_given_a_positive_cost(vector: Any) -> None:
    belief = prior_belief(vector["m0"])
    for block_ms in vector["block_means"]:
        belief = belief.with_block(block_ms)
    for u, wanted in vector["q"].items():
        assert close(belief.mean_law().positive_quantile(float(u)), wanted)


def events(durations_ms: Sequence[float], frozen: LogReference) -> list[dict[str, Any]]:
    """What the detector does along a stream, read from its memory before and after each duration."""
    estimator = retained("log-regime", log_reference=frozen)
    known, found = estimator.initial(), []
    for i, duration_ms in enumerate(durations_ms):
        before = known
        known = observed(estimator, [duration_ms], 20.0, known)
        old, new = before.memory, known.memory
        assert isinstance(old, log_regime.Memory)
        assert isinstance(new, log_regime.Memory)
        if not old.durations_ms:
            if new.durations_ms:
                assert new.reference is not None
                found.append(
                    {
                        "i": i,
                        "event": "nominate",
                        "j": new.reference.number,
                        "half_width": new.reference.half_width(1, ALLOWANCE),
                        "diff": new.reference.difference([duration_ms]),
                        "N": new.reference.size,
                    }
                )
            continue
        waiting = (*old.durations_ms, duration_ms)
        reference = old.reference
        assert reference is not None
        if len(waiting) % GROUP == 0:
            width, diff = reference.half_width(GROUP, ALLOWANCE), reference.difference(waiting[-GROUP:])
            passed = reference.side(waiting[-GROUP:], ALLOWANCE) == old.side
            event = "group_passed" if passed else "group_failed"
            found.append({"i": i, "event": event, "group": len(waiting) // GROUP, "half_width": width, "diff": diff})
        if known.resets > before.resets:
            width = reference.half_width(2 * GROUP, lifetime_allowance(reference.number))
            found.append(
                {
                    "i": i,
                    "event": "confirmed",
                    "j": reference.number,
                    "half_width": width,
                    "diff": reference.difference(waiting),
                }
            )
            assert known.active.count == 2 * GROUP
            assert known.regime.blocks.count == 1
    return found


@pytest.mark.parametrize("vector", vectors(FILE, "log_regime_stream"))
@pytest.mark.parametrize(
    ("frozen", "key"),
    [(LogReference.NOMINATION, "refrozen_per_nomination"), (LogReference.ONCE, "frozen_once_at_64")],
)
def test_log_regime_detector(frozen: LogReference, key: str, vector: Any) -> None:
    found = events(vector["obs"], frozen)
    assert [(e["i"], e["event"]) for e in found] == [(e["i"], e["event"]) for e in vector[key]]
    for event, expected in zip(found, vector[key], strict=True):
        assert event == {
            name: pytest.approx(v, rel=RTOL) if isinstance(v, float) else v for name, v in expected.items()
        }
