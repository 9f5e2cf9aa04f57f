"""Jain's index of the useful-token rates that requests received."""

from __future__ import annotations

from fairlane.simulator.publication_table import Floats


def jain_index(rates: Floats) -> float | None:
    """Jain's fairness index, (Σ x)² / (n Σ x²).

    Parameters
    ----------
    rates : float64, shape (n,)
        Nonnegative; only their ratios matter.

    Returns
    -------
    float or None
        Between 1/n (one takes all) and 1 (all equal); None without entries or with nothing but zeros.

    References
    ----------
    Jain, Chiu and Hawe (1984), A quantitative measure of fairness and discrimination, DEC-TR-301.

    Examples
    --------
    >>> import numpy as np
    >>> jain_index(np.array([1.0, 1.0, 0.0, 0.0]))
    0.5
    """
    largest = rates.max(initial=0.0)
    if not largest > 0:
        return None
    # scaled first: the square of a tiny rate would underflow
    scaled = rates / largest
    return float(scaled.sum() ** 2 / (len(scaled) * (scaled * scaled).sum()))
