"""The smallest calls that compile each group of kernels with the types that every later call has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import fairlane.oracle.kernels
import fairlane.reference.checker.kernels
import fairlane.simulator.kernels
from fairlane.oracle.cost_table import costs_of
from fairlane.oracle.encoding.packing import pack
from fairlane.oracle.rational.exact_root import ExactRoot
from fairlane.oracle.sweeps.aged_sweep import sweep_aged
from fairlane.oracle.sweeps.compiled import sweep
from fairlane.oracle.sweeps.tiny_batch import solve_tiny
from fairlane.policies.fixed_value import POLICY
from fairlane.reference.checker.certificate_check import fingerprint
from fairlane.reference.checker.cost_check import CostTable, check_costs
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.reference.model.state import initial_state
from fairlane.simulator.fast_loops import Path as Loop
from fairlane.simulator.simulate import simulate

FOLDERS = tuple(
    Path(next(iter(package.__path__)))
    for package in (fairlane.oracle.kernels, fairlane.reference.checker.kernels, fairlane.simulator.kernels)
)


def _instance(*, age_price: int = 0) -> Instance:
    """Three requests, of which two are equal; 4 local states each."""
    return Instance(
        name="warm",
        graphs=[
            Graph(name="p", duration_ms=2, prefill_capacity=1),
            Graph(name="d", duration_ms=3, decode_capacity=2, width=2),
        ],
        requests=[
            Request(id=name, prompt=1, limit=3, acceptance=["1/2"], weight=weight)
            for name, weight in (("a", 1), ("b", 1), ("c", 2))
        ],
        objective=Objective(decode_value=1, time_price=1, completion_price=1, age_price=age_price),
    )


def _sweep(*, merge: bool, equal: bool = False) -> None:
    """One kernel of states in doubles, the exact root, and the checker of its table."""
    instance = _instance()
    if equal:
        instance = Instance(graphs=instance.graphs, requests=instance.requests[:2], objective=instance.objective)
    swept = sweep(pack(instance, merge=merge), threads=1)
    ExactRoot(swept).value_at(initial_state(instance))
    check_costs(costs_of(swept), instance)
    if equal:
        # tables this small are written out one by one; this one is of the group, in its order by ranks
        places = swept.numbering[0]
        assert places is not None, "equal requests share an axis"
        costs = np.ascontiguousarray(np.abs(swept.costs)[places.place])
        check_costs(CostTable(instance=fingerprint(instance), worst=False, groups=((0, 1),), costs=costs), instance)


def _simulate() -> None:
    instance = _instance()
    simulate(instance.requests, instance.graphs, POLICY, decode_value=1, path=Loop.COMPILED)


# what most solve calls wait for comes first
STEPS: tuple[Callable[[], object], ...] = (
    partial(_sweep, merge=False),
    partial(_sweep, merge=True),
    partial(_sweep, merge=True, equal=True),
    lambda: sweep_aged(_instance(age_price=1), threads=1),
    lambda: solve_tiny([_instance()]),
    _simulate,
)
