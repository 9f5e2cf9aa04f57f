"""Known answers for catalogs, yields and single decisions, from public reports (see the cases' README).

FAIRLANE_CASES names the folder, or any file of the same format.
"""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import Any

import pytest

from fairlane.policies import load_policy
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.codec import catalog_from_json, parse_json, request_from_json
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Decision, RequestView, View, check_decision
from fairlane.reference.model.yields import expected_yield
from tests.cases import cases


def exactly(value: object) -> object:
    return parse_json(json.dumps(value), "case")


@pytest.mark.parametrize("case", cases("serving.json", "catalog"))
def test_catalog_is_accepted_or_names_the_graph(case: dict[str, Any]) -> None:
    if "error_names" in case:
        with pytest.raises(InvalidInstance, match=case["error_names"]):
            catalog_from_json(exactly(case["rows"]))
    else:
        assert len(catalog_from_json(exactly(case["rows"]))) == case["expect"]


@pytest.mark.parametrize("case", cases("serving.json", "yield"))
def test_expected_tokens_of_a_row(case: dict[str, Any]) -> None:
    acceptance = [Fraction(str(q)) for q in case.get("acceptance", [])]
    if "marginals" in case:
        reach = [Fraction(1), *(Fraction(str(q)) for q in case["marginals"])]
        acceptance = [b / a if a else Fraction(0) for a, b in itertools.pairwise(reach)]
    found = expected_yield(acceptance, case["width"], remaining=case.get("remaining"))
    assert (
        found == pytest.approx(Fraction(str(case["expect"])), rel=1e-12)
        if isinstance(case["expect"], float)
        else found == Fraction(str(case["expect"]))
    )


@pytest.mark.parametrize("case", cases("serving.json", "decision"))
def test_policy_takes_the_expected_graph(case: dict[str, Any]) -> None:
    catalog = catalog_from_json(exactly(case["catalog"]))
    views = []
    for i, row in enumerate(case["requests"]):
        full = {"limit": row.get("output_length", 1), **row}
        request = request_from_json(exactly(full), f"requests[{i}]")
        views.append(
            RequestView(
                id=request.id,
                index=i,
                weight=request.weight,
                arrival_ms=request.arrival_ms,
                prompt=request.prompt,
                generated=request.generated,
                limit=request.limit,
                acceptance=request.acceptance,
                length_prior=request.length_prior,
                age_ms=Fraction(0) if request.prompt == 0 else None,
                last_service_ms=None,
            )
        )
    objective = Objective(decode_value=str(case.get("decode_value", 1)))
    view = View(catalog=catalog, now_ms=Fraction(0), objective=objective, requests=tuple(views))
    policy = load_policy(case["policy"])
    decision = policy.decide(view, policy.initial(catalog))
    assert isinstance(decision, Decision)
    graph, prefill, decode = check_decision(view, decision)
    expect = case["expect"]
    assert graph.name == expect["graph"]
    if "decode" in expect:
        assert len(decode) == expect["decode"]
    if "prefill" in expect:
        assert len(prefill) == expect["prefill"]
    if "padding" in expect:
        used = sum(min(r.prompt, graph.prefill_capacity) for r in prefill)
        empty_rows = graph.decode_capacity - len(decode)
        unused_prompt = graph.prefill_capacity - min(used, graph.prefill_capacity)
        padding = expect["padding"]
        if isinstance(padding, dict):
            assert padding == {k: v for k, v in {"rows": empty_rows, "prefill": unused_prompt}.items() if k in padding}
        else:
            assert padding == (empty_rows if graph.decode_capacity else unused_prompt)
