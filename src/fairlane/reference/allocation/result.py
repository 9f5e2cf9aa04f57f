"""What a fair allocation is: the result of either form, the methods by name, and the two ways to fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fairlane.reference.allocation.arrays import FloatArray
from fairlane.reference.allocation.cohorts import CohortShares, action_cohorts, graph_cohorts
from fairlane.reference.allocation.graph_problem import GraphProblem
from fairlane.reference.allocation.rate_table import RateTable
from fairlane.reference.errors import InvalidInstance, Unsupported
from fairlane.reference.exact import Real

# The float certificate is a difference of sums of about 1; pairwise sums of 1e5 terms keep about 1e-14 of it.
SMALLEST_TOLERANCE = 1e-13


class AllocationMethod(StrEnum):
    """The solvers by name."""

    CONDITIONAL_GRADIENTS = "conditional-gradients"
    INTERIOR_POINT = "interior-point"
    COLUMN_GENERATION = "column-generation"
    WATER_FILLING = "water-filling"
    CVXPY = "cvxpy"


class ToleranceTooSmall(InvalidInstance, Unsupported):
    """A tolerance below what a certificate in double precision can show."""


class ToleranceNotMet(Unsupported):
    """A method stopped before its certificate met the tolerance.

    Attributes
    ----------
    best : Allocation
        The allocation reached, with its certified gap; feasible, and no better than that gap says.
    tolerance : float
        The relative gap that was asked for.
    """

    def __init__(self, best: Allocation, tolerance: float) -> None:
        self.best = best
        self.tolerance = tolerance
        super().__init__(
            f"method {best.method} reached a relative gap of {best.relative_gap:.3g} (gap {best.gap:.3g}); "
            f"need at most {tolerance:.3g}"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Allocation:
    """A point of the rate region with the certificate of how far from optimal it can be.

    Parameters
    ----------
    time_shares : ndarray of float64, shape (n_actions,)
        Fraction of wall time of each action (of each graph, in the graph form); >= 0, sums to 1. Read-only.
    rates : ndarray of float64, shape (n_requests,)
        Useful tokens per millisecond of each request, > 0. Read-only.
    utility : float
        sum v x + f log x, the reference rate being 1 token per millisecond.
    gap : float
        Certified bound on the optimum minus ``utility``, >= 0; the better of the two certificates.
    relative_gap : float
        ``gap / (sum v x + sum f)``.
    method : AllocationMethod
        What found it.
    seconds : float
        Wall time of the call.
    log_prices : ndarray of float64, shape (n_requests,)
        u > 0 of the dual certificate: a token of a request is priced at its token value plus this. Read-only.
    problem : RateTable or GraphProblem
        What was solved.
    """

    time_shares: FloatArray
    rates: FloatArray
    utility: float
    gap: float
    relative_gap: float
    method: AllocationMethod
    seconds: float
    log_prices: FloatArray
    problem: RateTable | GraphProblem

    def cohorts(self, durations_ms: Sequence[Real] | None = None) -> CohortShares:
        """The actions with a positive share as a schedule of whole launches.

        Parameters
        ----------
        durations_ms : sequence of numbers or None
            Duration of every action in milliseconds, > 0; 1 each when left out.
        """
        assert isinstance(self.problem, RateTable)
        return action_cohorts(self.problem, self.time_shares, durations_ms)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GraphAllocation(Allocation):
    """An allocation of graphs and requests in the compact form.

    Parameters
    ----------
    row_shares : ndarray of float64, shape (n_graphs, n_requests)
        Fraction of wall time in which the request holds a lane of the graph; between 0 and the graph's share.
        Read-only.
    """

    row_shares: FloatArray
    problem: GraphProblem

    def cohorts(self, durations_ms: Sequence[Real] | None = None) -> CohortShares:
        """Whole cohorts, at most one a request and a row, whose mixture attains the rates.

        Parameters
        ----------
        durations_ms : None
            The catalog has the durations; anything else is refused.
        """
        if durations_ms is not None:
            raise InvalidInstance("durations_ms is given; need None, the catalog has the durations")
        return graph_cohorts(self.problem, self.time_shares, self.row_shares, self.rates)


def check_tolerance(tolerance: float) -> float:
    """The tolerance, if a certificate in doubles can meet it.

    Raises
    ------
    InvalidInstance
        Not a finite number >= 0.
    ToleranceTooSmall
        Below the smallest that can be met, which the message names.
    """
    try:
        value = float(tolerance)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInstance(f"tolerance is {tolerance!r:.40}; need a number >= {SMALLEST_TOLERANCE:g}") from None
    if not (0 <= value < np.inf):
        raise InvalidInstance(f"tolerance is {tolerance}; need a finite number >= {SMALLEST_TOLERANCE:g}")
    if value < SMALLEST_TOLERANCE:
        raise ToleranceTooSmall(
            f"tolerance is {tolerance}; double precision cannot show less than {SMALLEST_TOLERANCE:g}, "
            f"need >= {SMALLEST_TOLERANCE:g}"
        )
    return value
