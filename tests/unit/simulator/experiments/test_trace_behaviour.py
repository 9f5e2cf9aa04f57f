"""One run a policy: figures by hand, refusals with their reason."""

from __future__ import annotations

import pytest

from fairlane.policies import load_policy
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.policy import Decision, Policy, View, as_policy
from fairlane.reference.model.request import Request
from fairlane.simulator.experiments import TraceBehaviour, trace_behaviour
from fairlane.simulator.experiments.documents import behaviour_row
from fairlane.simulator.experiments.trace_behaviour import MAX_EPISODE_STATES

GRAPHS = Catalog(
    [
        Graph(name="p64", duration_ms=10, prefill_capacity=64),
        Graph(name="d1", duration_ms=5, decode_capacity=1),
    ]
)


def behaviour(name: str, *requests: Request, rule: Policy | None = None) -> TraceBehaviour:
    policy = load_policy(name) if rule is None else rule
    (found,) = trace_behaviour({name: policy}, requests, GRAPHS, decode_value=16)
    return found


def test_figures_by_hand() -> None:
    # 100 prompt tokens take two graphs of 64: first output at 20 ms, the other two at 25 and 30 ms
    row = behaviour_row(behaviour("prefill-first", Request(id="a", prompt=100, limit=3, output_length=3)))
    assert row == {
        "finished": 1,
        "ttft_p50_ms": 20.0,
        "ttft_p99_ms": 20.0,
        "tpot_p50_ms": 5.0,
        "tpot_p99_ms": 5.0,
        "longest_gap_ms": 5.0,
        # two gaps of 5 ms: 2 · 25 / 2
        "age_area_ms2": 25.0,
        "open_stalls": 0,
        "useful_tokens_per_ms": pytest.approx(103 / 30, rel=1e-15),
        "starved": 0,
        "jain_index": 1.0,
        "refusal": None,
    }


@pytest.mark.parametrize("name", ["continuation", "episode-ratio"])
def test_a_planner_runs_where_the_episode_is_small(name: str) -> None:
    found = behaviour(name, Request(id="a", prompt=4, limit=2))
    assert found.metrics is not None
    # 10 ms for the prompt and its first output, 5 ms for the second: there is no other way
    assert found.metrics.publications.elapsed_ms == 15


@pytest.mark.parametrize("name", ["continuation", "episode-ratio"])
def test_a_planner_is_refused_with_the_size_where_it_is_not(name: str) -> None:
    # 199 + 1 + 1 = 201 states each: two requests span 40,401
    pair = [Request(id=f"r{k}", prompt=199, limit=1) for k in range(2)]
    found = behaviour(name, *pair, *(Request(id=f"s{k}", prompt=1, limit=1) for k in range(3)))
    assert found.metrics is None
    assert not found.broke_rule
    assert found.refusal is not None
    assert "2 of 5 requests span up to 40,401 states" in found.refusal
    assert f"at most {MAX_EPISODE_STATES:,}" in found.refusal
    assert behaviour_row(found)["ttft_p50_ms"] is None


def test_other_policies_are_not_bounded_by_the_size_of_an_episode() -> None:
    pair = [Request(id=f"r{k}", prompt=199, limit=1) for k in range(2)]
    assert behaviour("fixed-value", *pair).metrics is not None


def test_a_broken_rule_is_told_apart() -> None:
    def idle(view: View) -> Decision:
        return Decision(graph=None)

    found = behaviour("idle", Request(id="a", prompt=4, limit=2), rule=as_policy(idle))
    assert found.broke_rule
    assert found.metrics is None
    assert found.refusal
