"""Where a simulation's chance comes from: a seam with a keyed source, which every run uses, and others.

A draw is a pure function of (seed, stream, rank of the request, position in its output, draft position), so a
change of schedule does not reshuffle luck, and streams never disturb each other. The key is hashed by the
finaliser of SplitMix64, one round a word.

References
----------
G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014,
doi:10.1145/2660193.2660195.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from enum import IntEnum
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple, Protocol

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real
from fairlane.reference.model.request import Request
from fairlane.reference.model.yields import truncated_prior

GOLDEN = 0x9E3779B97F4A7C15
MULTIPLY_1 = 0xBF58476D1CE4E5B9
MULTIPLY_2 = 0x94D049BB133111EB
MASK = 0xFFFFFFFFFFFFFFFF
TO_UNIT = 2.0**-53


class Stream(IntEnum):
    """Independent sources of chance under one seed."""

    ARRIVALS = 1
    LENGTHS = 2
    ACCEPTANCE = 3
    TIMING = 4
    POLICY = 5


def absorb(state: int, word: int) -> int:
    """Hash state after one more word; both 64-bit."""
    z = (state + GOLDEN * (word + 1)) & MASK
    z = ((z ^ (z >> 30)) * MULTIPLY_1) & MASK
    z = ((z ^ (z >> 27)) * MULTIPLY_2) & MASK
    return z ^ (z >> 31)


def hash_words(seed: int, *words: int) -> int:
    """64-bit hash of a seed and any number of words."""
    state = absorb(0, seed)
    for word in words:
        state = absorb(state, word)
    return state


def unit(state: int) -> float:
    """A hash as a number in [0, 1), a multiple of 2^-53."""
    return (state >> 11) * TO_UNIT


def keyed_uniform(seed: int, stream: Stream, *words: int) -> float:
    """The uniform number in [0, 1) of a key.

    Examples
    --------
    >>> keyed_uniform(7, Stream.TIMING, 3, 0) == keyed_uniform(7, Stream.TIMING, 3, 0)
    True
    """
    return unit(hash_words(seed, stream, *words))


def checked_seed(seed: int) -> int:
    """A seed in [0, 2^63).

    Raises
    ------
    InvalidInstance
        It is no whole number, or outside.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise InvalidInstance(f"seed is {seed}; need a whole number from 0 to 2^63 - 1")
    return seed


class Timing(NamedTuple):
    """How long one launch takes, ticks, > 0, and what its timer shows, milliseconds; None where it shows nothing."""

    ticks: int
    measured_ms: Real | None


class DrawSource(Protocol):
    """What the event loop asks of chance. Requests and graphs go by index, drafts and tokens by count."""

    def duration(self, graph: int, execution: int, listed: Timing) -> Timing:
        """Of a graph's ``execution``-th launch, from 0; ``listed`` is what the catalog says of it."""
        ...

    def accepted_drafts(self, request: int, generated: int, drafts: int) -> int:
        """How many of a row's first drafts are accepted in a row, from 0 to ``drafts``."""
        ...

    def tokens_to_end(self, request: int, generated: int, within: int) -> int | None:
        """After how many further tokens the output ends, if that is at most ``within``; otherwise None."""
        ...

    def choose(self, dispatch: int, probabilities: Sequence[Fraction]) -> int:
        """Index of the decision that a randomised policy takes at its ``dispatch``-th decision."""
        ...


def hidden_length(request: Request, seed: int, rank: int) -> int:
    """The true output length of a request, cut by its limit.

    It is the given ``output_length``; otherwise a draw from the prior, given that it exceeds what was published;
    otherwise the limit.
    """
    if request.output_length is not None:
        return min(request.output_length, request.limit)
    if request.length_prior is None:
        return request.limit
    law = [(n, p) for n, p in truncated_prior(request.length_prior, request.limit) if n > request.generated]
    steps = list(accumulate(p for _, p in law))
    # the draw is a multiple of 2^-53, so it is compared as the rational it is
    u = Fraction(keyed_uniform(seed, Stream.LENGTHS, rank)) * steps[-1]
    return law[bisect_right(steps, u)][0]


def _checked_length(request: Request, seed: int, rank: int) -> int:
    length = hidden_length(request, seed, rank)
    if length <= request.generated:
        raise InvalidInstance(
            f"requests[{rank}].output_length is {length}; need > generated, which is {request.generated} "
            f"(request {request.id!r})"
        )
    return length


class Kinds(NamedTuple):
    """The distinct (acceptance, weight) of requests, and which of them each request has."""

    of: tuple[tuple[tuple[Fraction, ...], Fraction], ...]
    by_request: list[int]


def kinds_of(requests: Sequence[Request]) -> Kinds:
    """Requests by what their rows are worth; hashing whole numbers is much faster than hashing Fractions."""
    seen: dict[tuple[int, ...], int] = {}
    of: list[tuple[tuple[Fraction, ...], Fraction]] = []
    index: list[int] = []
    for request in requests:
        numbers = (request.weight, *request.acceptance)
        key = tuple([q.numerator for q in numbers] + [q.denominator for q in numbers])
        kind = seen.setdefault(key, len(of))
        if kind == len(of):
            of.append((request.acceptance, request.weight))
        index.append(kind)
    return Kinds(tuple(of), index)


class KeyedDraws:
    """The source of every ordinary run."""

    def __init__(self, requests: Sequence[Request], seed: int) -> None:
        self.seed = checked_seed(seed)
        self.lengths = [_checked_length(r, seed, i) for i, r in enumerate(requests)]
        self.kinds = kinds_of(requests)
        chances = [tuple(float(q) for q in acceptance) for acceptance, _ in self.kinds.of]
        self.acceptance = [chances[k] for k in self.kinds.by_request]
        self._stream = hash_words(seed, Stream.ACCEPTANCE)

    def append(self, request: Request) -> None:
        """One more request, of the next rank."""
        self.lengths.append(_checked_length(request, self.seed, len(self.lengths)))
        self.acceptance.append(tuple(float(q) for q in request.acceptance))

    def duration(self, graph: int, execution: int, listed: Timing) -> Timing:
        """The catalog's, every time."""
        return listed

    def accepted_drafts(self, request: int, generated: int, drafts: int) -> int:
        """The drafts before the first whose draw is not below its acceptance."""
        chances = self.acceptance[request]
        row = absorb(absorb(self._stream, request), generated)
        accepted = 0
        for q in chances[:drafts]:
            if unit(absorb(row, accepted)) >= q:
                break
            accepted += 1
        return accepted

    def tokens_to_end(self, request: int, generated: int, within: int) -> int | None:
        """What is left of the hidden length, where that is near enough."""
        left = self.lengths[request] - generated
        return left if left <= within else None

    def choose(self, dispatch: int, probabilities: Sequence[Fraction]) -> int:
        """By one draw of the policy's own stream."""
        u = Fraction(keyed_uniform(self.seed, Stream.POLICY, dispatch))
        return bisect_right(list(accumulate(probabilities)), u)
