"""Expected remaining output given that a request has not ended yet, E[L - g | L > g].

A fixed length has falling remaining work, a geometric one a memoryless residual, and a heavy-tailed one can
predict more work after a longer prefix. An explicit limit truncates any prior.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction, as_integer, show
from fairlane.reference.model.request import LengthPrior, read_prior
from fairlane.reference.model.yields import truncated_prior

Prior = Mapping[int, Real | str] | Iterable[tuple[int, Real | str]]


def conditional_remaining(length_prior: Prior, generated: int, *, limit: int | None = None) -> Fraction:
    """Expected tokens still to come, E[min(L, limit) - g | L > g].

    Parameters
    ----------
    length_prior : mapping or pairs
        Lengths to probabilities that sum to 1.
    generated : int
        Output published so far, g >= 0.
    limit : int or None
        Explicit output limit, > g; mass above it is moved to it.

    Returns
    -------
    Fraction
        Tokens, > 0.

    Raises
    ------
    InvalidInstance
        A bad prior, a limit <= g, or no mass above g.

    Examples
    --------
    >>> conditional_remaining({4: 1}, 3), conditional_remaining({1: "1/2", 9: "1/2"}, 1)
    (Fraction(1, 1), Fraction(8, 1))
    """
    g = as_integer(generated, "generated", minimum=0)
    prior = read_prior(length_prior, "length_prior")
    if limit is not None:
        limit = as_integer(limit, "limit", minimum=1)
        if limit <= g:
            raise InvalidInstance(f"limit is {limit}; need > generated, which is {g}")
    law = [(n, p) for n, p in truncated_prior(prior, limit) if n > g]
    alive = sum((p for _, p in law), Fraction(0))
    if alive == 0:
        raise InvalidInstance(f"length_prior has no length above generated, which is {g}; need some mass above it")
    return sum((p * (n - g) for n, p in law), Fraction(0)) / alive


def pareto_remaining(generated: Real | str, alpha: Real | str) -> Fraction:
    """Expected remaining output of a continuous Pareto law above its minimum, g / (alpha - 1).

    Parameters
    ----------
    generated : number
        Attained output g > 0, at or above the law's minimum.
    alpha : number
        Tail exponent, > 1.

    Returns
    -------
    Fraction
        Tokens.

    Raises
    ------
    InvalidInstance
        alpha <= 1, where the mean is infinite, or g <= 0.

    Examples
    --------
    >>> pareto_remaining(10, "3/2")
    Fraction(20, 1)
    """
    g = as_fraction(generated, "generated")
    exponent = as_fraction(alpha, "alpha")
    if g <= 0:
        raise InvalidInstance(f"generated is {show(g)}; need > 0")
    if exponent <= 1:
        raise InvalidInstance(f"alpha is {show(exponent)}; need > 1, the mean is infinite otherwise")
    return g / (exponent - 1)


def fixed_prior(length: int) -> LengthPrior:
    """Certainty of one length >= 1."""
    return ((as_integer(length, "length", minimum=1), Fraction(1)),)


def geometric_prior(stop: Real | str, limit: int) -> LengthPrior:
    """Geometric law with stopping probability ``stop`` a token, mass beyond ``limit`` moved to it.

    Raises
    ------
    InvalidInstance
        ``stop`` outside (0, 1], or a limit < 1.
    """
    hazard = as_fraction(stop, "stop")
    if not 0 < hazard <= 1:
        raise InvalidInstance(f"stop is {show(hazard)}; need a probability in (0, 1]")
    top = as_integer(limit, "limit", minimum=1)
    alive = Fraction(1)
    out: list[tuple[int, Fraction]] = []
    for n in range(1, top):
        if alive * hazard:
            out.append((n, alive * hazard))
        alive *= 1 - hazard
    if alive:
        out.append((top, alive))
    return tuple(out)


def heavy_tailed_prior(alpha: int, limit: int) -> LengthPrior:
    """Discrete Pareto law with P(L > n) = (n + 1)^-alpha, mass beyond ``limit`` moved to it.

    Parameters
    ----------
    alpha : int
        Tail exponent, >= 1, whole so that probabilities are rational.
    limit : int
        Largest length, >= 1.
    """
    exponent = as_integer(alpha, "alpha", minimum=1)
    top = as_integer(limit, "limit", minimum=1)
    survival = [Fraction(1, (n + 1) ** exponent) for n in range(top)]
    out = [(n, survival[n - 1] - survival[n]) for n in range(1, top)]
    return (*out, (top, survival[top - 1]))
