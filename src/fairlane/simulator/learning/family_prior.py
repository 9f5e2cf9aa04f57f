"""Where belief about an unmeasured graph starts."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

FALLBACK_MS = 1.0


def family_prior_ms(family_means_ms: Sequence[float], incumbent_mean_ms: float | None) -> float:
    """Prior location m0 of an unmeasured graph, ms.

    It is a statistical prior: no measured cost, and no normaliser of prices.

    Parameters
    ----------
    family_means_ms : sequence of float
        Active arithmetic means of the measured graphs of the same family (prefill, decode or mixed).
    incumbent_mean_ms : float or None
        Mean of the ordinary choice, where there is one.

    Examples
    --------
    >>> family_prior_ms([20.0, 40.0], 5.0), family_prior_ms([], 5.0), family_prior_ms([], None)
    (30.0, 5.0, 1.0)
    """
    if family_means_ms:
        return median(family_means_ms)
    return FALLBACK_MS if incumbent_mean_ms is None else incumbent_mean_ms
