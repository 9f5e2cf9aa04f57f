"""The fast and the compiled loop of `fixed-value` give the event loop's run, byte for byte."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fairlane import policies
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request
from fairlane.simulator.fast_loops import Path
from fairlane.simulator.run import Run
from fairlane.simulator.simulate import simulate
from fairlane.simulator.timing_tables import measured_catalog, synthetic_catalog
from fairlane.simulator.workloads import WORKLOADS
from tests.counts import count

COLUMNS = (
    "graph",
    "start_ms",
    "end_ms",
    "lane_offsets",
    "lane_request",
    "lane_consumed",
    "lane_published",
    "lane_proposed",
    "lane_accepted",
    "status",
    "finished_ms",
    "prompt_left",
    "generated",
)


def assert_same(one: Run, other: Run) -> None:
    for name in COLUMNS:
        a, b = getattr(one, name), getattr(other, name)
        assert a.dtype == b.dtype, name
        assert a.tobytes() == b.tobytes(), name
    assert one.boundary_ms == other.boundary_ms
    assert one.rejections == other.rejections


def random_catalog(rng: random.Random) -> Catalog:
    rows = [
        Graph(
            name=f"p{k}",
            duration_ms=Fraction(rng.randint(1, 12), rng.choice([1, 1, 2, 3])),
            prefill_capacity=rng.randint(1, 12),
            prefill_lanes=rng.choice([1, 1, 2, 3, 5]),
        )
        for k in range(rng.randint(1, 3))
    ]
    rows += [
        Graph(
            name=f"d{k}",
            duration_ms=Fraction(rng.randint(1, 12), rng.choice([1, 1, 2])),
            decode_capacity=rng.randint(1, 4),
            width=rng.randint(1, 4),
        )
        for k in range(rng.randint(0, 4))
    ]
    if rng.random() < 0.5:
        rows.append(
            Graph(
                name="m",
                duration_ms=rng.randint(2, 12),
                prefill_capacity=rng.randint(1, 9),
                prefill_lanes=rng.choice([1, 2]),
                decode_capacity=rng.randint(1, 3),
                width=rng.randint(1, 3),
            )
        )
    rng.shuffle(rows)
    return Catalog(rows)


def random_requests(rng: random.Random) -> list[Request]:
    accepts = [[Fraction(rng.randint(0, 10), 10) for _ in range(rng.randint(0, 4))] for _ in range(rng.randint(1, 3))]
    equal = rng.random() < 0.6
    weight = rng.choice([Fraction(1), Fraction(1, 2), Fraction(2)])
    out = []
    for i in range(rng.randint(1, 14)):
        prompt = rng.choice([0, 0, rng.randint(1, 20), rng.randint(1, 8)])
        generated = 0 if prompt else rng.choice([0, 0, 2])
        length = generated + rng.randint(1, 8)
        out.append(
            Request(
                id=f"r{i}",
                prompt=prompt,
                generated=generated,
                limit=length + rng.choice([0, 0, 3]),
                output_length=length,
                arrival_ms=Fraction(rng.randint(0, 60), rng.choice([1, 2])) if rng.random() < 0.8 else 0,
                acceptance=rng.choice(accepts),
                weight=weight if equal else rng.choice([Fraction(1), Fraction(2), Fraction(1, 3)]),
            )
        )
    return out


@pytest.mark.parametrize("path", [Path.FAST, Path.COMPILED])
def test_random_runs_are_equal(path: Path) -> None:
    rng = random.Random(17)
    for seed in range(count(3000)):
        requests, graphs = random_requests(rng), random_catalog(rng)
        value = rng.choice([Fraction(0), Fraction(1), Fraction(1, 3), Fraction(5), Fraction(64)])
        horizon = rng.choice([None, None, rng.randint(1, 80)])
        runs = [
            simulate(
                requests,
                graphs,
                policies.spec("fixed-value"),
                decode_value=value,
                horizon_ms=horizon,
                seed=seed,
                path=how,
            )
            for how in (Path.READABLE, path)
        ]
        assert_same(*runs)


@pytest.mark.parametrize("path", [Path.FAST, Path.COMPILED])
def test_named_workloads_are_equal(path: Path) -> None:
    for k, workload in enumerate(WORKLOADS):
        graphs = (synthetic_catalog(mixed=True), measured_catalog("h100-llama2-70b"))[k % 2]
        runs = [
            simulate(workload.requests, graphs, policies.spec("fixed-value"), decode_value=16, seed=3, path=how)
            for how in (Path.READABLE, path)
        ]
        assert_same(*runs)


def test_a_long_queue_in_several_lanes_is_equal() -> None:
    rng = random.Random(5)
    requests = [
        Request(id=str(i), prompt=rng.randint(1, 3000), limit=9, output_length=rng.randint(1, 9), arrival_ms=i // 4)
        for i in range(60)
    ]
    graphs = measured_catalog("h100-llama2-70b")
    runs = [
        simulate(requests, graphs, policies.spec("fixed-value"), decode_value=20, path=how)
        for how in (Path.READABLE, Path.FAST, Path.COMPILED)
    ]
    assert_same(runs[0], runs[1])
    assert_same(runs[0], runs[2])


def test_numbers_beyond_62_bits_go_to_the_fast_loop() -> None:
    from fairlane.reference.model.objective import Objective
    from fairlane.simulator.compiled import run_compiled
    from fairlane.simulator.draws import KeyedDraws
    from fairlane.simulator.stage import stage

    request = Request(id="a", prompt=0, limit=20, acceptance=["0.123456789"] * 7)
    graphs = Catalog([Graph(name="d", duration_ms=3, decode_capacity=1, width=8)])
    ready = stage([request], graphs)
    assert run_compiled(ready, graphs, Objective(decode_value=1), KeyedDraws(ready.requests, 0)) is None
    runs = [
        simulate([request], graphs, policies.spec("fixed-value"), decode_value=1, path=how)
        for how in (Path.READABLE, Path.COMPILED)
    ]
    assert_same(*runs)


def test_kernel_products_are_compared_exactly() -> None:
    from fairlane.simulator.kernels.arithmetic import compare

    rng = random.Random(9)
    for _ in range(count(20000)):
        a, b, c, d = (rng.randrange(1 << rng.choice([3, 31, 32, 61, 62])) for _ in range(4))
        if rng.random() < 0.3:
            c, d = b, a
        if rng.random() < 0.2:
            d = max(0, d - 1)
        expected = (a * b > c * d) - (a * b < c * d)
        assert compare.py_func(a, b, c, d) == expected
        if max(a, b, c, d) < 1 << 62:
            machine: tuple[Any, ...] = tuple(np.int64(x) for x in (a, b, c, d))
            assert compare(*machine) == expected
