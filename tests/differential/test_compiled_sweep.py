"""The compiled sweep against the rational solver: bounds that enclose, equal values, same bytes."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from fairlane.oracle import _kernel_sweep
from fairlane.oracle.backward_induction import Sweep
from fairlane.oracle.compiled import (
    action_roundings,
    bounds,
    fits_doubles,
    most_outcomes,
    most_rows,
    step_roundings,
    sweep,
)
from fairlane.oracle.exact_root import ExactRoot
from fairlane.oracle.packing import count_states, lanes_couple, pack
from fairlane.oracle.plain import Sense, solve_plain
from fairlane.oracle.solve import SMALL_STATES, Method, solve
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


def wide(width: int, *, chance: str = "9/10", weight: int | str = 1) -> Instance:
    """Three decoding requests of one length law, a graph for two of them."""
    prior = {n: Fraction(1, 9) for n in range(1, 10)}
    return Instance(
        graphs=[Graph(name="d", duration_ms=1, decode_capacity=2, width=width)],
        requests=[
            Request(id=f"r{i}", prompt=0, limit=9, length_prior=prior, acceptance=[chance] * (width - 1), weight=weight)
            for i in range(3)
        ],
        objective=Objective(decode_value=0, completion_price=1),
    )


@pytest.mark.parametrize("width", [2, 4, 8])
def test_the_rounding_bound_covers_every_term_that_a_step_adds(width: int) -> None:
    # a row of width k goes on with 1 ... k tokens or finishes: k + 1 outcomes. Two rows on the outermost axes are
    # one sum of (k + 1)^2 terms, and two rows of a plain sum as many.
    packed = pack(wide(width))
    assert most_outcomes(packed) == width + 1
    assert most_rows(packed) == 2
    assert step_roundings(packed) > (width + 1) ** 2 + 2 * (width + 1)
    assert action_roundings(packed) > (width + 1) ** 2


def test_magnitudes_at_which_rounding_is_no_longer_relative_go_to_rationals() -> None:
    tiny = "1e-60"
    # an accepted chain has probability 1e-60^7 = 1e-420, which no double holds
    instance = wide(8, chance=tiny)
    assert not fits_doubles(pack(instance))
    assert fits_doubles(pack(wide(8)))
    fine = Instance(
        graphs=[*instance.graphs, Graph(name="p", duration_ms=1, prefill_capacity=1)],
        requests=[*instance.requests, Request(id="p", prompt=4, limit=1)],
        objective=instance.objective,
    )
    assert count_states(fine) > SMALL_STATES
    assert solve(fine).method is Method.BACKWARD_INDUCTION


def test_the_exact_root_agrees_on_wide_rounds() -> None:
    for width in (4, 8):
        instance = wide(width)
        root = initial_state(instance)
        assert ExactRoot(sweep(pack(instance))).value_at(root) == Sweep(instance, Sense.MAX, 10**6).value_at(root)
