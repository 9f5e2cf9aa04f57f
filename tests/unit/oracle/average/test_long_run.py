"""Long-run rates on systems worked out by hand, and against an outside linear program."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from fairlane.oracle.average.long_run import LongRun, long_run, myopic_policy, policy_rate
from fairlane.oracle.average.optimality_equation import check_optimality_equation
from fairlane.oracle.average.policy_iteration import best_average, bounded
from fairlane.reference.errors import CertificateRejected, InvalidInstance, TooLarge, Unsupported
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance, Regenerates
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Decision, FunctionPolicy, Sees, View
from fairlane.reference.model.request import Request
from tests.counts import count
from tests.random_instances import random_instance


def one_stream(**extra: object) -> Instance:
    """A prompt of 2 (2 ms), then one decode token of 3 ms: 2 + 5*2 per 5 ms."""
    return Instance(
        graphs=[
            Graph(name="p2", duration_ms=2, prefill_capacity=2),
            Graph(name="d1", duration_ms=3, decode_capacity=1),
            Graph(name="slow", duration_ms=4, decode_capacity=1),
        ],
        requests=[Request(id="a", prompt=2, limit=2)],
        objective=Objective(decode_value=5),
        **extra,  # type: ignore[arg-type]  # regenerates or age_cap_ms
    )


@pytest.mark.parametrize("how", list(Regenerates))
def test_one_stream_earns_its_cycle_over_its_time(how: Regenerates) -> None:
    # a cycle takes 2 + 3 ms and earns 2 prompt tokens and 2 outputs of value 5: 12 / 5
    result = long_run(one_stream(regenerates=how))
    assert result.rate == Fraction(12, 5)
    assert result.lower == result.upper == Fraction(12, 5)
    assert result.states == 2


def test_a_period_is_named_and_does_not_disturb_the_rate() -> None:
    workload = one_stream()
    result = long_run(workload)
    own = policy_rate(workload, result.policy)
    assert (own.rate, own.period, own.classes) == (Fraction(12, 5), 2, 1)


def test_dropping_the_future_can_lose() -> None:
    # a prompt of 129 again and again. At once in 4 ms: 130 / 4. Myopic: 128 in 3 ms earn 42.7 a ms, more than
    # 130 / 4 = 32.5, and the last token with its output takes 2 ms more: 130 / 5.
    workload = Instance(
        graphs=[Graph(name=f"p{c}", duration_ms=t, prefill_capacity=c) for c, t in ((64, 2), (128, 3), (256, 4))],
        requests=[Request(id="a", prompt=129, limit=1)],
        objective=Objective(decode_value=1),
    )
    result = long_run(workload)
    assert result.rate == Fraction(130, 4)
    assert policy_rate(workload, myopic_policy(result.model)).rate == Fraction(130, 5)


def test_a_policy_that_serves_one_request_forever_ends_in_its_own_class() -> None:
    # two decode streams of one token, values 1 and 3; serving b forever earns 3 per 2 ms
    workload = Instance(
        graphs=[Graph(name="d1", duration_ms=2, decode_capacity=1)],
        requests=[Request(id="a", prompt=0, limit=1), Request(id="b", prompt=0, limit=1, weight=3)],
        objective=Objective(decode_value=1),
    )
    favour = FunctionPolicy(lambda view: Decision(graph="d1", decode=("b",)), frozenset())
    assert policy_rate(workload, favour).rate == Fraction(3, 2)
    mixed = FunctionPolicy(
        lambda view: (
            (Fraction(1, 4), Decision(graph="d1", decode=("a",))),
            (Fraction(3, 4), Decision(graph="d1", decode=("b",))),
        ),
        frozenset(),
    )
    assert policy_rate(workload, mixed).rate == Fraction(1, 4) * Fraction(1, 2) + Fraction(3, 4) * Fraction(3, 2)
    assert long_run(workload).rate == Fraction(3, 2)


def test_a_policy_can_end_in_several_classes_by_chance() -> None:
    # the first decision draws which stream is served; least-recent order then keeps serving the one served before
    workload = Instance(
        graphs=[Graph(name="d1", duration_ms=2, decode_capacity=1)],
        requests=[Request(id="a", prompt=0, limit=2), Request(id="b", prompt=0, limit=2, weight=3)],
        objective=Objective(decode_value=1),
    )

    class Sticky:
        sees: frozenset[Sees] = frozenset()

        def initial(self, catalog: object) -> None:
            return None

        def decide(self, view: View, memory: object) -> object:
            if memory is None:
                return tuple((Fraction(1, 2), Decision(graph="d1", decode=(i,))) for i in ("a", "b"))
            return Decision(graph="d1", decode=(str(memory),))

        def observe(self, memory: object, completion: object) -> object:
            return memory or completion.lanes[0].id  # type: ignore[attr-defined]  # a Completion

    result = policy_rate(workload, Sticky())
    assert sorted(result.class_rates) == [Fraction(1, 2), Fraction(3, 2)]
    assert result.rate == 1


def linear_program(result: LongRun) -> float:
    """The best rate by the linear program over state-action frequencies (de Ghellinck 1960), solved by HiGHS."""
    flat = [(s, m) for s, row in enumerate(result.model.moves) for m in row]
    balance = np.zeros((len(result.model.states), len(flat)))
    for k, (s, move) in enumerate(flat):
        balance[s, k] += 1
        for t, p in move.to:
            balance[t, k] -= float(p)
    time = np.array([[float(m.duration_ms) for _, m in flat]])
    solved = linprog(
        [-float(m.reward) for _, m in flat],
        A_eq=np.vstack([balance, time]),
        b_eq=np.append(np.zeros(len(balance)), 1.0),
    )
    assert solved.status == 0
    return -float(solved.fun)


def small_workload(seed: int) -> Instance:
    rng = random.Random(seed)
    base = random_instance(rng, age=seed % 4 == 0)
    cap = 12 if base.objective.age_price else None
    return Instance(graphs=base.graphs, requests=base.requests[:2], objective=base.objective, age_cap_ms=cap)


def test_closed_systems_agree_with_an_outside_linear_program() -> None:
    done = 0
    for seed in range(count(200)):
        try:
            result = long_run(small_workload(seed), max_states=250)
        except TooLarge:
            continue
        assert result.rate is not None
        assert float(result.rate) == pytest.approx(linear_program(result), rel=1e-7, abs=1e-9)
        assert policy_rate(result.model.workload, myopic_policy(result.model)).rate <= result.rate
        done += 1
    assert done >= count(200) // 2


def test_bounds_enclose_the_exact_rate_and_own_policy_attains_it() -> None:
    for seed in range(count(100)):
        try:
            result = long_run(small_workload(300 + seed), max_states=120)
        except TooLarge:
            continue
        assert result.rate is not None
        rough = best_average(result.model.moves, exact=False)
        assert rough.lower <= result.rate <= rough.upper
        assert float(rough.upper - rough.lower) <= 1e-6 * max(1.0, abs(float(result.rate)))
        anything = bounded(result.model.moves, [Fraction(i % 3) for i in range(result.states)])
        assert anything.lower <= result.rate <= anything.upper
        assert policy_rate(result.model.workload, result.policy).rate == result.rate


def test_a_changed_relative_value_or_rate_is_rejected() -> None:
    result = long_run(one_stream())
    assert result.rate is not None
    h = [result.bias[s] for s in result.model.states]
    check_optimality_equation(result.model, result.rate, h)
    with pytest.raises(CertificateRejected, match="state"):
        check_optimality_equation(result.model, result.rate + Fraction(1, 1000), h)
    for i in range(len(h)):
        wrong = list(h)
        wrong[i] += Fraction(1, 7)
        with pytest.raises(CertificateRejected):
            check_optimality_equation(result.model, result.rate, wrong)


def test_what_has_no_finite_answer_is_refused_by_name() -> None:
    aged = Instance(
        graphs=one_stream().graphs, requests=one_stream().requests, objective=Objective(decode_value=1, age_price=1)
    )
    with pytest.raises(InvalidInstance, match="age_cap_ms is missing"):
        long_run(aged)
    clock = FunctionPolicy(lambda view: Decision(graph="p2", prefill=("a",)))
    with pytest.raises(Unsupported, match="clock"):
        policy_rate(one_stream(), clock)
    with pytest.raises(TooLarge, match="more than 1 states"):
        long_run(one_stream(), max_states=1)


def test_prices_on_time_and_completion_are_constant_offsets_of_a_closed_system() -> None:
    free = long_run(one_stream())
    priced = Instance(
        graphs=one_stream().graphs,
        requests=one_stream().requests,
        objective=Objective(decode_value=5, time_price="1/3", completion_price="1/7"),
    )
    result = long_run(priced)
    assert result.constant_offset == -Fraction(1, 3) - Fraction(1, 7)
    assert free.rate is not None
    assert result.rate == free.rate + result.constant_offset
