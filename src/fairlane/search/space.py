"""The instances that a search or a test draws from: ranges of every field of the model, and how they are numbered.

A space is a product: a number of requests, each with any of the request options in any order; a set of graphs, listed
in the order of the rows; one of the objectives. It is never written out. Requests of a given number of tokens, and
sets of graphs, have numbers, and an instance is made from its numbers, so that work can be cut into pieces and spread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import comb
from typing import TypeVar

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction, as_integer, show
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.instance import Instance, why_unservable
from fairlane.reference.model.objective import PRICES, Objective
from fairlane.reference.model.request import LengthPrior, Request, read_prior

# request ids by place, so that an instance reads well
IDS = "abcdefghijklmnopqrstuvwxyz"

Number = Real | str
_Option = TypeVar("_Option")
Prior = Mapping[int, Number] | Mapping[str, Number] | Iterable[tuple[int, Number]]


def request_options(
    *,
    prompt: Iterable[int] = (0, 1, 2, 3),
    limit: Iterable[int] = (1, 2),
    generated: Iterable[int] = (0,),
    length_prior: Iterable[Prior | None] = (None,),
    acceptance: Iterable[Iterable[Number]] = ((),),
    weight: Iterable[Number] = (1,),
) -> tuple[Request, ...]:
    """Every request with one of the values given for each field; combinations that are no request are left out.

    Parameters
    ----------
    prompt, limit, generated : iterable of int
        Tokens.
    length_prior : iterable of mapping or None
        Beliefs; None means certainly the limit.
    acceptance : iterable of iterables of numbers
        Lists of conditional acceptance.
    weight : iterable of numbers
        Each > 0.
    """
    priors = [None if p is None else read_prior(p, f"length_prior[{k}]") for k, p in enumerate(length_prior)]
    drafts = [tuple(as_fraction(q, f"acceptance[{k}]") for q in row) for k, row in enumerate(acceptance)]
    out = []
    for p, n, g, prior, accepted, w in product(prompt, limit, generated, priors, drafts, weight):
        if (g and p) or n <= g or (prior is not None and prior[-1][0] <= g):
            continue
        out.append(Request(id="a", prompt=p, limit=n, generated=g, length_prior=prior, acceptance=accepted, weight=w))
    return _distinct(out)


def graph_options(
    *,
    prefill_capacity: Iterable[int] = (1, 2, 4),
    prefill_lanes: Iterable[int] = (1,),
    decode_capacity: Iterable[int] = (1, 2),
    width: Iterable[int] = (1,),
    duration_ms: Iterable[Number] = (1, 2, 3),
    energy_j: Iterable[Number] = (0,),
    mixed: bool = False,
) -> tuple[Graph, ...]:
    """Every graph with one of the values given for each field, named by what it does.

    Parameters
    ----------
    prefill_capacity : iterable of int
        Tokens of graphs with a prefill phase, >= 1.
    prefill_lanes : iterable of int
        Lanes of those graphs.
    decode_capacity : iterable of int
        Rows of graphs with a decode phase, >= 1.
    width : iterable of int
        Verification widths of those graphs.
    duration_ms : iterable of numbers
        Milliseconds, > 0.
    energy_j : iterable of numbers
        Joules a launch, >= 0.
    mixed : bool
        Whether graphs of both phases are there too.

    Examples
    --------
    >>> [g.name for g in graph_options(prefill_capacity=[4], decode_capacity=[2], width=[1, 3], duration_ms=["3/2"])]
    ['p4-3/2ms', 'd2-3/2ms', 'd2w3-3/2ms']
    """
    prompts = [(c, lanes) for c in prefill_capacity for lanes in prefill_lanes]
    rows = [(c, w) for c in decode_capacity for w in width]
    shapes = [(*p, 0, 1) for p in prompts] + [(0, 1, *d) for d in rows]
    if mixed:
        shapes += [(*p, *d) for p in prompts for d in rows]
    spans = [as_fraction(t, f"duration_ms[{k}]") for k, t in enumerate(duration_ms)]
    joules = [as_fraction(e, f"energy_j[{k}]") for k, e in enumerate(energy_j)]
    return _distinct(
        Graph(
            name=graph_name(p, lanes, d, w, span, energy),
            duration_ms=span,
            energy_j=energy,
            prefill_capacity=p,
            prefill_lanes=lanes,
            decode_capacity=d,
            width=w,
        )
        for p, lanes, d, w in shapes
        for span in spans
        for energy in joules
    )


def graph_name(prefill: int, lanes: int, decode: int, width: int, duration_ms: Fraction, energy_j: Fraction) -> str:
    """What a graph does, in a few characters: ``p4x2+d2w3-3/2ms``."""
    parts = []
    if prefill:
        parts.append(f"p{prefill}" + (f"x{lanes}" if lanes > 1 else ""))
    if decode:
        parts.append(f"d{decode}" + (f"w{width}" if width > 1 else ""))
    return f"{'+'.join(parts)}-{show(duration_ms)}ms" + (f"-{show(energy_j)}J" if energy_j else "")


def objective_options(**prices: Iterable[Number]) -> tuple[Objective, ...]:
    """Every objective with one of the values given for each price.

    Parameters
    ----------
    **prices : iterable of numbers
        By name; output is worth 1 and time costs 1 a ms unless given otherwise, the rest as in :class:`Objective`.
    """
    given = {"decode_value": (1,), "time_price": (1,), **prices}
    for name in given:
        if name not in PRICES:
            raise InvalidInstance(f"objective has the unknown field {name!r}; known fields are {', '.join(PRICES)}")
    rows = (dict(zip(given, values, strict=True)) for values in product(*given.values()))
    return _distinct(Objective(**row) for row in rows)  # type: ignore[arg-type]  # names were checked


def _distinct(options: Iterable[_Option]) -> tuple[_Option, ...]:
    return tuple(dict.fromkeys(options))


@dataclass(frozen=True, kw_only=True)
class Space:
    """A set of instances.

    Parameters
    ----------
    n_requests, n_graphs : tuple of int
        How many of each an instance may have, >= 1.
    requests : tuple of Request
        What a request may be; ids are given by place.
    graphs : tuple of Graph
        What a graph may be, with distinct names; every set of them is a catalog.
    objectives : tuple of Objective
        What is counted.
    identical : bool
        Whether all requests of an instance are equal.

    Raises
    ------
    InvalidInstance
        Nothing to choose from, or a number outside its range.

    Examples
    --------
    >>> small = Space(n_requests=(1,), requests=request_options(prompt=[1], limit=[1]), n_graphs=(1, 2),
    ...               graphs=graph_options(prefill_capacity=[1], decode_capacity=[], duration_ms=[1, 2]))
    >>> small.size, [[g.name for g in instance.graphs] for instance in small.instances()]
    (3, [['p1-1ms'], ['p1-2ms'], ['p1-1ms', 'p1-2ms']])
    """

    n_requests: tuple[int, ...] = (1, 2)
    requests: tuple[Request, ...] = field(default_factory=request_options)
    identical: bool = False
    n_graphs: tuple[int, ...] = (1, 2)
    graphs: tuple[Graph, ...] = field(default_factory=graph_options)
    objectives: tuple[Objective, ...] = field(default_factory=objective_options)

    def __post_init__(self) -> None:
        for name, most in (("n_requests", len(IDS)), ("n_graphs", len(self.graphs))):
            counts = getattr(self, name)
            if not counts:
                raise InvalidInstance(f"{name} is empty; need at least one count")
            for count in counts:
                as_integer(count, name, minimum=1)
                if count > most:
                    raise InvalidInstance(f"{name} has {count}; need at most {most}")
            object.__setattr__(self, name, tuple(sorted(set(counts))))
        for name in ("requests", "graphs", "objectives"):
            if not getattr(self, name):
                raise InvalidInstance(f"{name} is empty; need at least one option")
        Catalog(self.graphs)

    @property
    def size(self) -> int:
        """How many combinations there are; those that no graph can serve are no instances, and counted too."""
        return sum(
            self.n_request_lists(n, t) * comb(len(self.graphs), g) * len(self.objectives) for n, t, g in self.blocks()
        )

    def blocks(self) -> Iterator[tuple[int, int, int]]:
        """(requests, tokens, graphs) of every size there is, in order."""
        for n in self.n_requests:
            for t in self.tokens(n):
                for g in self.n_graphs:
                    yield n, t, g

    # -- requests, by their number of tokens

    @cached_property
    def _tokens(self) -> tuple[int, ...]:
        return tuple(tokens_of(r) for r in self.requests)

    @cached_property
    def _counts(self) -> list[dict[int, int]]:
        """How many lists of n requests have t tokens, by n and t."""
        counts = [{0: 1}]
        for _ in range(max(self.n_requests)):
            grown: dict[int, int] = {}
            for t, k in counts[-1].items():
                for tokens in self._tokens:
                    grown[t + tokens] = grown.get(t + tokens, 0) + k
            counts.append(grown)
        return counts

    @cached_property
    def _placed(self) -> tuple[tuple[Request, ...], ...]:
        """Every option at every place, with that place's id."""
        return tuple(tuple(renamed(r, IDS[i]) for r in self.requests) for i in range(max(self.n_requests)))

    def tokens(self, n: int) -> tuple[int, ...]:
        """Numbers of tokens that n requests can have together, rising."""
        if self.identical:
            return tuple(sorted({n * t for t in self._tokens}))
        return tuple(sorted(self._counts[n]))

    def n_request_lists(self, n: int, tokens: int) -> int:
        """How many lists of n requests have this many tokens."""
        if self.identical:
            return sum(n * t == tokens for t in self._tokens)
        return self._counts[n].get(tokens, 0)

    def request_list(self, n: int, tokens: int, number: int) -> tuple[Request, ...]:
        """One list of n requests with this many tokens, by its number from 0."""
        if self.identical:
            options = [k for k, t in enumerate(self._tokens) if n * t == tokens]
            return tuple(self._placed[i][options[number]] for i in range(n))
        chosen = []
        for i in range(n):
            for k, t in enumerate(self._tokens):
                behind = self._counts[n - i - 1].get(tokens - t, 0)
                if number < behind:
                    chosen.append(self._placed[i][k])
                    tokens -= t
                    break
                number -= behind
        assert len(chosen) == n, "the number is below n_request_lists"
        return tuple(chosen)

    # -- graphs and objectives

    def n_catalogs(self, n: int) -> int:
        """How many sets of n graphs there are."""
        return comb(len(self.graphs), n)

    def catalog(self, n: int, number: int) -> Catalog:
        """One set of n graphs, by its number from 0."""
        chosen: list[Graph] = []
        for k, graph in enumerate(self.graphs):
            if len(chosen) == n:
                break
            behind = comb(len(self.graphs) - k - 1, n - len(chosen) - 1)
            if number < behind:
                chosen.append(graph)
            else:
                number -= behind
        return Catalog(chosen)

    def instances(self) -> Iterator[Instance]:
        """Every instance: fewer requests first, then fewer tokens, then fewer graphs."""
        for n, t, g in self.blocks():
            for c in range(self.n_catalogs(g)):
                catalog = self.catalog(g, c)
                for objective in self.objectives:
                    for k in range(self.n_request_lists(n, t)):
                        requests = self.request_list(n, t, k)
                        if all(why_unservable(catalog, r) is None for r in requests):
                            yield Instance(graphs=catalog, requests=requests, objective=objective)


def tokens_of(request: Request) -> int:
    """Prompt tokens and output tokens that a request may still need."""
    return request.prompt + request.limit - request.generated


def renamed(request: Request, name: str) -> Request:
    """The same request under another id."""
    prior: LengthPrior | None = request.length_prior
    return Request(
        id=name,
        prompt=request.prompt,
        limit=request.limit,
        generated=request.generated,
        length_prior=prior,
        acceptance=request.acceptance,
        weight=request.weight,
    )
