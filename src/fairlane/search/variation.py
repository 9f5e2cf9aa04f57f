"""An instance with one thing changed: what minimising, widening and optimising are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import PRICES, Objective
from fairlane.reference.model.request import LengthPrior, Request
from fairlane.search.space import graph_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One rational of an instance: where it stands, and what it is.

    ``field`` is ``duration_ms`` or ``energy_j`` of graph ``place``, ``weight`` of a request, ``acceptance`` of a
    request at draft ``draft``, or a price of the objective.
    """

    field: str
    place: int
    draft: int
    value: Fraction
    label: str

    @property
    def highest(self) -> Fraction | None:
        """The largest value it can have, if there is one."""
        return Fraction(1) if self.field == "acceptance" else None

    @property
    def positive(self) -> bool:
        """Whether 0 is out of its range."""
        return self.field in ("duration_ms", "weight")


def numbers(instance: Instance) -> tuple[Number, ...]:
    """Every rational of an instance that may be varied alone; priors, which must sum to 1, are left out."""
    out = [
        Number(field="duration_ms", place=k, draft=0, value=g.duration_ms, label=f"the duration of {g.name}")
        for k, g in enumerate(instance.graphs)
    ]
    out += [
        Number(field="energy_j", place=k, draft=0, value=g.energy_j, label=f"the energy of {g.name}")
        for k, g in enumerate(instance.graphs)
        if g.energy_j
    ]
    for i, r in enumerate(instance.requests):
        out.append(Number(field="weight", place=i, draft=0, value=r.weight, label=f"the weight of {r.id}"))
        out += [
            Number(field="acceptance", place=i, draft=j, value=q, label=f"the acceptance of draft {j + 1} of {r.id}")
            for j, q in enumerate(r.acceptance)
        ]
    for name in PRICES:
        value = getattr(instance.objective, name)
        if value:
            out.append(Number(field=name, place=0, draft=0, value=value, label=name))
    return tuple(out)


def with_number(instance: Instance, number: Number, value: Fraction) -> Instance:
    """The instance with another value at a number's place; graphs keep their names."""
    if number.field in ("duration_ms", "energy_j"):
        rows = list(instance.graphs)
        row = rows[number.place]
        rows[number.place] = (
            graph_with(row, duration_ms=value) if number.field == "duration_ms" else graph_with(row, energy_j=value)
        )
        return with_parts(instance, graphs=rows)
    if number.field in ("weight", "acceptance"):
        requests = list(instance.requests)
        request = requests[number.place]
        if number.field == "weight":
            requests[number.place] = request_with(request, weight=value)
        else:
            drafts = list(request.acceptance)
            drafts[number.draft] = value
            requests[number.place] = request_with(request, acceptance=tuple(drafts))
        return with_parts(instance, requests=requests)
    return with_parts(instance, objective=objective_with(instance.objective, {number.field: value}))


def with_parts(
    instance: Instance,
    *,
    graphs: Iterable[Graph] | None = None,
    requests: Iterable[Request] | None = None,
    objective: Objective | None = None,
) -> Instance:
    """The instance with other parts."""
    return Instance(
        graphs=instance.graphs if graphs is None else graphs,
        requests=instance.requests if requests is None else requests,
        objective=instance.objective if objective is None else objective,
        name=instance.name,
    )


def graph_with(
    graph: Graph,
    *,
    duration_ms: Fraction | None = None,
    prefill_capacity: int | None = None,
    prefill_lanes: int | None = None,
    decode_capacity: int | None = None,
    width: int | None = None,
    energy_j: Fraction | None = None,
    name: str | None = None,
) -> Graph:
    """The graph with other fields."""
    return Graph(
        name=graph.name if name is None else name,
        duration_ms=graph.duration_ms if duration_ms is None else duration_ms,
        prefill_capacity=graph.prefill_capacity if prefill_capacity is None else prefill_capacity,
        prefill_lanes=graph.prefill_lanes if prefill_lanes is None else prefill_lanes,
        decode_capacity=graph.decode_capacity if decode_capacity is None else decode_capacity,
        width=graph.width if width is None else width,
        energy_j=graph.energy_j if energy_j is None else energy_j,
    )


def request_with(
    request: Request,
    *,
    prompt: int | None = None,
    limit: int | None = None,
    generated: int | None = None,
    length_prior: LengthPrior | None = None,
    acceptance: tuple[Fraction, ...] | None = None,
    weight: Fraction | None = None,
    certain: bool = False,
) -> Request:
    """The request with other fields; ``certain`` takes its prior away."""
    prior = request.length_prior if length_prior is None else length_prior
    return Request(
        id=request.id,
        prompt=request.prompt if prompt is None else prompt,
        limit=request.limit if limit is None else limit,
        generated=request.generated if generated is None else generated,
        length_prior=None if certain else prior,
        acceptance=request.acceptance if acceptance is None else acceptance,
        weight=request.weight if weight is None else weight,
    )


def objective_with(objective: Objective, prices: dict[str, Fraction]) -> Objective:
    """The objective with other prices."""
    return replace(objective, **prices)


def plainly_named(instance: Instance) -> Instance:
    """The instance with graphs named by what they do."""
    named: list[Graph] = []
    for g in instance.graphs:
        name = graph_name(g.prefill_capacity, g.prefill_lanes, g.decode_capacity, g.width, g.duration_ms, g.energy_j)
        taken = {row.name for row in named}
        copy = 2
        unique = name
        while unique in taken:
            unique, copy = f"{name}-{copy}", copy + 1
        named.append(graph_with(g, name=unique))
    return with_parts(instance, graphs=named)


def simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """The rational of least denominator strictly between two others, ``low`` >= 0.

    Examples
    --------
    >>> simplest_between(Fraction(1, 3), Fraction(3, 5)), simplest_between(Fraction(2), Fraction(9))
    (Fraction(1, 2), Fraction(3, 1))
    """
    whole = low.numerator // low.denominator
    if whole + 1 < high:
        return Fraction(whole + 1)
    if low == whole:
        # high <= whole + 1: the simplest is whole + 1 / n with the least n beyond 1 / (high - whole)
        return whole + Fraction(1, int(1 / (high - whole)) + 1)
    return whole + 1 / simplest_between(1 / (high - whole), 1 / (low - whole))


def simpler(value: Fraction) -> Sequence[Fraction]:
    """Values that are simpler than a positive one, the simplest first."""
    out = [Fraction(1)]
    out += [value.limit_denominator(d) for d in (1, 2, 3, 4, 6, 8, 12, 16, 32) if d < value.denominator]
    if value.denominator == 1:
        out += [Fraction(n) for n in (2, 3, value.numerator // 2, value.numerator - 1) if 0 < n < value]
    else:
        out += [Fraction(value.numerator, d) for d in range(1, min(value.denominator, 9))]
        out += [Fraction(n, value.denominator) for n in range(1, min(value.numerator, 9))]
    return tuple(x for x in dict.fromkeys(out) if x > 0 and x != value)
