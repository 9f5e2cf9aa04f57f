"""Groups of equal requests in a table of costs, and their local states and laws, from the instance alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from fairlane.reference.checker.certificate_check import RowLaws
from fairlane.reference.errors import CertificateRejected
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.request import Request
from fairlane.reference.rationals import to_fraction

# prompt left, output published; None has finished
Local = tuple[int, int] | None
Law = tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Equal requests: their indices, the local states that serving one reaches, and what serving does to one.

    ``laws[o][x]`` are the outcomes of operator o (widths, then capacities) at local state x, by place.
    """

    members: tuple[int, ...]
    chain: tuple[Local, ...]
    laws: tuple[tuple[Law, ...], ...]

    @property
    def places(self) -> int:
        """Multisets of local states."""
        return comb(len(self.chain) + len(self.members) - 1, len(self.members))


def read_groups(
    listed: Sequence[Sequence[int]], instance: Instance, widths: Sequence[int], capacities: Sequence[int]
) -> tuple[Group, ...]:
    """The groups of a table, with their laws recomputed from the instance.

    Raises
    ------
    CertificateRejected
        No partition of the requests, or a group of requests that differ.
    """
    flat = sorted(i for members in listed for i in members)
    if flat != list(range(len(instance.requests))) or not all(listed):
        raise CertificateRejected("the table's groups are not a partition of the requests")
    rows = RowLaws(instance)
    out = []
    for members in listed:
        first = instance.requests[members[0]]
        if any(_kind(instance.requests[i]) != _kind(first) for i in members):
            raise CertificateRejected("the table merges requests that differ")
        out.append(_group(tuple(members), first, rows, widths, capacities))
    return tuple(out)


def _kind(request: Request) -> tuple[object, ...]:
    return (
        request.prompt,
        request.generated,
        request.limit,
        request.length_prior,
        request.acceptance,
        request.weight,
    )


def _group(
    members: tuple[int, ...], request: Request, rows: RowLaws, widths: Sequence[int], capacities: Sequence[int]
) -> Group:
    i = members[0]

    def served(local: Local, width: int, capacity: int) -> list[tuple[Local, Fraction]]:
        if local is None or bool(local[0]) != bool(capacity):
            return []
        prompt, published = local
        if prompt > capacity > 0:
            return [((prompt - capacity, published), Fraction(1))]
        law: dict[Local, Fraction] = {}
        for tokens, finished, p in rows.row(i, published, width or 1):
            after: Local = None if finished else (0, published + tokens)
            law[after] = law.get(after, Fraction(0)) + to_fraction(p)
        return list(law.items())

    operators = [*((w, 0) for w in widths), *((0, c) for c in capacities)]
    start: Local = (request.prompt, request.generated)
    reached: set[Local] = {start, None}
    queue: list[Local] = [start]
    for local in queue:
        for width, capacity in operators:
            for after, _ in served(local, width, capacity):
                if after not in reached:
                    reached.add(after)
                    queue.append(after)
    unfinished = sorted((x for x in reached if x is not None), key=lambda x: (-x[0], x[1]))
    chain: tuple[Local, ...] = (*unfinished, None)
    place = {local: x for x, local in enumerate(chain)}
    laws = tuple(
        tuple(tuple((place[after], p) for after, p in served(local, width, capacity)) for local in chain)
        for width, capacity in operators
    )
    return Group(members=members, chain=chain, laws=laws)
