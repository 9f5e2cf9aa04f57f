"""Every figure of a run, defined once: for simulated runs and for logs of other systems alike.

The definitions stand in the modules named here: latencies in :mod:`~fairlane.simulator.latency`, percentiles in
:mod:`~fairlane.simulator.percentiles`, targets in :mod:`~fairlane.simulator.goodput`, starvation in
:mod:`~fairlane.simulator.starvation`, Jain's index in :mod:`~fairlane.simulator.fairness`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fairlane.simulator.acceptance_rate import acceptance_rate
from fairlane.simulator.draft_positions import DraftPosition
from fairlane.simulator.fairness import jain_index
from fairlane.simulator.goodput import NO_TARGETS, Goodput, MissingTarget, Targets, goodput
from fairlane.simulator.latency import Latencies, latencies
from fairlane.simulator.percentiles import Distribution, PercentileMethod, distribution, weighted_distribution
from fairlane.simulator.publication_table import Floats, Outcome, PublicationTable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Metrics:
    """Figures of one run; None is "n/a".

    Attributes
    ----------
    n_requests, n_finished, n_unfinished, n_rejected, n_failed : int
        Requests by outcome.
    ttft, e2e, tpot, gap : Distribution
        Milliseconds.
    tpot_after_first : Distribution
        TPOT over the tokens after the first delivery, milliseconds.
    token_weighted_gap, gap_per_token : Distribution
        Each gap as often as the delivery that closed it had tokens: the gap itself, and the gap over those tokens,
        which is the inter-token latency of systems that spread a burst evenly. Milliseconds.
    n_tpot_undefined : int
        Finished requests whose output came in one delivery, which have no TPOT.
    output_tokens : int
        Tokens published.
    elapsed_ms : float
        From the start of the measurement to its boundary.
    output_tokens_per_ms : float or None
        Over the elapsed time.
    age_area_ms2 : float or None
        Decode-age area in request·ms², open stalls up to the boundary included.
    n_open_stalls, longest_open_stall_ms : int, float or None
        Unfinished streams at the boundary and the longest time since an output among them.
    acceptance : Fraction or None
        Accepted over proposed drafts.
    acceptance_by_position : tuple of DraftPosition
        Drafts by position; empty where nothing is known.
    jain : float or None
        Jain's index of output tokens per ms between arrival and last publication (the boundary for an unfinished
        request), rejected and failed requests left out.
    goodput : Goodput
        Requests within their targets.
    goodput_per_s : float or None
        Those per second of elapsed time.
    per_request : Latencies
        The figures of each request.
    """

    n_requests: int
    n_finished: int
    n_unfinished: int
    n_rejected: int
    n_failed: int
    ttft: Distribution
    e2e: Distribution
    tpot: Distribution
    gap: Distribution
    tpot_after_first: Distribution
    token_weighted_gap: Distribution
    gap_per_token: Distribution
    n_tpot_undefined: int
    output_tokens: int
    elapsed_ms: float
    output_tokens_per_ms: float | None
    age_area_ms2: float | None
    n_open_stalls: int | None
    longest_open_stall_ms: float | None
    acceptance: Fraction | None
    acceptance_by_position: tuple[DraftPosition, ...]
    jain: float | None
    goodput: Goodput
    goodput_per_s: float | None
    per_request: Latencies


def measure(
    table: PublicationTable,
    *,
    targets: Targets = NO_TARGETS,
    missing: MissingTarget = MissingTarget.NOT_MET,
    method: PercentileMethod = PercentileMethod.LINEAR,
) -> Metrics:
    """All figures that publications alone determine.

    Parameters
    ----------
    table : PublicationTable
        Of a run or of a file.
    targets : Targets
        Common targets; a request's own takes their place.
    missing : MissingTarget
        How a missing target or figure counts.
    method : PercentileMethod
        Percentile method of every distribution.

    Returns
    -------
    Metrics
        Floats, except counts and the acceptance, which are exact. Cost O(m log m).
    """
    figures = latencies(table)
    finished = table.outcome == Outcome.FINISHED
    elapsed = table.boundary_ms - table.start_ms
    stalls = _defined(figures.open_stall_ms)
    met = goodput(table, figures, targets=targets, missing=missing)
    output = int(table.tokens.sum())
    return Metrics(
        n_requests=len(table),
        n_finished=int(finished.sum()),
        n_unfinished=int((table.outcome == Outcome.UNFINISHED).sum()),
        n_rejected=int((table.outcome == Outcome.REJECTED).sum()),
        n_failed=int((table.outcome == Outcome.FAILED).sum()),
        ttft=distribution(_defined(figures.ttft_ms), method=method),
        e2e=distribution(_defined(figures.e2e_ms), method=method),
        tpot=distribution(_defined(figures.tpot_ms), method=method),
        gap=distribution(figures.gaps_ms, method=method),
        tpot_after_first=distribution(_defined(figures.tpot_after_first_ms), method=method),
        token_weighted_gap=_weighted(figures, per_token=False, method=method),
        gap_per_token=_weighted(figures, per_token=True, method=method),
        n_tpot_undefined=int((finished & np.isnan(figures.tpot_ms)).sum()),
        output_tokens=output,
        elapsed_ms=elapsed,
        output_tokens_per_ms=output / elapsed if elapsed > 0 else None,
        age_area_ms2=float(figures.age_area_ms2.sum()) if table.gaps_known else None,
        n_open_stalls=len(stalls) if table.gaps_known else None,
        longest_open_stall_ms=float(stalls.max()) if len(stalls) else None,
        acceptance=acceptance_rate(int(table.accepted_drafts.sum()), int(table.proposed_drafts.sum())),
        acceptance_by_position=table.draft_positions,
        jain=jain_index(_rates(table, figures)),
        goodput=met,
        goodput_per_s=1000 * met.met / elapsed if elapsed > 0 and met.in_force else None,
        per_request=figures,
    )


def _weighted(figures: Latencies, *, per_token: bool, method: PercentileMethod) -> Distribution:
    """Gaps by the tokens that closed them; without samples where those are not known."""
    tokens = figures.gap_tokens
    gaps = figures.gaps_ms if len(tokens) else figures.gaps_ms[:0]
    return weighted_distribution(gaps / tokens if per_token else gaps, tokens, method=method)


def _defined(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _rates(table: PublicationTable, figures: Latencies) -> Floats:
    """Output tokens per ms of each request that was neither rejected nor failed, over the time it was live."""
    kept: npt.NDArray[np.bool_] = (table.outcome != Outcome.REJECTED) & (table.outcome != Outcome.FAILED)
    live = np.where(np.isnan(figures.e2e_ms), table.boundary_ms - table.arrival_ms, figures.e2e_ms)
    # a request served in no time at all, as in a log of whole milliseconds, has no rate
    kept = kept & (live > 0)
    return figures.output_tokens[kept] / live[kept]
