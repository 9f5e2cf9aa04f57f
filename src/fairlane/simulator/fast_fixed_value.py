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

from fairlane.reference.model.graph import Catalog, Graph
from fairlane.reference.model.objective import Objective
from fairlane.simulator.draws import (
    GOLDEN,
    MASK,
    MULTIPLY_1,
    MULTIPLY_2,
    KeyedDraws,
    Stream,
    absorb,
    hash_words,
)
from fairlane.simulator.gain_tables import GainTables, gain_tables
from fairlane.simulator.prompt_queue import Key, PromptQueue
from fairlane.simulator.stage import Columns, Outcome, Stage
from fairlane.simulator.stream_queue import Pieces, StreamQueue, gain_of

MOST_REMEMBERED = 100_000


class _Lead(NamedTuple):
    """The best score so far as gain over ticks, and the graphs that have it."""

    gain: int
    ticks: int
    tied: tuple[int, ...]


class _Offer(NamedTuple):
    """For one count of streams by code: the rows by width, their gain in each graph with prefill, and leads."""

    rows: tuple[Pieces, ...]
    beside_prompts: tuple[int, ...]
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
        # (graph, its prefill key, its ticks)
        self._with_prefill = [(g, k, ticks[g]) for g, k in enumerate(self.of_key) if k >= 0]
        self._mixed = any(g.prefill_capacity and g.decode_capacity for g in graphs)
        self._most_rows = max((g.decode_capacity for g in graphs), default=0)
        self._remembered: dict[tuple[int, ...], _Offer] = {}

    def offer(self, streams: StreamQueue) -> _Offer:
        """What the streams can be given; worked out once for every count of streams by code."""
        # beyond the most rows of a graph it does not matter how many there are
        most = self._most_rows
        known = tuple([c if c < most else most for c in streams.counts])
        offer = self._remembered.get(known)
        if offer is None:
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            rows = tuple([streams.pieces(w) for w in range(self._n_widths)])
            beside = tuple([self._row_gain(g, rows) for g, _, _ in self._with_prefill])
            alone = self._lead(rows, self._decode_only)
            offer = _Offer(rows, beside, alone, self._lead(rows, range(len(self.graphs))) if self._mixed else alone)
            self._remembered[known] = offer
        return offer

    def _row_gain(self, g: int, rows: Sequence[Pieces]) -> int:
        w = self.of_width[g]
        return gain_of(rows[w], self.graphs[g].decode_capacity) if w >= 0 else 0

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
        reach = queue.reach()
        bounds = [
            ((rows + reach[k]) / t, rows, k, g)
            for (g, k, t), rows in zip(self._with_prefill, offer.beside_prompts, strict=True)
            if (rows + reach[k]) * best_ticks >= best_gain * t
        ]
        # the most promising first: lists of several prompts are worked out only where they could still win
        bounds.sort(reverse=True)
        for _, rows, k, g in bounds:
            t = self.ticks[g]
            if (rows + reach[k]) * best_ticks < best_gain * t:
                continue
            gain = rows + queue.best(k).gain
            mine, theirs = gain * best_ticks, best_gain * t
            if mine > theirs:
                best_gain, best_ticks, tied = gain, t, [g]
            elif mine == theirs:
                tied.append(g)
        return _Lead(best_gain, best_ticks, tuple(sorted(tied)))

    def take_rows(self, g: int, offer: _Offer, streams: StreamQueue) -> list[int]:
        """The streams that a graph serves, by rank, taken out of the queue."""
        w = self.of_width[g]
        if w < 0 or not streams.total:
            return []
        # the remembered pieces may hold capped counts; which codes come first is the same
        return streams.take_heads(offer.rows[w], self.graphs[g].decode_capacity)

    def _older(self, new: int, old: int, offer: _Offer, queue: PromptQueue, streams: StreamQueue) -> bool:
        """The tie rule between equal scores: members least recently served, then the smaller graph."""

        def members(g: int) -> list[tuple[int, int]]:
            prompts = queue.best(self.of_key[g]).members if self.of_key[g] >= 0 else ()
            w = self.of_width[g]
            rows = streams.heads(offer.rows[w], self.graphs[g].decode_capacity) if w >= 0 else []
            return sorted((self.served[i], i) for i in (*prompts, *rows))

        mine, theirs = members(new), members(old)
        if mine[: len(theirs)] != theirs[: len(mine)]:
            return mine < theirs
        return self.graphs[new].capacity_tokens < self.graphs[old].capacity_tokens


def run_fast(ready: Stage, catalog: Catalog, objective: Objective, source: KeyedDraws) -> Outcome:
    """A run of `fixed-value`."""
    requests, arrivals, admitted = ready.requests, ready.arrivals, ready.admitted
    n = len(requests)
    kinds = source.kinds
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
    # five numbers a lane: request, consumed, published, accepted, finished
    lanes: list[int] = []
    record = lanes.extend
    seeds = [absorb(stream, i) for i in range(n)]
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
        rows = book.take_rows(g, offer, streams)
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
                record((i, share, published, 0, done))
            queue.serve(members, shares, again, first)
        if rows:
            drafts = graphs[g].width - 1
            for i in rows:
                position = generated[i]
                accepted = 0
                if drafts:
                    z = (seeds[i] + GOLDEN * (position + 1)) & MASK
                    z = ((z ^ (z >> 30)) * MULTIPLY_1) & MASK
                    z = ((z ^ (z >> 27)) * MULTIPLY_2) & MASK
                    row = z ^ (z >> 31)
                    for step, bar in zip(steps[:drafts], bars[i], strict=False):
                        z = (row + step) & MASK
                        z = ((z ^ (z >> 30)) * MULTIPLY_1) & MASK
                        z = ((z ^ (z >> 27)) * MULTIPLY_2) & MASK
                        if (z ^ (z >> 31)) >> 11 >= bar:
                            break
                        accepted += 1
                total = position + 1 + accepted
                end_of_output = length[i]
                served[i] = dispatches
                if total < end_of_output:
                    generated[i] = total
                    left = limit[i] - total
                    codes[i] = base[i] + (left if left < widest else widest)
                    ready_now.append(i)
                    record((i, 0, 1 + accepted, accepted, 0))
                else:
                    assert position < end_of_output, "a row publishes"
                    generated[i] = end_of_output
                    record((i, 0, end_of_output - position, accepted, 1))
        if len(ready_now) > 1:
            ready_now.sort()
        for i in ready_now:
            streams.put_last(i, codes[i])
        offsets.append(len(lanes))
    per_ms = ready.clock.per_ms
    graph_column = np.array(graph_of, dtype=np.int64)
    ends = np.array(offsets, dtype=np.int64) // 5
    lane_table = np.array(lanes, dtype=np.int64).reshape(-1, 5)
    widths = np.array([g.width for g in graphs], dtype=np.int64)
    proposed = np.repeat(widths[graph_column] - 1, np.diff(ends)) * (lane_table[:, 1] == 0)
    columns = Columns(
        graph=graph_column,
        start_ms=np.array([t / per_ms for t in start_at], dtype=np.float64),
        end_ms=np.array([t / per_ms for t in end_at], dtype=np.float64),
        offsets=ends,
        lanes=np.insert(lane_table, 3, proposed, axis=1),
        last_end=end_at[-1] if end_at else 0,
    )
    return Outcome(columns, np.array(prompt, dtype=np.int64), np.array(generated, dtype=np.int64))
