"""Prices of energy: everything that finds or checks a value agrees with the plain rational solver, exactly."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import pytest

from fairlane import policies
from fairlane.oracle import evaluate, solve
from fairlane.oracle.backend import Backend
from fairlane.oracle.backends import every_backend
from fairlane.oracle.certificate import certificate
from fairlane.oracle.explicit.explicit_model import explicit_model
from fairlane.oracle.explicit.export_drn import to_drn
from fairlane.oracle.explicit.model_solver import solve_model
from fairlane.oracle.explicit.read_drn import read_drn
from fairlane.oracle.problem import Problem
from fairlane.oracle.rational.plain import Sense, solve_plain
from fairlane.oracle.sweeps.tiny_batch import solve_tiny
from fairlane.reference.checker.certificate_check import check_certificate
from fairlane.reference.errors import CertificateRejected
from fairlane.reference.model.codec import parse_json
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import PRICES, Objective
from fairlane.simulator.replay import replay
from tests.counts import count
from tests.random_instances import random_instance, with_energy

POLICIES = ("fixed-value", "ongoing", "round-robin", "continuation")


def drawn(seed: int, *, age: bool = False, most_requests: int = 2) -> Instance:
    rng = random.Random(seed)
    return with_energy(random_instance(rng, age=age, most_requests=most_requests), rng)


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize("age", [False, True])
def test_the_preferred_solver_gives_the_plain_value(sense: Sense, age: bool) -> None:
    for seed in range(count(200)):
        instance = drawn(seed, age=age)
        assert solve(instance, sense=sense).value == solve_plain(instance, sense=sense).value, seed


def test_replay_and_evaluation_give_every_policy_one_value() -> None:
    for seed in range(count(100)):
        instance = drawn(seed)
        for name in POLICIES:
            policy = policies.load_policy(name)
            assert replay(instance, policy).value == evaluate(instance, policy).value, (seed, name)


@pytest.mark.parametrize("backend", every_backend(), ids=lambda backend: backend.name)
@pytest.mark.parametrize("sense", Sense)
def test_every_backend_that_takes_the_problem_gives_the_plain_values(backend: Backend, sense: Sense) -> None:
    for seed in range(count(100)):
        instance = drawn(seed, age=seed % 2 == 1)
        problem = Problem(instance=instance, sense=sense)
        if backend.accepts(problem) is not None:
            continue
        plain = solve_plain(instance, sense=sense)
        table = backend.sweep(problem)
        assert table.value in (plain.value, None), seed
        assert Fraction(table.lower) <= plain.value <= Fraction(table.upper), seed
        for state in table.reachable_states():
            lower, upper = table.bounds_at(state)
            assert Fraction(lower) <= plain.value_at(state) <= Fraction(upper), seed
            # some list the first optimal action alone
            best = table.optimal_actions(state)
            assert best in (plain.optimal_actions(state), plain.optimal_actions(state)[:1]), seed


@pytest.mark.parametrize("age", [False, True])
def test_the_independent_checker_accepts_the_values_and_misses_no_price(age: bool) -> None:
    refused = 0
    for seed in range(count(60)):
        instance = drawn(seed, age=age)
        document = json.dumps(certificate(instance, solve(instance)))
        checked = check_certificate(parse_json(document, "certificate"), instance)
        assert str(checked.value) == str(solve_plain(instance).value), seed
        # the same values are no solution under another price of energy, unless nothing that runs takes any
        prices = {name: getattr(instance.objective, name) for name in PRICES}
        prices["energy_price"] += 1
        dearer = Instance(graphs=instance.graphs, requests=instance.requests, objective=Objective(**prices))
        if solve_plain(dearer).value != solve_plain(instance).value:
            other = json.loads(json.dumps(certificate(dearer, solve(dearer))))
            other["states"] = json.loads(document)["states"]
            other["value"] = json.loads(document)["value"]
            with pytest.raises(CertificateRejected, match=r"beyond its value|attains its value|is worth"):
                check_certificate(parse_json(json.dumps(other), "certificate"), dearer)
            refused += 1
    assert refused


def test_an_exported_model_that_is_read_back_has_the_plain_value(tmp_path: Path) -> None:
    for seed in range(count(60)):
        instance = drawn(seed)
        file = tmp_path / "model.drn"
        file.write_text(to_drn(explicit_model(instance)), encoding="utf-8")
        assert solve_model(read_drn(file)).value == solve_plain(instance).value, seed


def test_many_tiny_instances_at_once_pay_for_energy() -> None:
    instances = [drawn(seed) for seed in range(count(100))]
    assert solve_tiny(instances).exact() == tuple(solve_plain(instance).value for instance in instances)
