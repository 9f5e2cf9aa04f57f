"""A request: known prompt, observable output, explicit limit, uncertain length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import JsonNumber, Real, as_fraction, as_integer, found, show

LengthPrior = tuple[tuple[int, Fraction], ...]

PRIOR_TOLERANCE = Fraction(1, 10**12)


class _ReadPrior(tuple[tuple[int, Fraction], ...]):
    """A prior that was checked: thousands of requests of a trace share one of hundreds of lengths."""

    __slots__ = ()


def read_prior(
    prior: Mapping[int, Real | str] | Mapping[str, Real | str] | Iterable[tuple[int, Real | str]],
    where: str,
    *,
    exact: bool = True,
) -> LengthPrior:
    """A length prior as sorted (length, probability) pairs.

    Parameters
    ----------
    prior : mapping or iterable of pairs
        Lengths (integers >= 1, or their plain decimal text) to probabilities > 0.
    where : str
        Path named in errors.
    exact : bool
        True asks for a sum of exactly 1. False, and any Python float among the probabilities, allows 1e-12
        and divides by the sum.

    Raises
    ------
    InvalidInstance
        A key that is no plain integer >= 1, a probability <= 0, or a sum that is not 1.
    """
    if isinstance(prior, _ReadPrior):
        return prior
    pairs = tuple(prior.items()) if isinstance(prior, Mapping) else tuple(prior)
    if not pairs:
        raise InvalidInstance(f"{where} is empty; need at least one length")
    read: dict[int, Fraction] = {}
    tolerant = not exact
    for key, value in pairs:
        if isinstance(key, str):
            plain = key.isascii() and key.isdigit() and key[0] != "0" and len(key) <= 18
            if not plain:
                raise InvalidInstance(f"{where} has the key {key!r}; need integers >= 1 in plain decimal")
            length = int(key)
        else:
            length = as_integer(key, f"{where} key", minimum=1)
        if length in read:
            raise InvalidInstance(f"{where} has the key {length} twice; need distinct lengths")
        tolerant = tolerant or isinstance(value, float)
        probability = as_fraction(value, f"{where}[{length}]")
        if probability <= 0:
            raise InvalidInstance(f"{where}[{length}] is {show(probability)}; need a probability > 0")
        read[length] = probability
    total = sum(read.values(), Fraction(0))
    if total != 1:
        if not tolerant or abs(total - 1) > PRIOR_TOLERANCE:
            near = f" (about {float(total):.17g})" if total.denominator > 10**6 else ""
            raise InvalidInstance(f"{where} sums to {show(total)}{near}; need a sum of 1")
        read = {n: p / total for n, p in read.items()}
    return _ReadPrior(sorted(read.items()))


@dataclass(frozen=True, slots=True, init=False)
class Request:
    """One request of an episode, a workload or a simulation.

    Parameters
    ----------
    id : str
        Unique label, not empty.
    prompt : int
        Prompt tokens still to consume, >= 0; 0 means it arrives already decoding.
    limit : int
        Explicit output limit, >= 1 and > ``generated``.
    arrival_ms : number
        When it becomes visible, milliseconds, >= 0; an episode starts with all requests present.
    generated : int
        Output already published, >= 0; > 0 only with ``prompt`` 0.
    output_length : int or None
        Hidden true length, >= 1, for the simulator; no policy sees it.
    length_prior : mapping, pairs or None
        Belief over the length; None means certainly ``limit``. Stored sorted.
    acceptance : sequence of numbers
        q_1, q_2, ...: probability that draft j is accepted given that drafts 1 ... j-1 were.
    weight : number
        w_i > 0.

    Raises
    ------
    InvalidInstance
        A value is outside its domain.
    """

    id: str
    prompt: int
    limit: int
    arrival_ms: Fraction
    generated: int
    output_length: int | None
    length_prior: LengthPrior | None
    acceptance: tuple[Fraction, ...]
    weight: Fraction

    def __init__(
        self,
        *,
        id: str,
        prompt: int,
        limit: int,
        arrival_ms: Real | str = 0,
        generated: int = 0,
        output_length: int | None = None,
        length_prior: Mapping[int, Real | str]
        | Mapping[str, Real | str]
        | Iterable[tuple[int, Real | str]]
        | None = None,
        acceptance: Iterable[Real | str] = (),
        weight: Real | str = 1,
        where: str = "",
        exact: bool = True,
    ) -> None:
        at = where or f"request {id!r}"
        if not isinstance(id, str) or not id:
            raise InvalidInstance(f"{where or 'request'}.id is {found(id)}; need a non-empty string")
        write = object.__setattr__
        write(self, "id", id)
        write(self, "prompt", as_integer(prompt, f"{at}.prompt", minimum=0))
        write(self, "limit", as_integer(limit, f"{at}.limit", minimum=1))
        write(self, "generated", as_integer(generated, f"{at}.generated", minimum=0))
        arrival = as_fraction(arrival_ms, f"{at}.arrival_ms")
        if arrival.numerator < 0:
            raise InvalidInstance(f"{at}.arrival_ms is {show(arrival)}; need >= 0")
        write(self, "arrival_ms", arrival)
        if self.generated > 0 and self.prompt > 0:
            raise InvalidInstance(
                f"{at}.generated is {self.generated} with prompt {self.prompt}; need 0 while prompt tokens are left"
            )
        if self.limit <= self.generated:
            raise InvalidInstance(f"{at}.limit is {self.limit}; need > generated, which is {self.generated}")
        if output_length is not None:
            output_length = as_integer(output_length, f"{at}.output_length", minimum=1)
        write(self, "output_length", output_length)
        prior = None if length_prior is None else read_prior(length_prior, f"{at}.length_prior", exact=exact)
        if prior is not None and prior[-1][0] <= self.generated:
            raise InvalidInstance(
                f"{at}.length_prior has no length above generated, which is {self.generated}; need some mass above it"
            )
        write(self, "length_prior", prior)
        if isinstance(acceptance, (str, bytes, Mapping, JsonNumber)) or not isinstance(acceptance, Iterable):
            raise InvalidInstance(f"{at}.acceptance is {found(acceptance)}; need a list of numbers in [0, 1]")
        accepted: list[Fraction] = []
        for j, value in enumerate(acceptance):
            q = as_fraction(value, f"{at}.acceptance[{j}]")
            if not 0 <= q.numerator <= q.denominator:
                raise InvalidInstance(f"{at}.acceptance[{j}] is {show(q)}; need a probability in [0, 1]")
            accepted.append(q)
        write(self, "acceptance", tuple(accepted))
        exact_weight = as_fraction(weight, f"{at}.weight")
        if exact_weight.numerator <= 0:
            raise InvalidInstance(f"{at}.weight is {show(exact_weight)}; need > 0")
        write(self, "weight", exact_weight)
