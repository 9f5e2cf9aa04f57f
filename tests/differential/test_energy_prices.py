"""Prices of energy: everything that finds or checks a value agrees with the plain rational solver, exactly."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from fairlane import policies
from fairlane.oracle import evaluate, solve
from fairlane.oracle.backend import Backend
from fairlane.oracle.backends import every_backend
from fairlane.oracle.backends.state_sweeps import BLOCKS, PLACES
from fairlane.oracle.certificate import certificate
from fairlane.oracle.cost_table import costs_of
from fairlane.oracle.encoding.packing import lanes_couple, pack
from fairlane.oracle.encoding.rounding import relative_error_bound
from fairlane.oracle.encoding.signatures import Rules, Signature
from fairlane.oracle.explicit.explicit_model import explicit_model
from fairlane.oracle.explicit.export_drn import to_drn
from fairlane.oracle.explicit.model_solver import solve_model
from fairlane.oracle.explicit.read_drn import read_drn
from fairlane.oracle.problem import Problem
from fairlane.oracle.rational.plain import Sense, solve_plain
from fairlane.oracle.sweeps.block_sweep import sweep_blocks
from fairlane.oracle.sweeps.compiled import sweep
from fairlane.oracle.sweeps.tiny_batch import solve_tiny
from fairlane.reference.checker.certificate_check import check_certificate, fingerprint
from fairlane.reference.checker.cost_check import check_costs
from fairlane.reference.errors import CertificateRejected
from fairlane.reference.model.codec import parse_json
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import PRICES, Objective
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import initial_state
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


@pytest.mark.parametrize("itemsize", [8, 4])
@pytest.mark.parametrize("worst", [False, True])
def test_blocks_of_any_size_hold_the_exact_cost_within_their_bound(worst: bool, itemsize: int) -> None:
    # blocks of one state and of all states take different paths through the kernel
    charged = 0
    for seed in range(count(120)):
        instance = drawn(seed, most_requests=4)
        if lanes_couple(instance):
            continue
        packed = pack(instance)
        rules = Rules(instance, packed.operators, worst=worst)
        plain = solve_plain(instance, sense=Sense.MIN if worst else Sense.MAX)
        error = relative_error_bound(packed, itemsize)
        for block_states in (1, 8, 4096):
            costs = sweep_blocks(
                packed, worst=worst, threads=2, on_progress=None, itemsize=itemsize, block_states=block_states
            )
            cost = abs(Fraction(float(costs[0])))
            exact = packed.earned - plain.value
            assert cost / (1 + error) <= exact <= cost / (1 - error), (seed, block_states)
        charged += any(len(rules.charges(Signature(g.width, 1, 0))) > 1 for g in instance.graphs if g.decode_capacity)
    # some graphs are fast and others frugal, so that neither undercuts the other
    assert charged


@pytest.mark.parametrize("worst", [False, True])
def test_merged_requests_pay_what_single_ones_do(worst: bool) -> None:
    # one class of equal requests, and several
    met = {1: 0, 2: 0}
    for seed in range(count(150)):
        rng = random.Random(seed)
        one = with_energy(random_instance(rng, most_requests=2), rng)
        copies = [
            Request(
                id=f"{r.id}-{k}",
                prompt=r.prompt,
                generated=r.generated,
                limit=r.limit,
                length_prior=r.length_prior,
                acceptance=r.acceptance,
                weight=r.weight,
            )
            for r in one.requests
            for k in range(2)
        ]
        instance = Instance(graphs=one.graphs, requests=copies, objective=one.objective)
        if lanes_couple(instance):
            continue
        plain = solve_plain(instance, sense=Sense.MIN if worst else Sense.MAX)
        packed = pack(instance, merge=True)
        swept = sweep(packed, worst=worst)
        met[min(2, len(packed.axes))] += 1
        low, high = swept.bounds(swept.number_of(packed.digits_of(initial_state(instance))))
        assert low <= packed.earned - plain.value <= high, seed
    assert all(met.values())


def test_equal_streams_share_the_energy_of_a_launch() -> None:
    requests = [Request(id=f"s{k}", prompt=0, limit=4) for k in range(3)]
    graphs = [Graph(name="d", duration_ms=1, decode_capacity=2, energy_j=3)]
    instance = Instance(graphs=graphs, requests=requests, objective=Objective(decode_value=1, energy_price=1))
    # twelve tokens in pairs: six launches of 3 J
    for backend in (BLOCKS, PLACES):
        assert backend.sweep(Problem(instance=instance)).value == 12 - 6 * 3


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("worst", [False, True])
def test_a_table_of_costs_is_checked_with_its_energy(worst: bool, merge: bool) -> None:
    for seed in range(count(100)):
        instance = drawn(seed, most_requests=3)
        if lanes_couple(instance):
            continue
        swept = sweep(pack(instance, merge=merge), worst=worst)
        table = costs_of(swept)
        checked = check_costs(table, instance)
        plain = solve_plain(instance, sense=Sense.MIN if worst else Sense.MAX)
        assert checked.lower <= plain.value <= checked.upper, seed
        # the same costs are no solution where energy is free, unless none of it was bought
        without = replace(instance.objective, energy_price=Fraction(0))
        free = Instance(graphs=instance.graphs, requests=instance.requests, objective=without)
        if solve_plain(free, sense=Sense.MIN if worst else Sense.MAX).value != plain.value:
            with pytest.raises(CertificateRejected, match="off its right-hand side"):
                check_costs(replace(table, instance=fingerprint(free)), free)
