"""Student's t with fractional degrees of freedom, against mpmath at 40 digits and against scipy."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.special import stdtr, stdtrit

from fairlane.simulator.learning.kernels import student_t as kernel
from fairlane.simulator.learning.student_t import StudentT

DOF = (1.0, 1.0625, 1.6, 3.0, 4.0, 4.0625, 7.3, 29.9, 30.0, 64.5, 1000.125)


def exact_tail(t: float, dof: float) -> Any:
    with mpmath.workdps(40):
        x = mpmath.mpf(dof) / (mpmath.mpf(dof) + mpmath.mpf(t) ** 2)
        return mpmath.betainc(mpmath.mpf(dof) / 2, mpmath.mpf(1) / 2, 0, x, regularized=True) / 2


@pytest.mark.parametrize("dof", DOF)
def test_tail_probabilities(dof: float) -> None:
    for t in (1e-8, 0.1, 0.5, 1.22, 1.23, 1.5, 3.0, 8.0, 50.0, 1e3):
        expected = exact_tail(t, dof)
        if expected > 1e-290:
            assert abs(kernel.tail(t, dof) / expected - 1) < 1e-12


@pytest.mark.parametrize("dof", DOF)
def test_quantiles_invert_the_tail(dof: float) -> None:
    """The error of a quantile is that of its exact tail over the slope of log tail against log t."""
    for q in (1e-15, 1e-9, 1e-6, 1e-4, 0.01, 0.05, 0.2, 0.3, 0.45, 0.4999):
        t = kernel.upper_quantile(q, dof)
        density = np.exp(kernel.log_density(t, dof))
        assert abs(exact_tail(t, dof) - mpmath.mpf(q)) / density / t < 1e-12


def test_quantiles_agree_with_scipy() -> None:
    """The inverse of scipy's, at degrees of freedom that partial blocks make; up to 1e-9 relative."""
    rng = np.random.default_rng(5)
    for dof, p in zip(4.0 + rng.integers(0, 8000, 400) / 8.0, rng.uniform(1e-6, 0.45, 400), strict=True):
        assert kernel.quantile(p, dof) == pytest.approx(stdtrit(dof, p), rel=1e-9)
        assert kernel.quantile(1.0 - p, dof) == pytest.approx(stdtrit(dof, 1.0 - p), rel=1e-9)
        assert kernel.cumulative(-1.5, dof) == pytest.approx(stdtr(dof, -1.5), rel=1e-9)


@pytest.mark.parametrize(("location", "scale"), [(1.0, 2.0**0.5), (20.0, 0.3), (0.5, 40.0), (-3.0, 2.0)])
@pytest.mark.parametrize("dof", [4.0, 4.125, 12.0, 90.5])
def test_positive_quantiles_invert_the_conditioned_law(dof: float, location: float, scale: float) -> None:
    """Against scipy: P(X <= x | X > 0) = (F(x) - F(0)) / (1 - F(0)); draws are above zero even at u = 0."""
    law = StudentT(dof=dof, location=location, scale=scale)
    below = stdtr(dof, -location / scale)
    assert law.positive_probability == pytest.approx(1.0 - below, rel=1e-9)
    last = 0.0
    for u in (0.0, 1e-12, 0.001, 0.05, 0.5, 0.9, 0.999, 1.0 - 2.0**-53):
        x = law.positive_quantile(u)
        assert x > last
        last = x
        if 0.0005 < u < 0.9995:
            assert (stdtr(dof, (x - location) / scale) - below) / (1.0 - below) == pytest.approx(u, rel=1e-9)


@pytest.mark.parametrize("dof", [4.0, 7.25, 60.0])
@pytest.mark.parametrize("location", [0.2, 1.0, 5.0])
def test_positive_mean_is_the_integral(dof: float, location: float) -> None:
    """Integral of the conditioned quantile over u, by mpmath's quadrature of x f(x) over (0, infinity)."""
    law = StudentT(dof=dof, location=location, scale=1.0)

    def density(x: Any) -> Any:
        return (1 + (x - location) ** 2 / dof) ** (-(dof + 1) / 2)

    cuts = [0, location, location + 5, location + 100, mpmath.inf]
    total: Any = mpmath.quad(lambda x: x * density(x), cuts)
    mean = total / mpmath.quad(density, cuts)
    assert law.positive_mean == pytest.approx(float(mean), rel=1e-9)
