"""Many tiny instances in one sweep against the rational solver: bounds enclose, counts agree, roundings are counted."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from fairlane.oracle.encoding.packing import count_states, earned_from, lanes_couple
from fairlane.oracle.kernels import tiny as _kernel_tiny
from fairlane.oracle.kernels import tiny_tables as _kernel_tiny_tables
from fairlane.oracle.rational.backward_induction import Sweep
from fairlane.oracle.rational.plain import Sense, solve_plain
from fairlane.oracle.solve import solve
from fairlane.oracle.sweeps.tiny_batch import cost_roundings, earned_roundings, pack, solve_tiny
from fairlane.reference.errors import TooLarge
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import initial_state
from tests.counts import count
from tests.random_instances import random_instance

SENSES = list(Sense)


def drawn(n: int, first: int = 0, *, most_requests: int = 4) -> list[Instance]:
    return [random_instance(random.Random(seed), most_requests=most_requests) for seed in range(first, first + n)]


@pytest.mark.parametrize("sense", SENSES)
def test_bounds_enclose_the_rational_optimum_and_states_are_counted(sense: Sense) -> None:
    instances = drawn(count(2000), most_requests=3)
    found = solve_tiny(instances, sense=sense)
    for k, instance in enumerate(instances):
        table = Sweep(instance, sense, 10**6)
        root = initial_state(instance)
        exact = table.value_at(root)
        assert Fraction(float(found.lower[k])) <= exact <= Fraction(float(found.upper[k]))
        assert found.states[k] == len(table.reachable_states())
        assert found.swept[k] == (not lanes_couple(instance))
        # both parts of the value are at most this large, and some 300 roundings of 1e-16 are far below 1e-12
        earned = float(earned_from(instance, root))
        assert found.upper[k] - found.lower[k] <= 1e-12 * (1 + earned + abs(earned - float(exact)))
    swept = [instance for instance, was in zip(instances, found.swept, strict=True) if was]
    assert len(swept) > len(instances) / 2
    for kind in (
        lambda i: sum(r.prompt > 0 for r in i.requests) > 1,
        lambda i: any(r.length_prior and r.acceptance for r in i.requests),
        lambda i: any(g.prefill_capacity and g.decode_capacity for g in i.graphs),
        lambda i: any(r.weight != 1 for r in i.requests),
        lambda i: i.objective.first_output_price > 0 and i.objective.time_price > 0,
    ):
        assert sum(map(kind, swept)) > len(swept) / 50


@pytest.mark.parametrize("sense", SENSES)
def test_more_requests_and_wider_rows_agree_too(sense: Sense) -> None:
    rng = random.Random(5)
    instances = []
    for _ in range(count(60)):
        base = random_instance(rng, most_requests=2)
        requests = [
            Request(
                id=f"r{i}",
                prompt=rng.choice([0, 0, 7, 40]),
                limit=rng.randint(2, 6),
                length_prior={1: Fraction(1, 7), 3: Fraction(2, 7), 9: Fraction(4, 7)} if rng.random() < 0.7 else None,
                acceptance=[Fraction(rng.choice([0, 1, 5, 10]), 10) for _ in range(rng.randint(0, 5))],
                weight=Fraction(rng.randint(1, 5), 3),
            )
            for i in range(rng.randint(2, 3))
        ]
        graphs = [
            Graph(name="p", duration_ms="7/3", prefill_capacity=16),
            Graph(name="P", duration_ms=4, prefill_capacity=10**30),
            Graph(name="d", duration_ms=2, decode_capacity=10**9, width=rng.randint(1, 4)),
            Graph(name="D", duration_ms=3, decode_capacity=2, width=rng.choice([5, 10**40])),
            Graph(name="m", duration_ms=3, decode_capacity=1, width=3, prefill_capacity=4),
        ]
        instances.append(Instance(graphs=graphs, requests=requests, objective=base.objective))
    found = solve_tiny(instances, sense=sense)
    assert found.swept.all()
    assert found.states.max() > 100
    for k, instance in enumerate(instances):
        exact = Sweep(instance, sense, 10**6).value_at(initial_state(instance))
        assert Fraction(float(found.lower[k])) <= exact <= Fraction(float(found.upper[k]))
        assert found.states[k] == count_states(instance)


HALF = Fraction(1, 2)


def decoding(
    n: int, limit: int, *, price: int | Fraction = 1, chance: Fraction = HALF, name: str = "decoding"
) -> Instance:
    """n decoding requests of ``limit`` local states that go on, and a graph for two rows of width 2."""
    return Instance(
        graphs=[Graph(name="d", duration_ms=2, decode_capacity=2, width=2)],
        requests=[
            Request(id=f"r{i}", prompt=0, limit=limit, acceptance=[chance], weight=Fraction(i + 1, 3)) for i in range(n)
        ],
        objective=Objective(decode_value=3, completion_price=price, time_price=1),
        name=name,
    )


def coupled() -> Instance:
    return Instance(
        graphs=[
            Graph(name="p", duration_ms=3, prefill_capacity=10, prefill_lanes=2),
            Graph(name="d", duration_ms=1, decode_capacity=1),
        ],
        requests=[Request(id="a", prompt=9, limit=2), Request(id="b", prompt=1, limit=2)],
        objective=Objective(decode_value=5, time_price=1),
    )


OUTSIDE: dict[str, Callable[[], Instance]] = {
    "a price on age": lambda: random_instance(random.Random(3), age=True),
    "prompts that share a graph": coupled,
    "more states than the sweep holds": lambda: decoding(4, 9),
    "more requests than the sweep holds": lambda: decoding(13, 1),
    "an integer beyond doubles": lambda: decoding(1, 2, price=10**400),
    "a price that doubles round to 0": lambda: decoding(1, 2, price=Fraction(1, 10**400)),
    "a chance near the end of the range": lambda: decoding(2, 3, chance=Fraction(1, 10**60)),
    "a chance that doubles round to 1": lambda: decoding(2, 3, chance=1 - Fraction(1, 10**400)),
}


@pytest.mark.parametrize("sense", SENSES)
def test_instances_outside_the_sweep_are_solved_in_their_place(sense: Sense) -> None:
    plain = drawn(len(OUTSIDE), most_requests=2)
    plain = [decoding(2, 3) if lanes_couple(instance) else instance for instance in plain]
    mixed = [instance for pair in zip([make() for make in OUTSIDE.values()], plain, strict=True) for instance in pair]
    found = solve_tiny(mixed, sense=sense)
    assert found.swept.tolist() == [False, True] * len(OUTSIDE)
    assert len(found) == len(mixed)
    for k, instance in enumerate(mixed):
        one = solve(instance, sense=sense)
        assert one.value is not None
        assert found.states[k] == one.states
        assert found.lower[k] <= one.lower <= one.upper <= found.upper[k]
    assert found.exact([2, 0]) == (solve_plain(mixed[2], sense=sense).value, solve_plain(mixed[0], sense=sense).value)


def test_the_limits_of_the_sweep_itself_are_kept() -> None:
    # (limit + 1)^4 - 1 unfinished states: 7^4 - 1 = 2400 and 8^4 - 1 = 4095 are swept, 9^4 - 1 = 6560 are not
    found = solve_tiny([decoding(4, 6), decoding(4, 7), decoding(4, 8), decoding(12, 1), decoding(1, 4999)])
    assert found.states.tolist() == [2400, 4095, 6560, 4095, 4999]
    assert found.swept.tolist() == [True, True, False, True, True]
    # Twelve rows of one token and weights 1/3 ... 12/3, two every 2 ms, the heaviest first: tokens earn 3 (78 / 3),
    # time costs 12, and waiting (2 * 23 + 4 * 19 + 6 * 15 + 8 * 11 + 10 * 7 + 12 * 3) / 3 = 406 / 3.
    exact = 78 - 12 - Fraction(406, 3)
    assert Fraction(float(found.lower[3])) <= exact <= Fraction(float(found.upper[3]))


@pytest.mark.parametrize("sense", SENSES)
def test_drafts_that_are_almost_sure_can_still_be_rejected(sense: Sense) -> None:
    # in doubles 1 - (1 - 1e-20) is 0, and the states after a rejection would be lost
    instance = decoding(2, 4, chance=1 - Fraction(1, 10**20))
    found = solve_tiny([instance], sense=sense)
    table = Sweep(instance, sense, 10**6)
    exact = table.value_at(initial_state(instance))
    assert found.swept.all()
    assert found.states.tolist() == [len(table.reachable_states())] == [24]
    assert Fraction(float(found.lower[0])) <= exact <= Fraction(float(found.upper[0]))


def test_no_instances_are_no_results() -> None:
    found = solve_tiny([])
    assert len(found) == 0
    assert found.lower.shape == found.upper.shape == found.states.shape == found.swept.shape == (0,)
    assert [array.dtype.name for array in (found.lower, found.states, found.swept)] == ["float64", "int64", "bool"]
    assert found.exact() == ()


def test_an_instance_that_no_method_takes_is_refused_by_name() -> None:
    with pytest.raises(TooLarge, match="instance 'endless' has 3,000,000 prompt and output tokens"):
        solve_tiny([decoding(1, 2), decoding(1, 3_000_000, name="endless")])


def test_shared_objects_and_parts_of_a_batch_change_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    bases = [instance for instance in drawn(40, first=9000) if not lanes_couple(instance)]
    shared, apart = [], []
    for first in bases:
        for other in bases[:5]:
            requests = [*first.requests, *(r for r in other.requests if r.id not in {q.id for q in first.requests})]
            shared.append(Instance(graphs=bases[0].graphs, requests=requests, objective=first.objective))
            copies = [
                Request(
                    id=r.id,
                    prompt=r.prompt,
                    generated=r.generated,
                    limit=r.limit,
                    length_prior=r.length_prior,
                    acceptance=list(r.acceptance),
                    weight=r.weight,
                )
                for r in requests
            ]
            graphs = [
                Graph(
                    name=g.name,
                    duration_ms=g.duration_ms,
                    prefill_capacity=g.prefill_capacity,
                    prefill_lanes=g.prefill_lanes,
                    decode_capacity=g.decode_capacity,
                    width=g.width,
                )
                for g in bases[0].graphs
            ]
            prices = first.objective
            objective = Objective(
                decode_value=prices.decode_value,
                prefill_value=prices.prefill_value,
                time_price=prices.time_price,
                completion_price=prices.completion_price,
                first_output_price=prices.first_output_price,
            )
            apart.append(Instance(graphs=graphs, requests=copies, objective=objective))
    words, at = pack(shared)
    other_words, other_at = pack(apart)
    assert words.tobytes() == other_words.tobytes()
    assert at.tobytes() == other_at.tobytes()
    whole = solve_tiny(shared)
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(import_module("fairlane.oracle.sweeps.tiny_batch"), "AT_ONCE", 7)
    parts = solve_tiny(iter(shared), on_progress=lambda done, total: seen.append((done, total)))
    assert whole.lower.tobytes() == parts.lower.tobytes()
    assert whole.upper.tobytes() == parts.upper.tobytes()
    assert seen[-1] == (len(shared), len(shared))
    assert len(seen) == -(-len(shared) // 7)


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels as the Python they are written in."""
    for module in (_kernel_tiny_tables, _kernel_tiny):
        for name, function in vars(module).copy().items():
            if hasattr(function, "py_func"):
                monkeypatch.setattr(module, name, function.py_func)
    monkeypatch.setattr(_kernel_tiny, "build", _kernel_tiny_tables.build)


def test_kernels_equal_their_python_sources(request: pytest.FixtureRequest) -> None:
    instances = drawn(40, first=700)
    compiled = [solve_tiny(instances, sense=sense) for sense in SENSES]
    request.getfixturevalue("sources")
    for sense, one in zip(SENSES, compiled, strict=True):
        plain = solve_tiny(instances, sense=sense)
        np.testing.assert_allclose(plain.lower, one.lower, rtol=1e-13, atol=1e-13)
        assert plain.states.tolist() == one.states.tolist()
        assert plain.swept.tolist() == one.swept.tolist()


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """A number with the most roundings that a term of it went through; exact numbers have none."""

    x: float
    roundings: int

    def __float__(self) -> float:
        return self.x

    def __int__(self) -> int:
        return int(self.x)

    def __lt__(self, other: object) -> bool:
        return self.x < value_of(other)

    def __le__(self, other: object) -> bool:
        return self.x <= value_of(other)

    def __gt__(self, other: object) -> bool:
        return self.x > value_of(other)

    def __ge__(self, other: object) -> bool:
        return self.x >= value_of(other)

    def __eq__(self, other: object) -> bool:
        return self.x == value_of(other)

    __hash__ = None  # type: ignore[assignment]  # compared by value only

    def __add__(self, other: object) -> Counted:
        y = value_of(other)
        if 0.0 in (self.x, y):
            # adding an exact zero rounds nothing
            return Counted(self.x + y, roundings_of(self if self.x else other))
        return Counted(self.x + y, max(self.roundings, roundings_of(other)) + 1)

    __radd__ = __add__

    def __sub__(self, other: object) -> float:
        # only whole numbers are subtracted
        found = self.x - value_of(other)
        assert found == int(found)
        return found

    def __mul__(self, other: object) -> Counted:
        y = value_of(other)
        exact = roundings_of(other) == 0 and y == 1
        return Counted(self.x * y, self.roundings + roundings_of(other) + (not exact))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Counted:
        return Counted(self.x / value_of(other), self.roundings + roundings_of(other) + 1)

    def __rtruediv__(self, other: object) -> Counted:
        return Counted(value_of(other) / self.x, self.roundings + roundings_of(other) + 1)


def value_of(number: object) -> float:
    return number.x if isinstance(number, Counted) else float(number)  # type: ignore[arg-type]  # a plain number


def roundings_of(number: object) -> int:
    return number.roundings if isinstance(number, Counted) else 0


def counted(instances: list[Instance], sense: Sense) -> tuple[list[int], list[int], Any, Any]:
    """Roundings of costs and of the value of tokens, counted while the kernels' sources run, and their bounds."""
    words, at = pack(instances)
    scratch = _kernel_tiny_tables.new_scratch()
    objects = {
        name: np.full(array.shape, 0.0, dtype=object)
        for name, array in scratch._asdict().items()
        if array.dtype == np.float64
    }
    record = np.array([Counted(float(word), 1) for word in words], dtype=object)
    n = len(instances)
    earned, costs = np.full(n, 0.0, dtype=object), np.full(n, 0.0, dtype=object)
    _, _, states, counts, status = _kernel_tiny.empty_results(n)
    _kernel_tiny.sweep_all(
        record, at, sense is Sense.MIN, scratch._replace(**objects), earned, costs, states, counts, status
    )
    assert not status.any()
    return (
        [roundings_of(x) for x in costs],
        [roundings_of(x) for x in earned],
        cost_roundings(counts),
        earned_roundings(counts),
    )


@pytest.mark.usefixtures("sources")
@pytest.mark.parametrize("sense", SENSES)
def test_no_term_is_rounded_more_often_than_its_bound_says(sense: Sense) -> None:
    instances = [i for i in drawn(count(200), first=4000, most_requests=3) if not lanes_couple(i)]
    instances += [decoding(3, 3), decoding(2, 9)]
    costs, earned, most, most_earned = counted(instances, sense)
    assert max(costs) > 50
    assert all(found <= bound for found, bound in zip(costs, most, strict=True))
    assert all(found <= bound for found, bound in zip(earned, most_earned, strict=True))
    # a bound that is ten times what happens would still do, but not much more
    assert max(costs) > max(most) / 20


@pytest.mark.usefixtures("sources")
def test_roundings_of_one_row_by_hand() -> None:
    # One row of one token. Cost: weight, price and their product 3, the sum with the price of time 1, duration and
    # product 2, the sum with an exact 0 none: 6. Tokens: weight 1, price 1, product with the length 1 and with the
    # weight 1; the length is exact in itself, 1 / 1, a quotient of 1; the prompt's value is an exact 0 of a rounded
    # price and a product, to which nothing is lost.
    costs, earned, most, most_earned = counted([decoding(1, 1)], Sense.MAX)
    assert costs == [6]
    assert earned[0] <= 5
    # D = B = K = J = r = 1, and width 2 counts as 1 where one token is left: 3 + 2 + 3 + 1 + 1 + 8; 1 + 2 + 8
    assert most.tolist() == [18]
    assert most_earned.tolist() == [11]
