"""What the notes import: rows of the tables computed again, small scores, and a sampler of the simulator.

Run as a program it prints the suite's table anew:
``python docs/notes/notes_support.py > docs/notes/data/suite-gaps.csv``.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairlane.policies import load_policy
from fairlane.reference.model.completion import greedy_plan, prefill_completion_ms
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.policy import Decision, View
from fairlane.reference.model.request import Request

if TYPE_CHECKING:
    import numpy.typing as npt

    from fairlane.oracle.solve import Solution
    from fairlane.reference.model.instance import Instance

DATA = Path(__file__).parent / "data"
CAUSES = ("phase", "graph", "cohort")


def one_gap(policy: str, instance: str) -> Mapping[str, object]:
    """Optimum, worst value, gap, relative gap, and the gap by what was wrong with each losing decision, in the suite.

    A decision with other phases than the better one loses by ``phase``, one with the right phases on another graph by
    ``graph``, one with the right graph and other requests by ``cohort``.
    """
    from fairlane import suite

    worst = _solved(instance, "min").value
    return {**gap_by_cause(suite.load(instance), policy, _solved(instance)), "worst": worst}


def gap_by_cause(instance: Instance, policy: str, solution: Solution) -> Mapping[str, object]:
    """The same on any instance; every losing decision counts, however many there are."""
    from fairlane.oracle import evaluate

    found = evaluate(instance, load_policy(policy), solution=solution, most_losses=None)
    lost = dict.fromkeys(CAUSES, Fraction(0))
    for loss in found.losses:
        taken, better = loss.action, loss.better
        if (bool(taken.prefill), bool(taken.decode)) != (bool(better.prefill), bool(better.decode)):
            cause = "phase"
        else:
            cause = "graph" if taken.graph != better.graph else "cohort"
        lost[cause] -= loss.contribution
    return {"optimum": found.optimum, "gap": found.gap, "relative_gap": found.relative_gap, **lost}


@cache
def _solved(instance: str, sense: str = "max") -> Solution:
    from fairlane import suite
    from fairlane.oracle import solve

    return solve(suite.load(instance), sense=sense)


def first_choice(policy: str, instance: str) -> str:
    """The number, graph and prompts of a policy's first losing decision on a suite instance: ``#1 p512x1 a``."""
    from fairlane import suite
    from fairlane.oracle import evaluate

    loaded = suite.load(instance)
    loss = evaluate(loaded, load_policy(policy), solution=_solved(instance)).first_loss
    if loss is None:
        return ""
    prompts = [loaded.requests[i].id for i in loss.action.prefill]
    return " ".join([f"#{loss.decisions_before + 1}", loaded.graphs.graphs[loss.action.graph].name, *prompts])


def one_run(policy: str, decode_value: int, seed: int) -> Mapping[str, object]:
    """Figures of a built-in policy on the first three hundred requests of the Azure code trace, built-in table."""
    from fairlane.simulator.experiments import trace_behaviour
    from fairlane.simulator.experiments.documents import behaviour_row
    from fairlane.simulator.timing_tables import synthetic_catalog
    from fairlane.simulator.traces import read_trace, requests_of

    file = DATA / "azure-code-first-300.csv"
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
    from fairlane.simulator.experiments import closed_systems

    optimum, rate = exact_rates(system)
    (chosen,) = (found for found in closed_systems() if found.name == system)
    return {"age_price": chosen.objective.age_price, "optimum": optimum, "without_fairness": rate}


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


def prompt_score(prompt: int, capacity: int, duration_ms: int) -> Fraction:
    """Useful value per millisecond of one prompt on a graph, with an output token worth one."""
    from fairlane.reference.model.score import Lanes, fixed_value_score

    graph = Graph(name="p", duration_ms=duration_ms, prefill_capacity=capacity)
    request = Request(id="r", prompt=prompt, limit=1)
    return fixed_value_score(graph, Lanes(prefill=(request,), decode=()), decode_value=1)


def fair_rates(actions: Sequence[Sequence[Fraction | int]]) -> tuple[float, ...]:
    """Rates of the fair allocation with equal weights and no token values, to its tolerance."""
    from fairlane.reference import fair_allocation

    return tuple(fair_allocation(actions, fairness_weights=[1] * len(actions[0])).rates.tolist())


def five_streams() -> float:
    """The rate of one of five equal streams: every four of them in 21 ms, or all five in 29 ms."""
    fours = [[0 if i == left_out else Fraction(1, 21) for i in range(5)] for left_out in range(5)]
    rates = fair_rates([*fours, [Fraction(1, 29)] * 5])
    assert max(rates) - min(rates) < 1e-9, "equal streams have equal rates"
    return rates[0]


def paired_rate() -> float:
    """The rate of one of two equal streams that run alone in 1 ms or together in 3/2 ms."""
    return fair_rates([[1, 0], [0, 1], [Fraction(2, 3), Fraction(2, 3)]])[0]


def long_run_rate() -> Fraction | None:
    """The best rate of one request that starts again: four prompt tokens in 2 ms, then two outputs of 1 ms each."""
    from fairlane.oracle.average.long_run import long_run
    from fairlane.reference import Instance, Objective

    graphs = [
        Graph(name="p", duration_ms=2, prefill_capacity=4),
        Graph(name="d", duration_ms=1, decode_capacity=1),
    ]
    request = Request(id="r", prompt=4, limit=3)
    return long_run(Instance(graphs=Catalog(graphs), requests=(request,), objective=Objective(decode_value=1))).rate


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


def main() -> None:
    """Print the gaps of every built-in policy on every instance of the bundled suite, as CSV."""
    from fairlane import policies, suite

    columns = ["policy", "instance", "optimum", "worst", "gap", "relative_gap", *CAUSES]
    writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
    writer.writeheader()
    for instance in suite.names():
        for policy in policies.names():
            writer.writerow({"policy": policy, "instance": instance, **one_gap(policy, instance)})


if __name__ == "__main__":
    main()
