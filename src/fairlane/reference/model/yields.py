"""Output of one decode row: the yield D(k) and the full distribution, with and without a length prior.

Symbols: q_j acceptance of draft j given that drafts 1 ... j-1 were accepted; R(n) = q_1 ... q_{n-1}; k the
verification width; g published output; S(g) = P(L > g), p the prior with mass above the limit moved to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction, as_integer
from fairlane.reference.model.request import LengthPrior, read_prior


class RowOutcome(NamedTuple):
    """A row publishes ``n`` tokens and then has finished or goes on, with this probability."""

    n: int
    finished: bool
    probability: Fraction


def _acceptance(acceptance: Sequence[Real | str]) -> tuple[Fraction, ...]:
    exact = tuple(as_fraction(q, f"acceptance[{j}]") for j, q in enumerate(acceptance))
    for j, q in enumerate(exact):
        if not 0 <= q <= 1:
            raise InvalidInstance(f"acceptance[{j}] is {q}; need a probability in [0, 1]")
    return exact


def expected_yield(acceptance: Sequence[Real | str], width: int, *, remaining: int | None = None) -> Fraction:
    """Expected tokens of one decode row, D(k), without an end of sequence.

    Parameters
    ----------
    acceptance : sequence of numbers
        Conditional acceptance q_1, q_2, ... in [0, 1]; positions beyond it are 0.
    width : int
        Verification width k >= 1.
    remaining : int or None
        Output budget left, >= 1; the row's count is cut by it, E min(raw, remaining).

    Returns
    -------
    Fraction
        Tokens, in [1, min(width, remaining)].

    Raises
    ------
    InvalidInstance
        A value outside its domain.

    Notes
    -----
    E min(raw, m) = sum_{n=1}^{m} P(raw >= n) = sum_{n=1}^{min(k, m)} R(n). Exact for exact inputs.

    Examples
    --------
    >>> expected_yield(["4/5"] * 3, 4)
    Fraction(369, 125)
    >>> expected_yield(["9/10"] * 7, 8, remaining=2)
    Fraction(19, 10)
    """
    k = as_integer(width, "width", minimum=1)
    budget = k if remaining is None else as_integer(remaining, "remaining", minimum=1)
    return exact_yield(_acceptance(acceptance), k, budget)


@lru_cache(maxsize=65536)
def exact_yield(acceptance: tuple[Fraction, ...], width: int, remaining: int) -> Fraction:
    """D(k) cut by ``remaining`` for checked inputs; see :func:`expected_yield`."""
    total = reach = Fraction(1)
    for q in acceptance[: min(width, remaining) - 1]:
        reach *= q
        total += reach
    return total


@lru_cache(maxsize=65536)
def _truncated(prior: LengthPrior | None, limit: int) -> LengthPrior:
    if prior is None:
        return ((limit, Fraction(1)),)
    kept: dict[int, Fraction] = {}
    for n, p in prior:
        kept[min(n, limit)] = kept.get(min(n, limit), Fraction(0)) + p
    return tuple(sorted(kept.items()))


def truncated_prior(prior: LengthPrior | None, limit: int | None) -> LengthPrior:
    """The belief with all mass above ``limit`` moved to it; certainty of ``limit`` where there is no prior.

    Raises
    ------
    InvalidInstance
        Neither a prior nor a limit is given.
    """
    if limit is None:
        if prior is None:
            raise InvalidInstance("length_prior and limit are both missing; need at least one")
        return prior
    return _truncated(prior, limit)


@lru_cache(maxsize=65536)
def row_outcomes(
    acceptance: tuple[Fraction, ...], width: int, prior: LengthPrior | None, generated: int, limit: int
) -> tuple[RowOutcome, ...]:
    """Every outcome of positive probability of one decode row, for checked inputs.

    With S(g) = P(L > g) and q_n read as 0 at n = k: finish with n has probability R(n) p(g+n) / S(g), going on
    with n < limit - g has R(n) (1 - q_n) S(g+n) / S(g).
    """
    law = [(n, p) for n, p in _truncated(prior, limit) if n > generated]
    at = dict(law)
    survival = sum((p for _, p in law), Fraction(0))
    beyond = survival
    reach = Fraction(1)
    out: list[RowOutcome] = []
    for n in range(1, width + 1):
        end = at.get(generated + n, Fraction(0))
        beyond -= end
        q = acceptance[n - 1] if n < width and n <= len(acceptance) else Fraction(0)
        if reach * end:
            out.append(RowOutcome(n, True, reach * end / survival))
        if generated + n < limit and reach * (1 - q) * beyond:
            out.append(RowOutcome(n, False, reach * (1 - q) * beyond / survival))
        reach *= q
        if reach == 0 or beyond == 0:
            break
    return tuple(out)


def yield_distribution(
    acceptance: Sequence[Real | str],
    width: int,
    *,
    length_prior: Mapping[int, Real | str] | Iterable[tuple[int, Real | str]] | None = None,
    generated: int = 0,
    limit: int | None = None,
) -> tuple[RowOutcome, ...]:
    """Distribution of one row's published tokens, jointly with whether the request finishes.

    Parameters
    ----------
    acceptance : sequence of numbers
        Conditional acceptance in [0, 1]; positions beyond it are 0.
    width : int
        Verification width k >= 1.
    length_prior : mapping, pairs or None
        Belief over the final length; mass above ``limit`` is moved to it.
    generated : int
        Output already published, >= 0.
    limit : int or None
        Explicit output limit, > ``generated``. With neither prior nor limit nothing ends the request.

    Returns
    -------
    tuple of RowOutcome
        (n, finished, probability) with positive probabilities that sum to 1, by n, finishing first.

    Raises
    ------
    InvalidInstance
        A value outside its domain, or no mass above ``generated``.

    Examples
    --------
    >>> [(o.n, o.finished, str(o.probability)) for o in yield_distribution(["1/2"], 2, limit=2)]
    [(1, False, '1/2'), (2, True, '1/2')]
    """
    k = as_integer(width, "width", minimum=1)
    g = as_integer(generated, "generated", minimum=0)
    prior = None if length_prior is None else read_prior(length_prior, "length_prior")
    if limit is not None:
        limit = as_integer(limit, "limit", minimum=1)
        if limit <= g:
            raise InvalidInstance(f"limit is {limit}; need > generated, which is {g}")
    if prior is not None and prior[-1][0] <= g:
        raise InvalidInstance(f"length_prior has no length above generated, which is {g}; need some mass above it")
    # without an end, a limit out of the row's reach changes nothing
    bound = limit if limit is not None else (prior[-1][0] if prior is not None else g + k + 1)
    return row_outcomes(_acceptance(acceptance), k, prior, g, bound)
