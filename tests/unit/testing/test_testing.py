"""What users' test suites call: it passes and fails where it should, and says why."""

from __future__ import annotations

import re
import shlex
import traceback
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings

from fairlane import suite
from fairlane.cli import run
from fairlane.oracle import long_run
from fairlane.oracle.rational.plain import solve_plain
from fairlane.oracle.solve import solve
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.codec import load_instance
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.policy import Decision, View
from fairlane.reference.model.request import Request
from fairlane.search import Space, graph_options, request_options
from fairlane.testing import assert_within, graphs, instances, instances_of, requests, workloads
from fairlane.testing.verdict import limit_of


def test_a_gap_within_the_limit_passes_and_beyond_it_fails_with_the_decision() -> None:
    tail = suite.load("h100-prompt-tail")
    assert assert_within("fixed-value", tail, relative_gap="1/20").gap > 0
    with pytest.raises(AssertionError) as caught:
        assert_within("fixed-value", tail, relative_gap="1 %")
    first, values, decision, again = str(caught.value).split("\n")
    assert re.fullmatch(r"fixed-value on h100-prompt-tail: gap \d\.\d\d % of the optimum, more than 1\.00 %", first)
    assert re.match(r"  value -?[\d.]+ \(-?\d+/\d+\), optimum -?[\d.]+ ", values)
    assert re.match(r"  first wrong decision #1 at 0 ms: \w+ ← .*; better \w+ ← ", decision)
    assert again.startswith("  run again: fairlane evaluate ")
    with pytest.raises(AssertionError, match=r"gap [\d.]+ .*, more than 1\n"):
        assert_within("fixed-value", tail, gap=1)


def test_the_file_of_a_failure_is_the_instance_and_the_command_runs() -> None:
    tail = suite.load("h100-prompt-tail")
    with pytest.raises(AssertionError) as caught:
        assert_within("fixed-value", tail, gap=0)
    command = shlex.split(str(caught.value).rpartition("run again: ")[2])
    again = load_instance(command[2])
    assert (again.graphs, again.requests, again.objective) == (tail.graphs, tail.requests, tail.objective)
    assert run([*command[1:], "--json"]) == 0


def test_a_policy_that_breaks_a_rule_fails_the_assertion() -> None:
    def idle(view: View) -> Decision:
        return Decision()

    with pytest.raises(AssertionError, match=r"idles with work(.|\n)*run again"):
        assert_within(idle, suite.load("h100-prompt-tail"), gap=0)


def test_every_frame_of_the_assertion_is_hidden_from_pytest() -> None:
    # pytest leaves out frames with this local name; frames below it have ended when the assertion is raised
    try:
        assert_within("fixed-value", suite.load("h100-prompt-tail"), gap=0)
    except AssertionError as error:
        inside = [f for f, _ in traceback.walk_tb(error.__traceback__) if "fairlane/testing" in f.f_code.co_filename]
        assert inside
        assert all("__tracebackhide__" in frame.f_locals for frame in inside)
    else:
        pytest.fail("it has a gap")


@pytest.mark.parametrize(("text", "value"), [("1/20", "1/20"), ("5%", "1/20"), ("5 %", "1/20"), ("0.5%", "1/200")])
def test_limits_are_ratios_decimals_or_percents(text: str, value: str) -> None:
    assert limit_of(text, "gap") == Fraction(value)


@pytest.mark.parametrize("text", ["five", "%", "-5%", "5%%", ""])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(InvalidInstance, match=r"^gap is .*need"):
        limit_of(text, "gap")


@given(instances(max_requests=2))
def test_drawn_instances_are_solvable_and_both_solvers_agree(instance: Instance) -> None:
    solution = solve(instance)
    assert solution.value == solve_plain(instance).value
    assert_within(solution.policy, instance, gap=0)


@given(instances(max_requests=2, max_prompt=2, max_limit=2, max_graphs=1, age=True))
def test_drawn_instances_with_age_agree_too(instance: Instance) -> None:
    for sense in ("max", "min"):
        assert solve(instance, sense=sense).value is not None
    assert solve(instance).value == solve_plain(instance).value


@given(graphs(max_prefill=3, max_decode=0), requests(max_prompt=2, max_limit=2, priors=False))
def test_drawn_graphs_and_requests_keep_their_bounds(graph: Graph, request: Request) -> None:
    assert 1 <= graph.prefill_capacity <= 3
    assert graph.decode_capacity == 0
    assert request.prompt <= 2
    assert request.limit <= 2
    assert request.length_prior is None


@settings(max_examples=15, deadline=None)
@given(workloads())
def test_drawn_workloads_have_a_long_run_rate(workload: Instance) -> None:
    found = long_run(workload)
    assert found.lower <= found.upper


SPACE = Space(
    n_requests=(1, 2),
    requests=request_options(prompt=[0, 1], limit=[1, 2]),
    n_graphs=(1, 2),
    graphs=graph_options(prefill_capacity=[1], decode_capacity=[1, 2], duration_ms=[1, 2]),
)


def test_a_space_is_drawn_from_whole() -> None:
    met = set()

    @settings(
        max_examples=400,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(instances_of(SPACE))
    def collect(instance: Instance) -> None:
        met.add((instance.graphs, instance.requests, instance.objective))

    collect()
    listed = {(i.graphs, i.requests, i.objective) for i in SPACE.instances()}
    assert met <= listed
    assert len(met) > len(listed) / 4
