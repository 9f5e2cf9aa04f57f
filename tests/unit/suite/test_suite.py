"""The bundled suite: readable, small, measured, and hard enough that every policy loses somewhere."""

from __future__ import annotations

import csv
import itertools
import json
from importlib.resources import files

import pytest

from fairlane import suite
from fairlane.oracle.policy_value.evaluate import evaluate
from fairlane.oracle.rational.plain import solve_plain
from fairlane.oracle.solve import solve
from fairlane.policies import load_policy, names
from fairlane.reference.errors import DataError
from fairlane.reference.model.codec import load_catalog
from tests.cases import data

CATALOGS = ("splitwise_llama2-70b_h100_tp8.json", "llmservingsim_llama31-8b_rtxpro6000_tp1_width.json")


def test_there_are_at_least_sixteen_instances_of_the_kinds_promised() -> None:
    loaded = [suite.load(name) for name in suite.names()]
    assert len(loaded) >= 16
    assert any(g.prefill_capacity and g.decode_capacity for i in loaded for g in i.graphs)
    assert any(g.width > 1 for i in loaded for g in i.graphs)
    assert any(g.prefill_lanes > 1 for i in loaded for g in i.graphs)
    assert any(len({r.limit for r in i.requests}) > 1 for i in loaded)
    assert any(r.length_prior for i in loaded for r in i.requests)
    for price in ("time_price", "completion_price", "first_output_price", "age_price"):
        assert any(getattr(i.objective, price) for i in loaded), price


def test_an_unknown_instance_lists_the_names() -> None:
    with pytest.raises(DataError, match="h100-prompt-tail"):
        suite.load("h100")


@pytest.mark.parametrize("name", suite.names())
def test_an_instance_is_small_and_both_solvers_agree(name: str) -> None:
    instance = suite.load(name)
    assert instance.name == name
    plain = solve_plain(instance, max_states=5000)
    assert solve(instance).value == plain.value


@pytest.mark.parametrize("name", suite.names())
def test_every_graph_is_a_row_of_a_measured_catalog_and_every_acceptance_was_measured(name: str) -> None:
    measured = {graph for file in CATALOGS for graph in load_catalog(data("catalogs", file))}
    rows = csv.DictReader(data("per_position_acceptance.csv").read_text().splitlines())
    groups = itertools.groupby(rows, key=lambda r: (r["source"], r["verifier"], r["drafter"], r["dataset"], r["k"]))
    conditional = [[row["conditional"] for row in group] for _, group in groups]
    text = (files("fairlane.suite") / f"{name}.json").read_text()
    document = json.loads(text)
    assert set(suite.load(name).graphs) <= measured
    assert "source" in document
    for request in document["requests"]:
        listed = [str(q) for q in request.get("acceptance", [])]
        assert not listed or any(row[: len(listed)] == listed for row in conditional), listed


def test_there_is_an_instance_on_which_every_policy_loses() -> None:
    instance = suite.load("h100-weights")
    solution = solve(instance)
    for name in names():
        assert evaluate(instance, load_policy(name), solution=solution).gap > 0, name
