"""Every random instance of the hard families is certified, in doubles and in rationals."""

from __future__ import annotations

import numpy as np
import pytest

from fairlane.reference.allocation import (
    check_certificate,
    exact_certificate,
    fair_allocation,
    fair_allocation_graphs,
)
from tests.allocation_instances import FAMILIES, graph_instance, table_instance
from tests.counts import count


@pytest.mark.parametrize("family", FAMILIES)
def test_every_table_certifies_in_doubles_and_in_rationals(family: str) -> None:
    for seed in range(count(100)):
        instance = table_instance(family, np.random.default_rng([seed, 1]))
        v, f = instance.token_values, instance.fairness_weights
        found = fair_allocation(instance.rates, token_values=v, fairness_weights=f)
        assert found.relative_gap <= 1e-9, (family, seed)
        # the checker reads the table anew and knows nothing of the solver
        checked = check_certificate(exact_certificate(found), instance.rates, token_values=v, fairness_weights=f)
        assert 0 <= checked.relative_gap <= 1e-9, (family, seed)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_graph_problem_certifies_in_doubles_and_in_rationals(family: str) -> None:
    for seed in range(count(100)):
        instance = graph_instance(family, np.random.default_rng([seed, 2]))
        v, f = instance.token_values, instance.fairness_weights
        found = fair_allocation_graphs(instance.catalog, instance.requests, token_values=v, fairness_weights=f)
        assert found.relative_gap <= 1e-9, (family, seed)
        checked = check_certificate(
            exact_certificate(found), instance.catalog, instance.requests, token_values=v, fairness_weights=f
        )
        assert 0 <= checked.relative_gap <= 1e-9, (family, seed)
