"""How many instances a second the enumeration of a search looks at, with exact values of policy and optimum.

    python benchmarks/search.py [--output benchmarks/results/search.md]

Whole spaces of two requests in one process, every figure CPU time. Beside the shared costs stands the way without them,
`solve` and `evaluate` of each instance; every gap must be the same.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from fairlane.oracle import evaluate, solve
from fairlane.policies import load_policy
from fairlane.reference import Instance
from fairlane.reference.rationals import to_fraction
from fairlane.search import Aim, Space, graph_options, objective_options, request_options
from fairlane.search.enumeration import Task, block_pieces, work
from fairlane.search.failure import Guard
from fairlane.search.shared_costs import SharedCosts

TARGET_PER_S = 2_000
COMPARED = 300
POLICIES = ("fixed-value", "decode-first", "least-served", "round-robin", "goodput-width", "fair-gradient", "ongoing")

SPACES = {
    "prompts and drafts": Space(
        n_requests=(2,),
        requests=request_options(prompt=[0, 1, 2, 3], limit=[1, 2], acceptance=[(), ("1/2",)]),
        n_graphs=(2,),
        graphs=graph_options(
            prefill_capacity=[1, 2, 4], decode_capacity=[1, 2], width=[1, 2], duration_ms=[1, 2, "5/2"]
        ),
    ),
    "three graphs, beliefs": Space(
        n_requests=(2,),
        requests=request_options(prompt=[0, 1, 2], limit=[1, 2], length_prior=[None, {1: "1/2", 2: "1/2"}]),
        n_graphs=(3,),
        graphs=graph_options(prefill_capacity=[1, 2], decode_capacity=[1, 2], duration_ms=[1], mixed=True),
        objectives=objective_options(completion_price=[0, 1]),
    ),
    "a price on age": Space(
        n_requests=(2,),
        requests=request_options(prompt=[0, 1, 2], limit=[1, 2, 3]),
        n_graphs=(2,),
        graphs=graph_options(prefill_capacity=[1, 2], decode_capacity=[1, 2], duration_ms=[1, 2, 3]),
        objectives=objective_options(age_price=[1]),
    ),
}


def per_second(space: Space, name: str) -> tuple[float, int]:
    """Instances a CPU second over a whole space, and how many there are."""
    task = Task(policy=name, space=space, aim=Aim(), limit_s=2.0)
    begun = time.process_time()
    results = [work(piece, task=task) for block in space.blocks() for piece in block_pieces(space, *block)]
    spent = time.process_time() - begun
    assert all(result.failure is None for result in results)
    looked = sum(result.instances for result in results)
    return looked / spent, looked


def compared(space: Space) -> Iterator[Instance]:
    """Instances from all over a space."""
    size = sum(1 for _ in islice(space.instances(), 200_000))
    return islice(space.instances(), 0, size, max(1, size // COMPARED))


def alone(space: Space, name: str) -> float:
    """Instances a CPU second without shared costs: `solve` and `evaluate` one by one."""
    rows, policy = list(compared(space)), load_policy(name)
    begun = time.process_time()
    gaps = [evaluate(row, policy, solution=solve(row)).gap for row in rows]
    rate = len(rows) / (time.process_time() - begun)
    for row, gap in zip(rows, gaps, strict=True):
        assert to_fraction(SharedCosts(row.graphs, row.objective, Guard(policy, 60.0)).gap(row.requests)) == gap
    return rate


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description="Instances a second of the search.")
    parser.add_argument("--output", default="benchmarks/results/search.md")
    given = parser.parse_args()
    lines = [
        "# Instances a second of the search",
        "",
        f"{platform.system()} {platform.machine()}, one core, Python {platform.python_version()}; CPU time, other work "
        "was running. Exact gap of the policy and exact optimum of every instance, from rationals alone. "
        f"Target: {TARGET_PER_S:,} a second in a space of two requests.",
        "Written by `python benchmarks/search.py`.",
        "",
        "| space | combinations | policy | looked at | instances/s |",
        "|---|---|---|---|---|",
    ]
    for title, space in SPACES.items():
        for name in POLICIES:
            rate, looked = per_second(space, name)
            lines.append(f"| {title} | {space.size:,} | {name} | {looked:,} | {rate:,.0f} |")
            print(lines[-1], flush=True)
    lines += [
        "",
        f"Without shared costs, `fixed-value` on about {COMPARED} instances of each space, with equal gaps:",
        "",
        "| space | solve and evaluate, instances/s |",
        "|---|---|",
    ]
    for title, space in SPACES.items():
        lines.append(f"| {title} | {alone(space, 'fixed-value'):,.0f} |")
        print(lines[-1], flush=True)
    Path(given.output).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"written to {given.output}")


if __name__ == "__main__":
    main()
