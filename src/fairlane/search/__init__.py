"""Counterexamples: the smallest instance on which a policy is worse than optimal, and bounds where there is none."""

from __future__ import annotations

from fairlane.search.case import Aim, Case, Measure
from fairlane.search.explore import Budget, explore, failure_text, search
from fairlane.search.failure import Breach, PolicyFailure
from fairlane.search.result import Counterexample, Report, Status
from fairlane.search.size import Size, size_of
from fairlane.search.space import Space, graph_options, objective_options, request_options

__all__ = [
    "Aim",
    "Breach",
    "Budget",
    "Case",
    "Counterexample",
    "Measure",
    "PolicyFailure",
    "Report",
    "Size",
    "Space",
    "Status",
    "explore",
    "failure_text",
    "graph_options",
    "objective_options",
    "request_options",
    "search",
    "size_of",
]
