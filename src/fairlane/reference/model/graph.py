"""A prepared graph, the nonpreemptible quantum of execution, and a catalog of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real, as_fraction, as_integer, found, show


@dataclass(frozen=True, slots=True, init=False)
class Graph:
    """One catalog row: a graph that runs to its end once started, padding included.

    Parameters
    ----------
    name : str
        Unique label, not empty.
    duration_ms : int, Fraction, float or str
        Whole execution in milliseconds, finite, > 0; kept as a Fraction.
    prefill_capacity : int
        Prompt tokens it can consume over its prefill lanes together, >= 0.
    prefill_lanes : int
        Requests whose prompts can share that capacity, >= 1.
    decode_capacity : int
        Decode rows, >= 0.
    width : int
        Verification width: one pending target token and ``width - 1`` draft positions a row, >= 1.
    energy_j : int, Fraction, float or str
        Energy of one launch in joules, finite, >= 0; 0 unless given, and counted only where energy has a price.

    Raises
    ------
    InvalidInstance
        A value is outside its domain, or both capacities are zero.

    Examples
    --------
    >>> Graph(name="d4", duration_ms="7/2", decode_capacity=4).duration_ms
    Fraction(7, 2)
    """

    name: str
    duration_ms: Fraction
    prefill_capacity: int
    prefill_lanes: int
    decode_capacity: int
    width: int
    energy_j: Fraction

    def __init__(
        self,
        *,
        name: str,
        duration_ms: Real | str,
        prefill_capacity: int = 0,
        prefill_lanes: int = 1,
        decode_capacity: int = 0,
        width: int = 1,
        energy_j: Real | str = 0,
        where: str = "",
    ) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidInstance(f"{where or 'graph'}.name is {found(name)}; need a non-empty string")
        named = where or f"graph {name!r}"
        duration = as_fraction(duration_ms, f"{named}.duration_ms")
        if duration <= 0:
            raise InvalidInstance(f"{named}.duration_ms is {show(duration)}; need > 0")
        energy = as_fraction(energy_j, f"{named}.energy_j")
        if energy < 0:
            raise InvalidInstance(f"{named}.energy_j is {show(energy)}; need >= 0")
        write = object.__setattr__
        write(self, "name", name)
        write(self, "duration_ms", duration)
        write(self, "prefill_capacity", as_integer(prefill_capacity, f"{named}.prefill_capacity", minimum=0))
        write(self, "prefill_lanes", as_integer(prefill_lanes, f"{named}.prefill_lanes", minimum=1))
        write(self, "decode_capacity", as_integer(decode_capacity, f"{named}.decode_capacity", minimum=0))
        write(self, "width", as_integer(width, f"{named}.width", minimum=1))
        write(self, "energy_j", energy)
        if self.prefill_capacity == 0 and self.decode_capacity == 0:
            raise InvalidInstance(
                f"{named} has prefill_capacity 0 and decode_capacity 0; need at least one of them positive"
            )

    @property
    def capacity_tokens(self) -> int:
        """Token positions the graph computes when full; the tie-break's physical size."""
        return self.prefill_capacity + self.decode_capacity * self.width


@dataclass(frozen=True, slots=True, init=False)
class Catalog:
    """Graphs with distinct names, in the order that breaks the last tie.

    ``durations_ms`` holds their durations in that order, one object a catalog.

    Raises
    ------
    InvalidInstance
        No graph, or two graphs of one name.
    """

    graphs: tuple[Graph, ...]
    durations_ms: tuple[Fraction, ...] = field(compare=False, repr=False)

    def __init__(self, graphs: Iterable[Graph]) -> None:
        if not isinstance(graphs, Iterable):
            raise InvalidInstance(f"graphs is {found(graphs)}; need a list of Graph")
        rows = tuple(graphs)
        if not rows:
            raise InvalidInstance("graphs is empty; need at least one graph")
        seen: dict[str, int] = {}
        for i, graph in enumerate(rows):
            if not isinstance(graph, Graph):
                raise InvalidInstance(f"graphs[{i}] is {found(graph)}; need a Graph")
            if graph.name in seen:
                raise InvalidInstance(
                    f"graphs[{i}].name is {graph.name!r}, already that of graphs[{seen[graph.name]}]; need distinct"
                )
            seen[graph.name] = i
        object.__setattr__(self, "graphs", rows)
        object.__setattr__(self, "durations_ms", tuple(graph.duration_ms for graph in rows))

    def __iter__(self) -> Iterator[Graph]:
        return iter(self.graphs)

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, name: str) -> Graph:
        for graph in self.graphs:
            if graph.name == name:
                return graph
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(graph.name == name for graph in self.graphs)
