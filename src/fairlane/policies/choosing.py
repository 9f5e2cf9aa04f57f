"""How every policy chooses between graphs: higher score, then the one tie rule of the model.

Among equal scores the cohort whose members were served least recently wins (never served counts as oldest, then
request order), then the smaller capacity, then catalog order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fairlane.reference.exact import Real, compare
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.policy import NOTHING, Decision, RequestView, View
from fairlane.reference.model.score import service_key

ServiceKey = tuple[int, Real, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A graph with its lanes and their score."""

    graph: Graph
    order: int
    prefill: tuple[RequestView, ...]
    decode: tuple[RequestView, ...]
    score: Real


def oldest_first(request: RequestView) -> ServiceKey:
    """The tie rule's order of requests."""
    return service_key(request, request.index)


def members_key(candidate: Candidate) -> list[ServiceKey]:
    """A cohort's members, least recently served first."""
    return sorted(oldest_first(request) for request in (*candidate.prefill, *candidate.decode))


def choose(candidates: Iterable[Candidate]) -> Decision:
    """The decision of the best candidate, or nothing to do where there is none."""
    best: Candidate | None = None
    for candidate in candidates:
        if best is None or _beats(candidate, best):
            best = candidate
    if best is None:
        return NOTHING
    return Decision(
        graph=best.graph.name,
        prefill=tuple(r.id for r in best.prefill),
        decode=tuple(r.id for r in best.decode),
    )


def _beats(new: Candidate, old: Candidate) -> bool:
    sign = compare(new.score, old.score)
    if sign:
        return sign > 0
    mine, theirs = members_key(new), members_key(old)
    if mine[: len(theirs)] != theirs[: len(mine)]:
        return mine < theirs
    return (new.graph.capacity_tokens, new.order) < (old.graph.capacity_tokens, old.order)


def fill_in_order(graph: Graph, prompts: Sequence[RequestView]) -> tuple[RequestView, ...]:
    """Prompts from the front of a queue until lanes or capacity run out."""
    left = graph.prefill_capacity
    taken: list[RequestView] = []
    for request in prompts[: graph.prefill_lanes]:
        if left == 0:
            break
        taken.append(request)
        left -= min(left, request.prompt)
    return tuple(taken)


def phases(view: View) -> tuple[list[RequestView], list[RequestView]]:
    """Requests with a prompt left, and decoding ones, both in request order."""
    prompts = [r for r in view.requests if r.prompt > 0]
    return prompts, [r for r in view.requests if r.prompt == 0]


Worth = Callable[[RequestView, int], Real]


class Running:
    """Worth of the first rows of a queue, summed once for each width."""

    def __init__(self, rows: Sequence[RequestView], worth: Worth) -> None:
        self._rows = rows
        self._worth = worth
        self._sums: dict[int, list[Real]] = {}

    def first(self, width: int, count: int) -> Real:
        """Of the first ``count`` rows at a width."""
        sums = self._sums.setdefault(width, [0])
        while len(sums) <= min(count, len(self._rows)):
            sums.append(sums[-1] + self._worth(self._rows[len(sums) - 1], width))
        return sums[min(count, len(self._rows))]


def queued(
    view: View,
    *,
    prompts: Sequence[RequestView],
    rows: Sequence[RequestView],
    usable: Callable[[Graph], bool],
    row_worth: Worth,
    share_worth: Worth,
) -> Iterable[Candidate]:
    """Candidates of usable graphs, both kinds of lanes filled from the front of their queues.

    Parameters
    ----------
    view : View
        What the dispatcher sees.
    prompts, rows : sequence of RequestView
        The queues.
    usable : callable
        Whether a graph may be considered; where none may, all are.
    row_worth, share_worth : callable
        Worth of a row at a width, and of a number of prompt tokens of a request.
    """
    known = view.known_graphs()
    wanted = any(usable(graph) for _, graph, _ in known)
    running = Running(rows, row_worth)
    lists: dict[tuple[int, int], tuple[tuple[RequestView, ...], Real]] = {}
    for order, graph, duration in known:
        if wanted and not usable(graph):
            continue
        key = (graph.prefill_capacity, graph.prefill_lanes)
        if key not in lists:
            prefill = fill_in_order(graph, prompts)
            lists[key] = (prefill, list_worth(prefill, graph.prefill_capacity, share_worth))
        prefill, worth = lists[key]
        decode = tuple(rows[: graph.decode_capacity])
        if prefill or decode:
            worth = worth + running.first(graph.width, graph.decode_capacity)
            yield Candidate(graph=graph, order=order, prefill=prefill, decode=decode, score=worth / duration)


def list_worth(prompts: Sequence[RequestView], capacity: int, share_worth: Worth) -> Real:
    """Worth of a prefill list that is filled in order."""
    total: Real = 0
    for request in prompts:
        share = min(capacity, request.prompt)
        total = total + share_worth(request, share)
        capacity -= share
    return total
