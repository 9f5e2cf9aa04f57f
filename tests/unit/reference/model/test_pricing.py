"""What actions cost and earn, by hand; and the same formulas as the independent checker writes them down."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from fairlane.oracle import long_run, solve
from fairlane.policies import load_policy
from fairlane.reference.checker.certificate_check import _Model
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model import pricing
from fairlane.reference.model.codec import graph_to_json, instance_from_json, instance_to_json, parse_json
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import FINISHED, Action, LocalState, initial_state
from fairlane.reference.model.step import step
from fairlane.simulator.realised import realised_value
from fairlane.simulator.simulate import simulate
from tests.random_instances import random_instance, with_energy

PRICED = Objective(
    prefill_value=2,
    decode_value=5,
    time_price=3,
    completion_price=7,
    first_output_price=11,
    age_price=13,
    energy_price=17,
)


def test_every_price_is_counted_once() -> None:
    # p waits before its output, s decodes at age 4, the third has finished; one graph of 2 ms and 6 J
    graph = Graph(name="g", duration_ms=2, prefill_capacity=8, decode_capacity=1, energy_j=6)
    requests = (
        Request(id="p", prompt=9, limit=4, weight=2),
        Request(id="s", prompt=0, limit=4, weight=3),
        Request(id="done", prompt=0, limit=4),
    )
    instance = Instance(graphs=[graph], requests=requests, objective=PRICED)
    state = (LocalState(9, 0, Fraction(0), False), LocalState(0, 1, Fraction(4), False), FINISHED)
    time = 3 * 2
    p = (7 + 11) * 2 * 2
    # age 4 over 2 ms: 4 * 2 + 2 * 2 / 2 = 10 request·ms²
    s = 7 * 3 * 2 + 13 * 3 * 10
    assert pricing.time_cost(instance, state, Fraction(2)) == time + p + s
    assert pricing.action_cost(instance, state, graph) == time + p + s + 17 * 6
    # p consumes 8 of its 9 tokens, s publishes one
    (outcome,) = step(instance, state, Action(0, (0,), (1,)))
    assert outcome.reward == 2 * 2 * 8 + 5 * 3 * 1 - (time + p + s + 17 * 6)


def test_nothing_waits_in_a_finished_state() -> None:
    instance = Instance(
        graphs=[Graph(name="d", duration_ms=2, decode_capacity=1)],
        requests=[Request(id="s", prompt=0, limit=1)],
        objective=PRICED,
    )
    assert pricing.time_cost(instance, (FINISHED,), Fraction(2)) == 0


def two_ways(energy_price: object, **prices: object) -> Instance:
    """One stream with two tokens: slowly, 4 ms and 1 J a token, or fast, 1 ms and 10 J."""
    graphs = [
        Graph(name="slow", duration_ms=4, decode_capacity=1, energy_j=1),
        Graph(name="fast", duration_ms=1, decode_capacity=1, energy_j=10),
    ]
    objective = Objective(decode_value=0, time_price=1, energy_price=energy_price, **prices)  # type: ignore[arg-type]
    return Instance(graphs=graphs, requests=[Request(id="s", prompt=0, limit=2)], objective=objective)


@pytest.mark.parametrize(
    ("energy_price", "value"),
    # two launches: slowly each costs 4 + e, fast 1 + 10 e; they are equal at e = 1/3
    [("0", -2), ("1/4", -7), ("1/3", "-26/3"), ("1/2", -9), (2, -12)],
)
def test_the_price_of_energy_moves_the_choice_from_fast_to_slow(energy_price: str, value: str) -> None:
    solution = solve(two_ways(energy_price))
    assert solution.value == Fraction(value)
    names = {("slow", "fast")[a.graph] for a in solution.optimal_actions(initial_state(two_ways(energy_price)))}
    expected = {"fast"} if Fraction(energy_price) < Fraction(1, 3) else {"slow"}
    assert names == ({"slow", "fast"} if Fraction(energy_price) == Fraction(1, 3) else expected)


def test_energy_in_proportion_to_time_is_a_price_of_time() -> None:
    # 700 W is 7/10 J a ms: energy at e is time at 7 e / 10
    rng = random.Random(3)
    for _ in range(20):
        drawn = random_instance(rng)
        graphs = [
            Graph(
                name=g.name,
                duration_ms=g.duration_ms,
                prefill_capacity=g.prefill_capacity,
                prefill_lanes=g.prefill_lanes,
                decode_capacity=g.decode_capacity,
                width=g.width,
                energy_j=Fraction(7, 10) * g.duration_ms,
            )
            for g in drawn.graphs
        ]
        by_energy = Instance(
            graphs=graphs, requests=drawn.requests, objective=Objective(decode_value=1, energy_price="3/2")
        )
        by_time = Instance(
            graphs=graphs, requests=drawn.requests, objective=Objective(decode_value=1, time_price="21/20")
        )
        assert solve(by_energy).value == solve(by_time).value


def test_energies_without_a_price_change_nothing() -> None:
    rng = random.Random(4)
    for _ in range(20):
        plain = random_instance(rng)
        priced = with_energy(plain, rng)
        free = Instance(graphs=priced.graphs, requests=plain.requests, objective=plain.objective)
        assert solve(free).value == solve(plain).value


def test_the_independent_checker_prices_actions_alike() -> None:
    # it shares no code with the readable step; its waiting cost is a formula of its own
    rng = random.Random(5)
    for n in range(60):
        instance = random_instance(rng, age=n % 2 == 0)
        if n % 3:
            instance = with_energy(instance, rng)
        state = initial_state(instance)
        model = _Model(instance)
        key = model.start()
        for g, graph in enumerate(instance.graphs):
            theirs = model.waiting(key, g)
            ours = pricing.action_cost(instance, state, graph)
            assert Fraction(int(theirs.p), int(theirs.q)) == ours


def test_energy_is_read_and_written_and_left_out_where_there_is_none() -> None:
    text = (
        '{"graphs": [{"name": "d", "duration_ms": 1, "decode_capacity": 1, "energy_j": "7/10"}],'
        '"requests": [{"id": "s", "prompt": 0, "limit": 1}],'
        '"objective": {"decode_value": 1, "energy_price": 0.25}}'
    )
    instance = instance_from_json(parse_json(text, "x"))
    assert instance.graphs["d"].energy_j == Fraction(7, 10)
    assert instance.objective.energy_price == Fraction(1, 4)
    written = instance_to_json(instance)
    assert written["graphs"] == [{"name": "d", "duration_ms": 1, "decode_capacity": 1, "energy_j": "7/10"}]
    assert written["objective"] == {"decode_value": 1, "energy_price": "1/4"}
    assert "energy_j" not in graph_to_json(Graph(name="d", duration_ms=1, decode_capacity=1))


@pytest.mark.parametrize(("value", "message"), [(-1, "energy_j is -1; need >= 0"), ("x", "energy_j is 'x'; need a")])
def test_an_energy_below_zero_or_no_number_is_refused(value: object, message: str) -> None:
    with pytest.raises(InvalidInstance, match=message):
        Graph(name="d", duration_ms=1, decode_capacity=1, energy_j=value)  # type: ignore[arg-type]
    with pytest.raises(InvalidInstance, match=r"objective.energy_price is -1; need >= 0"):
        Objective(decode_value=1, energy_price=-1)


def test_a_graph_that_saves_energy_is_needed() -> None:
    from fairlane.reference.model.catalog_report import dominated

    rows = [
        Graph(name="slow", duration_ms=4, decode_capacity=1, energy_j=1),
        Graph(name="fast", duration_ms=1, decode_capacity=1, energy_j=10),
        Graph(name="worse", duration_ms=4, decode_capacity=1, energy_j=11),
    ]
    assert dominated(Catalog(rows)) == (("worse", "slow"),)


@pytest.mark.parametrize(("energy_price", "rate"), [(0, 10), (1, "9/4")])
def test_the_long_run_weighs_energy_against_time(energy_price: int, rate: str) -> None:
    # one token worth 10 again and again: slowly (10 - e) / 4 a ms, fast (10 - 10 e) / 1
    base = two_ways(energy_price)
    once = Instance(
        graphs=base.graphs,
        requests=[Request(id="s", prompt=0, limit=1)],
        objective=Objective(decode_value=10, energy_price=energy_price),
    )
    assert long_run(once).rate == Fraction(rate)


def test_a_run_pays_for_the_energy_of_its_launches() -> None:
    # two launches of the fast graph (the first of equal scores would be slow; it scores less): 2 ms and 20 J
    instance = two_ways("1/2")
    priced = Objective(decode_value=3, time_price=1, energy_price="1/2")
    run = simulate(instance.requests, instance.graphs, load_policy("fixed-value"), objective=priced)
    assert run.n_launches == 2
    assert realised_value(run) == 2 * 3 - 2 * 1 - 20 / 2
