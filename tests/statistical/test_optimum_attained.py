"""Simulated means against exact values: the optimal policy attains the optimum, others attain their own value.

Every check allows five standard errors of the mean, which a right simulator exceeds with a probability below 6e-7
for a normal mean; with eight checks a false alarm has a probability below 5e-6.
"""

from __future__ import annotations

import numpy as np
import pytest

from fairlane import policies, suite
from fairlane.oracle.policy_value.evaluate import evaluate
from fairlane.oracle.solve import solve
from fairlane.reference.model.instance import Instance
from fairlane.simulator.fast_loops import Path
from fairlane.simulator.realised import realised_value
from fairlane.simulator.simulate import simulate
from tests.counts import count

NAMES = ("rtx-mixed-widths", "rtx-heavy-tail", "rtx-age-and-width", "h100-batch-of-four")


def mean_and_error(instance: Instance, policy: object, runs: int) -> tuple[float, float]:
    values = np.array(
        [
            realised_value(
                simulate(
                    instance.requests,
                    instance.graphs,
                    policy,
                    objective=instance.objective,
                    seed=seed,
                    exact_times=True,
                    path=Path.READABLE,
                )
            )
            for seed in range(runs)
        ]
    )
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(runs))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_optimal_policy_attains_the_optimum(name: str) -> None:
    instance = suite.load(name)
    solution = solve(instance)
    assert solution.value is not None
    mean, error = mean_and_error(instance, solution.policy, count(5000))
    assert abs(mean - float(solution.value)) <= 5 * error + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_fixed_value_attains_its_exact_value(name: str) -> None:
    instance = suite.load(name)
    rule = policies.spec("fixed-value").policy
    mean, error = mean_and_error(instance, rule, count(5000))
    assert abs(mean - float(evaluate(instance, rule).value)) <= 5 * error + 1e-9
