"""Learning runs in µs a dispatch: the compiled engine beside the readable one, on the same runs in the same process.

    python benchmarks/learning.py [--quick] [--output benchmarks/results/learning.md]

One row a policy, funded and ungated. Prompts and decodes compete in seven graphs (two prefills,
four decodes at widths 1, 2 and 4, one mixed), with 5 % noise, 16 requests, and prices of tokens and deliveries. Times
are CPU times of the one thread. The compiled figure is the fastest of several runs of a configuration (30 occupied
seconds of learning, 120 measured), tables and result included; the readable one is a single shorter run. Both engines
first run the shorter one and must agree bit for bit. Compilation is timed apart.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from dataclasses import replace
from pathlib import Path

from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request
from fairlane.simulator.learning import policies
from fairlane.simulator.learning.compiled import run_compiled
from fairlane.simulator.learning.config import LearningConfig
from fairlane.simulator.learning.costs import CostLaw
from fairlane.simulator.learning.readable import run_readable
from fairlane.simulator.learning.scenario import Scenario

TARGETS_US = {True: 4.0, False: 10.0}
EXTRA = (
    LearningConfig(policy="targeted", estimator="log-regime", probe_extra_ms=20.0, audit_every=4),
    LearningConfig(policy="targeted", harm_alpha=0.05),
    LearningConfig(policy="targeted", probe_harm_ms=100.0),
    LearningConfig(policy="thompson", estimator="clipped-cusum", partial_blocks=True, funded=False),
)


def scenario() -> Scenario:
    """The workload of every row."""
    graphs = Catalog(
        [
            Graph(name="p64", duration_ms=1, prefill_capacity=64),
            Graph(name="p512", duration_ms=1, prefill_capacity=512),
            Graph(name="d4", duration_ms=1, decode_capacity=4),
            Graph(name="d16", duration_ms=1, decode_capacity=16),
            Graph(name="d4w2", duration_ms=1, decode_capacity=4, width=2),
            Graph(name="d8w4", duration_ms=1, decode_capacity=8, width=4),
            Graph(name="m128d8", duration_ms=1, prefill_capacity=128, decode_capacity=8),
        ]
    )
    means = (4.0, 12.0, 14.0, 22.0, 16.0, 24.0, 26.0)
    return Scenario(
        name="benchmark",
        group="core",
        graphs=graphs,
        laws=tuple(CostLaw(gpu_ms=mean, noise=0.05) for mean in means),
        templates=tuple(
            Request(id=f"r{k}", prompt=(0, 300, 1500)[k % 3], limit=20 + 5 * k, acceptance=("4/5", "3/5", "2/5"))
            for k in range(16)
        ),
    )


def dispatch_us(config: LearningConfig, quick: bool) -> tuple[float, float, int]:
    """Microseconds a dispatch of the compiled and of the readable engine, and launches of the compiled run."""
    full = scenario()
    short = replace(full, learn_busy_ms=1_000.0, measure_busy_ms=2_000.0, drain_busy_ms=0.0)
    # a warm-up, and the proof that both do the same work
    fast = run_compiled(config, short, 0)
    start = time.thread_time()
    slow = run_readable(config, short, 0)
    readable = (time.thread_time() - start) / slow.n_launches
    difference = fast.difference(slow)
    if difference is not None:
        raise SystemExit(f"{config.label}: the engines differ in {difference}")
    best = float("inf")
    for seed in range(2 if quick else 7):
        start = time.thread_time()
        ran = run_compiled(config, full, seed)
        best = min(best, (time.thread_time() - start) / ran.n_launches)
    return best * 1e6, readable * 1e6, ran.n_launches


def main() -> None:
    """Measure, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two runs a row instead of seven")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/learning.md"))
    options = parser.parse_args()
    start = time.thread_time()
    run_compiled(LearningConfig(policy="ttl"), replace(scenario(), measure_busy_ms=0.0, learn_busy_ms=10.0), 0)
    first_s = time.thread_time() - start
    busy = os.getloadavg()[0]
    lines = [
        "# Learning runs, µs a dispatch",
        "",
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}; load average at the start "
        f"{busy:.1f} (other work slows both engines alike). First run, compiled code loaded or made: {first_s:.1f} s.",
        "Targets: 4 µs funded, 10 µs ungated.",
        "",
        "| configuration | launches | compiled | readable | ratio | within target |",
        "|---|---:|---:|---:|---:|---|",
    ]
    rows = [LearningConfig(policy=name, funded=funded) for name in policies.names() for funded in (True, False)]
    for config in (*rows, *EXTRA):
        explores = config.spec.nominate is not None
        if not explores and not config.funded:
            continue
        compiled, readable, launches = dispatch_us(config, options.quick)
        within = "yes" if compiled <= TARGETS_US[config.funded] else "no"
        figures = f"{launches:,} | {compiled:.2f} | {readable:.0f} | {readable / compiled:.0f} | {within} |"
        lines.append(f"| {config.label} | {figures}")
        print(lines[-1], flush=True)
    options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
