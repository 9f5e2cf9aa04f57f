"""Problem files: what is read, and what each mistake is told."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from fairlane.reference.allocation.problem_file import (
    AllocationProblem,
    allocation_problem_from_json,
    load_allocation_problem,
)
from fairlane.reference.errors import DataError, InvalidInstance
from fairlane.reference.model.codec import parse_json


def _read(document: object) -> AllocationProblem:
    return allocation_problem_from_json(parse_json(json.dumps(document), "test"))


def test_actions_are_read_exactly_with_zero_for_requests_left_out() -> None:
    problem = _read(
        {
            "requests": [{"id": "a", "token_value": "1/3"}, {"id": "b", "fairness_weight": 0.1}],
            "actions": [{"name": "x", "rates": {"a": 0.1}}, {"name": "y", "rates": {"b": "7/2", "a": 0}}],
        }
    )
    assert problem.rates == ((Fraction(1, 10), Fraction(0)), (Fraction(0), Fraction(7, 2)))
    assert problem.token_values == (Fraction(1, 3), Fraction(0))
    assert problem.fairness_weights == (Fraction(1), Fraction(1, 10))
    assert problem.action_names == ("x", "y")
    assert problem.catalog is None


def test_graphs_make_requests_whose_limit_may_be_left_out() -> None:
    problem = _read(
        {
            "requests": [{"id": "a", "acceptance": ["1/2"]}, {"id": "b", "prompt": 5, "limit": 3}],
            "graphs": [{"name": "g", "duration_ms": 2, "decode_capacity": 1, "prefill_capacity": 4}],
        }
    )
    assert problem.catalog is not None
    assert [request.prompt for request in problem.requests] == [0, 5]
    assert problem.requests[0].acceptance == (Fraction(1, 2),)


REQUESTS = [{"id": "a"}, {"id": "b"}]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "problem.requests is missing"),
        ({"requests": REQUESTS}, 'neither of "actions" and "graphs"; need one of them'),
        ({"requests": REQUESTS, "actions": [], "graphs": []}, 'both of "actions" and "graphs"; need one of them'),
        ({"requests": REQUESTS, "actions": [], "schema": 2}, "schema is 2; need 1"),
        ({"requests": REQUESTS, "actions": [], "name": 2}, "name is 2; need a string"),
        ({"requests": [], "actions": []}, "requests is empty; need at least one request"),
        ({"requests": [{}], "actions": []}, r"requests\[0\].id is missing"),
        ({"requests": [{"id": 3}], "actions": []}, r"requests\[0\].id is 3; need a non-empty string"),
        ({"requests": [{"id": "a"}, {"id": "a"}], "actions": []}, r"requests\[1\].id is 'a', already the id of"),
        ({"requests": [{"id": "a", "speed": 1}], "actions": []}, r"requests\[0\] has the unknown field 'speed'"),
        (
            {"requests": [{"id": "a", "token_value": -1}], "actions": []},
            r"requests\[0\].token_value \(request 'a'\) is -1; need >= 0",
        ),
        (
            {"requests": [{"id": "a", "fairness_weight": 0}], "actions": []},
            r"requests\[0\].fairness_weight \(request 'a'\) is 0; need > 0",
        ),
        (
            {"requests": [{"id": "a", "fairness_weight": None}], "actions": []},
            r"requests\[0\].fairness_weight \(request 'a'\) is null; need a number",
        ),
        ({"requests": REQUESTS, "actions": []}, "actions is empty; need at least one action"),
        ({"requests": REQUESTS, "actions": [{"name": "x"}]}, r"actions\[0\].rates is missing"),
        ({"requests": REQUESTS, "actions": [{"name": "", "rates": {}}]}, r"actions\[0\].name is ''"),
        ({"requests": REQUESTS, "actions": [{"name": "x", "rates": [1]}]}, r"actions\[0\].rates is a list"),
        (
            {"requests": REQUESTS, "actions": [{"name": "x", "rates": {"c": 1}}]},
            r"actions\[0\].rates \(action 'x'\) has the key 'c'; need a request's id",
        ),
        (
            {"requests": REQUESTS, "actions": [{"name": "x", "rates": {"a": -1}}]},
            r"\(action 'x', request 'a'\) is -1; need a rate >= 0",
        ),
        (
            {"requests": REQUESTS, "actions": [{"name": "x", "rates": {"a": 1}}]},
            r"requests\[1\] \('b'\) is served by no action",
        ),
        (
            {"requests": REQUESTS, "actions": [{"name": "x", "rates": {"a": 1}}, {"name": "x", "rates": {"b": 1}}]},
            r"actions\[1\].name is 'x', already the name of actions\[0\]",
        ),
        ({"requests": REQUESTS, "graphs": []}, "graphs is empty"),
        ({"requests": REQUESTS, "graphs": [{"name": "g", "duration_ms": 0, "decode_capacity": 1}]}, "duration_ms is 0"),
        (
            {
                "requests": [{"id": "a", "acceptance": 1}],
                "graphs": [{"name": "g", "duration_ms": 1, "decode_capacity": 1}],
            },
            r"requests\[0\].acceptance is 1; need a list",
        ),
    ],
)
def test_a_mistake_is_named_in_one_line(document: object, message: str) -> None:
    with pytest.raises(InvalidInstance, match=message) as refusal:
        _read(document)
    assert "\n" not in str(refusal.value)


def test_files_are_named_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    path.write_text('{"requests": [{"id": "a", "id": "b"}]}')
    with pytest.raises(DataError, match="'id' stands twice"):
        load_allocation_problem(path)
    path.write_text('{"requests": []}')
    with pytest.raises(InvalidInstance, match=r"problem.json: "):
        load_allocation_problem(path)
    path.write_text('{"requests": [{"id": "a", "token_value": NaN}], "actions": []}')
    with pytest.raises(DataError, match="NaN is no JSON number"):
        load_allocation_problem(path)
