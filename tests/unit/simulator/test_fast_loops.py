"""The registry of fast loops: which one is taken, and what happens where one declines."""

from __future__ import annotations

import numpy as np
import pytest

from fairlane.policies import load_policy
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import Policy
from fairlane.reference.model.request import Request
from fairlane.simulator import fast_loops
from fairlane.simulator.draws import KeyedDraws
from fairlane.simulator.fast_loops import FAST_LOOPS, FastLoop, Path
from fairlane.simulator.simulate import simulate
from fairlane.simulator.stage import Outcome, Stage

GRAPHS = Catalog(
    [Graph(name="d", duration_ms=2, decode_capacity=1), Graph(name="p", duration_ms=3, prefill_capacity=8)]
)
REQUESTS = [Request(id="s", prompt=0, limit=3), Request(id="p", prompt=9, limit=2, arrival_ms=1)]


@pytest.mark.parametrize("loop", FAST_LOOPS, ids=lambda loop: str(loop.path))
def test_every_registered_loop_gives_the_run_of_the_event_loop(loop: FastLoop) -> None:
    fast = simulate(REQUESTS, GRAPHS, loop.policy, decode_value=4, path=loop.path)
    plain = simulate(REQUESTS, GRAPHS, loop.policy, decode_value=4, path=Path.READABLE)
    assert np.array_equal(fast.start_ms, plain.start_ms)
    assert np.array_equal(fast.graph, plain.graph)
    assert np.array_equal(fast.lane_published, plain.lane_published)


def registered(monkeypatch: pytest.MonkeyPatch, *rows: tuple[Policy, Path, int, bool]) -> list[str]:
    """A registry of loops that note their calls; one that takes the input runs `fixed-value`'s fast loop."""
    calls: list[str] = []

    def loop(policy: Policy, path: Path, from_tokens: int, takes: bool) -> FastLoop:
        def run(ready: Stage, catalog: Catalog, objective: Objective, source: KeyedDraws) -> Outcome | None:
            calls.append(f"{path.value}:{takes}")
            return FAST_LOOPS[-1].run(ready, catalog, objective, source) if takes else None

        return FastLoop(policy, path, from_tokens, run)

    monkeypatch.setattr(fast_loops, "FAST_LOOPS", tuple(loop(*row) for row in rows))
    return calls


def test_a_loop_is_taken_for_its_own_policy_from_its_size_on(monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = load_policy("round-robin"), load_policy("age-only")
    # five tokens of output to come
    calls = registered(monkeypatch, (mine, Path.COMPILED, 6, True), (mine, Path.FAST, 5, True))
    simulate(REQUESTS, GRAPHS, other, decode_value=4)
    assert calls == []
    simulate(REQUESTS, GRAPHS, mine, decode_value=4)
    assert calls == ["fast:True"]
    simulate(REQUESTS, GRAPHS, mine, decode_value=4, path=Path.COMPILED)
    assert calls == ["fast:True", "compiled:True"]
    simulate(REQUESTS, GRAPHS, mine, decode_value=4, path=Path.READABLE)
    assert calls == ["fast:True", "compiled:True"]


def test_where_every_loop_declines_the_event_loop_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = load_policy("round-robin")
    plain = simulate(REQUESTS, GRAPHS, mine, decode_value=4)
    calls = registered(monkeypatch, (mine, Path.COMPILED, 0, False), (mine, Path.FAST, 0, False))
    run = simulate(REQUESTS, GRAPHS, mine, decode_value=4)
    assert calls == ["compiled:False", "fast:False"]
    assert np.array_equal(run.end_ms, plain.end_ms)
