"""Laws of the fair allocation that hold at any rates, values and weights."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fairlane.reference.allocation import fair_allocation, support_gap
from tests.counts import count

Table = npt.NDArray[np.float64]
CASES = settings(max_examples=count(300))

shapes = st.tuples(st.integers(1, 6), st.integers(1, 4))


def _positive(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_nan=False).map(lambda v: float(f"{v:.4g}"))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    shape = draw(shapes)
    rates = draw(arrays(np.float64, shape, elements=st.one_of(st.just(0.0), _positive(0.25, 8))))
    for i in np.flatnonzero(~rates.any(axis=0)):
        rates[draw(st.integers(0, shape[0] - 1)), i] = 1.0
    return rates


@st.composite
def problems(draw: st.DrawFn) -> tuple[Table, Table, Table]:
    rates = draw(tables())
    n = rates.shape[1]
    v = draw(arrays(np.float64, n, elements=st.one_of(st.just(0.0), _positive(0.01, 5))))
    f = draw(arrays(np.float64, n, elements=_positive(0.05, 5)))
    return rates, v, f


@CASES
@given(problems(), st.randoms(use_true_random=False))
def test_order_of_actions_and_requests_does_not_matter(problem: tuple[Table, Table, Table], random: object) -> None:
    rates, v, f = problem
    rows = list(range(rates.shape[0]))
    columns = list(range(rates.shape[1]))
    random.shuffle(rows)  # type: ignore[attr-defined]  # hypothesis hands in a random.Random
    random.shuffle(columns)  # type: ignore[attr-defined]
    plain = fair_allocation(rates, token_values=v, fairness_weights=f)
    shuffled = fair_allocation(rates[rows][:, columns], token_values=v[columns], fairness_weights=f[columns])
    np.testing.assert_allclose(shuffled.rates, plain.rates[columns], rtol=1e-9)


@CASES
@given(problems(), st.lists(_positive(0.001, 1000), min_size=4, max_size=4))
def test_the_unit_of_a_requests_rate_changes_its_number_only(
    problem: tuple[Table, Table, Table], units: list[float]
) -> None:
    # log(b x) = log b + log x: the constant moves no share; a token value is per token, so it changes unit too
    rates, v, f = problem
    unit = np.array(units[: rates.shape[1]])
    plain = fair_allocation(rates, token_values=v, fairness_weights=f)
    other = fair_allocation(rates * unit, token_values=v / unit, fairness_weights=f)
    np.testing.assert_allclose(other.rates, plain.rates * unit, rtol=1e-9)
    np.testing.assert_allclose(other.utility, plain.utility + float(f @ np.log(unit)), rtol=1e-9, atol=1e-9)


@CASES
@given(problems(), _positive(0.01, 100))
def test_scaling_values_and_weights_together_changes_no_rate(
    problem: tuple[Table, Table, Table], factor: float
) -> None:
    rates, v, f = problem
    plain = fair_allocation(rates, token_values=v, fairness_weights=f)
    other = fair_allocation(rates, token_values=v * factor, fairness_weights=f * factor)
    np.testing.assert_allclose(other.rates, plain.rates, rtol=1e-9)


@CASES
@given(problems())
def test_every_feasible_request_has_a_positive_rate(problem: tuple[Table, Table, Table]) -> None:
    rates, v, f = problem
    found = fair_allocation(rates, token_values=v, fairness_weights=f)
    assert (found.rates > 0).all()
    # and at least what its weight gives it against everything the others can be worth: x_i >= f_i y_i / h with
    # h = max_a sum (v + f / x) y(a) = sum v x + sum f at the optimum
    worth = float(v @ found.rates + f.sum())
    assert (found.rates >= f * rates.max(axis=0) / worth * (1 - 1e-9)).all()


@CASES
@given(problems(), st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_no_allocation_is_better_for_everyone(problem: tuple[Table, Table, Table], mixture: list[float]) -> None:
    rates, v, f = problem
    found = fair_allocation(rates, token_values=v, fairness_weights=f)
    shares = np.array(mixture[: rates.shape[0]]) + 1e-9
    other = shares / shares.sum() @ rates
    assert not (other > found.rates * (1 + 1e-9)).all()


@CASES
@given(problems())
def test_an_action_worse_for_everyone_or_repeated_changes_nothing(problem: tuple[Table, Table, Table]) -> None:
    rates, v, f = problem
    plain = fair_allocation(rates, token_values=v, fairness_weights=f)
    wider = fair_allocation(np.vstack([rates, rates * 0.5, rates[:1]]), token_values=v, fairness_weights=f)
    np.testing.assert_allclose(wider.rates, plain.rates, rtol=1e-9)


@CASES
@given(problems())
def test_the_support_gap_bounds_the_loss_of_any_feasible_point(problem: tuple[Table, Table, Table]) -> None:
    rates, v, f = problem
    found = fair_allocation(rates, token_values=v, fairness_weights=f)
    even = np.full(rates.shape[0], 1 / rates.shape[0]) @ rates
    loss = found.utility - float(v @ even + f @ np.log(even))
    assert loss >= -1e-9 * (1 + abs(found.utility))
    assert float(support_gap(rates, even, token_values=v, fairness_weights=f)) >= loss - 1e-9 * (1 + abs(found.utility))


@CASES
@given(st.lists(st.tuples(_positive(0.001, 1000), _positive(0.001, 1000)), min_size=1, max_size=8))
def test_shares_of_one_resource_follow_the_weights_at_any_rates(pairs: list[tuple[float, float]]) -> None:
    speeds, f = (np.array(column) for column in zip(*pairs, strict=True))
    found = fair_allocation(np.diag(speeds), fairness_weights=f)
    np.testing.assert_allclose(found.time_shares, f / f.sum(), rtol=1e-9)


@CASES
@given(_positive(0.1, 10), _positive(0.1, 10))
def test_a_value_is_no_weight(value: float, factor: float) -> None:
    # a unit conversion inside the logarithm is no preference, an intrinsic value is one
    rates = np.eye(2)
    even = fair_allocation(rates)
    rescaled = fair_allocation(rates * np.array([factor, 1.0]))
    valued = fair_allocation(rates, token_values=[value, 0])
    np.testing.assert_allclose(rescaled.time_shares, even.time_shares, rtol=1e-9)
    assert valued.time_shares[0] > even.time_shares[0] + 1e-3
