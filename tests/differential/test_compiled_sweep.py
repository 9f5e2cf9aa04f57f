"""The compiled sweep against the rational solver: bounds that enclose, equal values, same bytes."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from fairlane.oracle import _kernel_sweep
from fairlane.oracle.backward_induction import Sweep
from fairlane.oracle.compiled import bounds, sweep
from fairlane.oracle.exact_root import ExactRoot
from fairlane.oracle.packing import count_states, lanes_couple, pack
from fairlane.oracle.plain import Sense, solve_plain
from fairlane.oracle.solve import Method, solve
from fairlane.reference.errors import TooLarge
from fairlane.reference.graph import Graph
from fairlane.reference.instance import Instance
from fairlane.reference.objective import Objective
from fairlane.reference.request import Request
from fairlane.reference.state import initial_state
from tests.counts import count
from tests.random_instances import random_instance


def instances(n: int, first: int = 0) -> list[Instance]:
    drawn = (random_instance(random.Random(seed), most_requests=4) for seed in range(first, first + n))
    return [instance for instance in drawn if not lanes_couple(instance)]


@pytest.mark.parametrize("sense", list(Sense))
def test_bounds_enclose_and_the_exact_root_equals_the_rational_optimum(sense: Sense) -> None:
    for instance in instances(count(600)):
        packed = pack(instance)
        root = initial_state(instance)
        swept = sweep(packed, worst=sense is Sense.MIN, threads=1)
        least, most = bounds(swept, packed.number_of(root))
        table = Sweep(instance, sense, 10**6)
        exact = table.value_at(root)
        assert packed.earned - most <= exact <= packed.earned - least
        assert most - least <= Fraction(1, 10**9) * (1 + most)
        assert ExactRoot(swept).value_at(root) == exact
        assert count_states(instance) == len(table.reachable_states())


def test_every_state_has_the_value_and_the_tied_actions_of_the_readable_solver() -> None:
    for instance in instances(count(100), first=2000):
        plain = solve_plain(instance)
        table = ExactRoot(sweep(pack(instance), threads=1))
        for state, value in plain.values.items():
            assert table.value_at(state) == value
        for state in list(plain.values)[:3]:
            assert table.optimal_actions(state) == plain.best[state]


def larger() -> Instance:
    """Five requests with 8 local states each, 32,768 states."""
    prior = {n: Fraction(1, 4) for n in (2, 3, 5, 6)}
    return Instance(
        graphs=[
            Graph(name="p1", duration_ms=2, prefill_capacity=1),
            Graph(name="d1", duration_ms="5/2", decode_capacity=1, width=3),
            Graph(name="d3", duration_ms="7/2", decode_capacity=3, width=2),
            Graph(name="mix", duration_ms=5, prefill_capacity=1, decode_capacity=2),
        ],
        requests=[
            Request(id=f"r{i}", prompt=2, limit=6, length_prior=prior, acceptance=["7/10", "1/2"], weight=1 + i)
            for i in range(5)
        ],
        objective=Objective(decode_value=2, time_price=1, completion_price="1/2", first_output_price="1/3"),
    )


def test_threads_change_no_byte() -> None:
    packed = pack(larger())
    one, two, five = (sweep(packed, threads=n).costs for n in (1, 2, 5))
    assert one.tobytes() == two.tobytes() == five.tobytes()


def test_the_facade_picks_the_compiled_sweep_and_says_so() -> None:
    instance = larger()
    result = solve(instance)
    assert result.method is Method.COMPILED_SWEEP_EXACT_ROOT
    assert result.states == 8**5 - 1
    assert result.value is not None
    assert Fraction(result.lower) <= result.value <= Fraction(result.upper)
    rough = solve(instance, exact=False)
    assert rough.value is None
    assert Fraction(rough.lower) <= result.value <= Fraction(rough.upper)


def test_sizes_are_said_before_the_work_and_refused() -> None:
    with pytest.raises(TooLarge, match="32,767 states, which take"):
        solve(larger(), max_bytes=100_000)


def test_the_kernel_equals_its_python_source() -> None:
    instance = instances(20, first=500)[3]
    packed = pack(instance)
    compiled = sweep(packed, threads=1).costs
    kernel = _kernel_sweep.sweep_cell
    combine = _kernel_sweep._combine
    _kernel_sweep.sweep_cell, _kernel_sweep._combine = kernel.py_func, combine.py_func
    try:
        plain = sweep(packed, threads=1).costs
    finally:
        _kernel_sweep.sweep_cell, _kernel_sweep._combine = kernel, combine
    np.testing.assert_allclose(plain, compiled, rtol=1e-14)
