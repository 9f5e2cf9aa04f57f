"""The compiled sweeps against the rational solver: enclosing bounds, equal values, same bytes, kernels as written."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest

from fairlane.oracle.encoding.packing import count_canonical, count_states, lanes_couple, pack
from fairlane.oracle.encoding.rounding import action_roundings, check_range, most_outcomes, most_served, step_roundings
from fairlane.oracle.kernels import actions, block_rows, blocks, class_axis, classes, multisets, places
from fairlane.oracle.rational.backward_induction import Sweep
from fairlane.oracle.rational.exact_root import ExactRoot
from fairlane.oracle.rational.plain import Sense, solve_plain
from fairlane.oracle.solve import solve
from fairlane.oracle.sweeps.block_sweep import sweep_blocks
from fairlane.oracle.sweeps.compiled import is_merged, sweep
from fairlane.reference.errors import TooLarge, Unsupported
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import initial_state
from tests.counts import count
from tests.random_instances import random_instance

MANY = 2_000


def with_copies(instance: Instance, rng: random.Random) -> Instance:
    """Some requests two or three times, in any order, so that there is something to merge."""
    requests = [
        Request(
            id=f"{r.id}-{copy}",
            prompt=r.prompt,
            generated=r.generated,
            limit=r.limit,
            length_prior=r.length_prior,
            acceptance=r.acceptance,
            weight=r.weight,
        )
        for r in instance.requests
        for copy in range(rng.choice([1, 1, 2, 3]))
    ]
    rng.shuffle(requests)
    return Instance(graphs=instance.graphs, requests=requests[:5], objective=instance.objective)


def instances(n: int, first: int = 0) -> Iterator[Instance]:
    for seed in range(first, first + n):
        rng = random.Random(seed)
        instance = random_instance(rng)
        if seed % 2:
            instance = with_copies(instance, rng)
        if not lanes_couple(instance) and count_states(instance) <= MANY:
            yield instance


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("sense", list(Sense))
def test_bounds_enclose_and_the_exact_root_equals_the_rational_optimum(sense: Sense, merge: bool) -> None:
    checked = 0
    for instance in instances(count(1000)):
        packed = pack(instance, merge=merge)
        if merge and not is_merged(packed):
            continue
        checked += 1
        root = initial_state(instance)
        swept = sweep(packed, worst=sense is Sense.MIN, threads=1)
        least, most = swept.bounds(swept.number_of(packed.digits_of(root)))
        table = Sweep(instance, sense, 10**6)
        exact = table.value_at(root)
        assert packed.earned - most <= exact <= packed.earned - least
        assert most - least <= Fraction(1, 10**9) * (1 + most)
        assert ExactRoot(swept).value_at(root) == exact
        assert count_states(instance) == len(table.reachable_states())
        if merge:
            assert count_canonical(instance) == packed.n_states - 1
    assert checked > 10


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("sense", list(Sense))
def test_every_state_has_the_value_and_the_tied_actions_of_the_readable_solver(sense: Sense, merge: bool) -> None:
    for instance in instances(count(200), first=2000):
        if count_states(instance) > 300:
            continue
        plain = solve_plain(instance, sense=sense)
        table = ExactRoot(sweep(pack(instance, merge=merge), worst=sense is Sense.MIN, threads=1))
        for state, value in plain.values.items():
            assert table.value_at(state) == value
        for state in list(plain.values)[:4]:
            assert table.optimal_actions(state) == plain.best[state]


def larger(*weights: int) -> Instance:
    """Five requests with 8 local states each, 32,768 states; equal weights make equal requests."""
    prior = {n: Fraction(1, 4) for n in (2, 3, 5, 6)}
    return Instance(
        graphs=[
            Graph(name="p1", duration_ms=2, prefill_capacity=1),
            Graph(name="d1", duration_ms="5/2", decode_capacity=1, width=3),
            Graph(name="d3", duration_ms="7/2", decode_capacity=3, width=2),
            Graph(name="mix", duration_ms=5, prefill_capacity=1, decode_capacity=2),
        ],
        requests=[
            Request(id=f"r{i}", prompt=2, limit=6, length_prior=prior, acceptance=["7/10", "1/2"], weight=w)
            for i, w in enumerate(weights)
        ],
        objective=Objective(decode_value=2, time_price=1, completion_price="1/2", first_output_price="1/3"),
    )


DIFFERENT = (1, 2, 3, 4, 5)
CLASSES = (1, 1, 2, 2, 3)
EQUAL = (1, 1, 1, 1, 1)


@pytest.mark.parametrize("weights", [DIFFERENT, CLASSES, EQUAL])
def test_threads_change_no_byte(weights: tuple[int, ...]) -> None:
    packed = pack(larger(*weights), merge=True)
    one, two, five = (sweep(packed, threads=n).costs for n in (1, 2, 5))
    assert one.tobytes() == two.tobytes() == five.tobytes()


@pytest.mark.parametrize("weights", [CLASSES, EQUAL])
def test_merged_and_unmerged_sweeps_agree_at_every_state(weights: tuple[int, ...]) -> None:
    instance = larger(*weights)
    plain, merged = pack(instance), pack(instance, merge=True)
    one, other = sweep(plain, threads=1), sweep(merged, threads=1)
    for number in range(0, plain.n_states, 97):
        state = plain.state_of(one.digits_of(number))
        place = other.number_of(merged.digits_of(state))
        np.testing.assert_allclose(other.costs[place], one.costs[number], rtol=1e-12)


def test_block_sizes_change_no_value() -> None:
    packed = pack(larger(*DIFFERENT))
    first = sweep_blocks(packed, worst=False, threads=1, on_progress=None, block_states=8)
    for block_states in (64, 512, 4096):
        other = sweep_blocks(packed, worst=False, threads=1, on_progress=None, block_states=block_states)
        np.testing.assert_allclose(other, first, rtol=1e-13)


def test_single_precision_bounds_enclose_the_exact_value() -> None:
    packed = pack(larger(*DIFFERENT))
    swept = sweep(packed, threads=1, itemsize=4)
    exact = ExactRoot(sweep(packed, threads=1)).exact_cost(initial_state(packed.instance))
    least, most = swept.bounds(0)
    assert swept.costs.dtype == np.float32
    assert least <= exact <= most
    assert most - least < exact / 100


@pytest.mark.parametrize("weights", [DIFFERENT, CLASSES, EQUAL])
def test_the_facade_picks_the_compiled_sweep_and_says_so(weights: tuple[int, ...]) -> None:
    instance = larger(*weights)
    result = solve(instance)
    layouts: dict[tuple[int, ...], str] = {DIFFERENT: "block_sweep", CLASSES: "class_sweep", EQUAL: "place_sweep"}
    assert result.method == f"{layouts[weights]}_exact_root"
    assert result.states == 8**5 - 1
    # multisets: C(9, 2) for two equal requests of 8 local states, C(12, 5) for five
    assert result.canonical_states == (
        None if weights == DIFFERENT else 36 * 36 * 8 - 1 if weights == CLASSES else 792 - 1
    )
    assert result.value is not None
    assert Fraction(result.lower) <= result.value <= Fraction(result.upper)
    rough = solve(instance, exact=False)
    assert rough.value is None
    assert Fraction(rough.lower) <= result.value <= Fraction(rough.upper)


def test_sizes_are_said_before_the_work_and_refused() -> None:
    with pytest.raises(TooLarge, match="32,767 states, which take"):
        solve(larger(*DIFFERENT), max_bytes=100_000)
    with pytest.raises(TooLarge, match=r"791 states \(equal requests merged\), which take"):
        solve(larger(*EQUAL), max_bytes=1_000)


def test_costs_beyond_doubles_are_refused_by_the_sweep() -> None:
    instance = larger(*DIFFERENT)
    far = f"1{'0' * 57}e60"
    huge = Instance(
        graphs=[Graph(name="d", duration_ms=far, decode_capacity=1)],
        requests=[Request(id=f"r{i}", prompt=0, limit=2, weight=far) for i in range(2)],
        objective=Objective(decode_value=1, completion_price=far, time_price="1e-60"),
    )
    assert sweep(pack(instance), threads=1).relative_error < Fraction(1, 10**10)
    with pytest.raises(Unsupported, match="range of floating-point numbers"):
        sweep(pack(huge), threads=1)
    assert solve(huge).value == solve_plain(huge).value


@pytest.mark.parametrize("weights", [(1, 2), (1, 1), (1, 1, 2)])
def test_kernels_equal_their_python_sources(weights: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    packed = pack(larger(*weights), merge=True)
    number = packed.n_states // 3
    compiled = sweep(packed, threads=1)
    value = ExactRoot(compiled).value_at(packed.state_of(compiled.digits_of(number)))
    modules: list[ModuleType] = [
        actions,
        block_rows,
        blocks,
        class_axis,
        classes,
        multisets,
        places,
    ]
    for module in modules:
        for name, kernel in vars(module).copy().items():
            if hasattr(kernel, "py_func"):
                monkeypatch.setattr(module, name, kernel.py_func)
    with np.errstate(over="ignore"):
        plain = sweep(packed, threads=1)
        np.testing.assert_allclose(plain.costs, compiled.costs, rtol=1e-14)
        assert ExactRoot(plain).value_at(packed.state_of(plain.digits_of(number))) == value


def wide(width: int, *, chance: str = "9/10", weights: tuple[int, ...] = (1, 1, 1)) -> Instance:
    """Decoding requests of one length law, a graph for two of them."""
    prior = {n: Fraction(1, 9) for n in range(1, 10)}
    return Instance(
        graphs=[Graph(name="d", duration_ms=1, decode_capacity=2, width=width)],
        requests=[
            Request(id=f"r{i}", prompt=0, limit=9, length_prior=prior, acceptance=[chance] * (width - 1), weight=w)
            for i, w in enumerate(weights)
        ],
        objective=Objective(decode_value=0, completion_price=1),
    )


@pytest.mark.parametrize("width", [2, 4, 8])
def test_the_rounding_bound_covers_every_term_that_a_step_adds(width: int) -> None:
    # A row of width k goes on with 1 ... k tokens or finishes: k + 1 outcomes. Two rows on the outermost axes are
    # one sum of (k + 1)^2 terms, and two rows of a plain sum as many.
    packed = pack(wide(width))
    assert most_outcomes(packed) == width + 1
    assert most_served(packed) == 2
    assert step_roundings(packed) > (width + 1) ** 2 + 2 * (width + 1)
    assert action_roundings(packed) > (width + 1) ** 2
    # merged on one axis, the rows follow one another: k + 2 roundings each
    one = pack(wide(width), merge=True)
    assert step_roundings(one) > 2 * (width + 2)
    # on two axes, two rows of the outer one are one joint law: 2 coefficients, 2 products, k sums for each row, then
    # a product and up to (k + 1)^2 - 1 sums
    two = pack(wide(width, weights=(1, 1, 2)), merge=True)
    assert len(two.axes) == 2
    assert step_roundings(two) > 2 + 2 + 2 * width + 1 + (width + 1) ** 2 - 1 + 2 * (width + 2)


def test_magnitudes_at_which_rounding_is_no_longer_relative_go_to_rationals(monkeypatch: pytest.MonkeyPatch) -> None:
    # two accepted chains of three have probability 1e-60^6 = 1e-360, which no double holds
    instance = wide(4, chance="1e-60", weights=(1, 2))
    with pytest.raises(Unsupported, match="range of floating-point numbers"):
        check_range(pack(instance))
    check_range(pack(wide(4)))
    monkeypatch.setattr(import_module("fairlane.oracle.backends.backward_induction"), "SMALL_STATES", 10)
    assert solve(wide(4, weights=(1, 2))).method == "block_sweep_exact_root"
    result = solve(instance)
    assert result.method == "backward_induction"
    assert result.value == solve_plain(instance).value


def test_rates_whose_common_denominator_no_double_holds_are_valued_exactly() -> None:
    # five weights with denominators of 70 digits, about 1 to 5: their common one has about 350
    base = larger(*DIFFERENT)
    requests = [
        Request(
            id=r.id,
            prompt=r.prompt,
            limit=r.limit,
            length_prior=r.length_prior,
            acceptance=r.acceptance,
            weight=Fraction(i * 10**70 + 7, 10**70 + i),
        )
        for i, r in enumerate(base.requests, start=1)
    ]
    instance = Instance(graphs=base.graphs, requests=requests, objective=base.objective)
    result = solve(instance)
    assert result.value is not None
    assert result.value.denominator > 10**310
    # the weights differ from 1 ... 5 by less than 1e-68, and so do the costs, relatively
    near = solve(base).value
    assert near is not None
    assert abs(result.value / near - 1) < Fraction(1, 10**60)


def test_the_exact_root_agrees_on_wide_rounds() -> None:
    for width in (4, 8):
        for merge in (False, True):
            instance = wide(width)
            root = initial_state(instance)
            exact = Sweep(instance, Sense.MAX, 10**6).value_at(root)
            assert ExactRoot(sweep(pack(instance, merge=merge))).value_at(root) == exact


def test_many_equal_requests_whose_binomials_no_integer_holds() -> None:
    # 66 streams of one output, two a millisecond: 33 ms; C(67, 33) has no place in 64 bits and is not needed
    instance = Instance(
        graphs=[Graph(name="d", duration_ms=1, decode_capacity=2)],
        requests=[Request(id=f"r{i}", prompt=0, limit=1) for i in range(66)],
        objective=Objective(decode_value=1, time_price=1),
    )
    result = solve(instance)
    assert result.canonical_states == 66
    assert result.value == 66 - 33


def test_values_beyond_doubles_are_enclosed_by_infinities() -> None:
    base = larger(*DIFFERENT)
    prices = base.objective
    instance = Instance(
        graphs=base.graphs,
        requests=base.requests,
        objective=Objective(
            decode_value=10**400, completion_price=prices.completion_price, first_output_price=prices.first_output_price
        ),
    )
    result = solve(instance, exact=False)
    assert (result.lower, result.upper) == (1.7976931348623157e308, np.inf)
