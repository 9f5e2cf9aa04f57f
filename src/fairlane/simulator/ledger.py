"""What has been done for every request so far: the mutable state under the event loop.

Finished requests cost nothing: only live ones are kept in the list that a view is made from. A waiting prompt's part
of the view is made once; a stream's is made anew for every view, since its age moves with the clock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import fields
from typing import NamedTuple

from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.policy import RequestView, View
from fairlane.reference.model.request import Request
from fairlane.simulator.clock import Clock

NEVER = -1

_new = object.__new__
_setters = {field.name: RequestView.__dict__[field.name].__set__ for field in fields(RequestView)}
_set_id = _setters.pop("id")
_set_index = _setters.pop("index")
_set_weight = _setters.pop("weight")
_set_arrival = _setters.pop("arrival_ms")
_set_prompt = _setters.pop("prompt")
_set_generated = _setters.pop("generated")
_set_limit = _setters.pop("limit")
_set_acceptance = _setters.pop("acceptance")
_set_prior = _setters.pop("length_prior")
_set_age = _setters.pop("age_ms")
_set_service = _setters.pop("last_service_ms")
assert not _setters, "the ledger fills every part of a view"


class Snapshot(NamedTuple):
    """A ledger's whole state between two graphs: the clock, and per live request its rank and progress."""

    now: int
    live: tuple[tuple[int, int, int, int, int], ...]


class Ledger:
    """Progress of every request, in ticks and tokens, by rank.

    ``published_at`` is the age clock's zero: the last publication, or the arrival of one that arrives decoding.
    ``served_at`` is the end of the last graph that held it. Both are -1 where there is none.
    """

    __slots__ = (
        "_arrival_shown",
        "_catalog",
        "_clock",
        "_decoding",
        "_objective",
        "_requests",
        "_rows",
        "generated",
        "live",
        "now",
        "prompt",
        "published_at",
        "served_at",
    )

    def __init__(
        self, requests: Sequence[Request], arrivals: Sequence[int], catalog: Catalog, objective: Objective, clock: Clock
    ) -> None:
        self._requests = list(requests)
        self._catalog = catalog
        self._objective = objective
        self._clock = clock
        self._arrival_shown = [clock.show_ms(t) for t in arrivals]
        self.now = 0
        self.prompt = [r.prompt for r in requests]
        self.generated = [r.generated for r in requests]
        self.published_at = [t if r.prompt == 0 else NEVER for r, t in zip(requests, arrivals, strict=True)]
        self.served_at = [NEVER] * len(requests)
        self.live: list[int] = []
        self._rows: list[RequestView] = []
        # live streams, in no particular order
        self._decoding: set[int] = set()

    def append(self, request: Request, arrival: int) -> None:
        """One more request, of the next rank; it is not yet visible."""
        self._requests.append(request)
        self._arrival_shown.append(self._clock.show_ms(arrival))
        self.prompt.append(request.prompt)
        self.generated.append(request.generated)
        self.published_at.append(NEVER if request.prompt else arrival)
        self.served_at.append(NEVER)

    def admit(self, rank: int) -> None:
        """A request becomes visible; ranks come in increasing order."""
        assert not self.live or self.live[-1] < rank, "requests arrive by rank"
        self.live.append(rank)
        self._rows.append(self._row(rank))
        if not self.prompt[rank]:
            self._decoding.add(rank)

    def is_live(self, rank: int) -> bool:
        """Whether a request has arrived and not finished."""
        k = bisect_left(self.live, rank)
        return k < len(self.live) and self.live[k] == rank

    def serve(self, rank: int, *, consumed: int, published: int, finished: bool) -> None:
        """Book one lane at the completion of its graph; the clock stands at its end."""
        k = bisect_left(self.live, rank)
        assert self.live[k] == rank, "a lane holds a live request"
        self.prompt[rank] -= consumed
        self.generated[rank] += published
        request = self._requests[rank]
        assert self.prompt[rank] >= 0, "prompt tokens in = consumed + left"
        assert self.generated[rank] <= request.limit, "no output beyond the limit"
        self.served_at[rank] = self.now
        if published:
            self.published_at[rank] = self.now
        if finished:
            del self.live[k], self._rows[k]
            self._decoding.discard(rank)
        elif self.prompt[rank]:
            self._rows[k] = self._row(rank)
        else:
            self._decoding.add(rank)

    def view(self) -> View:
        """What a dispatcher sees now."""
        rows, live = self._rows, self.live
        if len(self._decoding) * 4 < len(live):
            for rank in self._decoding:
                rows[bisect_left(live, rank)] = self._row(rank)
        else:
            prompt = self.prompt
            for k, rank in enumerate(live):
                if not prompt[rank]:
                    rows[k] = self._row(rank)
        return View(
            catalog=self._catalog,
            now_ms=self._clock.show_ms(self.now),
            objective=self._objective,
            requests=tuple(rows),
        )

    def view_at(self, tick: int) -> View:
        """What a dispatcher would see at a later instant if nothing were served until then."""
        now, self.now = self.now, tick
        view = self.view()
        self.now = now
        return view

    def _row(self, rank: int) -> RequestView:
        request = self._requests[rank]
        show = self._clock.show_ms
        prompt = self.prompt[rank]
        served = self.served_at[rank]
        # the constructor of a frozen class takes three times as long, and this runs for every stream and graph
        row = _new(RequestView)
        _set_id(row, request.id)
        _set_index(row, rank)
        _set_weight(row, request.weight)
        _set_arrival(row, self._arrival_shown[rank])
        _set_prompt(row, prompt)
        _set_generated(row, self.generated[rank])
        _set_limit(row, request.limit)
        _set_acceptance(row, request.acceptance)
        _set_prior(row, request.length_prior)
        _set_age(row, None if prompt else show(self.now - self.published_at[rank]))
        _set_service(row, None if served == NEVER else show(served))
        return row

    def snapshot(self) -> Snapshot:
        """The state from which :meth:`restore` goes on."""
        return Snapshot(
            self.now,
            tuple((i, self.prompt[i], self.generated[i], self.published_at[i], self.served_at[i]) for i in self.live),
        )

    def restore(self, state: Snapshot) -> None:
        """Go back to a snapshot; requests outside it count as finished."""
        self.now = state.now
        self.live = [row[0] for row in state.live]
        for i, prompt, generated, published_at, served_at in state.live:
            self.prompt[i] = prompt
            self.generated[i] = generated
            self.published_at[i] = published_at
            self.served_at[i] = served_at
        self._decoding = {row[0] for row in state.live if not row[1]}
        self._rows = [self._row(i) for i in self.live]
