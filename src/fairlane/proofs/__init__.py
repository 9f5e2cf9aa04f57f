"""Identities proved for all parameters, one module each, and the research notes' claims.

Nothing is imported here: a proof's module loads its solvers when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fairlane.proofs.evidence import Proof

__all__ = ["PROOFS", "ProofEntry", "load"]


class ProofEntry(NamedTuple):
    """A registered proof: its label and the module that exposes it as ``PROOF``."""

    name: str
    module: str


_HERE = "fairlane.proofs"

PROOFS: tuple[ProofEntry, ...] = (
    ProofEntry("age-area", f"{_HERE}.age_area"),
    ProofEntry("increasing-age-cost", f"{_HERE}.increasing_age_cost"),
    ProofEntry("yield-arbitrary-acceptance", f"{_HERE}.yield_arbitrary"),
    ProofEntry("yield-constant-acceptance", f"{_HERE}.yield_constant"),
    ProofEntry("yield-shape", f"{_HERE}.yield_shape"),
    ProofEntry("yield-under-budget", f"{_HERE}.yield_budget"),
    ProofEntry("yield-with-length-prior", f"{_HERE}.yield_prior"),
    ProofEntry("residual-fixed-length", f"{_HERE}.residual_fixed"),
    ProofEntry("residual-geometric", f"{_HERE}.residual_geometric"),
    ProofEntry("residual-pareto", f"{_HERE}.residual_pareto"),
    ProofEntry("residual-truncated", f"{_HERE}.residual_truncated"),
    ProofEntry("log-bound", f"{_HERE}.log_bound"),
    ProofEntry("allocation-gradient-gap", f"{_HERE}.allocation_gradient_gap"),
    ProofEntry("allocation-dual-gap", f"{_HERE}.allocation_dual_gap"),
    ProofEntry("allocation-weight-shares", f"{_HERE}.allocation_shares"),
    ProofEntry("allocation-units", f"{_HERE}.allocation_units"),
    ProofEntry("allocation-water-filling", f"{_HERE}.allocation_water_filling"),
    ProofEntry("compact-region", f"{_HERE}.compact_region"),
    ProofEntry("wrap-around", f"{_HERE}.wrap_around"),
    ProofEntry("cycle-rate", f"{_HERE}.cycle_rate"),
    ProofEntry("mean-of-ratios", f"{_HERE}.mean_of_ratios"),
    ProofEntry("episode-ratio", f"{_HERE}.episode_ratio"),
    ProofEntry("semi-markov-forms", f"{_HERE}.semi_markov"),
    ProofEntry("dinkelbach", f"{_HERE}.dinkelbach"),
    ProofEntry("greedy-chunking", f"{_HERE}.greedy_chunking"),
    ProofEntry("row-ranking", f"{_HERE}.row_ranking"),
    ProofEntry("prefill-lanes", f"{_HERE}.prefill_lanes"),
    ProofEntry("exploration-credit", f"{_HERE}.exploration_credit"),
    ProofEntry("service-delay", f"{_HERE}.service_delay"),
    ProofEntry("probe-loss", f"{_HERE}.probe_loss"),
    ProofEntry("normal-inverse-gamma", f"{_HERE}.normal_inverse_gamma"),
    ProofEntry("partial-block", f"{_HERE}.partial_block"),
    ProofEntry("truncated-mean", f"{_HERE}.truncated_mean"),
    ProofEntry("error-allowances", f"{_HERE}.error_allowances"),
    ProofEntry("frame-projection", f"{_HERE}.frame_projection"),
    ProofEntry("maximal-cohorts", f"{_HERE}.maximal_cohorts"),
)


def load(name: str) -> Proof:
    """The proof of a name; its module is imported now.

    Raises
    ------
    KeyError
        No such proof.
    """
    for entry in PROOFS:
        if entry.name == name:
            proof: Proof = importlib.import_module(entry.module).PROOF
            return proof
    raise KeyError(name)
