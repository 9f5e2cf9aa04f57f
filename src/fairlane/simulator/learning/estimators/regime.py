"""``regime``: three block means in a row outside what the earlier blocks predict start a new regime.

After at least eight active blocks, a block mean is suspect when it lies outside the central 99 % predictive interval
of the reference and differs from the reference's raw mean by at least 10 %. The reference is refreshed at every block
until the first suspect and then frozen; three suspects in a row on one side confirm. A broken run returns its suspects
to the active regime, and the block that broke it is examined against the refreshed reference.

The interval is the symmetric predictive one of the working model, not conditioned on positive costs. With the prior
variance m0^2 it stays wide: 99 % half-width 1.32 m0 at 8 blocks, 0.33 m0 at 125.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from fairlane.simulator.learning.detector import Verdict
from fairlane.simulator.learning.estimate import Regime
from fairlane.simulator.learning.estimator import EstimatorOptions, EstimatorSpec
from fairlane.simulator.learning.kernels.estimate_row import BLOCK_DETECTOR
from fairlane.simulator.learning.retained import RetainedEstimator

BLOCKS_BEFORE = 8
SUSPECTS = 3
CONFIDENCE = 0.99
CHANGE = 0.1


class Reference(NamedTuple):
    """What suspects are compared with, in ms: the predictive interval and the raw mean before the first of them."""

    low_ms: float
    high_ms: float
    mean_ms: float

    def side(self, block_ms: float) -> int:
        """1 or -1 for a suspect block mean above or below, 0 for any other."""
        if abs(block_ms - self.mean_ms) < CHANGE * self.mean_ms:
            return 0
        return int(block_ms > self.high_ms) - int(block_ms < self.low_ms)


class Memory(NamedTuple):
    """Suspects so far, their side and reference, and the durations of suspects and of the unfinished block."""

    suspects: int = 0
    side: int = 0
    reference: Reference | None = None
    durations_ms: tuple[float, ...] = ()


def reference(regime: Regime) -> Reference | None:
    """What the next block is compared with; None before there are blocks enough."""
    if regime.blocks.count < BLOCKS_BEFORE or regime.posterior is None:
        return None
    low_ms, high_ms = regime.posterior.predictive_law().interval(CONFIDENCE)
    return Reference(low_ms, high_ms, regime.blocks.mean)


class BlockDetector(NamedTuple):
    """The detector for blocks of a size."""

    block_size: int

    def start(self) -> Hashable:
        """No suspect."""
        return Memory()

    def examine(self, memory: Hashable, duration_ms: float, regime: Regime) -> Verdict:
        """Conclusion from one more duration: a new one only where it completes a block."""
        assert isinstance(memory, Memory)
        durations = (*memory.durations_ms, duration_ms)
        if regime.partial.count + 1 < self.block_size:
            return Verdict(memory._replace(durations_ms=durations), memory.suspects > 0, ())
        block_ms = regime.partial.add(duration_ms).mean
        if memory.reference is not None and memory.reference.side(block_ms) == memory.side:
            if memory.suspects + 1 == SUSPECTS:
                return Verdict(Memory(), False, durations)
            return Verdict(memory._replace(suspects=memory.suspects + 1, durations_ms=durations), True, ())
        # no suspect before, or a broken run: the present regime has its suspects already
        fresh = reference(regime)
        side = 0 if fresh is None else fresh.side(block_ms)
        if side == 0:
            return Verdict(Memory(), False, ())
        return Verdict(Memory(1, side, fresh, durations[-self.block_size :]), True, ())


def make(options: EstimatorOptions) -> RetainedEstimator:
    """The estimator with the block detector."""
    return RetainedEstimator(options=options, detector=BlockDetector(options.block_size))


ESTIMATOR = EstimatorSpec(
    name="regime",
    make=make,
    source="normal-inverse-gamma predictive interval of block means (Murphy 2007)",
    assumes="independent block means of the working model",
    row_detector=lambda options: BLOCK_DETECTOR,
)
