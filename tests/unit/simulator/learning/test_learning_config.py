"""Options: what is refused and in which words, and the way to JSON and back."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from fairlane.reference.errors import InvalidInstance
from fairlane.simulator.learning import policies
from fairlane.simulator.learning.config import LearningConfig
from fairlane.simulator.learning.costs import CostChange, CostLaw

REFUSED = [
    ({"policy": "round-robin"}, r"policy is 'round-robin'; need one of known, ttl, .*retained-refresh"),
    ({"policy": "ttl", "estimator": "kalman"}, r"estimator is 'kalman'; need one of cumulative"),
    ({"policy": "targeted", "probe_harm_ms": 1.0, "harm_alpha": 0.02}, r"probe_harm_ms and harm_alpha are both given"),
    ({"policy": "ttl", "harm_alpha": 0.02}, r"harm_alpha is given with policy 'ttl'"),
    ({"policy": "greedy", "mean_estimator": "ema"}, r"mean_estimator is 'ema'; policy 'greedy' needs arithmetic"),
    ({"policy": "ttl", "alpha": 1.0}, r"alpha is 1.0; need > 0 and < 1"),
    ({"policy": "ttl", "alpha": math.nan}, r"alpha is nan; need a number"),
    ({"policy": "ttl", "alpha": True}, r"alpha is True; need a number"),
    ({"policy": "ttl", "credit_cap_ms": 0}, r"credit_cap_ms is 0; need > 0"),
    ({"policy": "ttl", "ttl_ms": math.inf}, r"ttl_ms is inf; need > 0"),
    ({"policy": "ttl", "block_size": 16}, r"block_size is 16; need one of 8, 32"),
    ({"policy": "ttl", "quantile": 0.6}, r"quantile is 0.6; need > 0 and <= 0.5"),
    ({"policy": "ttl", "refresh_every": -1}, r"refresh_every is -1; need a whole number >= 0"),
    ({"policy": "ttl", "audit_every": 1.5}, r"audit_every is 1.5; need a whole number >= 0"),
    ({"policy": "ttl", "probe_extra_ms": -1}, r"probe_extra_ms is -1; need >= 0"),
    ({"policy": "ttl", "initial_discovery": "eager"}, r"initial_discovery is 'eager'; need one of productive, native"),
    ({"policy": "ttl", "funded": 1}, r"funded is 1; need true or false"),
    ({"policy": "ttl", "log_reference": "twice"}, r"log_reference is 'twice'; need one of nomination, once"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_bad_options_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInstance, match=message):
        LearningConfig(**options)


@pytest.mark.parametrize("name", policies.names())
def test_a_configuration_survives_json(name: str) -> None:
    config = LearningConfig(policy=name, alpha=0.01, probe_extra_ms=math.inf, quantile=0.1)
    assert LearningConfig.from_json(json.loads(json.dumps(config.to_json()))) == config


def test_unknown_and_missing_options_of_a_file_are_named() -> None:
    with pytest.raises(InvalidInstance, match=r"configs\[2\]\.alfa is no option; need one of .*alpha"):
        LearningConfig.from_json({"policy": "ttl", "alfa": 0.1}, "configs[2]")
    with pytest.raises(InvalidInstance, match=r"config\.policy is missing"):
        LearningConfig.from_json({})
    with pytest.raises(InvalidInstance, match=r"config is a list; need an object"):
        LearningConfig.from_json([])


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ({"gpu_ms": 0.0}, "gpu_ms"),
        ({"gpu_ms": 1.0, "correlation": 1.0}, "correlation is 1.0; need >= 0 and < 1"),
        ({"gpu_ms": 1.0, "noise": -0.1}, "noise is -0.1"),
        ({"gpu_ms": 1.0, "missing_chance": 0.7, "zero_chance": 0.7}, "at most 1"),
        ({"gpu_ms": 1.0, "changes": (CostChange(at_busy_ms=-1.0, gpu_ms=1.0),)}, "changes"),
    ],
)
def test_impossible_costs_are_refused(law: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInstance, match=message):
        CostLaw(**law)
