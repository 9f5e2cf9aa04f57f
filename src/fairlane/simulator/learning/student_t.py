"""A Student-t belief about a cost in ms, and the same belief given that the cost is positive."""

from __future__ import annotations

from dataclasses import dataclass

from fairlane.simulator.learning.kernels import student_t as kernel


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentT:
    """Location and scale family of Student's t.

    Attributes
    ----------
    dof : float
        Degrees of freedom, above 1; fractional where a partial block takes part.
    location, scale : float
        In ms; the scale is above 0.
    """

    dof: float
    location: float
    scale: float

    def interval(self, confidence: float) -> tuple[float, float]:
        """Central interval of a probability in (0, 1), not conditioned on a positive cost, ms."""
        half = self.scale * float(kernel.upper_quantile(0.5 * (1.0 - confidence), self.dof))
        return self.location - half, self.location + half

    @property
    def positive_probability(self) -> float:
        """Probability of a cost above zero."""
        return 1.0 - float(kernel.cumulative(-self.location / self.scale, self.dof))

    def positive_quantile(self, u: float) -> float:
        """Quantile given a positive cost, ms: the optimistic cost at a small u, a draw at a uniform u in [0, 1).

        Examples
        --------
        >>> round(StudentT(dof=4.0, location=1.0, scale=2**0.5).positive_quantile(0.05), 12)
        0.178777282749
        """
        return float(kernel.positive_quantile(u, self.dof, self.location, self.scale))

    @property
    def positive_mean(self) -> float:
        """Mean given a positive cost, ms; it need not equal the location.

        Examples
        --------
        >>> round(StudentT(dof=4.0, location=1.0, scale=2**0.5).positive_mean, 12)
        1.8
        """
        return float(kernel.positive_mean(self.dof, self.location, self.scale))
