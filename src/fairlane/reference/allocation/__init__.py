"""The fair-allocation reference: a concave utility over the rate region, certified.

Two forms of one problem: explicit action vectors (`fair_allocation`) and graphs with requests
(`fair_allocation_graphs`). Certificates (`support_gap`, `check_certificate`) share no code with the solvers.
"""

from __future__ import annotations

from fairlane.reference.allocation.certificate import SupportingDirection, support_gap, supporting_direction
from fairlane.reference.allocation.cohorts import Cohort, CohortShares, LaunchSchedule
from fairlane.reference.allocation.exact_certificate import (
    AllocationCertificate,
    CheckedGap,
    check_certificate,
    exact_certificate,
)
from fairlane.reference.allocation.lag import (
    Lag,
    LagLedger,
    advance,
    deliver,
    open_ledger,
    reference_rates,
    revise,
)
from fairlane.reference.allocation.problem_file import AllocationProblem, load_allocation_problem
from fairlane.reference.allocation.region import RateRegion, rate_region
from fairlane.reference.allocation.result import (
    Allocation,
    AllocationMethod,
    GraphAllocation,
    ToleranceNotMet,
    ToleranceTooSmall,
)
from fairlane.reference.allocation.solve import fair_allocation
from fairlane.reference.allocation.solve_graphs import fair_allocation_graphs

__all__ = [
    "Allocation",
    "AllocationCertificate",
    "AllocationMethod",
    "AllocationProblem",
    "CheckedGap",
    "Cohort",
    "CohortShares",
    "GraphAllocation",
    "Lag",
    "LagLedger",
    "LaunchSchedule",
    "RateRegion",
    "SupportingDirection",
    "ToleranceNotMet",
    "ToleranceTooSmall",
    "advance",
    "check_certificate",
    "deliver",
    "exact_certificate",
    "fair_allocation",
    "fair_allocation_graphs",
    "load_allocation_problem",
    "open_ledger",
    "rate_region",
    "reference_rates",
    "revise",
    "support_gap",
    "supporting_direction",
]
