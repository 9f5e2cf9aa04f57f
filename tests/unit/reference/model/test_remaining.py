"""Remaining output, isolated prefill time and learned priors; expected values are worked out beside each test."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.completion import greedy_plan, prefill_completion_ms, prefill_plan
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.learned_prior import learn_prior
from fairlane.reference.model.remaining import (
    conditional_remaining,
    fixed_prior,
    geometric_prior,
    heavy_tailed_prior,
    pareto_remaining,
)
from tests.counts import count


def test_a_fixed_length_has_falling_remaining_work() -> None:
    assert [conditional_remaining(fixed_prior(5), g) for g in range(5)] == [5, 4, 3, 2, 1]


def test_a_geometric_residual_is_memoryless_up_to_its_limit() -> None:
    # E[min(L, m)] of a geometric law with stop 1/4 is sum_{n<m} (3/4)^n = 4 (1 - (3/4)^m), with m = 40 - g left
    prior = geometric_prior("1/4", 40)
    for g in (0, 7, 30):
        assert conditional_remaining(prior, g) == 4 * (1 - Fraction(3, 4) ** (40 - g))


def test_a_heavy_tail_predicts_more_after_a_longer_prefix() -> None:
    prior = heavy_tailed_prior(2, 1000)
    ahead = [conditional_remaining(prior, g) for g in (0, 5, 50, 200)]
    assert ahead == sorted(ahead)
    assert sum(p for _, p in prior) == 1


def test_a_limit_truncates_any_prior() -> None:
    # lengths 1 and 9 with probability 1/2 each, one token out: 8 to come, or 3 with a limit of 4
    assert conditional_remaining({1: "1/2", 9: "1/2"}, 1) == 8
    assert conditional_remaining({1: "1/2", 9: "1/2"}, 1, limit=4) == 3


def test_twice_the_attained_output_is_one_pareto_exponent() -> None:
    assert pareto_remaining(12, "3/2") == 24
    with pytest.raises(InvalidInstance, match="need > 1"):
        pareto_remaining(12, 1)
    with pytest.raises(InvalidInstance, match="no length above generated"):
        conditional_remaining({3: 1}, 3)


def random_prefills(rng: random.Random) -> list[Graph]:
    return [
        Graph(
            name=f"p{k}", duration_ms=Fraction(rng.randint(1, 9), rng.randint(1, 2)), prefill_capacity=rng.randint(1, 6)
        )
        for k in range(rng.randint(1, 4))
    ]


def test_isolated_time_equals_trying_every_multiset_of_graphs() -> None:
    rng = random.Random(2)
    for _ in range(count(300)):
        graphs, tokens = random_prefills(rng), rng.randint(0, 9)
        best = min(
            sum((g.duration_ms for g in chosen), Fraction(0))
            for size in range(tokens + 1)
            for chosen in itertools.combinations_with_replacement(graphs, size)
            if sum(g.prefill_capacity for g in chosen) >= tokens
        )
        plan = prefill_plan(tokens, graphs)
        assert prefill_completion_ms(tokens, graphs) == best == plan.duration_ms
        by_name = {g.name: g for g in graphs}
        assert sum((by_name[n].duration_ms for n in plan.graphs), Fraction(0)) == best
        assert sum(by_name[n].prefill_capacity for n in plan.graphs) >= tokens
        assert greedy_plan(tokens, graphs).duration_ms >= best


def test_mixed_graphs_count_for_the_isolated_time() -> None:
    mixed = Graph(name="mix", duration_ms=1, prefill_capacity=8, decode_capacity=2)
    assert prefill_completion_ms(8, [Graph(name="p", duration_ms=3, prefill_capacity=8), mixed]) == 1
    with pytest.raises(InvalidInstance, match="prefill_capacity"):
        prefill_completion_ms(8, [Graph(name="d", duration_ms=1, decode_capacity=1)])


def test_unfinished_requests_are_censored_and_not_short() -> None:
    # Ends at 1 and 3, one alive after 2. S(1) = 2/3; at 3 one is at risk and ends: S(3) = 0. So p(1) = 1/3, p(3) = 2/3,
    # where counting the unfinished one as finished at 2 would give a third to each.
    learned = learn_prior([1, 3], [2], limit=8)
    assert learned.prior == ((1, Fraction(1, 3)), (3, Fraction(2, 3)))
    assert learned.tail == 0


def test_the_product_limit_estimate_of_a_published_example() -> None:
    # Freireich et al. 1963, 6-MP remission times in weeks, the classical Kaplan-Meier example:
    # S(6) = 0.857, S(7) = 0.807, S(10) = 0.753, S(13) = 0.690, S(16) = 0.627, S(22) = 0.538, S(23) = 0.448
    ended = [6, 6, 6, 7, 10, 13, 16, 22, 23]
    censored = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    learned = learn_prior(ended, censored, limit=40)
    shown = {point.length: round(float(point.survival), 3) for point in learned.curve}
    assert shown == {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448}
    # Greenwood's standard error at 6 weeks is 0.0764; the log(-log) interval is [0.620, 0.952]
    first = learned.curve[0]
    assert (round(first.lower, 3), round(first.upper, 3)) == (0.620, 0.952)
    assert sum(p for _, p in learned.prior) == 1
    assert learned.prior[-1] == (40, learned.tail)


def test_where_the_estimate_reaches_zero_the_band_does_not_claim_certainty() -> None:
    # one observation says nothing about survival beyond it; later the last upper bound stays in force
    assert [(p.lower, p.upper) for p in learn_prior([2], [], limit=2).curve] == [(0, 1)]
    first, last = learn_prior([1, 3], [2], limit=8).curve
    assert last.survival == 0
    assert (last.lower, last.upper) == (0, first.upper)
    assert 0 < first.lower < first.survival < first.upper < 1


def test_a_limit_below_what_was_observed_is_refused() -> None:
    with pytest.raises(InvalidInstance, match="need >= 6"):
        learn_prior([2], [5], limit=5)
    with pytest.raises(InvalidInstance, match="at least one observation"):
        learn_prior([], [], limit=5)
