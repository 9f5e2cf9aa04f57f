"""Many instances at once: the same results from every executor, in order, with errors that name their instance."""

from __future__ import annotations

import os
import random
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

import pytest

from fairlane.oracle import process_pool, solve_many, solve_plain, verify_many
from fairlane.oracle.batch.in_order import BATCH_COST, BATCH_ITEMS, batches
from fairlane.policies import load_policy
from fairlane.reference.errors import PolicyError, TooLarge, Unsupported
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Decision, View
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import initial_state
from tests.counts import count
from tests.random_instances import random_instance

POLICIES = ("fixed-value", "decode-first")


def drawn(n: int, *, seed: int = 1) -> list[Instance]:
    """Random instances, tiny and not so tiny, some with a price on age."""
    rng = random.Random(seed)
    return [random_instance(rng, age=k % 5 == 0) for k in range(n)]


def too_large() -> Instance:
    """More tokens than any exact solver takes."""
    return Instance(
        graphs=[Graph(name="d", duration_ms=1, decode_capacity=1)],
        requests=[Request(id="a", prompt=0, limit=10_000_000)],
        objective=Objective(decode_value=1),
        name="giant",
    )


def first_request_first(view: View) -> Decision:
    """A policy that travels by reference to this module."""
    request = view.requests[0]
    if request.prompt:
        graph = next(g for g in view.catalog if g.prefill_capacity)
        return Decision(graph=graph.name, prefill=(request.id,))
    graph = next(g for g in view.catalog if g.decode_capacity)
    return Decision(graph=graph.name, decode=(request.id,))


def faulty(view: View) -> Decision:
    """A policy with a fault of its own."""
    raise ZeroDivisionError("a fault in the policy")


@pytest.mark.parametrize(
    "opened",
    [
        pytest.param(lambda: process_pool(1), id="one process"),
        pytest.param(lambda: process_pool(2), id="two processes"),
        pytest.param(lambda: ThreadPoolExecutor(2), id="two threads"),
    ],
)
def test_every_executor_gives_the_results_of_this_process_in_order(opened: Any) -> None:
    with opened() as pool:
        check_executor(pool)


def check_executor(pool: Executor) -> None:
    """Results through an executor are those without one, and so is the error of the first instance that has one."""
    instances = drawn(count(400))
    assert solve_many(instances, executor=pool) == solve_many(instances)
    verdicts = list(verify_many(instances[:10], POLICIES, load=load_policy))
    assert list(verify_many(instances[:10], POLICIES, load=load_policy, executor=pool)) == verdicts
    with pytest.raises(TooLarge, match=r"instances\[7\] \('giant'\): .*10,000,000"):
        solve_many([*instances[:7], too_large(), *instances[7:], too_large()], executor=pool)


def test_optima_are_those_of_the_readable_solver() -> None:
    instances = drawn(count(200), seed=2)
    for instance, optimum in zip(instances, solve_many(instances), strict=True):
        assert optimum.value == solve_plain(instance).value_at(initial_state(instance))
        assert optimum.value is not None
        assert Fraction(optimum.lower) <= optimum.value <= Fraction(optimum.upper)


@pytest.mark.parametrize("parallel", [False, True])
def test_progress_counts_every_instance_and_results_are_told_once(parallel: bool) -> None:
    instances = drawn(30)
    told: list[tuple[int, int]] = []
    places: list[int] = []
    with process_pool(2) if parallel else nullcontext(None) as pool:
        verdicts = verify_many(
            instances,
            ["age-only"],
            load=load_policy,
            executor=pool,
            on_progress=lambda *pair: told.append(pair),
            on_result=lambda i, _: places.append(i),
        )
        assert [v.rows[0].instance for v in verdicts] == instances
    assert told[-1] == (30, 30)
    assert told == sorted(told)
    assert sorted(places) == list(range(30))


@pytest.mark.parametrize("parallel", [False, True])
def test_the_error_is_that_of_the_first_instance_whoever_ends_first(parallel: bool) -> None:
    # the first batch takes longest, so a later error is known before it
    slow = drawn(count(1000), seed=3)
    instances = [*slow, too_large(), *drawn(3), too_large()]
    with process_pool(2) if parallel else nullcontext(None) as pool, pytest.raises(TooLarge) as caught:
        solve_many(instances, executor=pool)
    assert f"instances[{len(slow)}] ('giant')" in str(caught.value)


@pytest.mark.parametrize("parallel", [False, True])
def test_a_fault_of_a_policy_keeps_its_type_and_names_the_instance(parallel: bool) -> None:
    with process_pool(2) if parallel else nullcontext(None) as pool, pytest.raises(ZeroDivisionError) as caught:
        list(verify_many(drawn(3), {"mine": faulty}, executor=pool))
    assert caught.value.__notes__ == ["while working on instances[0] ('instance')"]


def test_a_policy_of_a_module_travels_and_one_that_cannot_is_named() -> None:
    instances = drawn(4)
    here = list(verify_many(instances, {"mine": first_request_first}))

    def local(view: View) -> Decision:
        return first_request_first(view)

    with process_pool(2) as pool:
        assert list(verify_many(instances, {"mine": first_request_first}, executor=pool)) == here
        with pytest.raises(PolicyError, match=r"policy 'mine' cannot be sent to other processes") as caught:
            verify_many(instances, {"mine": local}, executor=pool)
    assert "\n" not in str(caught.value)
    assert list(verify_many(instances, {"mine": local})) == here


def test_a_name_needs_what_loads_it() -> None:
    with pytest.raises(PolicyError, match="need load="):
        verify_many(drawn(1), ["age-only"])


def test_a_worker_that_dies_is_one_line() -> None:
    with process_pool(2) as pool, pytest.raises(Unsupported, match=r"a worker process ended .*instances\[0\]"):
        list(verify_many(drawn(2), {"deadly": Deadly()}, executor=pool))


class Deadly:
    """A policy that ends its process, as an operating system short of memory does."""

    def __reduce__(self) -> Any:
        return os._exit, (1,)


def test_batches_hold_everything_in_order_and_large_ones_stand_alone() -> None:
    rng = random.Random(4)
    for _ in range(count(200)):
        costs = [rng.choice([0, 1, 5, 300, BATCH_COST, 10**9]) for _ in range(rng.randrange(600))]
        cut = batches(costs)
        assert [i for places in cut for i in places] == list(range(len(costs)))
        for places in cut:
            assert len(places) <= max(1, min(BATCH_ITEMS, len(costs) // 16))
            assert len(places) == 1 or sum(costs[i] for i in places) <= BATCH_COST


def test_a_thousand_tiny_instances_are_a_few_messages() -> None:
    class Counting(Executor):
        messages = 0

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            self.messages += 1
            future: Future[Any] = Future()
            future.set_result(fn(*args, **kwargs))
            return future

    tiny = Instance(
        graphs=[Graph(name="d", duration_ms=1, decode_capacity=1)],
        requests=[Request(id="a", prompt=0, limit=2)],
        objective=Objective(decode_value=1, time_price="1/4"),
    )
    counting = Counting()
    # two tokens, one a graph of 1 ms at a quarter: 2 - 2/4
    assert {o.value for o in solve_many([tiny] * 1000, executor=counting)} == {Fraction(3, 2)}
    # 62 in a message, so that there are sixteen or more
    assert counting.messages == 17
