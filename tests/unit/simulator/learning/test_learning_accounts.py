"""Accounts of exploration and delay against vectors that were worked out apart from this code."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fairlane.simulator.learning.credit import ExplorationCredit
from fairlane.simulator.learning.policies.softmax import chances
from fairlane.simulator.learning.service_delay import (
    DelayBalances,
    Lane,
    PhaseBalance,
    delay_of,
    lane_delays,
    row_choices,
)
from fairlane.simulator.learning.situation import loss_ms
from tests.cases import vectors

FILE = "timing_vectors.json"


def lanes(services: dict[str, list[Any]]) -> list[Lane]:
    return [
        Lane(ord(name[0]) * 1000 + int(name[1:] or 0), 0 if service[0] == "d" else service[1])
        for name, service in services.items()
    ]


@pytest.mark.parametrize("case", vectors(FILE, "credit"))
def test_credit_after_every_operation(case: dict[str, Any]) -> None:
    credit = ExplorationCredit(rate=case["alpha"] / (1 - case["alpha"]), cap_ms=case["cap"])
    for step in case["trace"]:
        kind, *rest = step["op"]
        if kind == "o" and (len(rest) < 2 or rest[1]):
            credit.earn(rest[0])
        elif kind == "p":
            credit.spend(rest[0])
        elif kind == "idle":
            credit.idle()
        assert credit.balance_ms == pytest.approx(step["credit"], rel=1e-9, abs=1e-12)
        assert credit.full == step["ready"]
        assert (credit.spent_ms, credit.foreground_ms, credit.latest_ms) == pytest.approx(
            (step["E"], step["F"], step["D"]), rel=1e-9
        )
        assert credit.holds == step["invariant"]


def test_credit_bound_is_refused_when_a_probe_starts_without_credit() -> None:
    """Two probes of 5 ms after no service: E = 10 > 0 + D = 5."""
    credit = ExplorationCredit(rate=0.02 / 0.98, cap_ms=5.0)
    credit.spend(5.0)
    assert credit.holds
    credit.spend(5.0)
    assert not credit.holds


@pytest.mark.parametrize("case", vectors(FILE, "softmax"))
def test_softmax_chances(case: dict[str, Any]) -> None:
    found = chances(case["Q"], case["temperature"], case["opportunities"])
    assert found == pytest.approx(case["p"], rel=1e-9)
    assert chances([3 * q - 7 for q in case["Q"]], case["temperature"], case["opportunities"]) == pytest.approx(
        found, rel=1e-9
    )


@pytest.mark.parametrize("case", vectors(FILE, "loss_ms"))
def test_loss_in_incumbent_time(case: dict[str, Any]) -> None:
    found = loss_ms(
        incumbent_score=case["incumbent_score"],
        mean_score=case["challenger_mean_score"],
        mean_ms=case["challenger_mean_ms"],
        incumbent_gross_per_ms=case["incumbent_gross_rate"],
    )
    assert found == pytest.approx(case["expect"], rel=1e-9)


def test_loss_of_equal_work_is_the_longer_duration() -> None:
    """Four rows in 20 or 25 ms, no prices: (4/20 - 4/25) * 25 / (4/20) = 5 = 25 - 20."""
    assert loss_ms(incumbent_score=4 / 20, mean_score=4 / 25, mean_ms=25, incumbent_gross_per_ms=4 / 20) == (
        pytest.approx(5.0, rel=1e-12)
    )


@pytest.mark.parametrize("case", vectors(FILE, "probe_harm"))
def test_delay_of_a_probe(case: dict[str, Any]) -> None:
    incumbent, probe = lanes(case["incumbent"]), lanes(case["probe"])
    times = {"incumbent_ms": case["d_incumbent"], "probe_ms": case["d_probe"]}
    by_lane = lane_delays(incumbent, probe, **times)
    assert list(by_lane.values()) == pytest.approx(list(case["per_lane"].values()))
    found = delay_of(incumbent, probe, **times)
    assert (found.prefill, found.decode, found.total) == pytest.approx(
        (case["prefill_sum"], case["decode_sum"], case["total"])
    )


@pytest.mark.parametrize("case", vectors(FILE, "cohort_search"))
def test_count_search_finds_what_brute_force_finds(case: dict[str, Any]) -> None:
    values, theirs = case["values"], set(case["incumbent"])
    ranked = sorted(values, key=lambda name: -values[name])
    incumbent = lanes({name: ["d"] for name in case["incumbent"]})
    found = []
    for cohort in row_choices(ranked, is_theirs=theirs.__contains__, capacity=case["capacity"]):
        delay = delay_of(
            incumbent,
            lanes({name: ["d"] for name in cohort}),
            incumbent_ms=case["d_incumbent"],
            probe_ms=case["d_probe"],
        )
        found.append((delay.total, sum(values[name] for name in cohort), sorted(cohort)))
    if case["mode"] == "harm":
        best = min(found, key=lambda row: (row[0], -row[1]))
    else:
        limit = math.inf if case["limit"] is None else case["limit"]
        best = max((row for row in found if row[0] <= limit), key=lambda row: row[1], default=(0.0, 0.0, []))
    expected = case["brute_force"]
    if expected is None:
        assert best[2] == []
    else:
        assert best[2] == sorted(expected["cohort"])
        assert best[:2] == pytest.approx((expected["harm"], expected["value"]))


@pytest.mark.parametrize("case", vectors(FILE, "harm_balances"))
def test_delay_balances_after_every_operation(case: dict[str, Any]) -> None:
    balances = DelayBalances.at(case["harm_alpha"])
    for step in case["trace"]:
        if step["op"][0] == "ordinary":
            _, elapsed_ms, n_prefill, n_decode = step["op"]
            balances.earn(elapsed_ms, prefill_lanes=n_prefill, decode_lanes=n_decode)
        else:
            _, incumbent, committed, frozen_ms, actual_ms = step["op"]
            frozen = lanes(incumbent)
            actual = delay_of(frozen, lanes(committed), incumbent_ms=frozen_ms, probe_ms=actual_ms)
            balances.charge(frozen, actual)
        for name in ("prefill", "decode"):
            phase: PhaseBalance = getattr(balances, name)
            assert (phase.balance, phase.earned, phase.charged, phase.latest) == pytest.approx(
                tuple(step[key][name] for key in ("balance", "earned", "charged", "last")), rel=1e-9, abs=1e-12
            )
            assert phase.holds == step["bound_ok"][name]


def test_idle_takes_credit_and_leaves_debt() -> None:
    credit = ExplorationCredit(rate=1.0, cap_ms=5.0)
    credit.earn(3.0)
    credit.idle()
    assert credit.balance_ms == 0.0
    credit.spend(2.0)
    credit.idle()
    assert credit.balance_ms == -2.0
    balances = DelayBalances.at(0.5)
    balances.earn(0.5, prefill_lanes=1, decode_lanes=0)
    balances.charge([Lane(0, 0)], delay_of([Lane(0, 0)], [], incumbent_ms=1.0, probe_ms=4.0))
    balances.idle()
    assert (balances.prefill.balance, balances.decode.balance) == (0.0, -4.0)
