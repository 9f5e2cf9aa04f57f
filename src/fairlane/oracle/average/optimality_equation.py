"""The average-reward optimality equation, checked state by state in both of its forms.

This shares no code with the solvers. Given a rate rho and relative values h it confirms, in rationals,

    h(s) = max_a { r(s,a) - rho T(s,a) + E h(s') }   and   max_a [r(s,a) + E h(s') - h(s)] / T(s,a) = rho.

Together with bounded h they prove that no policy earns more than rho per ms in the long run and that a greedy
one earns it (Baykal-Gursoy, "Semi-Markov decision processes", 2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fairlane.oracle.average.workload_model import WorkloadModel
from fairlane.reference.errors import CertificateRejected


def check_optimality_equation(model: WorkloadModel, rate: Fraction, h: Sequence[Fraction]) -> None:
    """Confirm both forms of the equation at every state.

    Raises
    ------
    CertificateRejected
        A state where a form fails; the message names it by number with both sides.
    """
    for s, row in enumerate(model.moves):
        differences: list[Fraction] = []
        ratios: list[Fraction] = []
        for move in row:
            expected = sum((p * h[t] for t, p in move.to), Fraction(0))
            differences.append(move.reward - rate * move.duration_ms + expected)
            ratios.append((move.reward + expected - h[s]) / move.duration_ms)
        if max(differences) != h[s]:
            raise CertificateRejected(f"state {s}: h is {h[s]}, and the best right side is {max(differences)}")
        if max(ratios) != rate:
            raise CertificateRejected(f"state {s}: the best ratio is {max(ratios)}, and the rate is {rate}")


def rate_bounds(model: WorkloadModel, h: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """Bounds on the best rate that any relative values prove: the least and the greatest of the states' best ratios."""
    best = [
        max((m.reward + sum((p * h[t] for t, p in m.to), Fraction(0)) - h[s]) / m.duration_ms for m in row)
        for s, row in enumerate(model.moves)
    ]
    return min(best), max(best)
