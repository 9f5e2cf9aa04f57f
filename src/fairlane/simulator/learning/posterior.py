"""The normal-inverse-gamma working model of block means, with fractional weights for unfinished blocks.

A block mean is normal with mean mu and variance sigma^2; sigma^2 is inverse-gamma(alpha, beta), and mu given sigma^2
normal with mean m and variance sigma^2 / kappa. A block that is filled to w of its size enters with its likelihood
raised to w: a tempered likelihood, not a model of single executions.

Sources: K. P. Murphy, "Conjugate Bayesian analysis of the Gaussian distribution", 2007, section 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairlane.simulator.learning.student_t import StudentT

KAPPA_0 = 0.25
ALPHA_0 = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalInverseGamma:
    """Belief about the mean and the variance of block means.

    Attributes
    ----------
    kappa, alpha : float
        Weight of the location, in blocks, and shape of the variance.
    beta : float
        Rate of the variance, ms^2.
    m : float
        Location, ms.
    """

    kappa: float
    alpha: float
    beta: float
    m: float

    def with_block(self, mean_ms: float, *, weight: float = 1.0) -> NormalInverseGamma:
        """Belief after a block of this mean, filled to ``weight`` of its size.

        Examples
        --------
        >>> prior_belief(20.0).with_block(20.0)
        NormalInverseGamma(kappa=1.25, alpha=2.5, beta=400.0, m=20.0)
        """
        kappa = self.kappa + weight
        away = mean_ms - self.m
        return NormalInverseGamma(
            kappa=kappa,
            alpha=self.alpha + weight / 2.0,
            beta=self.beta + self.kappa * weight * away * away / (2.0 * kappa),
            m=(self.kappa * self.m + weight * mean_ms) / kappa,
        )

    def mean_law(self) -> StudentT:
        """Marginal law of the mean, ms."""
        return StudentT(dof=2.0 * self.alpha, location=self.m, scale=math.sqrt(self.beta / (self.alpha * self.kappa)))

    def predictive_law(self, variance_blocks: float = 1.0) -> StudentT:
        """Law of a further measurement whose variance is ``variance_blocks`` sigma^2, ms: 1 for a block's mean."""
        scale = math.sqrt(self.beta * (variance_blocks + 1.0 / self.kappa) / self.alpha)
        return StudentT(dof=2.0 * self.alpha, location=self.m, scale=scale)


def prior_belief(prior_ms: float) -> NormalInverseGamma:
    """Belief about a graph that was never measured, around the prior location m0 in ms."""
    return NormalInverseGamma(kappa=KAPPA_0, alpha=ALPHA_0, beta=prior_ms * prior_ms, m=prior_ms)
