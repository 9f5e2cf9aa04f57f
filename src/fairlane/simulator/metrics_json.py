"""Metrics as one flat JSON document, and as rows for a table."""

from __future__ import annotations

import math

from fairlane.reference.exact import decimal_of, show
from fairlane.simulator.draft_positions import DraftPosition
from fairlane.simulator.metrics import Metrics
from fairlane.simulator.percentiles import LEVELS, Distribution
from fairlane.simulator.publication_table import Outcome, PublicationTable
from fairlane.simulator.run_metrics import RunMetrics
from fairlane.simulator.service_lag import ServiceLag

MAX_LISTED_GAPS = 10_000

NAMES = ("ttft", "e2e", "tpot", "gap", "tpot_after_first", "token_weighted_gap", "gap_per_token")


def distribution_to_json(name: str, sample: Distribution) -> dict[str, object]:
    """``mean_ttft_ms``, ``median_ttft_ms``, ``p90_ttft_ms``, ..., ``ttft_samples``; null without samples."""
    out: dict[str, object] = {f"mean_{name}_ms": sample.mean}
    for level in LEVELS:
        out[f"{'median' if level == 50 else f'p{level}'}_{name}_ms"] = sample.at(level)
    out[f"max_{name}_ms"] = sample.largest
    out[f"{name}_samples"] = sample.samples
    return out


def metrics_to_json(metrics: Metrics) -> dict[str, object]:
    """Every figure by name; null is "n/a".

    Shares (attainment, acceptance) are exact and stand as strings with their decimals under ``decimal``. ``gaps_ms``
    lists all gaps, request by request, up to 10,000 of them, and is null beyond.
    """
    out: dict[str, object] = {
        "n_requests": metrics.n_requests,
        "n_finished": metrics.n_finished,
        "n_unfinished": metrics.n_unfinished,
        "n_rejected": metrics.n_rejected,
        "n_failed": metrics.n_failed,
        "percentile_method": metrics.ttft.method.value,
    }
    for name in NAMES:
        out |= distribution_to_json(name, getattr(metrics, name))
    gaps = metrics.per_request.gaps_ms
    attainment, acceptance = metrics.goodput.attainment, metrics.acceptance
    return out | {
        "tpot_undefined": metrics.n_tpot_undefined,
        "gaps_ms": gaps.tolist() if len(gaps) <= MAX_LISTED_GAPS else None,
        "output_tokens": metrics.output_tokens,
        "elapsed_ms": metrics.elapsed_ms,
        "output_tokens_per_ms": metrics.output_tokens_per_ms,
        "decode_age_area_ms2": metrics.age_area_ms2,
        "open_stalls": metrics.n_open_stalls,
        "longest_open_stall_ms": metrics.longest_open_stall_ms,
        "jain_index": metrics.jain,
        "acceptance": None if acceptance is None else show(acceptance),
        "acceptance_by_position": [_position(found) for found in metrics.acceptance_by_position],
        "attainment": None if attainment is None else show(attainment),
        "targets_in_force": [kind.value for kind in metrics.goodput.in_force],
        "requests_within_targets": metrics.goodput.met if metrics.goodput.in_force else None,
        "goodput_per_s": metrics.goodput_per_s,
        "decimal": {
            "acceptance": None if acceptance is None else decimal_of(acceptance),
            "attainment": None if attainment is None else decimal_of(attainment),
        },
    }


def _position(found: DraftPosition) -> dict[str, object]:
    """Counts of a draft position, and its rates: exact, and in decimals."""
    rates = {"conditional": found.conditional, "marginal": found.marginal}
    return {
        "position": found.position,
        "proposed": found.proposed,
        "reached": found.reached,
        "accepted": found.accepted,
        **{name: None if rate is None else show(rate) for name, rate in rates.items()},
        "decimal": {name: None if rate is None else decimal_of(rate) for name, rate in rates.items()},
    }


def requests_to_json(table: PublicationTable, metrics: Metrics) -> list[dict[str, object]]:
    """One object a request, in the order of the table."""
    figures = metrics.per_request
    return [
        {
            "id": request_id,
            "outcome": Outcome(int(table.outcome[i])).name.lower(),
            "ttft_ms": _number(figures.ttft_ms[i]),
            "e2e_ms": _number(figures.e2e_ms[i]),
            "tpot_ms": _number(figures.tpot_ms[i]),
            "tpot_after_first_ms": _number(figures.tpot_after_first_ms[i]),
            "longest_gap_ms": _number(figures.longest_gap_ms[i]),
            "gaps_ms": figures.gaps_ms[figures.gap_offsets[i] : figures.gap_offsets[i + 1]].tolist()
            if table.gaps_known
            else None,
            "output_tokens": int(figures.output_tokens[i]),
            "decode_age_area_ms2": _number(figures.age_area_ms2[i]),
            "open_stall_ms": _number(figures.open_stall_ms[i]),
        }
        for i, request_id in enumerate(table.ids)
    ]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def lag_to_json(lag: ServiceLag | None) -> dict[str, object]:
    """Service lag in tokens over requests: mean, least and greatest; null where it was not computed."""
    some = lag is not None and len(lag.lag_tokens) > 0
    values = lag.lag_tokens if lag is not None and some else None
    return {
        "mean_lag_tokens": None if values is None else float(values.mean()),
        "min_lag_tokens": None if values is None else float(values.min()),
        "max_lag_tokens": None if values is None else float(values.max()),
        "lag_samples": 0 if values is None else len(values),
    }


def run_metrics_to_json(metrics: RunMetrics, lag: ServiceLag | None = None) -> dict[str, object]:
    """Every figure of a run by name: those of its publications, of its launches, and its service lag if given."""
    return metrics_to_json(metrics.publications) | {
        "n_not_arrived": metrics.n_not_arrived,
        "n_starved": metrics.n_starved,
        "starvation_factor": metrics.starvation_factor,
        "graphs": metrics.n_launches,
        "completions": metrics.publications.n_finished,
        "busy_ms": metrics.busy_ms,
        "energy_j": metrics.energy_j,
        "prompt_tokens": metrics.prompt_tokens,
        "useful_tokens_per_busy_ms": metrics.useful_tokens_per_busy_ms,
        "useful_tokens_per_elapsed_ms": metrics.useful_tokens_per_elapsed_ms,
        "output_tokens_per_busy_ms": metrics.output_tokens_per_busy_ms,
        "useful_tokens_per_j": metrics.useful_tokens_per_j,
        "padded_rows": metrics.padded_rows,
        "offered_rows": metrics.offered_rows,
        "padded_prompt_tokens": metrics.padded_prompt_tokens,
        "offered_prompt_tokens": metrics.offered_prompt_tokens,
        **lag_to_json(lag),
    }
