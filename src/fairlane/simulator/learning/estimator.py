"""What every estimator of graph timings offers, and the options they share.

An estimator is one object for all graphs; what it knows about one physical graph is an immutable, hashable `Estimate`
that `observe` replaces by a new one. Nothing ages by itself: idle time changes neither counts nor uncertainty.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from fairlane.reference.errors import InvalidInstance
from fairlane.simulator.learning.estimate import Estimate
from fairlane.simulator.learning.student_t import StudentT
from fairlane.simulator.learning.timing import Timing

BLOCK_SIZES = (8, 32)
EXPIRY_MS = 30_000.0


class MeanKind(StrEnum):
    """How the operational mean, which ordinary decisions use, is made of valid timings."""

    ARITHMETIC = "arithmetic"  # of the active regime
    EMA = "ema"  # the first sets it, each later one moves it by an eighth
    MEDIAN9 = "median9"  # of the last nine


class LogReference(StrEnum):
    """When the log-regime detector freezes what it compares with."""

    NOMINATION = "nomination"  # afresh at each nomination, from all active observations
    ONCE = "once"  # once in a regime, at its 64th observation


class PredictiveKind(StrEnum):
    """Whose variation the predictive-noise control draws."""

    EXECUTION = "execution"  # one execution: a block of weight 1/B
    BLOCK = "block"  # the mean of one more block


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorOptions:
    """Options that every estimator understands.

    Attributes
    ----------
    block_size : int
        Observations in a block, 8 or 32.
    partial_blocks : bool
        Whether an unfinished block takes part in the posterior, with the fraction of a block that it fills.
    mean_estimator : MeanKind
        The operational mean.
    expiry_ms : float or None
        The exponential mean is replaced by the first valid timing that completes strictly later than this after the
        last valid one. None: never replaced.
    log_reference : LogReference
        For the log-regime estimator.
    predictive : PredictiveKind
        For the predictive-noise control.
    """

    block_size: int = 8
    partial_blocks: bool = False
    mean_estimator: MeanKind = MeanKind.ARITHMETIC
    expiry_ms: float | None = None
    log_reference: LogReference = LogReference.NOMINATION
    predictive: PredictiveKind = PredictiveKind.EXECUTION

    def __post_init__(self) -> None:
        if self.block_size not in BLOCK_SIZES:
            raise InvalidInstance(f"block_size is {self.block_size!r}; need one of {', '.join(map(str, BLOCK_SIZES))}")
        for name, kind in (
            ("mean_estimator", MeanKind),
            ("log_reference", LogReference),
            ("predictive", PredictiveKind),
        ):
            value = getattr(self, name)
            if value not in tuple(kind):
                raise InvalidInstance(f"{name} is {value!r}; need one of {', '.join(kind)}")
            object.__setattr__(self, name, kind(value))
        if self.expiry_ms is not None and not (math.isfinite(self.expiry_ms) and self.expiry_ms > 0):
            raise InvalidInstance(f"expiry_ms is {self.expiry_ms!r}; need a finite number of ms above 0")


class Estimator(Protocol):
    """Learns the timings of physical graphs, each by itself."""

    def initial(self) -> Estimate:
        """What is known of a graph that was never measured."""
        ...

    def observe(self, estimate: Estimate, timing: Timing, *, prior_ms: float) -> Estimate:
        """What is known after one more completion.

        Parameters
        ----------
        estimate : Estimate
            What was known.
        timing : Timing
            The completed execution; one without a valid timing changes nothing.
        prior_ms : float
            The prior location at this moment (see `family_prior_ms`); used and frozen by the first valid timing only.
        """
        ...

    def mean_ms(self, estimate: Estimate) -> float | None:
        """The operational mean of ordinary decisions, ms; None while unmeasured."""
        ...

    def mean_law(self, estimate: Estimate, *, prior_ms: float) -> StudentT:
        """Belief about the mean cost, ms; ``prior_ms`` counts only while the graph is unmeasured.

        Its `StudentT.positive_quantile` is the optimistic cost at a small probability, and a Thompson draw at a
        keyed uniform; its `StudentT.positive_mean` the mean of such draws.
        """
        ...

    def execution_law(self, estimate: Estimate, *, prior_ms: float) -> StudentT:
        """Belief about the next execution, ms, which the predictive-noise control draws from."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorSpec:
    """A registered estimator.

    Attributes
    ----------
    name : str
        Its name in options and tables.
    make : callable
        The estimator for given options.
    source : str
        Where the method is published.
    assumes : str
        What its error rates rest on.
    row_detector : callable or None
        The number of its detector in the compiled estimator, for given options; None where it is not compiled.
    """

    name: str
    make: Callable[[EstimatorOptions], Estimator]
    source: str
    assumes: str
    row_detector: Callable[[EstimatorOptions], int] | None = None
