"""Physical costs, which the executor owns: policies see completed timings only, one reference sees conditional means.

Time is kept in whole nanoseconds, so that a run is the same on every engine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fairlane.reference.errors import InvalidInstance
from fairlane.simulator.draws import Stream, hash_words
from fairlane.simulator.learning.kernels import execution
from fairlane.simulator.run import Floats, Integers

TICKS_PER_MS = execution.TICKS_PER_MS
# executions of a mature history are keyed apart from those of the run
HISTORY_SEED = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class CostChange:
    """A new mean GPU cost from an occupied time on."""

    at_busy_ms: float
    gpu_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLaw:
    """How long executions of one graph take.

    Attributes
    ----------
    gpu_ms : float
        Mean GPU time of a full graph, > 0.
    host_ms : float
        Hand-over by the host, added to every execution, >= 0.
    first_use_ms : float
        Penalty of the first execution, >= 0.
    changes : tuple of CostChange
        Later means, in order of time.
    noise : float
        Standard deviation of the logarithm, >= 0; the mean is preserved.
    correlation : float
        Lag-one correlation of the logarithm from one execution to the graph's next, in [0, 1).
    outlier_chance, outlier_factor : float
        Rare executions that take a multiple; they raise the mean.
    missing_chance, zero_chance : float
        Executions whose timer shows nothing, or zero; together at most 1.
    occupancy : float
        Part of the GPU time that is proportional to the filled share of the graph's capacity, in [0, 1].
    context_per_1000 : float
        Relative growth with 1,000 tokens of mean context in the decode rows, >= 0.
    """

    gpu_ms: float
    host_ms: float = 0.0
    first_use_ms: float = 0.0
    changes: tuple[CostChange, ...] = ()
    noise: float = 0.0
    correlation: float = 0.0
    outlier_chance: float = 0.0
    outlier_factor: float = 5.0
    missing_chance: float = 0.0
    zero_chance: float = 0.0
    occupancy: float = 0.0
    context_per_1000: float = 0.0

    def __post_init__(self) -> None:
        for name, low, high, closed_above in _RANGES:
            value = getattr(self, name)
            if not (math.isfinite(value) and low <= value and (value <= high if closed_above else value < high)):
                raise InvalidInstance(
                    f"{name} is {value!r}; need >= {low:g} and {'<=' if closed_above else '<'} {high:g}"
                )
        if self.gpu_ms <= 0 or self.outlier_factor <= 0:
            raise InvalidInstance(f"gpu_ms {self.gpu_ms!r}, outlier_factor {self.outlier_factor!r}: need both > 0")
        if self.missing_chance + self.zero_chance > 1:
            raise InvalidInstance(
                f"missing_chance + zero_chance is {self.missing_chance + self.zero_chance:g}; need at most 1"
            )
        times = [c.at_busy_ms for c in self.changes]
        if times != sorted(times) or not all(c.gpu_ms > 0 and c.at_busy_ms >= 0 for c in self.changes):
            raise InvalidInstance("changes: need gpu_ms > 0 at occupied times >= 0 in order")


_RANGES = (
    ("gpu_ms", 0.0, math.inf, False),
    ("host_ms", 0.0, math.inf, False),
    ("first_use_ms", 0.0, math.inf, False),
    ("noise", 0.0, math.inf, False),
    ("correlation", 0.0, 1.0, False),
    ("outlier_chance", 0.0, 1.0, True),
    ("outlier_factor", 0.0, math.inf, False),
    ("missing_chance", 0.0, 1.0, True),
    ("zero_chance", 0.0, 1.0, True),
    ("occupancy", 0.0, 1.0, True),
    ("context_per_1000", 0.0, math.inf, False),
)


class Execution(NamedTuple):
    """One execution: how long it held the resource in ticks, and what its timer showed, None or 0 for nothing."""

    ticks: int
    gpu_ms: float | None
    host_ms: float


class Executor:
    """Owns the costs of one run.

    Parameters
    ----------
    laws : sequence of CostLaw
        In catalog order.
    seed : int
        Draws are keyed by graph and execution count in the timing stream of this seed.
    """

    def __init__(self, laws: Sequence[CostLaw], seed: int) -> None:
        self.stream = np.uint64(hash_words(seed, Stream.TIMING))
        self.laws = law_table(laws)
        self.changes = change_table(laws)
        self.noise: Floats = np.zeros(len(laws), dtype=np.float64)
        self.counts: Integers = np.zeros(len(laws), dtype=np.int64)
        self._parts = np.zeros(2, dtype=np.float64)

    def execute(self, graph: int, *, busy_ms: float, occupancy: float = 1.0, context_tokens: float = 0.0) -> Execution:
        """The graph's next execution.

        Parameters
        ----------
        graph : int
            Place in the catalog.
        busy_ms : float
            Occupied time at its start.
        occupancy : float
            Filled share of the capacity, in (0, 1].
        context_tokens : float
            Mean context of its decode rows.
        """
        shown = execution.execute(
            self.stream,
            self.laws,
            self.changes,
            self.noise,
            self.counts,
            graph,
            busy_ms,
            occupancy,
            context_tokens,
            self._parts,
        )
        gpu = max(1, int(self._parts[0] * TICKS_PER_MS + 0.5))
        host = int(self._parts[1] * TICKS_PER_MS + 0.5)
        seen = gpu / TICKS_PER_MS if shown == execution.SHOWN else (0.0 if shown == execution.ZEROED else None)
        return Execution(gpu + host, seen, host / TICKS_PER_MS)

    def history_ms(self, graph: int, n: int) -> Floats:
        """Durations of the graph's next n executions, at occupied time 0."""
        out = np.empty(n, dtype=np.float64)
        execution.draw_history(self.stream, self.laws, self.changes, self.noise, self.counts, graph, self._parts, out)
        return out

    def conditional_mean_ms(
        self, graph: int, *, busy_ms: float, occupancy: float = 1.0, context_tokens: float = 0.0
    ) -> float:
        """Expected cost of the next execution given the regime and the noise seen last; never the draw itself."""
        return float(
            execution.conditional_mean(
                self.laws, self.changes, self.noise, self.counts, graph, busy_ms, occupancy, context_tokens
            )
        )


def law_table(laws: Sequence[CostLaw]) -> Floats:
    """One row a graph, columns of `kernels.execution`."""
    rows = [
        (
            law.gpu_ms,
            law.host_ms,
            law.first_use_ms,
            law.noise,
            law.correlation,
            law.outlier_chance,
            law.outlier_factor,
            law.missing_chance,
            law.zero_chance,
            law.occupancy,
            law.context_per_1000,
        )
        for law in laws
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, execution.N_LAW)


def change_table(laws: Sequence[CostLaw]) -> Floats:
    """One row a change, in order of time."""
    rows = sorted((change.at_busy_ms, g, change.gpu_ms) for g, law in enumerate(laws) for change in law.changes)
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def mature_law(law: CostLaw) -> CostLaw:
    """A law whose first use is long past and whose timer always shows."""
    return replace(law, first_use_ms=0.0, changes=(), missing_chance=0.0, zero_chance=0.0, occupancy=0.0)


def history_of(laws: Sequence[CostLaw], seed: int, n: int) -> list[Floats]:
    """Valid observations of each graph before a run, ms: the first regime's, with its noise and outliers."""
    past = Executor([mature_law(law) for law in laws], seed ^ HISTORY_SEED)
    return [past.history_ms(g, n) for g in range(len(laws))]
