"""The simulator with `fixed-value` on a real trace, beside a plain discrete-event version written with simpy.

    python benchmarks/simulator.py [--quick] [--trace FILE] [--times 3] [--output benchmarks/results/simulator.md]

The trace is an Azure code trace (FILE, or AzureLLMInferenceTrace_code.csv under FAIRLANE_DATA/traces), several times
over, each copy shifted by the span; without a file it is a seeded synthetic one of the same size. Each row is one
loop in a process of its own: reading the trace, simulating, and every metric. `work` is CPU time after imports.
The simpy version is what one writes in an hour: a process for arrivals, a process for the resource, and the same
score over every graph and every live request at each decision. It has no drafts, so the trace runs with none, and its
completion times must equal ours.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FILE = "AzureLLMInferenceTrace_code.csv"
VALUE = 16
TARGET_S = 5.0
# name: (loop, most requests, time limit in s)
ROWS: dict[str, tuple[str, int | None, int]] = {
    "fairlane (by size: compiled)": ("by-size", None, 600),
    "fairlane (by size), nothing compiled yet": ("cold", None, 600),
    "fairlane (fast, never compiled)": ("fast", None, 600),
    "fairlane (event loop, 2,000 requests)": ("readable", 2000, 600),
    "fairlane (event loop, a user's policy)": ("user", None, 600),
    "simpy (2,000 requests)": ("simpy", 2000, 600),
    "simpy": ("simpy", None, 600),
}
QUICK = ("fairlane (by size: compiled)", "simpy (2,000 requests)")


def trace_rows(file: str | None, times: int, most: int | None) -> Any:
    """The trace, several times over and cut."""
    from fairlane.simulator.traces import Trace, TraceRow, repeated

    if file is not None:
        from fairlane.reference.model.codec import read_bytes
        from fairlane.simulator.traces import read_trace

        one = read_trace(read_bytes(file), file)
    else:
        from decimal import Decimal

        import numpy as np

        rng = np.random.default_rng(0)
        at = np.cumsum(rng.exponential(390.0, 8819)).round(4)
        prompts = rng.lognormal(7.2, 0.9, 8819).astype(int).clip(1, 8000)
        outputs = rng.geometric(1 / 28, 8819)
        one = Trace(
            rows=tuple(
                TraceRow(str(k), Decimal(repr(float(t))), int(p), int(o))
                for k, (t, p, o) in enumerate(zip(at, prompts, outputs, strict=True))
            )
        )
    whole = repeated(one, times)
    return Trace(rows=whole.rows[:most]) if most is not None else whole


def by_simpy(rows: Any) -> tuple[list[float], int]:
    """Completion times by request, and the number of launches, from a plain simpy model."""
    import simpy

    from fairlane.simulator.timing_tables import synthetic_catalog

    graphs = [
        (float(g.duration_ms), g.prefill_capacity, g.decode_capacity, g.prefill_capacity + g.decode_capacity * g.width)
        for g in synthetic_catalog()
    ]
    env = simpy.Environment()
    live: list[dict[str, Any]] = []
    finished = [0.0] * len(rows)
    launches = 0
    # a new event for every arrival that an idle resource waits for
    wake = {"event": env.event()}

    def arrivals() -> Any:
        for k, row in enumerate(rows):
            yield env.timeout(max(0.0, float(row.arrival_ms) - env.now))
            live.append({"k": k, "prompt": row.prompt_tokens, "left": row.output_tokens, "served": (0, 0.0, k)})
            if not wake["event"].triggered:
                wake["event"].succeed()

    def choose() -> Any:
        prompts = sorted((r for r in live if r["prompt"]), key=lambda r: r["served"])
        streams = sorted((r for r in live if not r["prompt"]), key=lambda r: r["served"])
        best = None
        for order, (duration, capacity, decode, size) in enumerate(graphs):
            gain, lanes = 0.0, []
            if capacity and prompts:
                values = [min(r["prompt"], capacity) + VALUE * (r["prompt"] <= capacity) for r in prompts]
                gain = max(values)
                lanes = [prompts[values.index(gain)]]
            chosen = streams[:decode]
            gain += VALUE * len(chosen)
            lanes = lanes + chosen
            if not lanes:
                continue
            members = sorted(r["served"] for r in lanes)
            key = (-gain / duration, members, size, order)
            if best is None or key < best[0]:
                best = (key, duration, capacity, lanes)
        return best

    def resource_loop() -> Any:
        nonlocal launches
        left = len(rows)
        while left:
            if not live:
                wake["event"] = env.event()
                yield wake["event"]
            _, duration, capacity, lanes = choose()
            launches += 1
            yield env.timeout(duration)
            for r in lanes:
                r["served"] = (1, env.now, r["k"])
                if r["prompt"]:
                    r["prompt"] -= min(capacity, r["prompt"])
                    if r["prompt"]:
                        continue
                r["left"] -= 1
                if r["left"] == 0:
                    live.remove(r)
                    finished[r["k"]] = env.now
                    left -= 1

    env.process(arrivals())
    env.process(resource_loop())
    env.run()
    return finished, launches


def by_fairlane(rows: Any, loop: str) -> tuple[list[float], int]:
    """Completion times and launches from ours, every metric computed as well."""
    from fairlane import policies
    from fairlane.reference.model.policy import Decision, View
    from fairlane.simulator.run_metrics import measure_run
    from fairlane.simulator.simulate import Path as Loop
    from fairlane.simulator.simulate import simulate
    from fairlane.simulator.timing_tables import synthetic_catalog
    from fairlane.simulator.traces import requests_of

    def first_come(view: View) -> Decision:
        request = view.requests[0]
        if request.decoding:
            return Decision(graph="decode-b1-w1", decode=(request.id,))
        return Decision(graph="prefill-4096", prefill=(request.id,))

    policy: Any = first_come if loop == "user" else policies.spec("fixed-value")
    how = Loop(loop) if loop in set(Loop) else Loop.BY_SIZE
    run = simulate(requests_of(rows), synthetic_catalog(), policy, decode_value=VALUE, path=how)
    measure_run(run)
    return run.finished_ms.tolist(), run.n_launches


def one_row(loop: str, most: int | None, file: str | None, times: int) -> None:
    """Measure in this process and print one JSON line."""
    import numpy as np

    begun, cpu = time.perf_counter(), time.process_time()
    rows = trace_rows(file, times, most)
    finished, launches = by_simpy(rows.rows) if loop == "simpy" else by_fairlane(rows, loop)
    print(
        json.dumps(
            {
                "requests": len(rows),
                "launches": launches,
                "wall": time.perf_counter() - begun,
                "cpu": time.process_time() - cpu,
                "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "digest": float(np.sum(np.array(finished))),
            }
        )
    )


def measured(name: str, file: str | None, times: int) -> dict[str, Any] | None:
    """One row in a fresh process on one core; None where it runs out of time."""
    loop, most, limit_s = ROWS[name]
    with tempfile.TemporaryDirectory() as empty:
        environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        if loop == "cold":
            environment["NUMBA_CACHE_DIR"] = empty
        words = [sys.executable, __file__, "--row", json.dumps([loop, most, file, times])]
        if sys.platform == "linux":
            words = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *words]
        try:
            out = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=limit_s, check=True)
        except subprocess.TimeoutExpired:
            return None
    found: dict[str, Any] = json.loads(out.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Run every row and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--trace")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--output", default="benchmarks/results/simulator.md")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.row:
        one_row(*json.loads(given.row))
        return
    home = os.environ.get("FAIRLANE_DATA")
    guess = Path(home) / "traces" / FILE if home else None
    file = given.trace or (str(guess) if guess is not None and guess.exists() else None)
    # so that the warm row is warm
    measured("fairlane (by size: compiled)", file, given.times)
    lines = [
        "# Simulating a trace with `fixed-value`",
        "",
        f"{platform.system()} {platform.machine()}, one core, Python {platform.python_version()}. "
        f"Trace: {FILE if file else 'synthetic'}, {given.times} times over; decode value {VALUE}; "
        "the built-in separate table; reading and metrics included, imports not.",
        f"Target: 20,000 requests or more in under {TARGET_S:g} s and 500 MB.",
        "Written by `python benchmarks/simulator.py`.",
        "",
        "| loop | requests | launches | wall (s) | CPU (s) | peak (MB) | requests a CPU second | CPU µs a launch |",
        "|---|---|---|---|---|---|---|---|",
    ]
    digests: dict[int, dict[str, float]] = {}
    for name in QUICK if given.quick else ROWS:
        found = measured(name, file, given.times)
        if found is None:
            lines.append(f"| {name} | | | more than {ROWS[name][2]} | | | | |")
            continue
        if ROWS[name][0] != "user":
            digests.setdefault(found["requests"], {})[name] = found["digest"]
        lines.append(
            f"| {name} | {found['requests']:,} | {found['launches']:,} | {found['wall']:.2f} | {found['cpu']:.2f} "
            f"| {found['peak']:.0f} | {found['requests'] / found['cpu']:,.0f} "
            f"| {1e6 * found['cpu'] / found['launches']:.1f} |"
        )
        print(lines[-1], flush=True)
    lines += [
        "",
        "Sum of all completion times, ms (equal runs have equal sums, up to rounding of the sums of doubles):",
        "",
    ]
    for size, by_name in sorted(digests.items()):
        for name, digest in by_name.items():
            lines.append(f"- {size:,} requests, {name}: {digest:.6f}")
    Path(given.output).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"written to {given.output}")


if __name__ == "__main__":
    main()
