"""Known fair allocations: the cases handed to the project, whatever file of their format FAIRLANE_CASES names."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fairlane.reference.allocation import (
    Allocation,
    check_certificate,
    exact_certificate,
    fair_allocation,
    fair_allocation_graphs,
    support_gap,
)
from fairlane.reference.allocation.problem_file import AllocationProblem, allocation_problem_from_json
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.codec import parse_json

CASES_FILE = Path(os.environ.get("FAIRLANE_CASES", "../shared/cases")) / "allocation.json"
KNOWN_EXPECTATIONS = {
    "x",
    "time_shares",
    "utility",
    "rates_each",
    "shares_proportional_to",
    "relative_gap_at_most",
    "gap_against_both_graphs",
    "exact_gap",
}


def _cases() -> list[dict[str, Any]]:
    if not CASES_FILE.is_file():
        return []
    cases: list[dict[str, Any]] = json.loads(CASES_FILE.read_text())["cases"]
    return cases


CASES = _cases()


def _exact(values: Any) -> list[Fraction]:
    return [Fraction(str(value)) for value in values]


def _given(case: dict[str, Any], key: str) -> list[Fraction] | None:
    return _exact(case[key]) if key in case else None


def _problem(case: dict[str, Any]) -> AllocationProblem:
    return allocation_problem_from_json(parse_json(json.dumps(case["problem"]), case["name"]))


def _solve(case: dict[str, Any]) -> Allocation:
    if "rates" in case:
        found = fair_allocation(case["rates"], token_values=case.get("v"), fairness_weights=case.get("f"))
        certificate = exact_certificate(found)
        check_certificate(certificate, case["rates"], token_values=case.get("v"), fairness_weights=case.get("f"))
        return found
    problem = _problem(case)
    v, f = problem.token_values, problem.fairness_weights
    if problem.catalog is None:
        found = fair_allocation(problem.rates, token_values=v, fairness_weights=f)
        check_certificate(exact_certificate(found), problem.rates, token_values=v, fairness_weights=f)
        return found
    found = fair_allocation_graphs(problem.catalog, problem.requests, token_values=v, fairness_weights=f)
    check_certificate(exact_certificate(found), problem.catalog, problem.requests, token_values=v, fairness_weights=f)
    return found


def _gap_at(case: dict[str, Any], x: list[Fraction]) -> Any:
    if "rates" in case:
        return support_gap(
            [_exact(row) for row in case["rates"]],
            x,
            token_values=_given(case, "v"),
            fairness_weights=_given(case, "f"),
        )
    problem = _problem(case)
    return support_gap(
        problem.rates if problem.catalog is None else (problem.catalog, problem.requests),
        x,
        token_values=problem.token_values,
        fairness_weights=problem.fairness_weights,
    )


def _expected_rates(case: dict[str, Any]) -> list[Fraction]:
    expect = case["expect"]
    if "x" in expect:
        return _exact(expect["x"])
    if "rates_each" in expect:
        return [Fraction(str(expect["rates_each"]))] * len(case["problem"]["requests"])
    shares = _exact(expect["time_shares"] if "time_shares" in expect else expect["shares_proportional_to"])
    shares = [share / sum(shares) for share in shares] if "time_shares" not in expect else shares
    rows = case["rates"] if "rates" in case else _problem(case).rates
    columns = zip(*(_exact(row) for row in rows), strict=True)
    return [sum((s * y for s, y in zip(shares, column, strict=True)), Fraction(0)) for column in columns]


def _close(found: npt.NDArray[np.float64], expected: list[Fraction]) -> None:
    np.testing.assert_allclose(found, [float(value) for value in expected], rtol=1e-6)


def _wider(case: dict[str, Any]) -> dict[str, Any]:
    """The case of the same requests whose graphs include this one's and more."""
    own = case["problem"]["graphs"]
    return next(
        other
        for other in CASES
        if "problem" in other
        and other["problem"].get("requests") == case["problem"]["requests"]
        and len(other["problem"].get("graphs", ())) > len(own)
        and all(graph in other["problem"]["graphs"] for graph in own)
    )


@pytest.mark.skipif(not CASES, reason=f"{CASES_FILE} is not here; FAIRLANE_CASES names its folder")
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_case_has_its_known_answer(case: dict[str, Any]) -> None:
    if "error_names" in case:
        with pytest.raises(InvalidInstance) as refusal:
            _solve(case)
        assert str(case["error_names"]) in str(refusal.value)
        assert "\n" not in str(refusal.value)
        return
    expect = case["expect"]
    assert set(expect) <= KNOWN_EXPECTATIONS, f"this test does not know {set(expect) - KNOWN_EXPECTATIONS}"
    found = _solve(case)
    assert found.relative_gap <= 1e-9
    if "x" in expect:
        _close(found.rates, _exact(expect["x"]))
    if "rates_each" in expect:
        _close(found.rates, _expected_rates(case))
    if "time_shares" in expect:
        _close(found.time_shares, _exact(expect["time_shares"]))
    if "shares_proportional_to" in expect:
        wanted = _exact(expect["shares_proportional_to"])
        _close(found.time_shares, [value / sum(wanted) for value in wanted])
    if "utility" in expect:
        # the file gives twelve decimals
        assert found.utility == pytest.approx(float(expect["utility"]), rel=1e-9, abs=6e-13)
    if "relative_gap_at_most" in expect:
        assert found.relative_gap <= float(expect["relative_gap_at_most"])
    if "exact_gap" in expect:
        assert _gap_at(case, _expected_rates(case)) == Fraction(str(expect["exact_gap"]))
    if "gap_against_both_graphs" in expect:
        gap = _gap_at(_wider(case), _expected_rates(case))
        assert gap == Fraction(str(expect["gap_against_both_graphs"]))
