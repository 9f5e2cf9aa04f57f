"""Output ages over time: how long each decoding stream has waited for its next output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairlane.reference.errors import InvalidInstance
from fairlane.simulator.publication_table import Floats, Outcome, PublicationTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AgeSeries:
    """Ages over an interval cut into bins.

    Attributes
    ----------
    edge_ms : float64, shape (b + 1,)
        Bin edges.
    longest_ms : float64, shape (b,)
        Greatest age any stream reached within the bin, peaks between the edges included; NaN without a stream.
    mean_ms : float64, shape (b,)
        Mean age over the streams that decode at the bin's end, NaN without one.
    n_streams : int
        Streams that decode at some instant of the interval.
    saws : tuple of (float64 array, float64 array)
        Times and ages of single streams, corner by corner; empty where there are too many to draw.
    """

    edge_ms: Floats
    longest_ms: Floats
    mean_ms: Floats
    n_streams: int
    saws: tuple[tuple[Floats, Floats], ...]


def age_series(
    table: PublicationTable, start_ms: float, end_ms: float, *, n_bins: int = 400, most_saws: int = 30
) -> AgeSeries:
    """Ages of all streams between two instants.

    Parameters
    ----------
    table : PublicationTable
        With known gaps.
    start_ms, end_ms : float
        The interval, start < end.
    n_bins : int
        >= 1.
    most_saws : int
        Single streams are given only where there are at most so many.

    Raises
    ------
    InvalidInstance
        An empty interval, or a table without gaps.

    Notes
    -----
    An age rises by 1 a ms and falls to 0 at a publication, so that its greatest value in a bin is the age at the
    bin's end or a gap that closes within the bin. Cost O(streams · (n_bins + their publications)).
    """
    if not table.gaps_known:
        raise InvalidInstance("ages need every publication; the table has the first and the last only")
    if not start_ms < end_ms or n_bins < 1:
        raise InvalidInstance(
            f"interval is {start_ms} to {end_ms} ms in {n_bins} bins; need a positive length and >= 1"
        )
    edges = np.linspace(start_ms, end_ms, n_bins + 1)
    longest, total, count = np.full(n_bins, -1.0), np.zeros(n_bins), np.zeros(n_bins, dtype=np.int64)
    kept: list[tuple[Floats, Floats]] = []
    n_streams = 0
    for i in range(len(table)):
        at = table.at_ms[table.offsets[i] : table.offsets[i + 1]]
        decoding = bool(table.prompt_tokens[i] == 0) and table.outcome[i] != Outcome.REJECTED
        resets = np.concatenate((table.arrival_ms[i : i + 1], at)) if decoding else at
        last = table.boundary_ms if table.outcome[i] != Outcome.FINISHED else (at[-1] if len(at) else start_ms)
        if not len(resets) or resets[0] >= end_ms or last <= start_ms:
            continue
        n_streams += 1
        inside = np.flatnonzero((edges[1:] >= resets[0]) & (edges[1:] < last))
        ages = edges[1:][inside] - resets[np.searchsorted(resets, edges[1:][inside], side="right") - 1]
        longest[inside] = np.maximum(longest[inside], ages)
        total[inside] += ages
        count[inside] += 1
        ends = np.append(resets[1:], last) if last > resets[-1] else resets[1:]
        peaks = ends - resets[: len(ends)]
        seen = (ends > start_ms) & (ends <= end_ms)
        bins = np.minimum(np.searchsorted(edges, ends[seen], side="left") - 1, n_bins - 1)
        np.maximum.at(longest, np.maximum(bins, 0), peaks[seen])
        if len(kept) <= most_saws:
            kept.append(_saw(resets, ends))
    return AgeSeries(
        edge_ms=edges,
        longest_ms=np.where(longest < 0, np.nan, longest),
        mean_ms=np.divide(total, count, out=np.full(n_bins, np.nan), where=count > 0),
        n_streams=n_streams,
        saws=tuple(kept) if n_streams <= most_saws else (),
    )


def _saw(resets: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """Corners of a saw: up from 0 at each reset to the gap, and down again."""
    begins = resets[: len(ends)]
    times = np.stack((begins, ends), axis=1).ravel()
    ages = np.stack((np.zeros(len(ends)), ends - begins), axis=1).ravel()
    return times, ages
