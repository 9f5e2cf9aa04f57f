"""Thousands of tiny instances: one compiled sweep beside one call of `solve` each and a plain prototype.

    python benchmarks/tiny.py [--instances 2000] [--output benchmarks/results/tiny.md]

Seeded draws of the kind that a search for counterexamples makes: one to four requests, two to four graphs, priors,
drafts, weights and prices, at most 100 states. `fresh` draws every object anew, `shared` draws requests for one
catalog and one objective. Every figure is CPU time an instance, the median of several passes after a first one; the
first use of the compiled kernel is measured in processes of its own, with an empty and with a warm cache.
The prototype is what one writes in an hour: a memoised recursion in doubles over tuples, without bounds.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from fairlane.oracle.rational.plain import solve_plain
from fairlane.oracle.solve import solve
from fairlane.oracle.sweeps.tiny_batch import pack, solve_tiny
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request

TARGET_SWEPT_US, TARGET_CALL_US = 20, 50


def draw_graphs(rng: random.Random) -> Catalog:
    """A prompt graph, one or two decode graphs and sometimes a mixed one."""
    graphs = [
        Graph(name="p", duration_ms=Fraction(rng.randint(1, 8), rng.randint(1, 2)), prefill_capacity=rng.randint(1, 4)),
        Graph(name="d1", duration_ms=Fraction(rng.randint(1, 6), 3), decode_capacity=1, width=rng.randint(1, 3)),
    ]
    if rng.random() < 0.7:
        graphs.append(Graph(name="d3", duration_ms=rng.randint(2, 9), decode_capacity=3, width=rng.randint(1, 3)))
    if rng.random() < 0.5:
        graphs.append(Graph(name="mix", duration_ms=rng.randint(2, 9), prefill_capacity=2, decode_capacity=2, width=2))
    return Catalog(graphs)


def draw_objective(rng: random.Random) -> Objective:
    """Values and prices, some of them 0."""
    return Objective(
        decode_value=rng.choice([1, 4, 16]),
        time_price=Fraction(rng.randint(0, 2), 2),
        completion_price=Fraction(rng.randint(0, 3), 3),
        first_output_price=rng.randint(0, 1),
    )


def draw_request(rng: random.Random, name: str) -> Request:
    """Up to three prompt tokens, three output tokens, two drafts; a prior half of the time."""
    limit = rng.randint(1, 3)
    lengths = rng.sample(range(1, limit + 2), rng.randint(1, 2))
    return Request(
        id=name,
        prompt=rng.choice([0, 0, 1, 2, 3]),
        limit=limit,
        length_prior={n: Fraction(1, len(lengths)) for n in lengths} if rng.random() < 0.5 else None,
        acceptance=[Fraction(rng.randint(0, 4), 4) for _ in range(rng.randint(0, 2))],
        weight=Fraction(rng.randint(1, 4), 2),
    )


def draw(n: int, *, shared: bool, least_states: int) -> list[Instance]:
    """Instances of least_states to 100 states."""
    from fairlane.oracle.encoding.packing import count_states

    rng = random.Random(1)
    catalog, objective = draw_graphs(rng), draw_objective(rng)
    out: list[Instance] = []
    while len(out) < n:
        instance = Instance(
            graphs=catalog if shared else draw_graphs(rng),
            requests=[draw_request(rng, f"r{i}") for i in range(rng.randint(1, 4))],
            objective=objective if shared else draw_objective(rng),
        )
        if least_states <= count_states(instance) <= 100:
            out.append(instance)
    return out


def prototype(instance: Instance) -> float:
    """The optimum in doubles: a recursion over tuples of (prompt, output) or None, memoised."""
    prices = instance.objective
    values = [float(prices.prefill_value), float(prices.decode_value), float(prices.time_price)]
    waiting = [float(prices.completion_price), float(prices.first_output_price)]
    requests = [
        (
            float(r.weight),
            r.limit,
            [float(q) for q in r.acceptance],
            {r.limit: 1.0} if r.length_prior is None else {n: float(p) for n, p in r.length_prior},
        )
        for r in instance.requests
    ]
    graphs = [(float(g.duration_ms), g.prefill_capacity, g.decode_capacity, g.width) for g in instance.graphs]

    def row(i: int, g: int, width: int) -> list[tuple[float, Any, int]]:
        _, limit, drafts, prior = requests[i]
        law = {min(n, limit): 0.0 for n in prior}
        for n, p in prior.items():
            law[min(n, limit)] += p
        alive = sum(p for n, p in law.items() if n > g)
        out: list[tuple[float, Any, int]] = []
        reach = 1.0
        for n in range(1, width + 1):
            out.append((reach * law.get(g + n, 0.0) / alive, None, n))
            q = drafts[n - 1] if n < width and n <= len(drafts) else 0.0
            beyond = sum(p for m, p in law.items() if m > g + n)
            out.append((reach * (1 - q) * beyond / alive, (0, g + n), n))
            reach *= q
        return [outcome for outcome in out if outcome[0] > 0]

    memo: dict[Any, float] = {}

    def value(state: Any) -> float:
        if not any(state):
            return 0.0
        if state in memo:
            return memo[state]
        live = [i for i, local in enumerate(state) if local]
        rows = [i for i in live if not state[i][0]]
        rate = values[2] + sum(requests[i][0] * (waiting[0] + (waiting[1] if state[i][0] else 0.0)) for i in live)
        best = -float("inf")
        for duration, capacity, most, width in graphs:
            prompts = [None, *(i for i in live if state[i][0])] if capacity else [None]
            for prompt in prompts:
                for size in range(min(most, len(rows)) + 1):
                    for chosen in itertools.combinations(rows, size):
                        if prompt is None and not chosen:
                            continue
                        total = -duration * rate
                        laws = [
                            [(p, i, to, requests[i][0] * values[1] * n) for p, to, n in row(i, state[i][1], width)]
                            for i in chosen
                        ]
                        if prompt is not None:
                            weight, before = requests[prompt][0], state[prompt][0]
                            left = max(0, before - capacity)
                            total += values[0] * weight * (before - left)
                            if left:
                                laws.append([(1.0, prompt, (left, 0), 0.0)])
                            else:
                                first = row(prompt, 0, 1)
                                laws.append([(p, prompt, to, weight * values[1] * n) for p, to, n in first])
                        for outcome in itertools.product(*laws):
                            after = list(state)
                            chance, gain = 1.0, 0.0
                            for p, i, to, reward in outcome:
                                chance *= p
                                gain += reward
                                after[i] = to
                            total += chance * (gain + value(tuple(after)))
                        best = max(best, total)
        memo[state] = best
        return best

    return value(tuple((r.prompt, r.generated) for r in instance.requests))


def microseconds(work: Callable[[], object], n: int, passes: int = 7) -> float:
    """Median CPU time an instance, after one pass."""
    work()
    found = []
    for _ in range(passes):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return statistics.median(found) / n * 1e6


def first_use(cache: str) -> tuple[float, float]:
    """CPU seconds of importing numba, and of the first call, in a new process."""
    program = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); import tiny; "
        "rows = tiny.draw(3, shared=True, least_states=1); "
        "a = time.process_time(); import numba; b = time.process_time(); tiny.solve_tiny(rows); "
        "print(b - a, time.process_time() - b)"
    )
    out = subprocess.run(
        [sys.executable, "-c", program, str(Path(__file__).parent)],
        env=dict(os.environ, NUMBA_CACHE_DIR=cache),
        capture_output=True,
        text=True,
        check=True,
    )
    imported, called = map(float, out.stdout.split())
    return imported, called


def table_row(name: str, rows: list[Instance]) -> str:
    """One line of the table; every method must agree first."""
    from fairlane.oracle.kernels.tiny import empty_results, sweep_all
    from fairlane.oracle.kernels.tiny_tables import new_scratch

    n, some = len(rows), rows[:200]
    found = solve_tiny(rows)
    assert found.swept.all()
    for k, instance in enumerate(some):
        exact = solve(instance).value
        assert exact is not None
        assert Fraction(float(found.lower[k])) <= exact <= Fraction(float(found.upper[k]))
        assert abs(prototype(instance) - float(exact)) < 1e-9 * (1 + abs(float(exact)))
    words, at = pack(rows)
    scratch, results = new_scratch(), empty_results(n)
    figures = [
        float(found.states.mean()),
        microseconds(lambda: pack(rows), n),
        microseconds(lambda: sweep_all(words, at, False, scratch, *results), n),
        microseconds(lambda: sweep_all(words, at, True, scratch, *results), n),
        microseconds(lambda: solve_tiny(rows), n),
        microseconds(lambda: [solve_tiny([x]) for x in some], len(some)),
        microseconds(lambda: [solve(x) for x in some], len(some), 3),
        microseconds(lambda: [solve_plain(x) for x in some], len(some), 1),
        microseconds(lambda: [prototype(x) for x in some], len(some), 3),
    ]
    return f"| {name} | {n:,} | " + " | ".join(f"{x:,.1f}" for x in figures) + " |"


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--instances", type=int, default=2000)
    parser.add_argument("--output", default="benchmarks/results/tiny.md")
    given = parser.parse_args()
    lines = [
        "# Thousands of tiny instances",
        "",
        f"{platform.system()} {platform.machine()}, one core, Python {platform.python_version()}. CPU time, µs an "
        "instance, medians; `pack` writes records of doubles from the Python objects, `sweep` is the kernel, "
        "`solve_tiny` both and the certified bounds, for all instances at once and for one a call. `solve` (exact "
        "rationals), `solve_plain` and the prototype are called once an instance, on the first 200.",
        f"Targets: {TARGET_SWEPT_US} µs in one sweep, {TARGET_CALL_US} µs a call of `solve`.",
        "Written by `python benchmarks/tiny.py`.",
        "",
        "| draws | instances | mean states | pack | sweep, max | sweep, min | solve_tiny | one a call | solve "
        "| solve_plain | prototype |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, shared, least in (
        ("1 to 100 states, fresh", False, 1),
        ("1 to 100 states, shared", True, 1),
        ("20 to 100 states, fresh", False, 20),
        ("20 to 100 states, shared", True, 20),
    ):
        lines.append(table_row(name, draw(given.instances, shared=shared, least_states=least)))
        print(lines[-1], flush=True)
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = first_use(cache), first_use(cache)
    lines += [
        "",
        f"First call in a process, CPU s: compiling, with an empty cache {cold[1]:.1f}; from a warm cache "
        f"{warm[1]:.2f}, beside {warm[0]:.2f} for the import of numba. A few instances are answered sooner by `solve`, "
        "which compiles nothing below 3,000 states.",
    ]
    Path(given.output).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"written to {given.output}")


if __name__ == "__main__":
    main()
