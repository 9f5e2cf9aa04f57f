"""What must not change a run: names, the order of rows, the unit of time, and how long a policy thinks."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlane import policies
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.policy import Decision, View
from fairlane.reference.model.request import Request
from fairlane.simulator.cases import MeasuredCase
from fairlane.simulator.fast_loops import Path
from fairlane.simulator.metrics_json import run_metrics_to_json
from fairlane.simulator.run import Run
from fairlane.simulator.run_files import trace_lines
from fairlane.simulator.run_metrics import measure_run
from fairlane.simulator.simulate import simulate

GRAPHS = Catalog(
    [
        Graph(name="p8", duration_ms=3, prefill_capacity=8, prefill_lanes=2),
        Graph(name="p32", duration_ms=7, prefill_capacity=32),
        Graph(name="d2", duration_ms=2, decode_capacity=2),
        Graph(name="d4w3", duration_ms=5, decode_capacity=4, width=3),
        Graph(name="m", duration_ms=6, prefill_capacity=16, decode_capacity=2, width=2),
    ]
)
SIMULATED = [name for name in policies.names() if name not in {"continuation", "episode-ratio"}]

Row = tuple[int, int, int, int]
rows = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 8), st.integers(0, 4)), min_size=1, max_size=8
)


def request(name: str, row: Row, *, scale: int = 1) -> Request:
    arrival, prompt, output, tenths = row
    return Request(
        id=name,
        arrival_ms=arrival * scale,
        prompt=prompt,
        limit=output + tenths % 2,
        output_length=output,
        acceptance=[Fraction(2 * tenths, 10)] * 2,
    )


def columns(run: Run) -> dict[str, bytes]:
    names = ("graph", "start_ms", "end_ms", "lane_request", "lane_consumed", "lane_published", "lane_accepted")
    return {name: getattr(run, name).tobytes() for name in names}


def run_of(requests: list[Request], policy: str, seed: int = 0) -> Run:
    return simulate(requests, GRAPHS, policies.spec(policy), decode_value=8, seed=seed)


@given(rows=rows, policy=st.sampled_from(SIMULATED), seed=st.integers(0, 5))
def test_renaming_changes_names_only(rows: list[Row], policy: str, seed: int) -> None:
    plain = run_of([request(f"r{k}", row) for k, row in enumerate(rows)], policy, seed)
    renamed = run_of([request(f"name {97 - 3 * k}", row) for k, row in enumerate(rows)], policy, seed)
    assert columns(plain) == columns(renamed)
    assert run_metrics_to_json(measure_run(plain)) == run_metrics_to_json(measure_run(renamed))


@given(rows=rows, policy=st.sampled_from(SIMULATED), data=st.data())
def test_shuffling_rows_of_different_arrival_changes_nothing(rows: list[Row], policy: str, data: st.DataObject) -> None:
    distinct = [(10 * k + row[0] % 10, *row[1:]) for k, row in enumerate(rows)]
    requests = [request(f"r{k}", row) for k, row in enumerate(distinct)]
    shuffled = data.draw(st.permutations(requests))
    assert columns(run_of(requests, policy)) == columns(run_of(list(shuffled), policy))


@given(rows=rows, policy=st.sampled_from(SIMULATED), data=st.data())
def test_shuffling_rows_equal_but_for_the_id_changes_no_metric(
    rows: list[Row], policy: str, data: st.DataObject
) -> None:
    # every row twice, at an arrival of its own
    twins = [(10 * k, *row[1:]) for k, row in enumerate(rows[:4]) for _ in range(2)]
    requests = [request(f"r{k}", row) for k, row in enumerate(twins)]
    shuffled = list(data.draw(st.permutations(requests)))
    plain, other = (run_metrics_to_json(measure_run(run_of(x, policy))) for x in (requests, shuffled))
    assert plain == other


# policies whose rule has a time constant of its own are no subject of this law
@given(
    rows=rows, policy=st.sampled_from([p for p in SIMULATED if p not in {"ongoing", "fair-gradient", "stall-bonus"}])
)
def test_a_common_factor_of_all_times_is_a_unit(rows: list[Row], policy: str) -> None:
    plain = run_of([request(f"r{k}", row) for k, row in enumerate(rows)], policy)
    slow = Catalog(
        Graph(
            name=g.name,
            duration_ms=g.duration_ms * 3,
            prefill_capacity=g.prefill_capacity,
            prefill_lanes=g.prefill_lanes,
            decode_capacity=g.decode_capacity,
            width=g.width,
        )
        for g in GRAPHS
    )
    requests = [request(f"r{k}", row, scale=3) for k, row in enumerate(rows)]
    scaled = simulate(requests, slow, policies.spec(policy), decode_value=8)
    assert columns(plain)["lane_request"] == columns(scaled)["lane_request"]
    assert np.array_equal(plain.end_ms * 3, scaled.end_ms)


@pytest.mark.parametrize("policy", ["fixed-value", "ongoing"])
def test_a_policy_that_sleeps_changes_no_byte(policy: str) -> None:
    requests = [request(f"r{k}", (3 * k, 5 * k, 4, k % 5)) for k in range(8)]
    rule = policies.spec(policy).policy

    class Sleepy:
        def initial(self, catalog: Catalog) -> object:
            return rule.initial(catalog)

        def decide(self, view: View, memory: object) -> object:
            time.sleep(0.002)
            return rule.decide(view, memory)

        def observe(self, memory: object, completion: object) -> object:
            time.sleep(0.001)
            return rule.observe(memory, completion)  # type: ignore[arg-type]  # handed through

    one = simulate(requests, GRAPHS, rule, decode_value=8, name="x", path=Path.READABLE)
    two = simulate(requests, GRAPHS, Sleepy(), decode_value=8, name="x")
    assert columns(one) == columns(two)
    assert run_metrics_to_json(measure_run(one)) == run_metrics_to_json(measure_run(two))
    entries = [MeasuredCase(label="w", run=run, metrics=measure_run(run), lag=None) for run in (one, two)]
    assert list(trace_lines(entries[0])) == list(trace_lines(entries[1]))


def test_luck_does_not_move_with_the_schedule() -> None:
    # the same request at the same position accepts the same drafts, whoever is served beside it
    graphs = Catalog(
        [
            Graph(name="one", duration_ms=2, decode_capacity=1, width=3),
            Graph(name="two", duration_ms=3, decode_capacity=2, width=3),
        ]
    )
    requests = [Request(id=i, prompt=0, limit=30, acceptance=["1/2", "1/2"]) for i in "ab"]

    def alone(view: View) -> Decision:
        return Decision(graph="one", decode=(view.requests[-1].id,))

    def together(view: View) -> Decision:
        return Decision(graph="two", decode=tuple(r.id for r in view.requests))

    outputs = []
    for policy in (alone, together):
        run = simulate(requests, graphs, policy, decode_value=1, seed=4)
        outputs.append([run.lane_accepted[run.lane_request == i].tolist() for i in range(2)])
    assert outputs[0] == outputs[1]


def test_a_run_says_again_what_it_said() -> None:
    requests = [replace_arrival(k) for k in range(6)]
    runs = [run_of(requests, "ongoing", seed=2) for _ in range(2)]
    assert columns(runs[0]) == columns(runs[1])
    assert columns(runs[0]) != columns(run_of(requests, "ongoing", seed=3))


def replace_arrival(k: int) -> Request:
    return Request(id=f"r{k}", prompt=0, limit=40, arrival_ms=k, acceptance=["1/2", "1/2"])
