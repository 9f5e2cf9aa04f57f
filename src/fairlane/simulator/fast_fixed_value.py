"""A fast loop for `fixed-value`: the same run as the event loop, some thirty times faster, without a compiler.

Prompts and streams stand in queues, least recently served first, so nothing is sorted by service; who was served
goes to the end. What the decode graphs offer depends on the number of streams by code alone (see `stream_queue`),
and is worked out once for every such count that occurs. Gains and durations are whole numbers, so every
comparison is exact. Differential tests hold the result to the event loop, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from fairlane.reference.graph import Catalog, Graph
from fairlane.reference.objective import Objective
from fairlane.simulator.draws import (
    GOLDEN,
    MASK,
    MULTIPLY_1,
    MULTIPLY_2,
    KeyedDraws,
    Stream,
    absorb,
    hash_words,
    kinds_of,
)
from fairlane.simulator.gain_tables import GainTables, gain_tables
from fairlane.simulator.prompt_queue import Key, PromptQueue
from fairlane.simulator.run import Integers
from fairlane.simulator.stage import Columns, Stage
from fairlane.simulator.stream_queue import Pieces, StreamQueue, gain_of

MOST_REMEMBERED = 100_000


class Outcome(NamedTuple):
    """What was recorded, and the prompt tokens left and the output of every request at the end."""

    columns: Columns
    prompt_left: Integers
    generated: Integers


class _Lead(NamedTuple):
    """The best score so far as gain over ticks, and the graphs that have it."""

    gain: int
    ticks: int
    tied: tuple[int, ...]


class _Offer(NamedTuple):
    """For one count of streams by code: the rows by width, and the best decode graphs, without and with mixed ones."""

    rows: tuple[Pieces, ...]
    decode_only: _Lead
    any_graph: _Lead


class _Chooser:
    """Graph columns, and the choice among graphs."""

    def __init__(self, graphs: Sequence[Graph], ticks: Sequence[int], gains: GainTables, served: Sequence[int]) -> None:
        self.graphs = graphs
        self.ticks = ticks
        self.served = served
        keys = tuple(dict.fromkeys(Key(g.prefill_capacity, g.prefill_lanes) for g in graphs if g.prefill_capacity))
        self.keys = keys
        self.of_key = [
            keys.index(Key(g.prefill_capacity, g.prefill_lanes)) if g.prefill_capacity else -1 for g in graphs
        ]
        self.of_width = [gains.widths.index(g.width) if g.decode_capacity else -1 for g in graphs]
        self._n_widths = len(gains.widths)
        self._decode_only = [g for g, graph in enumerate(graphs) if not graph.prefill_capacity]
        self._with_prefill = [g for g, graph in enumerate(graphs) if graph.prefill_capacity]
        self._remembered: dict[tuple[int, ...], _Offer] = {}

    def offer(self, streams: StreamQueue) -> _Offer:
        """What the streams can be given; worked out once for every count of streams by code."""
        known = tuple(streams.counts)
        offer = self._remembered.get(known)
        if offer is None:
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            rows = tuple([streams.pieces(w) for w in range(self._n_widths)])
            offer = _Offer(rows, self._lead(rows, self._decode_only), self._lead(rows, range(len(self.graphs))))
            self._remembered[known] = offer
        return offer

    def _lead(self, rows: Sequence[Pieces], candidates: Iterable[int]) -> _Lead:
        best_gain, best_ticks = -1, 1
        tied: list[int] = []
        for g in candidates:
            w = self.of_width[g]
            if w < 0 or not rows[w]:
                continue
            gain = gain_of(rows[w], self.graphs[g].decode_capacity)
            mine, theirs = gain * best_ticks, best_gain * self.ticks[g]
            if mine > theirs:
                best_gain, best_ticks, tied = gain, self.ticks[g], [g]
            elif mine == theirs:
                tied.append(g)
        return _Lead(best_gain, best_ticks, tuple(tied))

    def choose(self, offer: _Offer, queue: PromptQueue, streams: StreamQueue) -> int:
        """The graph of the best cohort."""
        tied = (self._with_prompts(offer, queue) if queue else offer.any_graph).tied
        best = tied[0]
        for g in tied[1:]:
            if self._older(g, best, offer, queue, streams):
                best = g
        return best

    def _with_prompts(self, offer: _Offer, queue: PromptQueue) -> _Lead:
        best_gain, best_ticks, first = offer.decode_only
        tied = list(first)
        ticks, of_key, of_width, graphs = self.ticks, self.of_key, self.of_width, self.graphs
        bounds = []
        for g in self._with_prefill:
            w = of_width[g]
            rows = gain_of(offer.rows[w], graphs[g].decode_capacity) if w >= 0 else 0
            reach = rows + queue.most(of_key[g])
            if reach * best_ticks >= best_gain * ticks[g]:
                bounds.append((-reach / ticks[g], rows, reach, g))
        # the most promising first: lists of several prompts are worked out only where they could still win
        bounds.sort()
        for _, rows, reach, g in bounds:
            if reach * best_ticks < best_gain * ticks[g]:
                continue
            gain = rows + queue.best(of_key[g]).gain
            mine, theirs = gain * best_ticks, best_gain * ticks[g]
            if mine > theirs:
                best_gain, best_ticks, tied = gain, ticks[g], [g]
            elif mine == theirs:
                tied.append(g)
        return _Lead(best_gain, best_ticks, tuple(sorted(tied)))

    def rows(self, g: int, offer: _Offer, streams: StreamQueue) -> list[int]:
        """The streams that a graph would serve."""
        w = self.of_width[g]
        return streams.heads(offer.rows[w], self.graphs[g].decode_capacity) if w >= 0 else []

    def _older(self, new: int, old: int, offer: _Offer, queue: PromptQueue, streams: StreamQueue) -> bool:
        """The tie rule between equal scores: members least recently served, then the smaller graph."""

        def members(g: int) -> list[tuple[int, int]]:
            prompts = queue.best(self.of_key[g]).members if self.of_key[g] >= 0 else ()
            return sorted((self.served[i], i) for i in (*prompts, *self.rows(g, offer, streams)))

        mine, theirs = members(new), members(old)
        if mine[: len(theirs)] != theirs[: len(mine)]:
            return mine < theirs
        return self.graphs[new].capacity_tokens < self.graphs[old].capacity_tokens


def run_fast(ready: Stage, catalog: Catalog, objective: Objective, source: KeyedDraws) -> Outcome:
    """A run of `fixed-value`."""
    requests, arrivals, admitted = ready.requests, ready.arrivals, ready.admitted
    n = len(requests)
    kinds = kinds_of(requests)
    graphs = catalog.graphs
    gains = gain_tables(kinds, graphs, objective.decode_value)
    served = [0] * n
    book = _Chooser(graphs, [ready.clock.ticks(g.duration_ms) for g in graphs], gains, served)
    prompt = [r.prompt for r in requests]
    generated = [r.generated for r in requests]
    limit = [r.limit for r in requests]
    length = source.lengths
    base = [kind * gains.span for kind in kinds.by_request]
    widest = gains.span - 1
    queue = PromptQueue(
        book.keys, prompt, [gains.token[k] for k in kinds.by_request], [gains.end[k] for k in kinds.by_request]
    )
    # a draw is a whole number below 2^53, so a chance is compared as one
    bars_of = [[-int(-(float(q) * 2.0**53)) for q in acceptance] for acceptance, _ in kinds.of]
    bars = [bars_of[k] for k in kinds.by_request]
    stream = hash_words(source.seed, Stream.ACCEPTANCE)
    steps = [GOLDEN * (j + 1) & MASK for j in range(max((len(q) for q in bars_of), default=0))]
    codes = [b + min(left - g, widest) for b, left, g in zip(base, limit, generated, strict=True)]
    streams = StreamQueue(gains, served)
    graph_of: list[int] = []
    start_at: list[int] = []
    end_at: list[int] = []
    offsets = [0]
    lane_request: list[int] = []
    lane_consumed: list[int] = []
    lane_published: list[int] = []
    lane_accepted: list[int] = []
    lane_end: list[int] = []
    now = coming = dispatches = 0
    horizon = ready.horizon
    while True:
        while coming < n and arrivals[coming] <= now:
            if admitted[coming]:
                if prompt[coming]:
                    queue.arrive(coming)
                else:
                    streams.arrive(coming, codes[coming])
            coming += 1
        if horizon is not None and now >= horizon:
            break
        if not streams.total and not queue:
            while coming < n and not admitted[coming]:
                coming += 1
            if coming == n:
                break
            now = arrivals[coming]
            continue
        offer = book.offer(streams)
        g = book.choose(offer, queue, streams)
        end = now + book.ticks[g]
        assert end > now, "the clock only advances"
        dispatches += 1
        graph_of.append(g)
        start_at.append(now)
        end_at.append(end)
        now = end
        ready_now: list[int] = []
        rows = book.rows(g, offer, streams)
        if queue and book.of_key[g] >= 0:
            members = queue.best(book.of_key[g]).members
            left = graphs[g].prefill_capacity
            shares: list[int] = []
            again: list[int] = []
            first = 0
            for i in members:
                share = min(left, prompt[i])
                left -= share
                shares.append(share)
                assert share > 0, "every listed prompt receives a token"
                prompt[i] -= share
                first += served[i] == 0
                served[i] = dispatches
                published = done = 0
                if prompt[i] == 0:
                    published = generated[i] = 1
                    done = int(length[i] == 1)
                    if not done:
                        codes[i] = base[i] + min(limit[i] - 1, widest)
                        ready_now.append(i)
                else:
                    again.append(i)
                lane_request.append(i)
                lane_consumed.append(share)
                lane_published.append(published)
                lane_accepted.append(0)
                lane_end.append(done)
            queue.serve(members, shares, again, first)
        if rows:
            for i in rows:
                streams.take(i, codes[i])
            rows.sort()
            drafts = graphs[g].width - 1
            for i in rows:
                position = generated[i]
                accepted = 0
                if drafts:
                    row = absorb(absorb(stream, i), position)
                    for step, bar in zip(steps[:drafts], bars[i], strict=False):
                        z = (row + step) & MASK
                        z = ((z ^ (z >> 30)) * MULTIPLY_1) & MASK
                        z = ((z ^ (z >> 27)) * MULTIPLY_2) & MASK
                        if (z ^ (z >> 31)) >> 11 >= bar:
                            break
                        accepted += 1
                total = min(position + 1 + accepted, length[i])
                assert total > position, "a row publishes"
                generated[i] = total
                served[i] = dispatches
                if total < length[i]:
                    codes[i] = base[i] + min(limit[i] - total, widest)
                    ready_now.append(i)
                    lane_end.append(0)
                else:
                    lane_end.append(1)
                lane_request.append(i)
                lane_consumed.append(0)
                lane_published.append(total - position)
                lane_accepted.append(accepted)
        if len(ready_now) > 1:
            ready_now.sort()
        for i in ready_now:
            streams.put_last(i, codes[i])
        offsets.append(len(lane_request))
    per_ms = ready.clock.per_ms
    graph_column = np.array(graph_of, dtype=np.int64)
    consumed = np.array(lane_consumed, dtype=np.int64)
    widths = np.array([g.width for g in graphs], dtype=np.int64)
    proposed = np.repeat(widths[graph_column] - 1, np.diff(offsets)) * (consumed == 0)
    columns = Columns(
        graph=graph_column,
        start_ms=np.array([t / per_ms for t in start_at], dtype=np.float64),
        end_ms=np.array([t / per_ms for t in end_at], dtype=np.float64),
        offsets=np.array(offsets, dtype=np.int64),
        lanes=np.stack(
            [
                np.array(lane_request, dtype=np.int64),
                consumed,
                np.array(lane_published, dtype=np.int64),
                proposed,
                np.array(lane_accepted, dtype=np.int64),
                np.array(lane_end, dtype=np.int64),
            ],
            axis=1,
        ),
        last_end=end_at[-1] if end_at else 0,
    )
    return Outcome(columns, np.array(prompt, dtype=np.int64), np.array(generated, dtype=np.int64))
