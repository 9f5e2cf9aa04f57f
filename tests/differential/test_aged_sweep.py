"""The compiled sweep with ages against the rational one: enclosing bounds, equal values, counts, actions and bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from fairlane.oracle.certificate import certify
from fairlane.oracle.encoding.packing import lanes_couple
from fairlane.oracle.kernels import aged as _kernel_aged
from fairlane.oracle.policy_value.evaluate import evaluate
from fairlane.oracle.rational.aged_induction import AgedSweep
from fairlane.oracle.rational.aged_root import AgedRoot
from fairlane.oracle.rational.plain import Sense, solve_plain
from fairlane.oracle.solve import solve
from fairlane.oracle.sweeps.aged_sweep import aged_step_roundings, pack_aged, sweep_aged
from fairlane.reference.errors import TooLarge, Unsupported
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import initial_state
from tests.counts import count
from tests.random_instances import random_instance

aged_induction = import_module("fairlane.oracle.backends.aged_induction")


def aged_instances(n: int) -> Iterator[Instance]:
    """Random instances with a price on age, whatever other prices they have."""
    for seed in range(n):
        rng = random.Random(seed)
        drawn = random_instance(rng)
        prices = drawn.objective
        instance = Instance(
            graphs=drawn.graphs,
            requests=drawn.requests,
            objective=Objective(
                prefill_value=prices.prefill_value,
                decode_value=prices.decode_value,
                time_price=prices.time_price,
                completion_price=prices.completion_price,
                first_output_price=prices.first_output_price,
                age_price=rng.choice(["1/20", "1/3", "2"]),
            ),
        )
        if not lanes_couple(instance):
            yield instance


def wide() -> Instance:
    """A prompt and two speculating streams; graphs of like lanes and unlike durations."""
    return Instance(
        graphs=[
            Graph(name="p", duration_ms=2, prefill_capacity=2),
            Graph(name="d1", duration_ms="3/2", decode_capacity=1, width=3),
            Graph(name="d2", duration_ms=2, decode_capacity=2, width=3),
            Graph(name="d2slow", duration_ms="9/4", decode_capacity=2, width=3),
            Graph(name="mix", duration_ms=3, prefill_capacity=1, decode_capacity=1),
        ],
        requests=[
            Request(id="a", prompt=2, limit=2, acceptance=["7/10", "1/2"]),
            Request(id="b", prompt=0, limit=3, acceptance=["3/4", "1/2"], length_prior={2: "1/3", 3: "2/3"}),
            Request(id="c", prompt=0, limit=2, acceptance=["1/3", "1/5"], weight=2),
        ],
        objective=Objective(decode_value=3, time_price="1/7", first_output_price="1/2", age_price="1/10"),
    )


@pytest.mark.parametrize("sense", list(Sense))
def test_bounds_enclose_and_the_exact_root_equals_the_rational_optimum(sense: Sense) -> None:
    checked = 0
    for instance in aged_instances(count(400)):
        table = AgedSweep(instance, sense, 1_500)
        root = initial_state(instance)
        try:
            exact, states = table.value_at(root), len(table.reachable_states())
        except TooLarge:
            continue
        swept = sweep_aged(instance, worst=sense is Sense.MIN, threads=1)
        least, most = swept.bounds()
        earned = swept.packed.earned
        assert earned - most <= exact <= earned - least
        assert most - least <= Fraction(1, 10**9) * (1 + most)
        assert len(swept.costs) == states
        assert AgedRoot(swept).value_at(root) == exact
        checked += 1
    assert checked > 20


@pytest.mark.parametrize("sense", list(Sense))
def test_every_state_has_the_value_and_the_tied_actions_of_the_readable_solver(sense: Sense) -> None:
    for instance in aged_instances(count(100)):
        try:
            table = AgedSweep(instance, sense, 150)
            table.reachable_states()
        except TooLarge:
            continue
        plain = solve_plain(instance, sense=sense)
        root = AgedRoot(sweep_aged(instance, worst=sense is Sense.MIN, threads=1))
        for state, value in plain.values.items():
            assert root.value_at(state) == value
        for state in list(plain.values)[:4]:
            assert root.optimal_actions(state) == plain.best[state]


def test_the_facade_takes_it_beyond_small_sizes_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = wide()
    monkeypatch.setattr(aged_induction, "SMALL_STATES", 100_000)
    rational = solve(instance)
    assert rational.method == "aged_backward_induction"
    monkeypatch.setattr(aged_induction, "SMALL_STATES", 20)
    compiled = solve(instance)
    assert compiled.method == "aged_sweep_exact_root"
    assert (compiled.value, compiled.states) == (rational.value, rational.states)
    rough = solve(instance, exact=False)
    assert rough.method == "aged_sweep"
    assert rough.value is None
    assert rational.value is not None
    assert Fraction(rough.lower) <= rational.value <= Fraction(rough.upper)
    assert compiled.optimal_actions(initial_state(instance)) == rational.optimal_actions(initial_state(instance))
    assert certify(instance, compiled).states == rational.states


def test_the_unfinished_search_is_refused_with_the_number_reached() -> None:
    with pytest.raises(TooLarge, match=r"needs a table for more than 32,768 states with their ages"):
        sweep_aged(larger(), max_bytes=1_000_000)


def larger() -> Instance:
    """Three streams of seven outputs under two coprime durations: many ages."""
    return Instance(
        graphs=[
            Graph(name="d1", duration_ms=7, decode_capacity=1, width=2),
            Graph(name="d2", duration_ms=11, decode_capacity=2),
        ],
        requests=[Request(id=x, prompt=0, limit=7, acceptance=["1/2"], weight=w) for w, x in enumerate("abc", start=1)],
        objective=Objective(decode_value=1, age_price="1/100"),
    )


def test_threads_change_no_byte_and_the_table_grows() -> None:
    one, two = (sweep_aged(larger(), threads=n) for n in (1, 2))
    assert one.costs.tobytes() == two.costs.tobytes()
    # a table of 2^17 places is half full at 65,536 states
    assert len(one.costs) > 65_536


def test_graphs_that_couple_prompts_and_ages_that_no_double_holds_are_left_to_rationals() -> None:
    coupled = Instance(
        graphs=[
            Graph(name="p", duration_ms=1, prefill_capacity=4, prefill_lanes=2),
            Graph(name="d", duration_ms=1, decode_capacity=2),
        ],
        requests=[Request(id=x, prompt=2, limit=2) for x in "ab"],
        objective=Objective(decode_value=1, age_price=1),
    )
    with pytest.raises(Unsupported, match="one prompt a graph"):
        sweep_aged(coupled)
    assert solve(coupled).value == solve_plain(coupled).value
    fine = Instance(
        graphs=[Graph(name="d", duration_ms=Fraction(10**18 + 1, 10**18), decode_capacity=1)],
        requests=[Request(id=x, prompt=0, limit=2) for x in "ab"],
        objective=Objective(decode_value=1, age_price=1),
    )
    with pytest.raises(Unsupported, match=r"64 bits|range"):
        sweep_aged(fine)
    assert solve(fine).value == solve_plain(fine).value


def test_the_rounding_bound_covers_a_step_counted_by_hand() -> None:
    # a row of width 3 has 4 outcomes, two rows 16 joint ones: 16 sums, 2 coefficients, 2 products and the cost's own;
    # three rates and the time's, three age prices: 4 + 3 rounded, as many sums, products with t, t and t²
    assert aged_step_roundings(pack_aged(wide())) >= 16 + 2 + 2 + 1 + 4 + 3


def test_kernels_equal_their_python_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = next(i for i in aged_instances(50) if 30 < len(sweep_aged(i, threads=1).costs) < 200)
    compiled = sweep_aged(instance, threads=1)
    for name, kernel in vars(_kernel_aged).copy().items():
        if hasattr(kernel, "py_func"):
            monkeypatch.setattr(_kernel_aged, name, kernel.py_func)
    with np.errstate(over="ignore"):
        plain = sweep_aged(instance, threads=1)
    np.testing.assert_allclose(plain.costs, compiled.costs, rtol=1e-14)


def test_the_first_table_is_refused_before_it_is_made() -> None:
    # 7 rows of 4 outcomes each beside 7 graphs: one state may lead to 7 * 8 * 2^7 * 4^7 others
    instance = Instance(
        graphs=[Graph(name=f"d{k}", duration_ms=1, decode_capacity=k, width=4) for k in range(1, 8)],
        requests=[
            Request(
                id=f"r{i}", prompt=0, limit=6, acceptance=["1/2"] * 3, length_prior=dict.fromkeys(range(1, 7), "1/6")
            )
            for i in range(7)
        ],
        objective=Objective(decode_value=1, age_price=1),
    )
    with pytest.raises(TooLarge, match="needs a table for more than"):
        solve(instance, max_bytes=2**30)


def test_the_exact_root_counts_the_terms_of_the_sums_that_it_compares() -> None:
    # a row of two tokens at most has three outcomes in the rationals, where finishing after one and after two differ
    instance = Instance(
        graphs=[Graph(name="d", duration_ms=1, decode_capacity=3, width=2)],
        requests=[
            Request(id=f"r{i}", prompt=0, limit=2, acceptance=["1/2"], length_prior={1: "1/3", 2: "2/3"})
            for i in range(3)
        ],
        objective=Objective(decode_value=1, age_price=1),
    )
    root = AgedRoot(sweep_aged(instance))
    moves = root.moves(root.key_of(initial_state(instance)), every=True)
    longest = max(len(law) for _, _, law in moves)
    assert longest == 3**3
    own = Fraction(root._slack(longest)) / 2 - root.costs.relative_error
    assert own >= longest * Fraction(1, 2**53)


def measured(requests: int) -> Instance:
    """Streams beside a prompt under durations that were measured to a microsecond, whose only common unit that is."""
    return Instance(
        graphs=[
            Graph(name="p", duration_ms="21.306", prefill_capacity=64),
            Graph(name="d1", duration_ms="9.482", decode_capacity=1, width=2),
            Graph(name="d2", duration_ms="13.137", decode_capacity=2),
        ],
        requests=[
            Request(id="p", prompt=100, limit=1),
            *(
                Request(id=f"r{i}", prompt=0, limit=3 - i % 2, acceptance=["7/10"], weight=i)
                for i in range(1, requests)
            ),
        ],
        objective=Objective(decode_value=100, time_price=1, age_price="1/50"),
    )


@pytest.mark.parametrize("sense", list(Sense))
def test_ages_of_a_fine_grid_are_those_of_the_readable_solver(sense: Sense) -> None:
    instance = measured(3)
    plain = solve_plain(instance, sense=sense)
    swept = sweep_aged(instance, worst=sense is Sense.MIN)
    assert len(swept.costs) == plain.states
    root = AgedRoot(swept)
    assert root.value_at(initial_state(instance)) == plain.value
    for state, value in list(plain.values.items())[::17]:
        lower, upper = root.bounds_at(state)
        assert lower <= value <= upper


def test_four_requests_of_a_fine_grid_are_swept_and_the_policy_earns_the_optimum() -> None:
    # the multiples of a microsecond up to the oldest age took 4 * 19 bits; the ages that can be met take far fewer
    instance = measured(4)
    solution = solve(instance)
    assert solution.method == "aged_sweep_exact_root"
    assert solution.states > 3_000
    measured_value = evaluate(instance, solution.policy, solution=solution)
    assert measured_value.value == solution.value
    assert measured_value.losses == ()


def test_what_rationals_refuse_is_swept() -> None:
    instance = measured(5)
    with pytest.raises(TooLarge, match=r"more than 20,000 states with their ages; .* make it fit"):
        AgedSweep(instance, Sense.MAX, 20_000).reachable_states()
    rough = solve(instance, exact=False)
    # beyond what rationals take at most
    assert rough.states > aged_induction.MAX_STATES
    assert rough.upper - rough.lower < 1e-6
