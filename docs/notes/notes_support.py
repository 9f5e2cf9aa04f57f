"""What the notes import: rows of the tables computed again, small scores, and a sampler of the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairlane.policies import load_policy
from fairlane.reference.completion import greedy_plan, prefill_completion_ms
from fairlane.reference.graph import Catalog, Graph
from fairlane.reference.policy import Decision, View
from fairlane.reference.request import Request

if TYPE_CHECKING:
    import numpy.typing as npt


def one_gap(policy: str, instance: str) -> Mapping[str, object]:
    """Optimum, gap and relative gap of a built-in policy on an instance of the bundled suite."""
    from fairlane import suite
    from fairlane.oracle import evaluate

    found = evaluate(suite.load(instance), load_policy(policy))
    return {"optimum": found.optimum, "gap": found.gap, "relative_gap": found.relative_gap}


def one_run(policy: str, decode_value: int, seed: int) -> Mapping[str, object]:
    """Figures of a built-in policy on the first three hundred requests of the Azure code trace, built-in table."""
    from fairlane.simulator.experiments import trace_behaviour
    from fairlane.simulator.experiments.documents import behaviour_row
    from fairlane.simulator.timing_tables import synthetic_catalog
    from fairlane.simulator.traces import read_trace, requests_of

    file = Path(__file__).with_name("azure-code-first-300.csv")
    requests = requests_of(read_trace(file.read_bytes(), file.name))
    rules = {policy: load_policy(policy)}
    (found,) = trace_behaviour(rules, requests, synthetic_catalog(), decode_value=decode_value, seed=seed)
    return behaviour_row(found)


def one_distance(system: str, seed: int) -> Mapping[str, object]:
    """Exact optimum, exact rate without fairness prices and simulated rate of `ongoing` in a closed system."""
    from fairlane.simulator.experiments import closed_systems, ongoing_distance
    from fairlane.simulator.experiments.documents import distance_row

    chosen = [found for found in closed_systems() if found.name == system]
    (distance,) = ongoing_distance(chosen, seed=seed)
    return distance_row(distance)


def one_exact(system: str) -> Mapping[str, object]:
    """The exact columns of the table alone."""
    optimum, rate = exact_rates(system)
    return {"optimum": optimum, "without_fairness": rate}


def exact_rates(system: str) -> tuple[Fraction | None, Fraction]:
    """The long-run optimum and the rate of `ongoing` without fairness prices in a closed system, reward per ms."""
    from fairlane.oracle import long_run, policy_rate
    from fairlane.simulator.experiments import closed_systems
    from fairlane.simulator.experiments.ongoing_distance import without_fairness

    (chosen,) = (found for found in closed_systems() if found.name == system)
    return long_run(chosen).rate, policy_rate(chosen, without_fairness(chosen)).rate


def cycle_rate(prompts: int, weight: int) -> Fraction:
    """Reward per ms of so many prompts of 8 tokens in 4 ms each, then one delivery of 3 ms; age price a tenth.

    A prompt is worth its 8 tokens and one output of value 2, times the weight; the stream's age grows from 0 over the
    whole cycle.
    """
    span = Fraction(4 * prompts + 3)
    return (prompts * weight * (8 + 2) + 2 - Fraction(1, 10) * span**2 / 2) / span


def tail_catalog() -> Catalog:
    """The three prompt graphs of the first counterexample: 64, 128 and 256 tokens in 2, 3 and 4 ms."""
    sizes = ((64, 2), (128, 3), (256, 4))
    return Catalog([Graph(name=f"p{c}", duration_ms=t, prefill_capacity=c) for c, t in sizes])


def shortest_ms(prompt: int) -> Fraction:
    """The least time for a prompt on `tail_catalog`, milliseconds."""
    return prefill_completion_ms(prompt, tail_catalog())


def greedy_ms(prompt: int) -> Fraction:
    """The time of greedy work per millisecond on `tail_catalog`, with an output token worth one, milliseconds."""
    return greedy_plan(prompt, tail_catalog(), decode_value=1).duration_ms


def served(rounds: int, streams: int, rows: int) -> tuple[int, ...]:
    """Tokens of identical streams without accepted drafts when the least recently served fill a batch."""
    last = [-1] * streams
    tokens = [0] * streams
    for now in range(rounds):
        for i in sorted(range(streams), key=lambda i: (last[i], i))[:rows]:
            last[i] = now
            tokens[i] += 1
    return tuple(tokens)


def published(rng: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
    """Tokens that one verification of width 4 publishes for n streams of acceptance three fifths, by the simulator."""
    from fairlane.simulator.simulate import simulate

    catalog = Catalog([Graph(name="d", duration_ms=1, decode_capacity=n, width=4)])
    streams = [
        Request(id=f"s{i}", prompt=0, limit=64, output_length=64, acceptance=("3/5", "3/5", "3/5")) for i in range(n)
    ]

    def everyone(view: View) -> Decision:
        return Decision(graph="d", decode=tuple(r.id for r in view.requests))

    run = simulate(streams, catalog, everyone, decode_value=1, horizon_ms=1, seed=int(rng.integers(2**62)))
    return run.lane_published


def prompt_left(horizon_ms: int, decode_value: int) -> int:
    """Prompt tokens left when fixed-value has served a prompt of 64 and one endless stream until the horizon."""
    from fairlane.policies import spec
    from fairlane.simulator.simulate import simulate

    catalog = Catalog(
        [
            Graph(name="p64", duration_ms=2, prefill_capacity=64),
            Graph(name="d1", duration_ms=1, decode_capacity=1),
        ]
    )
    requests = [
        Request(id="prompt", prompt=64, limit=1),
        Request(id="stream", prompt=0, limit=100_000, output_length=100_000),
    ]
    run = simulate(requests, catalog, spec("fixed-value"), decode_value=decode_value, horizon_ms=horizon_ms)
    left = dict(zip((r.id for r in run.requests), run.prompt_left.tolist(), strict=True))
    return int(left["prompt"])


def always_full(view: View) -> Decision:
    """The single graph with every lane filled that anybody can use; streams with the least to come go first."""
    (graph,) = view.catalog
    prompts = tuple(r.id for r in view.requests if r.prompt)[: graph.prefill_lanes]
    waiting = sorted((r for r in view.requests if not r.prompt), key=lambda r: r.limit - r.generated)
    streams = tuple(r.id for r in waiting)[: graph.decode_capacity]
    return Decision(graph=graph.name, prefill=prompts if graph.prefill_capacity else (), decode=streams)
