"""The laws that every backend satisfies, whatever it is; a new backend is held to all of them by being registered.

Expected values are those of the plain solver on the model's own step, and what the independent checker says.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from fairlane.oracle.backend import Backend, CertificateForm, Table
from fairlane.oracle.certificate import certificate, confirm
from fairlane.oracle.cost_table import certify_costs
from fairlane.oracle.policy_value.evaluate import evaluate
from fairlane.oracle.problem import Problem
from fairlane.oracle.rational.plain import PlainSolution, Sense, solve_plain
from fairlane.oracle.solve import Solution, solve
from fairlane.reference.checker.certificate_check import Checked, check_certificate
from fairlane.reference.checker.cost_check import check_costs
from fairlane.reference.errors import CertificateRejected, TooLarge, Unsupported
from fairlane.reference.exact import show
from fairlane.reference.model.codec import parse_json
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import FINISHED, actions, initial_state
from tests.random_instances import random_instance

# states of an instance of the battery at most, so that the plain solver stays quick
MOST_STATES = 250


@dataclass(frozen=True, kw_only=True)
class Case:
    """An instance with its readable solution and what the backend says."""

    instance: Instance
    sense: Sense
    plain: PlainSolution
    solution: Solution


@cache
def readable(instance: Instance, sense: Sense) -> PlainSolution:
    """The readable solution, found once for all backends."""
    return solve_plain(instance, sense=sense, max_states=MOST_STATES)


def instances(n: int) -> list[Instance]:
    """Random instances: with and without an age price, coupled prompts, requests several times."""
    out: list[Instance] = []
    seed = 0
    while len(out) < n:
        rng = random.Random(seed)
        drawn = random_instance(rng, age=seed % 3 == 0, most_requests=2)
        # one of each, several of one kind, or several beside one of another kind
        copies = ((1, 1), (4, 0), (3, 1), (3, 0))[seed % 4]
        requests = [_copy(r, f"{r.id}-{k}") for r, n in zip(drawn.requests, copies, strict=False) for k in range(n)]
        instance = Instance(
            name=f"seed-{seed}", graphs=drawn.graphs, requests=requests, objective=_priced(drawn.objective, rng)
        )
        seed += 1
        try:
            readable(instance, Sense.MAX)
        except TooLarge:
            continue
        out.append(instance)
    return out + [_two_kinds(random.Random(seed)) for seed in range(4)]


def _two_kinds(rng: random.Random) -> Instance:
    """Three equal streams beside another request, which chance draws too seldom."""
    drawn = [Fraction(rng.randint(1, 4), 5) for _ in range(2)]
    return Instance(
        graphs=[
            Graph(name="p", duration_ms=Fraction(rng.randint(1, 5), 2), prefill_capacity=2),
            Graph(name="d", duration_ms=rng.randint(1, 4), decode_capacity=rng.randint(1, 3), width=2),
        ],
        requests=[
            *(Request(id=f"a{k}", prompt=0, limit=3, acceptance=drawn[:1]) for k in range(3)),
            Request(id="b", prompt=rng.randint(0, 2), limit=1, acceptance=drawn[1:], weight=2),
        ],
        objective=Objective(decode_value=2, time_price=1, completion_price=Fraction(1, 3)),
    )


def _copy(request: Request, name: str) -> Request:
    return Request(
        id=name,
        prompt=request.prompt,
        generated=request.generated,
        limit=request.limit,
        length_prior=request.length_prior,
        acceptance=request.acceptance,
        weight=request.weight,
    )


def _priced(prices: Objective, rng: random.Random) -> Objective:
    # a price of time, so that costs are no zeros that every corruption leaves a solution
    return replace(prices, time_price=prices.time_price or Fraction(rng.randint(1, 3)))


def cases_of(backend: Backend, found: Iterable[Instance]) -> list[Case]:
    """What the backend says of the instances that it takes, both senses; none where it takes none."""
    out = []
    for instance in found:
        for sense in Sense:
            try:
                solution = solve(instance, sense=sense, backends=(backend,))
            except Unsupported as error:
                is_one_line(error)
                continue
            out.append(Case(instance=instance, sense=sense, plain=readable(instance, sense), solution=solution))
    return out


def is_one_line(error: Exception) -> None:
    assert str(error)
    assert "\n" not in str(error)


def bounds_enclose_the_readable_value(backend: Backend, case: Case) -> None:
    found, value = case.solution, case.plain.value
    assert found.lower <= value <= found.upper
    if found.value is not None:
        assert found.value == value
    if backend.rounding:
        # some thousand roundings of numbers within the size of what is earned and paid
        size = 1 + abs(value) + sum(abs(v) for v in case.plain.values.values())
        assert Fraction(found.upper) - Fraction(found.lower) <= 2**14 * backend.rounding * size
    else:
        assert found.value is not None


def states_are_those_that_actions_reach(backend: Backend, case: Case) -> None:
    found = case.solution
    reached = found.reachable_states()
    assert found.states == len(reached) == case.plain.states
    assert set(reached) == set(case.plain.values)
    assert reached[0] == initial_state(case.instance)
    assert found.canonical_states is None or 0 < found.canonical_states <= found.states


def every_state_has_its_value(backend: Backend, case: Case) -> None:
    for state, value in case.plain.values.items():
        lower, upper = case.solution.bounds_at(state)
        assert lower <= value <= upper
        assert case.solution.value_at(state) == value
    final = (FINISHED,) * len(case.instance.requests)
    assert case.solution.value_at(final) == 0
    lower, upper = case.solution.bounds_at(final)
    assert lower <= 0 <= upper


def best_actions_attain_the_value(backend: Backend, case: Case) -> None:
    for state in list(case.plain.values)[-12:]:
        valued = case.solution.action_values(state)
        assert [action for action, _ in valued] == list(actions(case.instance, state))
        value = case.solution.value_at(state)
        assert value == (max if case.sense is Sense.MAX else min)(q for _, q in valued)
        assert case.solution.optimal_actions(state) == tuple(action for action, q in valued if q == value)


def the_policy_earns_the_optimum(backend: Backend, case: Case) -> None:
    if case.sense is Sense.MAX:
        measured = evaluate(case.instance, case.solution.policy, solution=case.solution)
        assert measured.value == measured.optimum == case.plain.value
        assert measured.losses == ()


def its_certificate_is_accepted_and_a_corrupted_one_rejected(backend: Backend, case: Case) -> None:
    found = case.solution
    assert found.certificate is found.table.certificate is backend.certificate
    confirm(found)
    if backend.certificate is CertificateForm.COSTS:
        _corrupted_costs(case)
    elif backend.certificate is CertificateForm.VALUES:
        _corrupted_values(case)
    else:
        refused(found.cost_table, Unsupported)


def _corrupted_costs(case: Case) -> None:
    good = case.solution.cost_table()
    proved = check_costs(good, case.instance)
    assert proved.lower <= case.plain.value <= proved.upper
    place = int(np.argmax(good.costs))
    if good.costs[place] > 0:
        wrong = good.costs.copy()
        wrong[place] *= 1.001
        refused(lambda: check_costs(replace(good, costs=wrong), case.instance), CertificateRejected)
    refused(
        lambda: certify_costs(case.instance, replace(case.solution, value=case.plain.value + 1)), CertificateRejected
    )


def _corrupted_values(case: Case) -> None:
    document: Any = certificate(case.instance, case.solution, sense=case.sense)
    assert checked(document, case.instance).states == case.plain.states
    row = document["states"][len(document["states"]) // 2]
    row["value"] = show(Fraction(row["value"]) + Fraction(1, 10**6))
    refused(lambda: checked(document, case.instance), CertificateRejected)


def checked(document: object, instance: Instance) -> Checked:
    """What the checker says of a certificate as it is read from a file."""
    return check_certificate(parse_json(json.dumps(document), "certificate"), instance)


def refused(call: Callable[[], object], kind: type[Exception]) -> str:
    """The one line in which a call is refused."""
    try:
        call()
    except kind as error:
        is_one_line(error)
        return str(error)
    raise AssertionError(f"expected {kind.__name__}")


def too_small_limits_are_refused_by_number(backend: Backend, case: Case) -> None:
    problem = Problem(instance=case.instance, sense=case.sense)
    assert backend.accepts(problem) is None
    assert backend.most_states(problem) >= 1
    assert 0 < backend.bytes_needed(problem) <= problem.max_bytes
    if case.plain.states < 2:
        return
    for max_states, max_bytes in ((1, problem.max_bytes), (None, 1)):
        text = refused(partial(solve_within, backend, case, max_states, max_bytes), TooLarge)
        assert any(letter.isdigit() for letter in text)
        assert "limit is" in text or "takes at most" in text
        assert "make it fit" in text


def solve_within(backend: Backend, case: Case, max_states: int | None, max_bytes: int) -> Solution:
    return solve(case.instance, sense=case.sense, max_states=max_states, max_bytes=max_bytes, backends=(backend,))


def bounds_alone_are_the_same_for_any_number_of_threads(backend: Backend, case: Case) -> None:
    one, two = (solve(case.instance, sense=case.sense, exact=False, threads=n, backends=(backend,)) for n in (1, 2))
    assert (one.lower, one.upper, one.value) == (two.lower, two.upper, two.value)
    assert (one.value is None) == bool(backend.rounding)
    assert one.lower <= case.plain.value <= one.upper


LAWS = (
    bounds_enclose_the_readable_value,
    states_are_those_that_actions_reach,
    every_state_has_its_value,
    best_actions_attain_the_value,
    the_policy_earns_the_optimum,
    its_certificate_is_accepted_and_a_corrupted_one_rejected,
    too_small_limits_are_refused_by_number,
    bounds_alone_are_the_same_for_any_number_of_threads,
)


def check(backend: Backend, found: Iterable[Instance]) -> int:
    """Hold a backend to every law on the instances that it takes; how many it took."""
    cases = cases_of(backend, found)
    for case in cases:
        for law in LAWS:
            law(backend, case)
    return len(cases)


__all__ = ["LAWS", "Case", "Table", "cases_of", "check", "instances"]
