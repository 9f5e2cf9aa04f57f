"""Latencies of requests: first output, end to end, time per output token, gaps, and output age.

TTFT = first publication − arrival; undefined for a request that arrives decoding. E2E = last publication − arrival,
and TPOT = (last − first) / (n − 1) with n output tokens, both of finished requests. TPOT counts every token but the
first; its other variant, after the first delivery, counts the tokens that came after first, so that a first burst is
not credited to the time behind it. Both are undefined where everything came in one delivery, of however many tokens.
Gaps lie between successive publications of one request, whatever their token counts: a burst is one delivery. For a
request that arrives decoding its arrival opens the first gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlane.simulator.publication_table import Floats, Integers, Outcome, PublicationTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Latencies:
    """Figures of each request, NaN where undefined; shape (n,) unless stated.

    Attributes
    ----------
    ttft_ms, e2e_ms, tpot_ms, tpot_after_first_ms, longest_gap_ms : float64
        Milliseconds. The longest gap is a closed one; an open wait at the boundary is not a gap.
    gaps_ms : float64, shape (number of gaps,)
        All gaps, request by request.
    gap_tokens : int64, shape (number of gaps,)
        Tokens that each gap's closing delivery brought; empty where they are not known.
    gap_offsets : int64, shape (n + 1,)
        Gaps of request i are ``gap_offsets[i]`` to ``gap_offsets[i + 1]``.
    output_tokens : int64
        Tokens published.
    age_area_ms2 : float64
        Integral of output age over decoding: gap² / 2 for each gap, and the open wait of an unfinished stream.
    open_stall_ms : float64
        Time since the last publication (or arrival, if it arrived decoding) of an unfinished stream.
    """

    ttft_ms: Floats
    e2e_ms: Floats
    tpot_ms: Floats
    tpot_after_first_ms: Floats
    longest_gap_ms: Floats
    gaps_ms: Floats
    gap_tokens: Integers
    gap_offsets: Integers
    output_tokens: Integers
    age_area_ms2: Floats
    open_stall_ms: Floats


def latencies(table: PublicationTable) -> Latencies:
    """Latencies of every request of a table.

    Parameters
    ----------
    table : PublicationTable
        Without known gaps, ``gaps_ms`` is empty and the longest gap, the age area and open stalls are NaN.

    Returns
    -------
    Latencies
        Arrays in the order of ``table.ids``. Cost O(n + m).
    """
    n = len(table)
    counts = table.counts()
    some = counts > 0
    decoding = table.arrives_decoding
    finished = table.outcome == Outcome.FINISHED
    first, last = np.full(n, np.nan), np.full(n, np.nan)
    first[some] = table.at_ms[table.offsets[:-1][some]]
    last[some] = table.at_ms[table.offsets[1:][some] - 1]
    running = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(table.tokens)))
    tokens: Integers = running[table.offsets[1:]] - running[table.offsets[:-1]]
    several = finished & (counts >= 2) & (tokens >= 2)
    tpot, after_first = np.full(n, np.nan), np.full(n, np.nan)
    tpot[several] = (last[several] - first[several]) / (tokens[several] - 1)
    if table.tokens_known:
        rest = tokens[several] - table.tokens[table.offsets[:-1][several]]
        after_first[several] = (last[several] - first[several]) / rest
    gaps, gap_tokens, gap_offsets = _gaps(table)
    open_stall = _open_stalls(table, last)
    longest = np.full(n, np.nan)
    area = np.nan_to_num(open_stall) ** 2 / 2
    has_gap = np.diff(gap_offsets) > 0
    if has_gap.any():
        # reduceat sums each request by itself: differences of one long running sum would lose small areas
        starts = gap_offsets[:-1][has_gap]
        longest[has_gap] = np.maximum.reduceat(gaps, starts)
        area[has_gap] += np.add.reduceat(gaps * gaps / 2, starts)
    if not table.gaps_known:
        area[:], open_stall[:] = np.nan, np.nan
    return Latencies(
        ttft_ms=np.where(decoding, np.nan, first - table.arrival_ms),
        e2e_ms=np.where(finished, last - table.arrival_ms, np.nan),
        tpot_ms=tpot,
        tpot_after_first_ms=after_first,
        longest_gap_ms=longest,
        gaps_ms=gaps,
        gap_tokens=gap_tokens,
        gap_offsets=gap_offsets,
        output_tokens=tokens,
        age_area_ms2=area,
        open_stall_ms=open_stall,
    )


def _gaps(table: PublicationTable) -> tuple[Floats, Integers, Integers]:
    """All gaps with the tokens that closed them, and the offsets of each request."""
    nothing = np.zeros(0, dtype=np.int64)
    if not table.gaps_known:
        return np.zeros(0), nothing, np.zeros(len(table) + 1, dtype=np.int64)
    counts = table.counts()
    opens = np.ones(len(table.at_ms), dtype=bool)
    # the first publication closes a gap only for a request that arrives decoding
    starts = table.offsets[:-1][(counts > 0) & ~table.arrives_decoding]
    opens[starts] = False
    per_request = np.where(table.arrives_decoding, counts, np.maximum(counts - 1, 0))
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(per_request)))
    tokens = table.tokens[opens] if table.tokens_known else nothing
    return (table.at_ms - table.previous_ms())[opens], tokens, offsets


def _open_stalls(table: PublicationTable, last_ms: Floats) -> Floats:
    """Age at the boundary of streams that have not finished; NaN for all others."""
    since = np.where(np.isnan(last_ms) & table.arrives_decoding, table.arrival_ms, last_ms)
    unfinished = table.outcome == Outcome.UNFINISHED
    return np.where(unfinished, table.boundary_ms - since, np.nan)
