"""The certificates: known gaps, exactness, and corrupted certificates that must be refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fairlane.reference.allocation import (
    AllocationCertificate,
    check_certificate,
    exact_certificate,
    fair_allocation,
    fair_allocation_graphs,
    support_gap,
    supporting_direction,
)
from fairlane.reference.errors import CertificateRejected, InvalidInstance
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request

D4 = Graph(name="d4", duration_ms=21, decode_capacity=4)
D5 = Graph(name="d5", duration_ms=29, decode_capacity=5)
STREAMS = tuple(Request(id=f"s{i}", prompt=0, limit=1) for i in range(5))
# [[1, 2, 1], [2, 1, 3]] with f = (1, 3, 1) has the irrational share 6/5 - sqrt(34)/10
IRRATIONAL = [[1, 2, 1], [2, 1, 3]]


def test_five_rows_of_29_ms_lose_eleven_twentyfirsts_to_four_of_21() -> None:
    # q = 29 each; the best four rows are worth 4 * 29 / 21 = 116/21 against <q, x> = 5 = 105/21
    x = [Fraction(1, 29)] * 5
    assert support_gap((Catalog([D4, D5]), STREAMS), x) == Fraction(11, 21)
    assert support_gap(Catalog([D4, D5]), x, requests=STREAMS) == Fraction(11, 21)
    assert support_gap((Catalog([D5]), STREAMS), x) == 0


def test_the_rotating_cohorts_of_four_have_no_gap() -> None:
    assert support_gap((Catalog([D4, D5]), STREAMS), [Fraction(4, 105)] * 5) == 0


def test_explicit_cohorts_give_the_same_gap_as_graphs() -> None:
    cohorts = [[Fraction(0) if i == j else Fraction(1, 21) for i in range(5)] for j in range(5)]
    assert support_gap([*cohorts, [Fraction(1, 29)] * 5], [Fraction(1, 29)] * 5) == Fraction(11, 21)


def test_a_float_among_the_numbers_gives_a_float() -> None:
    exact = support_gap([[2, 0], [0, 5]], [Fraction(1, 2), 1])
    assert exact == 3  # q = (2, 1): the actions are worth 4 and 5, and <q, x> = 2
    rough = support_gap([[2.0, 0], [0, 5]], [0.5, 1.0])
    assert isinstance(rough, float)
    assert rough == pytest.approx(float(exact))


def test_values_and_weights_enter_the_gradient() -> None:
    # v = (1, 0), f = (2, 3), x = (2, 3): q = (1 + 2/2, 3/3) = (2, 1)
    best = supporting_direction([[4, 1], [1, 6]], [2, 3], token_values=[1, 0], fairness_weights=[2, 3])
    assert best.prices == (2, 1)
    assert (best.action, best.value) == (0, 9)  # 2*4 + 1 = 9 against 2 + 6 = 8
    gap = support_gap([[4, 1], [1, 6]], [2, 3], token_values=[1, 0], fairness_weights=[2, 3])
    assert gap == 9 - (2 * 2 + 3)


def test_the_best_action_of_a_mixed_graph_takes_its_dearest_prompt_and_its_best_rows() -> None:
    mixed = Graph(name="m", duration_ms=2, prefill_capacity=6, prefill_lanes=2, decode_capacity=1)
    requests = (
        Request(id="p", prompt=50, limit=1),
        Request(id="q", prompt=50, limit=1),
        Request(id="d", prompt=0, limit=1),
        Request(id="e", prompt=0, limit=1),
    )
    # q = 1/x = (1, 2, 4, 3): prompt q at 6/2 * 2 = 6, row d at 1/2 * 4 = 2
    best = supporting_direction((Catalog([mixed]), requests), [1, "1/2", "1/4", "1/3"])
    assert best.requests == (1, 2)
    assert best.value == 8
    rough = supporting_direction((Catalog([mixed]), requests), [1.0, 0.5, 0.25, 1 / 3])
    assert rough.requests == (1, 2)
    assert rough.value == pytest.approx(8)


def test_an_irrational_optimum_has_a_rational_certificate() -> None:
    found = fair_allocation(IRRATIONAL, fairness_weights=[1, 3, 1])
    checked = check_certificate(exact_certificate(found), IRRATIONAL, fairness_weights=[1, 3, 1], tolerance="1e-12")
    assert 0 < checked.gap < Fraction(1, 10**12)
    assert float(found.time_shares[0]) == pytest.approx(1.2 - 34**0.5 / 10, abs=1e-12)


def test_the_checked_gap_bounds_the_true_loss_of_a_bad_allocation() -> None:
    # one resource, f = (1, 1): the optimum halves the time; a quarter loses log(1/4) + log(3/4) - 2 log(1/2) in utility
    found = fair_allocation([[1, 0], [0, 1]])
    bad = replace(exact_certificate(found), time_shares=(Fraction(1, 4), Fraction(3, 4)))
    checked = check_certificate(bad, [[1, 0], [0, 1]], tolerance=1)
    true_loss = 2 * np.log(0.5) - np.log(0.25) - np.log(0.75)
    assert float(checked.gap) >= true_loss
    # the dual value at the optimum's prices u = 2: t = (1/2, 3/2), so the bound is (1/2)^2/(1/2) + (1/2)^2/(3/2) = 2/3
    assert checked.gap == Fraction(2, 3)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog([D4, Graph(name="mix", duration_ms=7, decode_capacity=1, prefill_capacity=8, width=2)])


@pytest.fixture(scope="module")
def requests() -> tuple[Request, ...]:
    rows = [Request(id=f"d{i}", prompt=0, limit=1, acceptance=[f"0.{i + 3}"]) for i in range(6)]
    return (*rows, Request(id="p", prompt=99, limit=1), Request(id="q", prompt=99, limit=1))


def test_a_sound_graph_certificate_is_accepted(catalog: Catalog, requests: tuple[Request, ...]) -> None:
    found = fair_allocation_graphs(catalog, requests)
    checked = check_certificate(exact_certificate(found), catalog, requests)
    np.testing.assert_allclose([float(x) for x in checked.rates], found.rates, rtol=1e-12)


@pytest.mark.parametrize(
    "corruption",
    [
        "share-sum",
        "negative-share",
        "too-many-rows",
        "row-above-graph",
        "twice",
        "no-rate",
        "prompts",
        "bad-price",
        "shape",
    ],
)
def test_a_corrupted_certificate_is_refused(corruption: str, catalog: Catalog, requests: tuple[Request, ...]) -> None:
    sound = exact_certificate(fair_allocation_graphs(catalog, requests))
    shares, held, prices = list(sound.time_shares), list(sound.row_shares or ()), list(sound.log_prices)
    if corruption == "share-sum":
        shares[0] += Fraction(1, 10**20)
    elif corruption == "negative-share":
        shares = [1 - shares[0] + 1, shares[0] - 1]
    elif corruption == "too-many-rows":
        held = [(g, i, shares[g] if i < 6 else s) for g, i, s in held]
    elif corruption == "row-above-graph":
        g, i, _ = held[0]
        held[0] = (g, i, shares[g] + Fraction(1, 10**20))
    elif corruption == "twice":
        held.append(held[0])
    elif corruption == "no-rate":
        held = [row for row in held if row[1] != 3]
    elif corruption == "prompts":
        held = [(g, i, shares[g] if i >= 6 else s) for g, i, s in held]
    elif corruption == "bad-price":
        prices[2] = Fraction(0)
    elif corruption == "shape":
        shares = [*shares, Fraction(0)]
    corrupted = replace(sound, time_shares=tuple(shares), row_shares=tuple(held), log_prices=tuple(prices))
    assert corrupted != sound
    with pytest.raises(CertificateRejected):
        check_certificate(corrupted, catalog, requests)


def _mutations(sound: AllocationCertificate) -> Iterator[tuple[str, AllocationCertificate]]:
    """Every number of a certificate changed by itself, by a hundredth up and down, to 0, and to no rational at all."""
    for name in ("time_shares", "log_prices"):
        numbers: tuple[Fraction, ...] = getattr(sound, name)
        for i, number in enumerate(numbers):
            step = number / 100 or Fraction(1, 100)
            for new in (number + step, number - step, -number - 1, float(number), float("nan"), "1", None):
                changed: Any = {name: (*numbers[:i], new, *numbers[i + 1 :])}
                yield f"{name}[{i}] {new}", replace(sound, **changed)
    held = sound.row_shares or ()
    for k, (g, i, share) in enumerate(held):
        for row in (
            (g, i, share * Fraction(101, 100)), (g, i, share * Fraction(99, 100)), (g, i, Fraction(0)), (g, i, -share),
            (g, i, float(share)), (g, i, float("nan")), (g + 1, i, share), (g, i + 1, share), (-1, i, share),
            (g, -1, share), (float(g), i, share), (g, i), None,
        ):  # fmt: skip
            rows: Any = (*held[:k], row, *held[k + 1 :])
            yield f"row_shares[{k}] {row}", replace(sound, row_shares=rows)


@pytest.mark.parametrize("form", ["graphs", "actions"])
def test_every_single_number_of_a_certificate_matters(
    form: str, catalog: Catalog, requests: tuple[Request, ...]
) -> None:
    problem: tuple[Any, ...] = (catalog, requests) if form == "graphs" else (IRRATIONAL,)
    found = fair_allocation_graphs(catalog, requests) if form == "graphs" else fair_allocation(IRRATIONAL)
    sound = exact_certificate(found)
    if sound.row_shares is not None:
        # what an interior point leaves of a share of 0 carries nothing, and a hundredth of it even less
        sound = replace(sound, row_shares=tuple(row for row in sound.row_shares if row[2] > Fraction(1, 10**12)))
    check_certificate(sound, *problem)
    n_mutations = 0
    for what, corrupted in _mutations(sound):
        n_mutations += 1
        try:
            check_certificate(corrupted, *problem)
        except CertificateRejected:
            continue
        pytest.fail(f"accepted with {what}")
    assert n_mutations >= (100 if form == "graphs" else 30)


@pytest.mark.parametrize("broken", [None, "certificate"])
def test_what_is_no_certificate_is_refused(broken: object) -> None:
    with pytest.raises(CertificateRejected, match="need an AllocationCertificate"):
        check_certificate(broken, IRRATIONAL)  # type: ignore[arg-type]  # wrong on purpose


def test_prices_of_another_problem_prove_too_little(catalog: Catalog, requests: tuple[Request, ...]) -> None:
    found = fair_allocation_graphs(catalog, requests)
    other = fair_allocation_graphs(catalog, requests, fairness_weights=[1, 2, 3, 4, 5, 6, 7, 8])
    mixed = replace(exact_certificate(other), log_prices=exact_certificate(found).log_prices)
    with pytest.raises(CertificateRejected, match="relative gap"):
        check_certificate(mixed, catalog, requests)


@pytest.mark.parametrize(
    ("x", "message"),
    [([1, 0], r"x\[1\] is 0; need > 0"), ([1], "x has 1 numbers; need 2"), ([1, float("nan")], r"x\[1\]")],
)
def test_support_gap_refuses_rates_outside_their_domain(x: list[float], message: str) -> None:
    with pytest.raises(InvalidInstance, match=message):
        support_gap([[1, 0], [0, 1]], x)
