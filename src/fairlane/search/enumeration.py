"""A space in order of size, cut into pieces that any process can work on.

A block holds all instances of one number of requests, tokens and graphs; blocks follow each other in order of size.
Inside a block every instance is looked at, and the smallest witness and the worst one are kept, so that they do not
depend on how the block was cut. Pieces depend on the space alone, never on the number of workers.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from fairlane.policies import load_policy
from fairlane.reference.errors import PolicyError
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.instance import Instance, why_unservable
from fairlane.reference.model.policy import as_policy
from fairlane.reference.model.request import Request
from fairlane.reference.rationals import to_fmpq, to_fraction
from fairlane.search.case import Aim, Case, Measure
from fairlane.search.failure import Guard, PolicyBroke, PolicyFailure
from fairlane.search.shared_costs import SharedCosts
from fairlane.search.size import Size, Weight, frame_weight, request_weight, size_of
from fairlane.search.space import Space

# instances of a piece: some tenths of a second, which is what a kill loses
PIECE = 500
# costs kept between pieces, in states and situations
KEPT = 400_000


class Piece(NamedTuple):
    """A part of a block: some request lists beside some pairs of a catalog and an objective, all by number."""

    n_requests: int
    tokens: int
    n_graphs: int
    lists: tuple[int, int]
    pairs: tuple[int, int]

    @property
    def block(self) -> tuple[int, int, int]:
        """The block it belongs to."""
        return self.n_requests, self.tokens, self.n_graphs


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An instance worth keeping, with its exact gap and optimum."""

    instance: Instance
    gap: Fraction
    optimum: Fraction

    @property
    def size(self) -> Size:
        """Its place in the order of size."""
        return size_of(self.instance)


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceResult:
    """What a piece holds: how many instances, the smallest witness, the one of the largest gap, a failure.

    ``unmeasured`` counts instances without a relative gap, their optimum being 0. After a failure the rest of the
    piece is not looked at.
    """

    instances: int = 0
    unmeasured: int = 0
    smallest: Found | None = None
    worst: Found | None = None
    failure: PolicyFailure | None = None


def n_block_pieces(space: Space, n_requests: int, tokens: int, n_graphs: int) -> int:
    """How many pieces one block has."""
    lists, pairs, at_once = _cut(space, n_requests, tokens, n_graphs)
    return -(-pairs // at_once) * -(-lists // PIECE)


def _cut(space: Space, n_requests: int, tokens: int, n_graphs: int) -> tuple[int, int, int]:
    """Request lists of a block, pairs of a catalog and an objective, and how many pairs a piece has."""
    lists, pairs = space.n_request_lists(n_requests, tokens), space.n_catalogs(n_graphs) * len(space.objectives)
    return lists, pairs, max(1, PIECE // max(1, min(lists, PIECE)))


def block_pieces(space: Space, n_requests: int, tokens: int, n_graphs: int) -> Iterator[Piece]:
    """The pieces of one block."""
    lists, pairs, at_once = _cut(space, n_requests, tokens, n_graphs)
    for first_pair in range(0, pairs, at_once):
        for first in range(0, lists, PIECE):
            yield Piece(
                n_requests,
                tokens,
                n_graphs,
                (first, min(first + PIECE, lists)),
                (first_pair, min(first_pair + at_once, pairs)),
            )


@dataclass(frozen=True, kw_only=True)
class Task:
    """What a worker needs to know: the policy (a name or an object), the space, the aim and the time-out.

    Costs of finished work are kept, since later instances go on to them.
    """

    policy: object
    space: Space
    aim: Aim
    limit_s: float
    _kept: dict[tuple[int, int], SharedCosts] = field(default_factory=dict, repr=False, compare=False)
    _load: list[int] = field(default_factory=lambda: [0], repr=False, compare=False)
    _guard: list[Guard] = field(default_factory=list, repr=False, compare=False)

    def __getstate__(self) -> dict[str, object]:
        return {"policy": self.policy, "space": self.space, "aim": self.aim, "limit_s": self.limit_s}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in (*state.items(), ("_kept", {}), ("_load", [0]), ("_guard", [])):
            object.__setattr__(self, name, value)

    def guard(self) -> Guard:
        """The policy, loaded once a process."""
        if not self._guard:
            loaded = load_policy(self.policy) if isinstance(self.policy, str) else as_policy(self.policy)
            self._guard.append(Guard(loaded, self.limit_s))
        return self._guard[0]

    def costs(self, n_graphs: int, pair: int) -> SharedCosts:
        """The costs under one catalog and objective, with all that is known of them."""
        known = self._kept.pop((n_graphs, pair), None)
        if known is None:
            number, objective = divmod(pair, len(self.space.objectives))
            known = SharedCosts(self.space.catalog(n_graphs, number), self.space.objectives[objective], self.guard())
        return known

    def keep(self, n_graphs: int, pair: int, costs: SharedCosts, grown: int) -> None:
        """Keep costs for later pieces; the longest unused ones go when there are too many."""
        self._kept[n_graphs, pair] = costs
        self._load[0] += grown
        while self._load[0] > KEPT and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            self._load[0] -= len(self._kept.pop(oldest))

    def packed(self) -> bytes:
        """The task as it travels to other processes.

        Raises
        ------
        PolicyError
            The policy or the predicate cannot travel.
        """
        try:
            return pickle.dumps(self)
        except Exception as error:
            # pickling runs code of the policy, which may raise anything
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise PolicyError(
                f"the policy or the predicate cannot be sent to other processes ({reason}); need a built-in name, "
                "module:attribute, or an object that pickles"
            ) from None


@lru_cache(maxsize=2)
def unpacked(packed: bytes) -> Task:
    """The task of this process, with what it has kept."""
    task = pickle.loads(packed)
    assert isinstance(task, Task)
    return task


def work_packed(piece: Piece, *, packed: bytes) -> PieceResult:
    """Work on a piece in another process."""
    return work(piece, task=unpacked(packed))


def work(piece: Piece, *, task: Task) -> PieceResult:
    """Look at every instance of a piece, exactly."""
    space, best = task.space, _Best(task.aim)
    lists = [space.request_list(piece.n_requests, piece.tokens, k) for k in range(*piece.lists)]
    weights = [_sum(request_weight(r) for r in requests) for requests in lists]
    with task.guard().watching():
        for pair in range(*piece.pairs):
            costs = task.costs(piece.n_graphs, pair)
            before = len(costs)
            servable = _servable(costs.catalog)
            frame = frame_weight(costs.catalog, costs.objective)
            for requests, weight in zip(lists, weights, strict=True):
                if not all(servable(r) for r in requests):
                    continue
                try:
                    best.look(costs, requests, _sum((frame, weight)))
                except PolicyBroke as broke:
                    return best.result(broke.on(_instance(costs, requests)))
            task.keep(piece.n_graphs, pair, costs, len(costs) - before)
    return best.result(None)


def _sum(parts: Iterable[Weight]) -> Weight:
    pairs = list(parts)
    return Weight(sum(p.denominators for p in pairs), sum(p.magnitudes for p in pairs))


def _instance(costs: SharedCosts, requests: tuple[Request, ...]) -> Instance:
    return Instance(graphs=costs.catalog, requests=requests, objective=costs.objective, name="counterexample")


def _servable(catalog: Catalog) -> Callable[[Request], bool]:
    # the same few request objects come again and again
    known: dict[int, bool] = {}

    def servable(request: Request) -> bool:
        answer = known.get(id(request))
        if answer is None:
            answer = known[id(request)] = why_unservable(catalog, request) is None
        return answer

    return servable


class _Best:
    """The smallest witness and the largest gap so far, all of one block."""

    def __init__(self, aim: Aim) -> None:
        self._aim = aim
        self._relative = aim.measure is Measure.RELATIVE
        self._exceeds = to_fmpq(aim.exceeds)
        self._most = to_fmpq(Fraction(0))
        self._instances = 0
        self._unmeasured = 0
        self._smallest: tuple[Weight, Found] | None = None
        self._worst: tuple[Weight, Found] | None = None

    def look(self, costs: SharedCosts, requests: tuple[Request, ...], weight: Weight) -> None:
        """Take one instance into account; ``weight`` is its part of the order of size inside the block."""
        self._instances += 1
        # also where a predicate decides: it finds what is wrong with the policy's decisions
        gap = costs.gap(requests)
        if self._aim.predicate is not None:
            smaller = self._smallest is None or weight <= self._smallest[0]
            if smaller and self._aim.asks(Case(_instance(costs, requests), costs.guard.policy, gap=to_fraction(gap))):
                self._smallest = self._less(self._smallest, weight, costs, requests)
            return
        if gap == 0:
            return
        measured = gap
        if self._relative:
            optimum = costs.optimum(requests)
            if optimum == 0:
                self._unmeasured += 1
                return
            measured = gap / abs(optimum)
        if measured > self._exceeds and (self._smallest is None or weight <= self._smallest[0]):
            self._smallest = self._less(self._smallest, weight, costs, requests)
        if measured > self._most:
            self._most, self._worst = measured, self._less(None, weight, costs, requests)
        elif measured == self._most and self._worst is not None and weight <= self._worst[0]:
            self._worst = self._less(self._worst, weight, costs, requests)

    def _less(
        self, known: tuple[Weight, Found] | None, weight: Weight, costs: SharedCosts, requests: tuple[Request, ...]
    ) -> tuple[Weight, Found]:
        """The smaller one of what is known and this instance; sizes are compared in full only where weights tie."""
        gap, optimum = costs.gap(requests), costs.optimum(requests)
        found = Found(instance=_instance(costs, requests), gap=to_fraction(gap), optimum=to_fraction(optimum))
        if known is not None and known[0] == weight and known[1].size < found.size:
            return known
        return weight, found

    def result(self, failure: PolicyFailure | None) -> PieceResult:
        """What was found."""
        return PieceResult(
            instances=self._instances,
            unmeasured=self._unmeasured,
            smallest=None if self._smallest is None else self._smallest[1],
            worst=None if self._worst is None else self._worst[1],
            failure=failure,
        )


def merge(aim: Aim, first: PieceResult, second: PieceResult) -> PieceResult:
    """What two parts of a search found together; the same in any order."""
    smallest = [x for x in (first.smallest, second.smallest) if x is not None]
    worst = [x for x in (first.worst, second.worst) if x is not None]
    return PieceResult(
        instances=first.instances + second.instances,
        unmeasured=first.unmeasured + second.unmeasured,
        smallest=min(smallest, key=lambda x: x.size, default=None),
        worst=min(worst, key=lambda x: (-(aim.gap_of(x.gap, x.optimum) or 0), x.size), default=None),
        failure=first.failure or second.failure,
    )
