"""One request as any layout gives it, exact and in its own clock, and the table of many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fairlane.reference.errors import DataError
from fairlane.simulator.draft_positions import DraftPosition
from fairlane.simulator.goodput import NO_TARGETS, Targets
from fairlane.simulator.publication_table import UNKNOWN, Outcome, PublicationTable, TargetKind
from fairlane.simulator.rows import Number, shown


class PublicationFormat(StrEnum):
    """Layouts in which publications can be read."""

    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    VLLM = "vllm"
    VTC = "vtc"
    SUMMARY = "summary"
    BENCHMARK = "benchmark"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationRow:
    """One request as read; times are exact and in ms."""

    id: str
    arrival_ms: Number
    publications: tuple[tuple[Number, int], ...]
    outcome: Outcome
    prompt: int = UNKNOWN
    targets: Targets = NO_TARGETS
    proposed_drafts: int = 0
    accepted_drafts: int = 0


def table_of(
    rows: Iterable[PublicationRow],
    *,
    start_ms: Number | None = None,
    boundary_ms: Number | None = None,
    gaps_known: bool = True,
    tokens_known: bool = True,
    draft_positions: tuple[DraftPosition, ...] = (),
    file: str = "publications",
) -> PublicationTable:
    """The table of requests as read, with the start of the measurement as its zero.

    Parameters
    ----------
    rows : iterable of PublicationRow
        In any order of arrival.
    start_ms, boundary_ms : Number or None
        The measured interval; without them, from the first arrival to the last event.
    gaps_known : bool
        Whether every publication is listed.
    tokens_known : bool
        Whether the tokens of each are.
    draft_positions : tuple of DraftPosition
        Drafts by position over all requests.
    file : str
        Named in errors.

    Returns
    -------
    PublicationTable
        Times are exact differences to the start, rounded once: clocks that count from an epoch lose nothing.

    Raises
    ------
    DataError
        An event outside the stated interval.
    """
    kept = tuple(rows)
    arrivals = [row.arrival_ms for row in kept]
    events = arrivals + [row.publications[-1][0] for row in kept if row.publications]
    start = start_ms if start_ms is not None else min(arrivals, default=0)
    end = boundary_ms if boundary_ms is not None else max(events, default=start)
    if arrivals and start > min(arrivals):
        raise DataError(f"{file}: start_ms is {shown(start)}; need at most {shown(min(arrivals))}, the first arrival")
    if end < max(events, default=start):
        raise DataError(f"{file}: boundary_ms is {shown(end)}; need at least {shown(max(events, default=start))}")
    flat = [publication for row in kept for publication in row.publications]
    counts = np.array([0, *(len(row.publications) for row in kept)], dtype=np.int64)
    own = [[getattr(row.targets, kind.value) for kind in TargetKind] for row in kept]
    return PublicationTable(
        ids=tuple(row.id for row in kept),
        arrival_ms=np.array([float(row.arrival_ms - start) for row in kept], dtype=np.float64),
        offsets=np.cumsum(counts),
        at_ms=np.array([float(at - start) for at, _ in flat], dtype=np.float64),
        tokens=np.array([tokens for _, tokens in flat], dtype=np.int64),
        outcome=np.array([row.outcome for row in kept], dtype=np.int64),
        prompt_tokens=np.array([row.prompt for row in kept], dtype=np.int64),
        # None becomes NaN
        target_ms=np.array(own, dtype=np.float64).reshape(len(kept), len(TargetKind)),
        proposed_drafts=np.array([row.proposed_drafts for row in kept], dtype=np.int64),
        accepted_drafts=np.array([row.accepted_drafts for row in kept], dtype=np.int64),
        start_ms=0.0,
        boundary_ms=float(end - start),
        gaps_known=gaps_known,
        tokens_known=tokens_known,
        draft_positions=draft_positions,
    )
