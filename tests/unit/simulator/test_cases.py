"""The grid of a study: its order, its labels, and what is said where a part is left out."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlane.policies import load_policy
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request
from fairlane.simulator import cases
from fairlane.simulator.cases import Case, measure_cases, workload_cases
from fairlane.simulator.workloads import workload_names

GRAPHS = Catalog([Graph(name="d", duration_ms=2, decode_capacity=1)])


def case(label: str, n: int) -> Case:
    return Case(label=label, requests=tuple(Request(id=f"r{k}", prompt=0, limit=1) for k in range(n)))


def test_cases_go_first_then_policies_then_values() -> None:
    rules = {name: load_policy(name) for name in ("round-robin", "age-only")}
    seen: list[tuple[int, int]] = []
    found = measure_cases(
        [case("one", 1), case("two", 2)],
        GRAPHS,
        rules,
        [Fraction(1), Fraction(4)],
        on_progress=lambda n, m: seen.append((n, m)),
    )
    assert [(m.label, m.run.policy, m.run.decode_value) for m in found] == [
        (label, name, Fraction(value)) for label in ("one", "two") for name in rules for value in (1, 4)
    ]
    assert seen == [(n, 8) for n in range(1, 9)]
    # one request takes 2 ms, two take 4
    assert [m.run.boundary_ms for m in found] == [2] * 4 + [4] * 4


def test_no_name_stands_for_all_named_workloads() -> None:
    assert tuple(c.label for c in workload_cases()) == workload_names()
    assert [c.label for c in workload_cases(["two_prefills"])] == ["two_prefills"]
    with pytest.raises(InvalidInstance, match="workload is 'x'"):
        workload_cases(["x"])


def test_a_case_too_large_for_the_fair_reference_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "MOST_LAG_REQUESTS", 1)
    small, large = measure_cases(
        [case("one", 1), case("two", 2)], GRAPHS, {"round-robin": load_policy("round-robin")}, [Fraction(1)]
    )
    assert small.lag is not None
    assert not small.lag_left_out
    assert large.lag is None
    assert large.lag_left_out == "2 requests; the limit is 1"
