"""What a second frame in flight costs or saves: exactly on the bundled instances, and by simulation on the workloads.

    python benchmarks/two_frames.py [--seeds 20] [--output benchmarks/results/two_frames.md]

Exact: regret is the optimum less the policy's value, both in rationals; the value with two frames is that of the
exhaustive replay. The optimum is that of one frame, which no schedule can beat, so its regret is never negative.
Simulated: mean end-to-end latency over the requests of a workload, with two frames less with one, over equal seeds;
the half-width is 1.96 standard errors of the paired difference. Every run of a gap of G ms starts no graph earlier
than G after it was chosen. The break-even gap is the least of the grid from which on two frames are no worse in mean.
"""

from __future__ import annotations

import argparse
import math
import platform
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import numpy as np

from fairlane import suite
from fairlane.oracle.solve import solve
from fairlane.policies import spec
from fairlane.simulator.replay import replay
from fairlane.simulator.run import Run
from fairlane.simulator.simulate import simulate
from fairlane.simulator.timing_tables import synthetic_catalog
from fairlane.simulator.workloads import WORKLOADS, Workload

POLICIES = ("fixed-value", "fair-gradient", "ongoing", "decode-first")
VALUE = 16
GAPS = ("0", "1/4", "1/2", "1", "2", "4", "8", "16")
Z_95 = 1.96


class Paired(NamedTuple):
    """Paired differences, two frames less one: per seed, in ms, and the share of graphs that were queued."""

    one_ms: float
    differences_ms: Sequence[float]
    queued: float

    @property
    def mean_ms(self) -> float:
        """Of the differences."""
        return mean(self.differences_ms)

    @property
    def half_width_ms(self) -> float:
        """Of 95 % confidence."""
        return Z_95 * stdev(self.differences_ms) / math.sqrt(len(self.differences_ms))


def latency_ms(run: Run) -> float:
    """Mean end-to-end latency; everyone finishes, since there is no horizon."""
    arrival = np.array([float(r.arrival_ms) for r in run.requests])
    return float((run.finished_ms - arrival).mean())


def queued_share(run: Run) -> float:
    """Graphs chosen before the one ahead had completed."""
    assert run.chosen_ms is not None
    return float((run.chosen_ms[1:] < run.end_ms[:-1]).sum() / run.n_launches)


def paired(work: Workload, policy: str, gap: str, seeds: int) -> Paired:
    """Runs with one and two frames over equal seeds."""
    one, two, queued = [], [], []
    for seed in range(seeds):
        runs = [
            simulate(
                work.requests,
                synthetic_catalog(),
                spec(policy),
                decode_value=VALUE,
                seed=seed,
                two_frames=two_frames,
                launch_gap_ms=gap,
            )
            for two_frames in (False, True)
        ]
        one.append(latency_ms(runs[0]))
        two.append(latency_ms(runs[1]))
        queued.append(queued_share(runs[1]))
    return Paired(mean(one), [b - a for a, b in zip(one, two, strict=True)], mean(queued))


def break_even(work: Workload, policy: str, at_zero: Paired, seeds: int) -> str:
    """The least gap of the grid from which on two frames are no worse, as text."""
    if at_zero.queued == 0:
        return "never queues"
    better = [at_zero.mean_ms <= 0]
    better += [paired(work, policy, gap, seeds).mean_ms <= 0 for gap in GAPS[1:]]
    if not better[-1]:
        return f"> {GAPS[-1]}"
    worse = [k for k, good in enumerate(better) if not good]
    return GAPS[worse[-1] + 1] if worse else "0"


def exact_rows(names: Sequence[str]) -> list[str]:
    """One row an instance and policy whose regret changes, then how many do not."""
    lines = []
    counts = dict.fromkeys(("costs", "saves", "same"), 0)
    for name in names:
        instance = suite.load(name)
        optimum = solve(instance).value
        assert optimum is not None
        for policy in POLICIES:
            one, two = (optimum - replay(instance, spec(policy), two_frames=n).value for n in (False, True))
            assert one >= 0, "no policy beats the optimum"
            assert two >= 0, "no queue beats the optimum"
            counts["same" if one == two else "costs" if two > one else "saves"] += 1
            if one != two:
                scale = abs(float(optimum))
                lines.append(
                    f"| {name} | {policy} | {float(optimum):.6g} | {float(one):.6g} | {float(two):.6g} "
                    f"| {100 * float(two - one) / scale:+.2f} % |"
                )
                print(lines[-1], flush=True)
    total = sum(counts.values())
    lines += [
        "",
        f"Of {total} pairs two frames cost regret in {counts['costs']}, save some in {counts['saves']}, and change "
        f"nothing in {counts['same']}.",
    ]
    return lines


def simulated_rows(works: Sequence[Workload], seeds: int, gap_seeds: int) -> list[str]:
    """One row a workload and policy."""
    lines = []
    for work in works:
        for policy in POLICIES:
            found = paired(work, policy, "0", seeds)
            even = break_even(work, policy, found, gap_seeds)
            lines.append(
                f"| {work.name} | {policy} | {found.one_ms:.1f} | {found.mean_ms:+.2f} ± {found.half_width_ms:.2f} "
                f"| {100 * found.mean_ms / found.one_ms:+.1f} % | {100 * found.queued:.0f} % | {even} |"
            )
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Measure and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--gap-seeds", type=int, default=4)
    parser.add_argument("--quick", action="store_true", help="two instances and two workloads")
    parser.add_argument("--output", default="benchmarks/results/two_frames.md")
    given = parser.parse_args()
    names = suite.names()[:2] if given.quick else suite.names()
    works = WORKLOADS[:2] if given.quick else WORKLOADS
    lines = [
        "# Two frames in flight: regret and break-even gap",
        "",
        f"Written by `python benchmarks/two_frames.py`, Python {platform.python_version()}; no figure depends on the "
        "speed of a machine. Policies: " + ", ".join(f"`{p}`" for p in POLICIES) + ".",
        "",
        "Without a launch gap a second frame hides nothing, and a queued choice is made with less known and fewer "
        "requests on offer. Where it saves regret, the rule itself was not optimal. Streams in the running graph are "
        "not on offer, so those left over are queued in a batch of their own, and streams can fall into batches that "
        "take turns.",
        "",
        "## Exact, on the bundled instances, no launch gap",
        "",
        "Regret in the instance's own units of value; change in per cent of the optimum. Pairs that do not change are "
        "left out.",
        "",
        "| instance | policy | optimum | regret, one frame | regret, two frames | change |",
        "|---|---|---|---|---|---|",
        *exact_rows(names),
        "",
        "## Simulated, on the named workloads",
        "",
        f"Built-in separate table, decode value {VALUE}, {given.seeds} seeds, paired; the gap that breaks even over "
        f"{given.gap_seeds} seeds on the grid {', '.join(GAPS)} ms. Latency is from arrival to last output, the mean "
        "over requests.",
        "",
        "| workload | policy | latency, one frame (ms) | two less one (ms) | change | queued | break-even gap (ms) |",
        "|---|---|---|---|---|---|---|",
        *simulated_rows(works, given.seeds, given.gap_seeds),
    ]
    Path(given.output).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"written to {given.output}")


if __name__ == "__main__":
    main()
