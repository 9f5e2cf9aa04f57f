"""What has been done for every request so far: the mutable state under the event loop.

Finished requests cost nothing: only live ones are kept in the list that a view is made from, and a waiting prompt's
part of the view is made once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from fairlane.reference.graph import Catalog
from fairlane.reference.objective import Objective
from fairlane.reference.policy import RequestView, View
from fairlane.reference.request import Request
from fairlane.simulator.clock import Clock

NEVER = -1


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
        self._requests = requests
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
        self._rows: list[RequestView | None] = []

    def admit(self, rank: int) -> None:
        """A request becomes visible; ranks come in increasing order."""
        assert not self.live or self.live[-1] < rank, "requests arrive by rank"
        self.live.append(rank)
        self._rows.append(None)

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
        else:
            self._rows[k] = None

    def view(self) -> View:
        """What a dispatcher sees now."""
        rows = self._rows
        prompt = self.prompt
        for k, rank in enumerate(self.live):
            # an age moves with the clock, so a decoding row is made anew; a waiting prompt does not change
            if rows[k] is None or prompt[rank] == 0:
                rows[k] = self._row(rank)
        return View(
            catalog=self._catalog,
            now_ms=self._clock.show_ms(self.now),
            objective=self._objective,
            requests=tuple(rows),  # type: ignore[arg-type]  # every place was filled above
        )

    def _row(self, rank: int) -> RequestView:
        request = self._requests[rank]
        show = self._clock.show_ms
        served = self.served_at[rank]
        return RequestView(
            id=request.id,
            index=rank,
            weight=request.weight,
            arrival_ms=self._arrival_shown[rank],
            prompt=self.prompt[rank],
            generated=self.generated[rank],
            limit=request.limit,
            acceptance=request.acceptance,
            length_prior=request.length_prior,
            age_ms=None if self.prompt[rank] else show(self.now - self.published_at[rank]),
            last_service_ms=None if served == NEVER else show(served),
        )

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
        self._rows = [None] * len(self.live)
        for i, prompt, generated, published_at, served_at in state.live:
            self.prompt[i] = prompt
            self.generated[i] = generated
            self.published_at[i] = published_at
            self.served_at[i] = served_at
