"""The compiled path of `fixed-value`: the same run as the event loop, some hundred times faster.

It is taken for large inputs only, so that nobody waits for compilation on small ones (the compiled code is kept for
the next time). Gains and times are whole numbers, so every comparison is exact; where they do not fit 62 bits, the
fast loop runs instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.objective import Objective
from fairlane.reference.prefill.prompt import Prompt
from fairlane.reference.prefill.prompt_knapsack import best_equal_list, best_list
from fairlane.simulator.draws import KeyedDraws, Kinds, Stream, hash_words
from fairlane.simulator.gain_tables import gain_tables
from fairlane.simulator.kernels import tables as layout
from fairlane.simulator.kernels.tables import Lists, Output, Scalars, Tables
from fairlane.simulator.run import Integers
from fairlane.simulator.stage import Columns, Outcome, Stage

CHUNK_LAUNCHES = 1 << 15
CHUNK_LANES = 1 << 17
SAFE = 1 << 62


def _table(columns: Sequence[Iterable[int]]) -> Integers:
    """Columns side by side."""
    return np.array([list(column) for column in columns], dtype=np.int64).T.copy()


def _bars(kinds: Kinds) -> Integers:
    deepest = max((len(q) for q, _ in kinds.of), default=0)
    bars = np.full((len(kinds.of), deepest + 1), -1, dtype=np.int64)
    for k, (acceptance, _) in enumerate(kinds.of):
        # a chance that is no multiple of 2^-53 is rounded up: no draw lies between
        bars[k, : len(acceptance)] = [-int(-(float(q) * 2.0**53) // 1) for q in acceptance]
    return bars


def _prepare(ready: Stage, catalog: Catalog, objective: Objective, source: KeyedDraws) -> tuple[Tables, Scalars] | None:
    requests, graphs, kinds = ready.requests, catalog.graphs, source.kinds
    n = len(requests)
    gains = gain_tables(kinds, graphs, objective.decode_value)
    pairs = tuple(dict.fromkeys((g.prefill_capacity, g.prefill_lanes) for g in graphs if g.prefill_capacity))
    ticks = [ready.clock.ticks(g.duration_ms) for g in graphs]
    most_rows = [max(g.decode_capacity for g in graphs if g.width == w) for w in gains.widths]
    token, end = max(gains.token, default=0), max(gains.end, default=0)
    capacity, lanes = max((c for c, _ in pairs), default=0), max((k for _, k in pairs), default=0)
    largest = token * capacity + end * lanes
    largest += max((x for row in gains.row for x in row), default=0) * max(most_rows, default=0)
    last = max(ready.arrivals[-1] if n else 0, ready.horizon or 0, ready.clock.per_ms, *ticks)
    if n == 0 or n >= 1 << 24 or largest >= SAFE or last >= 1 << 53:
        return None
    ranks = [[sorted(set(row), reverse=True).index(x) for x in row] for row in gains.row]
    shape = (2, max(len(gains.row), 1), max((len(row) for row in gains.row), default=1))
    most_members = max((min(k, n) for _, k in pairs), default=1)
    of_kind = kinds.by_request
    columns: list[Iterable[int]] = [()] * layout.N_REQUEST
    columns[layout.ARRIVAL] = ready.arrivals
    columns[layout.ADMITTED] = (int(x) for x in ready.admitted)
    columns[layout.LIMIT] = (r.limit for r in requests)
    columns[layout.LENGTH] = source.lengths
    columns[layout.KIND] = of_kind
    columns[layout.CODE] = (k * gains.span for k in of_kind)
    columns[layout.TOKEN] = (gains.token[k] for k in of_kind)
    columns[layout.END] = (gains.end[k] for k in of_kind)
    columns[layout.PROMPT] = (r.prompt for r in requests)
    columns[layout.OUTPUT] = (r.generated for r in requests)
    columns[layout.SERVED] = [0] * n
    tables = Tables(
        state=np.zeros(layout.N_STATE, dtype=np.int64),
        requests=_table(columns),
        queues=np.zeros((5, n + 1), dtype=np.int64),
        graphs=_table(
            (
                ticks,
                (pairs.index((g.prefill_capacity, g.prefill_lanes)) if g.prefill_capacity else -1 for g in graphs),
                (g.decode_capacity for g in graphs),
                (gains.widths.index(g.width) if g.decode_capacity else -1 for g in graphs),
                (g.capacity_tokens for g in graphs),
            )
        ),
        keys=np.array([(c, k, 1, 0, 0) for c, k in pairs], dtype=np.int64).reshape(-1, 5),
        members=np.zeros((max(len(pairs), 1), most_members), dtype=np.int64),
        widths=np.array(list(zip(gains.widths, most_rows, strict=True)), dtype=np.int64).reshape(-1, 2),
        gains=np.array([gains.row, ranks], dtype=np.int64).reshape(shape) if gains.row else np.zeros(shape, np.int64),
        bars=_bars(kinds),
        rows=np.zeros((shape[1], 2, max(most_rows, default=0) + 1), dtype=np.int64),
    )
    stream = np.uint64(hash_words(source.seed, Stream.ACCEPTANCE))
    return tables, Scalars(stream, -1 if ready.horizon is None else ready.horizon, gains.span, token, end)


def run_compiled(ready: Stage, catalog: Catalog, objective: Objective, source: KeyedDraws) -> Outcome | None:
    """A run of `fixed-value`; None where its numbers do not fit."""
    # compiled code: loading numba takes longer than a small instance
    from fairlane.simulator.kernels.fixed_value import run_chunk

    prepared = _prepare(ready, catalog, objective, source)
    if prepared is None:
        return None
    tables, scalars = prepared
    state, requests = tables.state, tables.requests
    most_lanes = tables.members.shape[1] + tables.rows.shape[2]
    launches = np.zeros((CHUNK_LAUNCHES, 4), dtype=np.int64)
    lanes = np.zeros((CHUNK_LANES + most_lanes, 6), dtype=np.int64)
    lists = Lists(
        again=np.zeros(most_lanes + 1, dtype=np.int64),
        ready=np.zeros(most_lanes + 1, dtype=np.int64),
        picked=np.zeros(most_lanes + 1, dtype=np.int64),
        mine=np.zeros(most_lanes + 1, dtype=np.int64),
        theirs=np.zeros(most_lanes + 1, dtype=np.int64),
    )
    done_launches: list[Integers] = []
    done_lanes: list[Integers] = []
    n_lanes = 0
    while True:
        outcome = run_chunk(tables, Output(launches, lanes), scalars, lists)
        assert outcome != layout.BROKEN, "conservation: work in = consumed + left, and the clock advances"
        if outcome == layout.TOO_LATE:
            return None
        chunk = launches[: state[layout.LAUNCHES]].copy()
        chunk[:, 3] += n_lanes
        done_launches.append(chunk)
        done_lanes.append(lanes[: state[layout.LANES]].copy())
        n_lanes += int(state[layout.LANES])
        if outcome == layout.DONE:
            break
        if outcome == layout.LIST:
            _find_list(tables, alike=len({weight for _, weight in source.kinds.of}) == 1)
    rows = np.concatenate(done_launches)
    per_ms = float(ready.clock.per_ms)
    columns = Columns(
        graph=rows[:, 0].copy(),
        # ticks and their unit are below 2^53, so each quotient is the nearest double
        start_ms=rows[:, 1] / per_ms,
        end_ms=rows[:, 2] / per_ms,
        offsets=np.concatenate((np.zeros(1, dtype=np.int64), rows[:, 3])),
        lanes=np.concatenate(done_lanes),
        last_end=int(rows[-1, 2]) if len(rows) else 0,
    )
    return Outcome(columns, requests[:, layout.PROMPT].copy(), requests[:, layout.OUTPUT].copy())


def _find_list(tables: Tables, *, alike: bool) -> None:
    """Work out the list that the kernel asked for: several lanes, and not everybody fits."""
    key = int(tables.state[layout.KEY])
    queue = tables.queues[layout.WAITING, : tables.state[layout.N_WAIT]]
    tokens = tables.requests[queue, layout.PROMPT].tolist()
    rates, bonuses = tables.requests[queue, layout.TOKEN].tolist(), tables.requests[queue, layout.END].tolist()
    capacity, lanes = (int(x) for x in tables.keys[key, [layout.CAPACITY, layout.MEMBERS]])
    if alike:
        found = best_equal_list(tokens, capacity, lanes, rates[0], bonuses[0])
    else:
        found = best_list([Prompt(*row) for row in zip(tokens, rates, bonuses, strict=True)], capacity, lanes)
    gain, left = 0, capacity
    for k in found:
        share = min(left, tokens[k])
        left -= share
        gain += rates[k] * share + (bonuses[k] if share == tokens[k] else 0)
    tables.members[key, : len(found)] = found
    tables.keys[key, [layout.STALE, layout.COUNT, layout.GAIN]] = 0, len(found), gain
