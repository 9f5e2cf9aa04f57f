"""Distances of `ongoing` where both ends are known by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from fairlane.oracle.average.long_run import long_run, policy_rate
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.simulator.closed_system import simulate_closed
from fairlane.simulator.experiments import OngoingDistance, RateEstimate, closed_systems, ongoing_distance
from fairlane.simulator.experiments.documents import continuation_failure
from fairlane.simulator.experiments.ongoing_distance import half_width, without_fairness

SYSTEMS = {system.name: system for system in closed_systems()}


def one_stream(age_price: str = "0", acceptance: tuple[str, ...] = (), width: int = 1, limit: int = 3) -> Instance:
    return Instance(
        name="one stream",
        graphs=[Graph(name="d1", duration_ms=4, decode_capacity=1, width=width)],
        requests=[Request(id="a", prompt=0, limit=limit, acceptance=acceptance)],
        objective=Objective(decode_value=2, age_price=age_price),
        age_cap_ms=None if age_price == "0" else 10,
    )


def test_one_stream_leaves_nothing_to_lose() -> None:
    (found,) = ongoing_distance([one_stream()], horizon_ms=400)
    # a token of value 2 every 4 ms, whoever decides
    assert found.optimum == found.without_fairness == Fraction(1, 2)
    assert found.ongoing.mean == 0.5
    assert (found.ongoing.half_width, found.ongoing.n_samples) == (0.0, 1)
    assert found.shortfall == found.shortfall_without_fairness == 0
    # F = v x + log x at x = 1/4
    expected = 2 / 4 + math.log(1 / 4)
    assert found.utility == pytest.approx(expected, abs=1e-12)
    assert found.fair_utility == pytest.approx(expected, abs=1e-9)


def test_one_stream_with_an_age_price_by_hand() -> None:
    (found,) = ongoing_distance([one_stream("1/10")], horizon_ms=400)
    # each 4 ms cost 1/10 · 4²/2 = 4/5 of the token's 2
    assert found.optimum == found.without_fairness == (2 - Fraction(4, 5)) / 4
    assert found.ongoing.mean == pytest.approx(0.3, abs=1e-12)


def test_a_system_with_chance_is_run_once_a_seed() -> None:
    (found,) = ongoing_distance([one_stream(acceptance=("1/2",), width=2, limit=2)], n_seeds=3, horizon_ms=4000, seed=7)
    # a request ends with 1 + 1/2 tokens of its 2 in the first graph: 2 graphs with chance 1/2, else 1; 2 tokens in
    # 4 · 3/2 ms on average
    assert found.optimum == Fraction(2 * 2) / 6
    assert (found.ongoing.n_samples, found.ongoing.seed) == (3, 7)
    assert found.ongoing.half_width > 0
    assert "Student" in found.ongoing.method
    # a renewal's mean over 1000 graphs errs by about 1 %; five of its deviations over three runs
    assert found.ongoing.mean == pytest.approx(2 / 3, rel=0.05)


def test_half_width_by_the_printed_table_of_student() -> None:
    # two values 2 apart: s = √2, t(1 degree, 97.5 %) = 12.706
    assert half_width([1.0, 3.0]) == pytest.approx(12.706, abs=5e-4)
    # eight values, four of 0 and four of 2: s = √(8/7), t(7) = 2.365
    assert half_width([0.0, 2.0] * 4) == pytest.approx(2.365 * math.sqrt(8 / 7 / 8), abs=2e-4)


def cycle(prompts: int, weight: int) -> Fraction:
    """So many prompts (8 tokens and an output of 2, 4 ms) and a delivery of 2 in 3 ms, age price 1/10."""
    span = Fraction(4 * prompts + 3)
    return (10 * weight * prompts + 2 - span**2 / 20) / span


@pytest.mark.parametrize(("name", "weight"), [("aged-prompts-between", 1), ("aged-dear-prompts", 2)])
def test_prompts_between_deliveries_by_hand(name: str, weight: int) -> None:
    system = SYSTEMS[name]
    best = max(cycle(k, weight) for k in range(20))
    assert long_run(system).rate == best
    # the continuation value waits for a multiple of that, so its rate is that of a longer cycle
    rate = policy_rate(system, without_fairness(system)).rate
    assert rate in {cycle(k, weight) for k in range(4, 20)}
    assert rate < best


@pytest.mark.parametrize(
    "name", ["aged-early-leaver", "aged-unequal-weights", "aged-prompts-between", "aged-dear-prompts"]
)
def test_the_cap_on_ages_decides_nothing(name: str) -> None:
    system = SYSTEMS[name]
    assert system.age_cap_ms is not None
    wider = replace(system, age_cap_ms=system.age_cap_ms * 3 / 2)
    assert long_run(wider, exact=False).upper == pytest.approx(float(long_run(system, exact=False).upper), abs=1e-9)
    assert policy_rate(wider, without_fairness(wider)).rate == policy_rate(system, without_fairness(system)).rate


@pytest.mark.parametrize("name", ["batch-of-four-or-five", "aged-unequal-weights", "aged-dear-prompts"])
def test_the_exact_rate_without_fairness_is_what_simulation_tends_to(name: str) -> None:
    system = SYSTEMS[name]
    exact = float(policy_rate(system, without_fairness(system)).rate)
    errors = [
        abs(simulate_closed(system, without_fairness(system), horizon_ms=h).reward_per_ms - exact) for h in (500, 5000)
    ]
    # nothing is drawn: the error is that of the ends, at most one cycle. The longest is 43 ms and earns some 110.
    assert errors[0] <= 110 / 500
    assert errors[1] <= 110 / 5000


def distance(name: str, rate: str, *, age_price: str = "1", best: str = "1") -> OngoingDistance:
    estimate = RateEstimate(mean=1.0, half_width=0.0, confidence=0.95, n_samples=1, seed=0, method="none")
    return OngoingDistance(
        system=name,
        states=1,
        optimum=Fraction(best),
        lower=Fraction(best),
        upper=Fraction(best),
        ongoing=estimate,
        without_fairness=Fraction(rate),
        age_price=Fraction(age_price),
        utility=None,
        fair_utility=None,
        fair_gap=None,
    )


def test_the_continuation_fails_on_the_largest_relative_loss_among_aged_systems() -> None:
    # losses 1/2, 1/4 of size 1, 1 of size 4 = 1/4, and one of 1 that has no age price
    rows = [
        distance("quarter", "3/4"),
        distance("half", "1/2"),
        distance("large", "3", best="4"),
        distance("no age", "0", age_price="0"),
    ]
    found = continuation_failure(rows)
    assert found is not None
    assert found.system == "half"
    # below 0 the size counts: −3 instead of −2 is a loss of a half of it
    assert rows[1].shortfall_without_fairness == distance("x", "-3", best="-2").shortfall_without_fairness


def test_no_failure_without_a_loss() -> None:
    assert continuation_failure([distance("none", "1"), distance("no age", "0", age_price="0")]) is None


def test_one_seed_has_no_half_width() -> None:
    with pytest.raises(InvalidInstance, match="n_seeds is 1; need >= 2"):
        ongoing_distance([one_stream()], n_seeds=1)
