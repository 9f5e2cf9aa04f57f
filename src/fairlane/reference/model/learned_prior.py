"""A length prior from finished and unfinished requests: Kaplan-Meier with its confidence band.

An unfinished request is not a short output: it says only that its length exceeds what it has published. Treating
it as finished biases the prior downwards; the product-limit estimator uses exactly what is known (Kaplan and
Meier 1958, doi:10.1080/01621459.1958.10501452). The pointwise band is Greenwood's variance on the log(-log) scale
(Kalbfleisch and Prentice 2002), which stays inside [0, 1].
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import as_integer
from fairlane.reference.model.request import LengthPrior


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalPoint:
    """P(L > n) after length ``n``, with its band; ``at_risk`` requests had reached ``n``, ``ended`` of them there."""

    length: int
    survival: Fraction
    lower: float
    upper: float
    at_risk: int
    ended: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedPrior:
    """A prior with its evidence.

    ``tail`` is the mass that the data leave open: where the longest observation is unfinished, the survival
    never reaches 0, and the mass beyond is put on ``limit``.
    """

    prior: LengthPrior
    curve: tuple[SurvivalPoint, ...]
    tail: Fraction
    confidence: float
    n_finished: int
    n_unfinished: int


def learn_prior(
    finished: Iterable[int], unfinished: Iterable[int], *, limit: int, confidence: float = 0.95
) -> LearnedPrior:
    """Kaplan-Meier estimate of the length law.

    Parameters
    ----------
    finished : iterable of int
        Lengths of finished requests, >= 1.
    unfinished : iterable of int
        Output published by requests that have not ended, >= 0; each is censored at its value. A request that was
        stopped by a limit belongs here.
    limit : int
        Where mass goes that the data leave open; at least the longest observation, plus one where that is
        unfinished.
    confidence : float
        Pointwise level of the band, in (0, 1).

    Returns
    -------
    LearnedPrior
        Exact probabilities that sum to 1, and the survival curve with its band.

    Raises
    ------
    InvalidInstance
        No observation, a length below its range, or a limit that is too small.

    Examples
    --------
    >>> learned = learn_prior([1, 3], [2], limit=8)
    >>> [(n, str(p)) for n, p in learned.prior]
    [(1, '1/3'), (3, '2/3')]
    """
    ends = Counter(as_integer(n, f"finished[{i}]", minimum=1) for i, n in enumerate(finished))
    open_ = Counter(as_integer(n, f"unfinished[{i}]", minimum=0) for i, n in enumerate(unfinished))
    total = ends.total() + open_.total()
    if total == 0:
        raise InvalidInstance("finished and unfinished are empty; need at least one observation")
    if not 0 < confidence < 1:
        raise InvalidInstance(f"confidence is {confidence}; need a level in (0, 1)")
    longest = max([*ends, *(n + 1 for n in open_)])
    top = as_integer(limit, "limit", minimum=1)
    if top < longest:
        raise InvalidInstance(f"limit is {top}; need >= {longest}, which the observations reach")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    at_risk, alive, variance = total - open_[0], Fraction(1), 0.0
    curve: list[SurvivalPoint] = []
    mass: dict[int, Fraction] = {}
    for n in range(1, longest + 1):
        ended = ends[n]
        if ended:
            mass[n] = alive * Fraction(ended, at_risk)
            alive -= mass[n]
            variance += ended / (at_risk * (at_risk - ended)) if at_risk > ended else math.inf
            # survival never rises, so the last upper bound still holds where nobody is left
            lower, upper = _band(float(alive), variance, z) if alive else (0.0, curve[-1].upper if curve else 1.0)
            curve.append(
                SurvivalPoint(length=n, survival=alive, lower=lower, upper=upper, at_risk=at_risk, ended=ended)
            )
        # a request censored at n was still alive after n tokens, and is gone from the risk set before n + 1
        at_risk -= ended + open_[n]
    if alive:
        mass[top] = mass.get(top, Fraction(0)) + alive
    return LearnedPrior(
        prior=tuple(sorted(mass.items())),
        curve=tuple(curve),
        tail=alive,
        confidence=confidence,
        n_finished=ends.total(),
        n_unfinished=open_.total(),
    )


def _band(survival: float, variance: float, z: float) -> tuple[float, float]:
    """Greenwood's band on the log(-log) scale, for a survival strictly between 0 and 1."""
    width = z * math.sqrt(variance) / abs(math.log(survival))
    return survival ** math.exp(width), survival ** math.exp(-width)
