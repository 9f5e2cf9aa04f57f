"""The policy seam: what a dispatcher may see, what it may decide, and what it is told afterwards.

A policy is one object for the simulator, the exact evaluation and the search. Its memory is immutable and
hashable, so that it can be part of an exact state; a plain function of the view is a policy without memory.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Protocol, cast, runtime_checkable

from fairlane.reference.errors import PolicyError
from fairlane.reference.exact import Real, as_fraction
from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy_parameter import PolicyParameter
from fairlane.reference.model.request import LengthPrior

Memory = Hashable


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestView:
    """What a dispatcher sees of one live request; never its hidden length.

    ``age_ms`` is the time since its last publication while it decodes, None before its first output.
    ``last_service_ms`` is when a graph that held it last completed, None if none did. ``index`` is its place
    in request order. Times are Fractions in exact work, floats in a simulation.
    """

    id: str
    index: int
    weight: Fraction
    arrival_ms: Real
    prompt: int
    generated: int
    limit: int
    acceptance: tuple[Fraction, ...]
    length_prior: LengthPrior | None
    age_ms: Real | None
    last_service_ms: Real | None

    @property
    def decoding(self) -> bool:
        """Whether its prompt is consumed."""
        return self.prompt == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a dispatcher sees: the catalog, the clock, the objective, and every live request in request order.

    ``in_flight`` is empty unless a graph is chosen while another one runs: then it holds the requests whose next input
    depends on the running graph. They are in no lane of the graph that is chosen, and not in ``requests``.

    ``estimates`` is what the dispatcher takes each graph to last, milliseconds, in catalog order, None for one that it
    knows nothing of: such a graph is scored by no policy and normalises no rate. Left out, they are the catalog's own.
    """

    catalog: Catalog
    now_ms: Real
    objective: Objective
    requests: tuple[RequestView, ...]
    in_flight: tuple[RequestView, ...] = ()
    estimates: tuple[Real | None, ...] = ()

    def __post_init__(self) -> None:
        if not self.estimates:
            object.__setattr__(self, "estimates", self.catalog.durations_ms)
        elif len(self.estimates) != len(self.catalog):
            raise PolicyError(
                f"view.estimates holds {len(self.estimates)} durations; need one a graph, {len(self.catalog)}"
            )

    def known_graphs(self) -> tuple[tuple[int, Graph, Real], ...]:
        """Every graph with an estimate: its place in the catalog, the graph, and the estimate in ms."""
        rows = enumerate(zip(self.catalog.graphs, self.estimates, strict=True))
        return tuple((order, graph, known) for order, (graph, known) in rows if known is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A graph by name with the ids in its lanes; prompts in the order they are filled. No graph means idle."""

    graph: str | None = None
    prefill: tuple[str, ...] = ()
    decode: tuple[str, ...] = ()


NOTHING = Decision()

Choice = Decision | tuple[tuple[Real, Decision], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneResult:
    """What one lane delivered at a completion."""

    id: str
    consumed: int
    published: int
    finished: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A finished graph: the view it was decided on, the decision, when it ended, and what each lane delivered.

    For a graph that was chosen while another one ran, ``view`` is what was there when it started. ``elapsed_ms`` is
    the time from its start to its end; ``measured_ms`` is what its timer showed, None where it showed nothing.
    """

    view: View
    decision: Decision
    graph: Graph
    ended_ms: Real
    elapsed_ms: Real
    measured_ms: Real | None
    lanes: tuple[LaneResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A graph that has not completed: the view at its start, the decision and the graph."""

    view: View
    decision: Decision
    graph: Graph


class Sees(StrEnum):
    """Parts of a view, beyond prompts, outputs and service order, on which a policy's decisions may depend."""

    NOW = "now"
    AGE = "age"
    SERVICE_TIMES = "service_times"


EVERYTHING = frozenset(Sees)


@runtime_checkable
class Policy(Protocol):
    """A dispatch policy. See the module docstring.

    An optional attribute ``sees`` (frozenset of :class:`Sees`) promises that decisions depend on no other
    part of the view than prompts, outputs, the order of last service, and what it lists; exact evaluation
    merges states by it. Without it, everything is assumed to matter.
    """

    def initial(self, catalog: Catalog) -> Memory:
        """Memory before the first decision."""
        ...

    def decide(self, view: View, memory: Memory) -> Choice:
        """One decision, or (probability, decision) pairs that sum to 1."""
        ...

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        """Memory after a completion."""
        ...


@runtime_checkable
class Projects(Protocol):
    """A policy that keeps prices of service, and can move a copy of them forward past a graph that still runs."""

    def project(self, memory: Memory, running: Running) -> Memory:
        """A copy of the memory as the expected service of the running graph would leave it."""
        ...


@dataclass(frozen=True, slots=True)
class FunctionPolicy:
    """A plain function of the view as a policy without memory."""

    function: Callable[[View], Choice]
    sees: frozenset[Sees] = EVERYTHING

    def initial(self, catalog: Catalog) -> Memory:
        """No memory."""
        return None

    def decide(self, view: View, memory: Memory) -> Choice:
        """Whatever the function decides."""
        return self.function(view)

    def observe(self, memory: Memory, completion: Completion) -> Memory:
        """No memory."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySpec:
    """A registered policy: its name, the object, where its rule is published, and what it assumes.

    ``plans_episodes`` marks one that solves the rest of the episode at each decision: exact on small instances, and
    hopeless on long traces. A policy with ``parameters`` is a dataclass that has them as fields.
    """

    name: str
    policy: Policy
    source: str
    assumes: str
    plans_episodes: bool = False
    parameters: tuple[PolicyParameter, ...] = ()


def as_policy(candidate: object, where: str = "policy") -> Policy:
    """A policy from a Policy object, a PolicySpec, or a plain function of the view.

    Raises
    ------
    PolicyError
        It is none of these.
    """
    if isinstance(candidate, PolicySpec):
        return candidate.policy
    if isinstance(candidate, type) and hasattr(candidate, "decide"):
        raise PolicyError(f"{where} is the class {candidate.__name__}; need an object of it")
    if isinstance(candidate, Policy):
        return candidate
    if callable(candidate):
        return FunctionPolicy(cast("Callable[[View], Choice]", candidate))
    raise PolicyError(
        f"{where} is a {type(candidate).__name__}; need initial, decide and observe, or a function of the view"
    )


def sees_of(policy: Policy) -> frozenset[Sees]:
    """What a policy's decisions may depend on; everything unless it promises less."""
    sees = getattr(policy, "sees", EVERYTHING)
    return frozenset(sees)


def check_decision(view: View, decision: object) -> tuple[Graph, tuple[RequestView, ...], tuple[RequestView, ...]]:
    """The graph and lanes a decision names, checked against the view.

    Returns
    -------
    graph, prefill, decode : Graph, tuple of RequestView, tuple of RequestView
        Prompts in their order; only for decisions that name a graph.

    Raises
    ------
    PolicyError
        An unknown graph or id, too many lanes, a request in the wrong phase or twice, an empty decision, or a
        prompt that would receive no token.
    """
    if not isinstance(decision, Decision):
        raise PolicyError(f"decision is a {type(decision).__name__}; need a Decision")
    if decision.graph is None or decision.graph not in view.catalog:
        raise PolicyError(f"decision.graph is {decision.graph!r}; need a graph of the catalog")
    graph = view.catalog[decision.graph]
    live = {request.id: request for request in view.requests}
    lanes = (*decision.prefill, *decision.decode)
    if not lanes:
        raise PolicyError(f"decision puts no request into {graph.name!r}; need at least one")
    if len(set(lanes)) != len(lanes):
        raise PolicyError(
            f"decision names a request twice in {graph.name!r}: {', '.join(lanes)}; need distinct requests"
        )
    for request_id in lanes:
        if request_id not in live:
            raise PolicyError(f"decision names {request_id!r} in {graph.name!r}; need a live request")
    prefill = tuple(live[i] for i in decision.prefill)
    decode = tuple(live[i] for i in decision.decode)
    if len(prefill) > (graph.prefill_lanes if graph.prefill_capacity else 0):
        raise PolicyError(
            f"decision puts {len(prefill)} prompts into {graph.name!r}; it takes "
            f"{graph.prefill_lanes if graph.prefill_capacity else 0}"
        )
    if len(decode) > graph.decode_capacity:
        raise PolicyError(
            f"decision puts {len(decode)} decode rows into {graph.name!r}; it takes {graph.decode_capacity}"
        )
    left = graph.prefill_capacity
    for request in prefill:
        if request.decoding:
            raise PolicyError(f"decision prefills {request.id!r} in {graph.name!r}; its prompt is consumed")
        if left == 0:
            raise PolicyError(
                f"decision gives {request.id!r} no prompt token in {graph.name!r}; need at least one each"
            )
        left -= min(left, request.prompt)
    for request in decode:
        if not request.decoding:
            raise PolicyError(
                f"decision decodes {request.id!r} in {graph.name!r}; {request.prompt} prompt tokens are left"
            )
    return graph, prefill, decode


def branches(choice: Choice) -> tuple[tuple[Fraction, Decision], ...]:
    """A policy's choice as exact (probability, decision) pairs.

    Raises
    ------
    PolicyError
        Probabilities that are negative or do not sum to 1 (exactly for rationals, within 1e-12 with floats).
    """
    if isinstance(choice, Decision):
        return ((Fraction(1), choice),)
    if not isinstance(choice, tuple) or not choice:
        raise PolicyError(f"decision is a {type(choice).__name__}; need a Decision or (probability, Decision) pairs")
    pairs: list[tuple[Fraction, Decision]] = []
    inexact = False
    for pair in choice:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise PolicyError("a randomised decision holds something else than (probability, Decision) pairs")
        inexact = inexact or isinstance(pair[0], float)
        probability = as_fraction(pair[0], "decision probability")
        if probability < 0:
            raise PolicyError(f"decision probability is {probability}; need >= 0")
        if probability:
            pairs.append((probability, pair[1]))
    total = sum((p for p, _ in pairs), Fraction(0))
    if total != 1:
        if not inexact or abs(total - 1) > Fraction(1, 10**12):
            raise PolicyError(f"decision probabilities sum to {total}; need 1")
        pairs = [(p / total, d) for p, d in pairs]
    return tuple(pairs)
