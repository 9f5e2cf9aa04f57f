"""The model and its reference calculations: the meaning on which everything else is checked."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlane.reference.age import output_age_area
    from fairlane.reference.allocation import (
        Allocation,
        fair_allocation,
        fair_allocation_graphs,
        rate_region,
        support_gap,
        supporting_direction,
    )
    from fairlane.reference.codec import dump_instance, load_catalog, load_instance
    from fairlane.reference.completion import greedy_plan, prefill_completion_ms, prefill_plan
    from fairlane.reference.errors import (
        CertificateRejected,
        DataError,
        FairlaneError,
        IdlesWithWork,
        InvalidInstance,
        PolicyError,
        TooLarge,
        Unsupported,
    )
    from fairlane.reference.graph import Catalog, Graph
    from fairlane.reference.instance import Instance, Regenerates
    from fairlane.reference.learned_prior import LearnedPrior, learn_prior
    from fairlane.reference.objective import Objective
    from fairlane.reference.policy import (
        NOTHING,
        Completion,
        Decision,
        LaneResult,
        Policy,
        PolicySpec,
        RequestView,
        Sees,
        View,
    )
    from fairlane.reference.prefill_list import best_prefill
    from fairlane.reference.remaining import (
        conditional_remaining,
        fixed_prior,
        geometric_prior,
        heavy_tailed_prior,
        pareto_remaining,
    )
    from fairlane.reference.request import Request
    from fairlane.reference.score import Cohort, Lanes, best_cohort, fixed_value_score
    from fairlane.reference.state import Action, LocalState, State, actions, initial_state
    from fairlane.reference.step import Outcome
    from fairlane.reference.yields import expected_yield, yield_distribution

# Modules are imported when a name of theirs is asked for: the command line starts fast, and most uses need few of them.
_HOME = {
    "Action": "state",
    "Allocation": "allocation",
    "Catalog": "graph",
    "CertificateRejected": "errors",
    "Cohort": "score",
    "Completion": "policy",
    "DataError": "errors",
    "Decision": "policy",
    "FairlaneError": "errors",
    "Graph": "graph",
    "IdlesWithWork": "errors",
    "Instance": "instance",
    "InvalidInstance": "errors",
    "LaneResult": "policy",
    "Lanes": "score",
    "LearnedPrior": "learned_prior",
    "LocalState": "state",
    "NOTHING": "policy",
    "Objective": "objective",
    "Outcome": "step",
    "Policy": "policy",
    "PolicyError": "errors",
    "PolicySpec": "policy",
    "Regenerates": "instance",
    "Request": "request",
    "RequestView": "policy",
    "Sees": "policy",
    "State": "state",
    "TooLarge": "errors",
    "Unsupported": "errors",
    "View": "policy",
    "actions": "state",
    "best_cohort": "score",
    "best_prefill": "prefill_list",
    "conditional_remaining": "remaining",
    "dump_instance": "codec",
    "expected_yield": "yields",
    "fair_allocation": "allocation",
    "fair_allocation_graphs": "allocation",
    "fixed_prior": "remaining",
    "fixed_value_score": "score",
    "geometric_prior": "remaining",
    "greedy_plan": "completion",
    "heavy_tailed_prior": "remaining",
    "initial_state": "state",
    "learn_prior": "learned_prior",
    "load_catalog": "codec",
    "load_instance": "codec",
    "output_age_area": "age",
    "pareto_remaining": "remaining",
    "prefill_completion_ms": "completion",
    "prefill_plan": "completion",
    "rate_region": "allocation",
    "support_gap": "allocation",
    "supporting_direction": "allocation",
    "yield_distribution": "yields",
}

__all__ = [
    "NOTHING",
    "Action",
    "Allocation",
    "Catalog",
    "CertificateRejected",
    "Cohort",
    "Completion",
    "DataError",
    "Decision",
    "FairlaneError",
    "Graph",
    "IdlesWithWork",
    "Instance",
    "InvalidInstance",
    "LaneResult",
    "Lanes",
    "LearnedPrior",
    "LocalState",
    "Objective",
    "Outcome",
    "Policy",
    "PolicyError",
    "PolicySpec",
    "Regenerates",
    "Request",
    "RequestView",
    "Sees",
    "State",
    "TooLarge",
    "Unsupported",
    "View",
    "actions",
    "best_cohort",
    "best_prefill",
    "conditional_remaining",
    "dump_instance",
    "expected_yield",
    "fair_allocation",
    "fair_allocation_graphs",
    "fixed_prior",
    "fixed_value_score",
    "geometric_prior",
    "greedy_plan",
    "heavy_tailed_prior",
    "initial_state",
    "learn_prior",
    "load_catalog",
    "load_instance",
    "output_age_area",
    "pareto_remaining",
    "prefill_completion_ms",
    "prefill_plan",
    "rate_region",
    "support_gap",
    "supporting_direction",
    "yield_distribution",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(importlib.import_module(f"fairlane.reference.{_HOME[name]}"), name)
    raise AttributeError(f"module 'fairlane.reference' has no attribute {name!r}")
