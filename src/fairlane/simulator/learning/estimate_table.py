"""Estimates of many graphs as one table of float64 for compiled loops, and back as `Estimate`."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fairlane.reference.errors import Unsupported
from fairlane.simulator.learning import estimators
from fairlane.simulator.learning.estimate import Estimate, Regime
from fairlane.simulator.learning.estimator import EstimatorOptions, MeanKind
from fairlane.simulator.learning.kernels import estimate_row as row
from fairlane.simulator.learning.kernels.observe import RowOptions
from fairlane.simulator.learning.moments import Moments
from fairlane.simulator.learning.posterior import NormalInverseGamma

MEAN_KINDS = {MeanKind.ARITHMETIC: row.ARITHMETIC, MeanKind.EMA: row.EMA, MeanKind.MEDIAN9: row.MEDIAN9}


def row_options(name: str, options: EstimatorOptions) -> RowOptions:
    """What the compiled estimator of a name is told.

    Raises
    ------
    Unsupported
        The estimator has no compiled counterpart.
    """
    code = estimators.spec(name).row_detector
    if code is None:
        raise Unsupported(f"estimator is {name!r}, which has no compiled counterpart; need the readable engine")
    return RowOptions(
        detector=code(options),
        mean_kind=MEAN_KINDS[options.mean_estimator],
        block_size=options.block_size,
        partial_blocks=options.partial_blocks,
    )


def unmeasured_rows(n_graphs: int) -> npt.NDArray[np.float64]:
    """A table of graphs that were never measured, shape (n_graphs, N_COLUMNS)."""
    rows = np.zeros((n_graphs, row.N_COLUMNS))
    for graph in range(n_graphs):
        row.clear(rows, graph)
    return rows


def estimate_of(rows: npt.NDArray[np.float64], graph: int) -> Estimate:
    """A graph's row as the estimate that the readable estimator would hold, without the detector's memory."""
    values = [float(value) for value in rows[graph]]

    def moments(at: int) -> Moments:
        return Moments(int(values[at]), values[at + row.MEAN], values[at + row.SQUARES])

    lifetime = moments(row.LIFETIME)
    if lifetime.count == 0:
        return Estimate()
    recent = values[row.RECENT : row.RECENT + min(lifetime.count, row.N_RECENT)]
    oldest = lifetime.count % row.N_RECENT if lifetime.count > row.N_RECENT else 0
    assert not math.isnan(values[row.PRIOR]), "a measured graph has a prior location"
    return Estimate(
        lifetime=lifetime,
        gpu=moments(row.GPU),
        host=moments(row.HOST),
        regime=Regime(
            durations=moments(row.ACTIVE),
            blocks=moments(row.BLOCKS),
            posterior=NormalInverseGamma(
                kappa=values[row.KAPPA], alpha=values[row.ALPHA], beta=values[row.BETA], m=values[row.LOCATION]
            ),
            partial=moments(row.PARTIAL),
        ),
        prior_ms=values[row.PRIOR],
        exponential_ms=values[row.EXPONENTIAL],
        recent_ms=(*recent[oldest:], *recent[:oldest]),
        last_valid_ms=values[row.LAST_VALID],
        resets=int(values[row.RESETS]),
        pending=values[row.PENDING] != 0.0,
    )
