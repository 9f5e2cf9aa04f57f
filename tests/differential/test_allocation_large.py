"""Large problems take other paths (slices, working sets, iterative solves) to the same certified optimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from fairlane.reference.allocation import AllocationMethod, fair_allocation, fair_allocation_graphs, support_gap
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request


def test_several_slices_of_requests_certify() -> None:
    rng = np.random.default_rng(31)
    n = 5000
    catalog = Catalog(
        [
            *(
                Graph(name=f"d{b}w{k}", duration_ms=5 + b // 2 + k, decode_capacity=b, width=k)
                for b in (1, 8, 64)
                for k in (1, 4)
            ),
            Graph(name="mix", duration_ms=40, decode_capacity=16, prefill_capacity=512, width=2),
        ]
    )
    requests = [
        Request(id=f"r{i}", prompt=int(i % 10 == 0), limit=1, acceptance=[round(float(q), 2)] * 3)
        for i, q in enumerate(rng.uniform(0, 1, n))
    ]
    f = rng.uniform(0.5, 2, n)
    found = fair_allocation_graphs(catalog, requests, fairness_weights=f)
    assert found.relative_gap <= 1e-12
    gap = support_gap((catalog, requests), found.rates, fairness_weights=f)
    assert float(gap) <= 1e-9 * float(f.sum())
    # the shares are feasible: rows within their graph's time, and no more rows than there are
    for g, graph in enumerate(catalog):
        held = found.row_shares[g, found.problem.decode_index]
        assert held.max() <= found.time_shares[g]
        assert held.sum() <= graph.decode_capacity * found.time_shares[g] * (1 + 1e-12)
    np.testing.assert_allclose(found.cohorts().rates(), found.rates, rtol=1e-9)


@pytest.mark.parametrize("n", [40, 400])
def test_sparse_and_dense_tables_agree_by_every_path(n: int) -> None:
    rng = np.random.default_rng(n)
    n_actions = 12 * n
    columns = rng.integers(0, n, n_actions * 5)
    entries = rng.uniform(0.2, 2, columns.size) * rng.uniform(0.1, 10, n)[columns]
    sparse = csr_array((entries, (np.repeat(np.arange(n_actions), 5), columns)), shape=(n_actions, n))
    f = rng.uniform(0.5, 2, n)
    v = rng.uniform(0, 0.3, n) * (rng.random(n) < 0.3)
    by_default = fair_allocation(sparse, token_values=v, fairness_weights=f)
    assert by_default.relative_gap <= 1e-12
    dense = fair_allocation(
        sparse.toarray(), token_values=v, fairness_weights=f, method=AllocationMethod.COLUMN_GENERATION
    )
    np.testing.assert_allclose(dense.rates, by_default.rates, rtol=1e-9)
    whole = fair_allocation(sparse, token_values=v, fairness_weights=f, method=AllocationMethod.INTERIOR_POINT)
    np.testing.assert_allclose(whole.rates, by_default.rates, rtol=1e-9)
    gap = support_gap(sparse, by_default.rates, token_values=v, fairness_weights=f)
    assert float(gap) <= 1e-9 * float(v @ by_default.rates + f.sum())


def test_a_thousand_equal_actions_are_one() -> None:
    found = fair_allocation(np.tile([2.0, 3.0], (1000, 1)))
    np.testing.assert_allclose(found.rates, [2, 3], rtol=1e-12)


def test_more_requests_than_actions() -> None:
    rates = np.random.default_rng(5).uniform(0.1, 1, (6, 300))
    found = fair_allocation(rates)
    assert found.relative_gap <= 1e-12
    assert float(support_gap(rates, found.rates)) <= 1e-9 * 300
