"""What holds of every run with two frames in flight, and what one frame has in common with it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlane import policies
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Choice, Completion, Decision, Memory, Policy, Running, View
from fairlane.simulator.clock import clock_for
from fairlane.simulator.draws import KeyedDraws
from fairlane.simulator.event_loop import EventLoop
from fairlane.simulator.fast_loops import Path
from fairlane.simulator.run import Run, lane_launch
from fairlane.simulator.simulate import simulate
from fairlane.simulator.stage import Recording
from fairlane.simulator.two_frames import FrameLoop
from tests.property.test_simulation_laws import GRAPHS, SIMULATED, Row, columns, request, rows


def two(rows: list[Row], policy: object, *, seed: int = 0, gap: int = 0) -> Run:
    requests = [request(f"r{k}", row) for k, row in enumerate(rows)]
    return simulate(requests, GRAPHS, policy, decode_value=8, seed=seed, two_frames=True, launch_gap_ms=gap)


@given(rows=rows, policy=st.sampled_from(SIMULATED), seed=st.integers(0, 5), gap=st.integers(0, 9))
def test_starts_lanes_and_work_follow_the_rules(rows: list[Row], policy: str, seed: int, gap: int) -> None:
    run = two(rows, policies.spec(policy), seed=seed, gap=gap)
    assert run.chosen_ms is not None
    ahead = np.concatenate(([0.0], run.end_ms[:-1]))
    # times are whole here, so doubles hold them exactly
    assert np.array_equal(run.start_ms, np.maximum(ahead, run.chosen_ms + gap))
    assert (run.chosen_ms[1:] >= run.start_ms[:-1]).all(), "one graph is queued at most"
    owner = lane_launch(run)
    arrival = np.array([float(r.arrival_ms) for r in run.requests])
    assert (arrival[run.lane_request] <= run.chosen_ms[owner]).all()
    for k in np.flatnonzero(run.chosen_ms < ahead).tolist():
        before, now = (
            set(run.lane_request[(owner == j) & mask].tolist())
            for j, mask in ((k - 1, run.lane_published > 0), (k, np.ones(len(owner), dtype=bool)))
        )
        assert not before & now, "what published in the graph ahead is not in a graph queued behind it"
    # everyone is served in full, as with one frame
    assert np.isfinite(run.finished_ms).all()
    assert run.prompt_left.sum() == 0
    assert run.lane_published.sum() == sum(min(row[2], row[2] + row[3] % 2) for row in rows)


@given(rows=rows, policy=st.sampled_from(SIMULATED), seed=st.integers(0, 5))
def test_the_same_input_gives_the_same_bytes(rows: list[Row], policy: str, seed: int) -> None:
    one, again = (two(rows, policies.spec(policy), seed=seed, gap=2) for _ in range(2))
    assert columns(one) == columns(again)
    assert one.chosen_ms is not None
    assert again.chosen_ms is not None
    assert one.chosen_ms.tobytes() == again.chosen_ms.tobytes()


@given(rows=rows, policy=st.sampled_from(SIMULATED), seed=st.integers(0, 5))
def test_one_frame_in_the_queueing_loop_is_the_plain_loop(rows: list[Row], policy: str, seed: int) -> None:
    requests = sorted((request(f"r{k}", row) for k, row in enumerate(rows)), key=lambda r: r.arrival_ms)
    plain = simulate(requests, GRAPHS, policies.spec(policy), decode_value=8, seed=seed, path=Path.READABLE)
    rule = policies.spec(policy).policy
    clock = clock_for([g.duration_ms for g in GRAPHS] + [r.arrival_ms for r in requests])
    source = KeyedDraws(requests, seed)
    arrivals = [clock.ticks(r.arrival_ms) for r in requests]
    loop = EventLoop(requests, arrivals, [True] * len(requests), GRAPHS, Objective(decode_value=8), rule, source, clock)
    recording = Recording(clock)
    FrameLoop(loop, GRAPHS, rule, frames=1).run(recording)
    found = recording.columns()
    assert found.graph.tobytes() == plain.graph.tobytes()
    assert found.end_ms.tobytes() == plain.end_ms.tobytes()
    assert found.lanes[:, 0].tobytes() == plain.lane_request.tobytes()
    assert found.lanes[:, 2].tobytes() == plain.lane_published.tobytes()


@given(output=st.integers(1, 30), prompt=st.integers(0, 8), tenths=st.integers(0, 4), policy=st.sampled_from(SIMULATED))
def test_one_stream_alone_runs_as_with_one_frame(output: int, prompt: int, tenths: int, policy: str) -> None:
    # a prompt of one chunk and its stream are one chain of feedback
    alone = [request("a", (3, prompt, output, tenths))]
    runs = [simulate(alone, GRAPHS, policies.spec(policy), decode_value=8, two_frames=n) for n in (False, True)]
    assert columns(runs[0]) == columns(runs[1])


class Remembering:
    """A policy whose memories after each completion are kept, and whose decisions can be given."""

    def __init__(self, rule: Policy, script: list[Decision] | None = None) -> None:
        self.rule = rule
        self.memories: list[Memory] = []
        self.decisions: list[Decision] = []
        self._script = script

    def initial(self, catalog: Catalog) -> Memory:
        return self.rule.initial(catalog)

    def decide(self, view: View, memory: Memory) -> Choice:
        if self._script is not None:
            return self._script[len(self.memories)]
        return self.rule.decide(view, memory)

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        self.decisions.append(completion.decision)
        self.memories.append(self.rule.observe(memory, completion))
        return self.memories[-1]


class RememberingCopies(Remembering):
    def project(self, memory: Memory, running: Running) -> Memory:
        return self.rule.project(memory, running)  # type: ignore[attr-defined, no-any-return]  # the rules below do


@pytest.mark.parametrize("policy", ["ongoing", "fair-gradient"])
@given(rows=rows, seed=st.integers(0, 5))
def test_a_schedule_leaves_the_same_history_queued_or_not(policy: str, rows: list[Row], seed: int) -> None:
    # the same decisions, each taken at its start by a loop of one frame, teach the policy the same
    queued = RememberingCopies(policies.spec(policy).policy)
    run = two(rows, queued, seed=seed)
    played = Remembering(policies.spec(policy).policy, queued.decisions)
    requests = [request(f"r{k}", row) for k, row in enumerate(rows)]
    again = simulate(requests, GRAPHS, played, decode_value=8, seed=seed)
    assert columns(run) == columns(again)
    assert queued.memories == played.memories
