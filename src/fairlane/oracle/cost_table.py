"""A solved instance's costs in the order that the independent checker of cost tables reads."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from fairlane.oracle.backend import Table
from fairlane.oracle.encoding.multisets import binomials
from fairlane.oracle.encoding.packing import Ints
from fairlane.oracle.sweeps.compiled import Swept
from fairlane.reference.checker.certificate_check import fingerprint
from fairlane.reference.checker.cost_check import CheckedCosts, CostTable, check_costs
from fairlane.reference.errors import CertificateRejected
from fairlane.reference.model.instance import Instance

# up to here merged requests are written out one by one
MAX_SPREAD_STATES = 20_000_000


def costs_of(swept: Swept) -> CostTable:
    """Costs of every canonical state of a compiled sweep; a copy, float64 of shape (n_states,)."""
    axes = swept.packed.axes
    # alone, requests are checked much faster a state
    alone = prod(len(axis.chain) ** axis.members for axis in axes) <= MAX_SPREAD_STATES
    costs = np.abs(swept.costs).astype(np.float64).reshape([axis.n_places for axis in swept.packed.axes])
    for a, numbering in enumerate(swept.numbering):
        if numbering is None:
            continue
        # from the sweep's order by levels to plain colexicographic ranks, or to every order of the members
        place = numbering.place
        if alone:
            place = place[ranks_of_orders(len(axes[a].chain), axes[a].members)]
        costs = np.take(costs, place, axis=a)
    return CostTable(
        instance=fingerprint(swept.packed.instance),
        worst=swept.worst,
        groups=tuple((i,) for axis in axes for i in axis.requests) if alone else tuple(axis.requests for axis in axes),
        costs=np.ascontiguousarray(costs).ravel(),
    )


def ranks_of_orders(n: int, members: int) -> Ints:
    """Colexicographic rank of the multiset behind each sequence of ``members`` of n values, the last one fastest."""
    digits = np.sort(np.indices((n,) * members).reshape(members, -1), axis=0)
    chosen = binomials(n + members, members + 1)
    rank: Ints = sum(
        (chosen[row + i, i + 1] for i, row in enumerate(digits)), np.zeros(digits.shape[1], dtype=np.int64)
    )
    return rank


def certify_costs(
    instance: Instance, solution: Table, *, on_progress: Callable[[int, int], None] | None = None
) -> CheckedCosts:
    """Have a large solution's table checked, and its value held against the checker's own bounds.

    Raises
    ------
    CertificateRejected
        The independent checker refuses the table, or the solution lies outside of what it proves.
    Unsupported
        The solution keeps no table of costs.
    """
    checked = check_costs(solution.cost_table(), instance, on_progress=on_progress)
    value = solution.value
    if value is not None and not checked.lower <= value <= checked.upper:
        raise CertificateRejected(f"the value {value} lies outside of the checked bounds")
    if value is None and (checked.lower > solution.upper or checked.upper < solution.lower):
        raise CertificateRejected("the solution's bounds and the checked ones have nothing in common")
    return checked
