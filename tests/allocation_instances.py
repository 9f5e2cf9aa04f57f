"""Random allocation problems of the families that break solvers; used by several kinds of test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request

FAMILIES = (
    "plain",
    "rates-12-decades",
    "weights-9-decades",
    "values-12-decades",
    "weights-and-values",
    "half-ineligible",
    "duplicates",
    "ties",
    "entries-12-decades",
    "single-resource",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableInstance:
    """An explicit problem."""

    rates: npt.NDArray[np.float64]
    token_values: npt.NDArray[np.float64]
    fairness_weights: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GraphInstance:
    """A graph problem."""

    catalog: Catalog
    requests: tuple[Request, ...]
    token_values: npt.NDArray[np.float64]
    fairness_weights: npt.NDArray[np.float64]


def _weights(family: str, n: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    f = rng.uniform(0.5, 2, n)
    v = np.zeros(n)
    if family in ("weights-9-decades", "weights-and-values"):
        f = 10.0 ** rng.uniform(-6, 3, n)
    if family in ("values-12-decades", "weights-and-values"):
        v = 10.0 ** rng.uniform(-6, 6, n) * (rng.random(n) < 0.5)
    if family in ("plain", "half-ineligible") and rng.random() < 0.5:
        v = rng.uniform(0, 3, n)
    if family == "ties":
        f[:] = 1
    return v, f


def table_instance(family: str, rng: np.random.Generator, *, largest: int = 50) -> TableInstance:
    """A random table of one family, up to ``largest`` requests and six times as many actions."""
    n = int(rng.choice([1, 2, 3, 5, 8, 20, largest]))
    a = int(rng.choice([1, 2, 3, 10, 30, 6 * largest]))
    rates = rng.uniform(0.2, 5, (a, n))
    if family == "rates-12-decades":
        rates *= 10.0 ** rng.uniform(-6, 6, n)
    if family == "half-ineligible":
        rates *= rng.random((a, n)) < 0.5
    if family == "entries-12-decades":
        rates = 10.0 ** rng.uniform(-6, 6, (a, n)) * (rng.random((a, n)) < 0.7)
    if family == "duplicates":
        rates = rates[rng.integers(0, a, a)]
        rates = rates[:, rng.integers(0, n, n)]
    if family == "ties":
        rates = np.round(rates)[:, rng.integers(0, n, n)]
    if family == "single-resource":
        rates *= np.arange(a)[:, None] % n == np.arange(n)[None]
    for i in np.flatnonzero(~(rates > 0).any(axis=0)):
        rates[rng.integers(a), i] = 1.0
    v, f = _weights(family, n, rng)
    return TableInstance(rates=rates, token_values=v, fairness_weights=f)


def graph_instance(family: str, rng: np.random.Generator, *, largest: int = 100) -> GraphInstance:
    """Random graphs (mixed ones included) and requests in both phases, up to ``largest`` requests."""
    n_graphs = int(rng.integers(1, 13))
    n = int(rng.choice([1, 2, 3, 5, 8, 20, largest]))
    prompts = rng.random(n) < rng.choice([0.0, 0.3, 0.5, 1.0])
    decades = 6 if family == "rates-12-decades" else 1
    rows = []
    for g in range(n_graphs):
        rows.append(
            {
                "duration_ms": float(f"{10.0 ** rng.uniform(-decades, decades):.6g}"),
                "decode_capacity": int(rng.choice([0, 1, 2, 4, 8, 16, 64])),
                "prefill_capacity": int(rng.choice([0, 0, 64, 256])),
                "prefill_lanes": int(rng.integers(1, 4)),
                "width": int(rng.integers(1, 9)),
            }
        )
        if family in ("duplicates", "ties") and g % 2:
            rows[g] = dict(rows[g - 1])
        if not rows[g]["decode_capacity"] and not rows[g]["prefill_capacity"]:
            rows[g]["decode_capacity"] = 4
    rows[0].update(decode_capacity=int(rng.choice([1, 4, 32])), prefill_capacity=64)
    catalog = Catalog(Graph(name=f"g{g}", **row) for g, row in enumerate(rows))  # type: ignore[arg-type]  # built above
    shared = [round(float(q), 3) for q in rng.uniform(0, 1, 7)]
    same = family in ("duplicates", "ties")
    requests = tuple(
        Request(
            id=f"r{i}",
            prompt=100 if prompts[i] else 0,
            limit=1,
            acceptance=shared if same else [round(float(q), 3) for q in rng.uniform(0, 1, 7)],
        )
        for i in range(n)
    )
    v, f = _weights(family, n, rng)
    return GraphInstance(catalog=catalog, requests=requests, token_values=v, fairness_weights=f)
