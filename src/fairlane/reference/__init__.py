"""The model and its reference calculations: the meaning on which everything else is checked."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlane.reference.allocation import (
        Allocation,
        fair_allocation,
        fair_allocation_graphs,
        rate_region,
        support_gap,
        supporting_direction,
    )
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
    from fairlane.reference.model.age import output_age_area
    from fairlane.reference.model.codec import dump_instance, load_catalog, load_instance
    from fairlane.reference.model.completion import greedy_plan, prefill_completion_ms, prefill_plan
    from fairlane.reference.model.graph import Catalog, Graph
    from fairlane.reference.model.instance import Instance, Regenerates
    from fairlane.reference.model.learned_prior import LearnedPrior, learn_prior
    from fairlane.reference.model.objective import Objective
    from fairlane.reference.model.policy import (
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
    from fairlane.reference.model.remaining import (
        conditional_remaining,
        fixed_prior,
        geometric_prior,
        heavy_tailed_prior,
        pareto_remaining,
    )
    from fairlane.reference.model.request import Request
    from fairlane.reference.model.score import Lanes, fixed_value_score
    from fairlane.reference.model.state import Action, LocalState, State, actions, initial_state
    from fairlane.reference.model.step import Outcome
    from fairlane.reference.model.yields import expected_yield, yield_distribution
    from fairlane.reference.prefill.fixed_value_cohort import Cohort, best_cohort
    from fairlane.reference.prefill.prefill_list import best_prefill

# Modules are imported when a name of theirs is asked for: the command line starts fast, and most uses need few of them.
_HOME = {
    "Action": "model.state",
    "Allocation": "allocation",
    "Catalog": "model.graph",
    "CertificateRejected": "errors",
    "Cohort": "prefill.fixed_value_cohort",
    "Completion": "model.policy",
    "DataError": "errors",
    "Decision": "model.policy",
    "FairlaneError": "errors",
    "Graph": "model.graph",
    "IdlesWithWork": "errors",
    "Instance": "model.instance",
    "InvalidInstance": "errors",
    "LaneResult": "model.policy",
    "Lanes": "model.score",
    "LearnedPrior": "model.learned_prior",
    "LocalState": "model.state",
    "NOTHING": "model.policy",
    "Objective": "model.objective",
    "Outcome": "model.step",
    "Policy": "model.policy",
    "PolicyError": "errors",
    "PolicySpec": "model.policy",
    "Regenerates": "model.instance",
    "Request": "model.request",
    "RequestView": "model.policy",
    "Sees": "model.policy",
    "State": "model.state",
    "TooLarge": "errors",
    "Unsupported": "errors",
    "View": "model.policy",
    "actions": "model.state",
    "best_cohort": "prefill.fixed_value_cohort",
    "best_prefill": "prefill.prefill_list",
    "conditional_remaining": "model.remaining",
    "dump_instance": "model.codec",
    "expected_yield": "model.yields",
    "fair_allocation": "allocation",
    "fair_allocation_graphs": "allocation",
    "fixed_prior": "model.remaining",
    "fixed_value_score": "model.score",
    "geometric_prior": "model.remaining",
    "greedy_plan": "model.completion",
    "heavy_tailed_prior": "model.remaining",
    "initial_state": "model.state",
    "learn_prior": "model.learned_prior",
    "load_catalog": "model.codec",
    "load_instance": "model.codec",
    "output_age_area": "model.age",
    "pareto_remaining": "model.remaining",
    "prefill_completion_ms": "model.completion",
    "prefill_plan": "model.completion",
    "rate_region": "allocation",
    "support_gap": "allocation",
    "supporting_direction": "allocation",
    "yield_distribution": "model.yields",
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
