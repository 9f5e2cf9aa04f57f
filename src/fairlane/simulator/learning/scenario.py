"""What a learning run is tried on: graphs with their hidden costs, request templates, pauses and windows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairlane.reference.errors import InvalidInstance
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.request import Request
from fairlane.simulator.learning.costs import CostLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """An interval without work: from an occupied time on nothing is replenished; when all have finished, it is idle."""

    after_busy_ms: float
    idle_ms: float

    def __post_init__(self) -> None:
        if not (self.after_busy_ms >= 0 and 0 < self.idle_ms < math.inf):
            raise InvalidInstance(
                f"pause after_busy_ms {self.after_busy_ms!r}, idle_ms {self.idle_ms!r}; need >= 0 and > 0"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Coefficients of the `ongoing` score; see `fairlane.policies.ongoing`."""

    output_value: float = 16.0
    token_fairness: float = 1.0
    delivery_fairness: float = 1.0
    age_price: float = 0.0
    history_ms: float = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One workload with its physical costs.

    Attributes
    ----------
    name, group : str
        A label, and what its results count for: `core`, `transient`, `recovery` or `stress`.
    graphs : Catalog
        The geometry; durations in it are ignored, so that nobody learns them from there.
    laws : tuple of CostLaw
        One a graph, in the same order.
    templates : tuple of Request
        Requests; one that finishes is replaced at once by a fresh copy of its template, without resetting estimates.
        A template arrives at its ``arrival_ms``.
    pauses : tuple of Pause
        In order of occupied time.
    history : int
        Valid observations of each graph before the run, at wall time 0, under the first regime.
    service : Service
        What the ordinary score counts.
    learn_busy_ms, measure_busy_ms, drain_busy_ms : float
        Occupied time of learning and of measuring; a graph that crosses a boundary counts in full on the side where it
        started. Then nothing is replenished, and the drain lasts at most so long.
    best_graph : int or None
        In recovery fixtures, the graph of the best useful-work rate after the change.
    change_busy_ms : float or None
        Occupied time of that change.
    """

    name: str
    group: str
    graphs: Catalog
    laws: tuple[CostLaw, ...]
    templates: tuple[Request, ...]
    pauses: tuple[Pause, ...] = ()
    history: int = 0
    service: Service = Service()
    learn_busy_ms: float = 30_000.0
    measure_busy_ms: float = 120_000.0
    drain_busy_ms: float = 30_000.0
    best_graph: int | None = None
    change_busy_ms: float | None = None

    def __post_init__(self) -> None:
        where = f"scenario {self.name!r}"
        if len(self.laws) != len(self.graphs):
            raise InvalidInstance(f"{where} has {len(self.laws)} laws; need one a graph, {len(self.graphs)}")
        if not self.templates:
            raise InvalidInstance(f"{where} has no request template; need at least one")
        names = [t.id for t in self.templates]
        if len(set(names)) < len(names) or any("#" in name for name in names):
            raise InvalidInstance(f"{where}: template ids are {', '.join(names)}; need distinct ones without '#'")
        if not any(g.prefill_capacity for g in self.graphs) and any(t.prompt for t in self.templates):
            raise InvalidInstance(f"{where} has prompts; need a graph with prefill_capacity")
        if not any(g.decode_capacity for g in self.graphs) and any(t.limit - t.generated > 1 for t in self.templates):
            raise InvalidInstance(f"{where} has outputs beyond the first; need a graph with decode_capacity")
        for name in ("learn_busy_ms", "measure_busy_ms", "drain_busy_ms"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise InvalidInstance(f"{where}.{name} is {value!r}; need a finite number >= 0")
        if isinstance(self.history, bool) or self.history < 0:
            raise InvalidInstance(f"{where}.history is {self.history!r}; need a whole number >= 0")

    def geometry(self) -> Catalog:
        """The graphs as a policy sees them: every duration is 1 ms, whatever they really take."""
        return Catalog(
            [
                Graph(
                    name=g.name,
                    duration_ms=1,
                    prefill_capacity=g.prefill_capacity,
                    prefill_lanes=g.prefill_lanes,
                    decode_capacity=g.decode_capacity,
                    width=g.width,
                )
                for g in self.graphs
            ]
        )
