"""The experiments' results as documents: flat rows that a claim can read, and what it takes to run them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from fairlane.reference.exact import decimal_of, show
from fairlane.simulator.experiments.ongoing_distance import OngoingDistance
from fairlane.simulator.experiments.regret import PolicyRegret
from fairlane.simulator.experiments.trace_behaviour import TraceBehaviour
from fairlane.simulator.run_metrics import RunMetrics

SCHEMA = 1


def regret_document(
    regrets: Sequence[PolicyRegret],
    behaviours: Sequence[TraceBehaviour],
    *,
    command: str,
    workload: str,
    n_requests: int,
    decode_value: Fraction,
    seed: int,
    lengths: str | None = None,
) -> dict[str, object]:
    """One row a policy: its regret, exact and in decimals, beside its figures on the workload; null is "n/a".

    ``lengths`` says what a trace's requests show of their output lengths.
    """
    rows = [
        {
            **regret_row(regret),
            **behaviour_row(behaviour),
            "workload": workload,
            "decode_value": show(decode_value),
            "seed": seed,
        }
        for regret, behaviour in zip(regrets, behaviours, strict=True)
    ]
    return {
        "experiment": "regret",
        "schema": SCHEMA,
        "command": command,
        "n_requests": n_requests,
        "output_lengths": lengths,
        "percentile_method": "linear",
        "rows": rows,
    }


def regret_row(regret: PolicyRegret) -> dict[str, object]:
    """The suite's part of a row."""
    return {
        "policy": regret.policy,
        "instances": regret.n_instances,
        "optimal_on": regret.optimal_on,
        "mean_gap": _exact(regret.mean_gap),
        "mean_gap_decimal": _decimal(regret.mean_gap),
        "largest_gap": _exact(regret.largest_gap),
        "largest_gap_decimal": _decimal(regret.largest_gap),
        "worst": regret.worst,
        "failure": regret.failure,
    }


def gaps_table(regrets: Sequence[PolicyRegret]) -> str:
    """Exact optimum, gap and relative gap of every policy on every instance, as CSV; a rule broken leaves no row."""
    lines = ["policy,instance,optimum,gap,relative_gap"]
    for rows in zip(*(regret.rows for regret in regrets), strict=True):
        for row in rows:
            found = row.evaluation
            if found is not None:
                relative = "" if found.relative_gap is None else show(found.relative_gap)
                lines.append(f"{row.policy},{row.instance.name},{show(found.optimum)},{show(found.gap)},{relative}")
    return "\n".join(lines) + "\n"


def behaviour_row(behaviour: TraceBehaviour) -> Mapping[str, object]:
    """The workload's part of a row; every figure null where the policy was refused."""
    return {**_figures(behaviour.metrics), "refusal": behaviour.refusal}


def _figures(metrics: RunMetrics | None) -> dict[str, object]:
    found = None if metrics is None else metrics.publications
    return {
        "finished": None if found is None else found.n_finished,
        "ttft_p50_ms": None if found is None else found.ttft.at(50),
        "ttft_p99_ms": None if found is None else found.ttft.at(99),
        "tpot_p50_ms": None if found is None else found.tpot.at(50),
        "tpot_p99_ms": None if found is None else found.tpot.at(99),
        "longest_gap_ms": None if found is None else found.gap.largest,
        "age_area_ms2": None if found is None else found.age_area_ms2,
        "open_stalls": None if found is None else found.n_open_stalls,
        "useful_tokens_per_ms": None if metrics is None else metrics.useful_tokens_per_elapsed_ms,
        "starved": None if metrics is None else metrics.n_starved,
        "jain_index": None if found is None else found.jain,
    }


def ongoing_document(distances: Sequence[OngoingDistance], *, command: str, horizon_ms: Fraction) -> dict[str, object]:
    """One row a system, and the system on which the continuation value fails most."""
    worst = continuation_failure(distances)
    return {
        "experiment": "ongoing",
        "schema": SCHEMA,
        "command": command,
        "horizon_ms": show(horizon_ms),
        "continuation_fails_on": None if worst is None else worst.system,
        "rows": [distance_row(distance) for distance in distances],
    }


def distance_row(distance: OngoingDistance) -> dict[str, object]:
    """A system's row: rates in reward per ms, exact ones as ratios with their decimals beside them."""
    estimate = distance.ongoing
    bare = distance.shortfall_without_fairness
    return {
        "system": distance.system,
        "states": distance.states,
        "age_price": show(distance.age_price),
        "optimum": _exact(distance.optimum),
        "lower": decimal_of(distance.lower),
        "upper": decimal_of(distance.upper),
        "rate": estimate.mean,
        "half_width": estimate.half_width,
        "confidence": estimate.confidence,
        "runs": estimate.n_samples,
        "seed": estimate.seed,
        "method": estimate.method,
        "shortfall": distance.shortfall,
        "without_fairness": show(distance.without_fairness),
        "without_fairness_decimal": decimal_of(distance.without_fairness),
        # where only bounds are known, the exact ratio of a proved bound has dozens of digits and no meaning
        "without_fairness_shortfall": _exact(bare) if distance.optimum is not None else None,
        "without_fairness_shortfall_decimal": _decimal(bare),
        "utility": distance.utility,
        "fair_utility": distance.fair_utility,
        "fair_gap": distance.fair_gap,
    }


def continuation_failure(distances: Sequence[OngoingDistance]) -> OngoingDistance | None:
    """The system of positive age price on which the policy without fairness prices loses most of the optimum.

    None where no system has an age price, or it loses nothing on any of them.
    """
    aged = [d for d in distances if d.age_price > 0 and d.shortfall_without_fairness is not None]
    worst = max(aged, key=lambda d: d.shortfall_without_fairness or Fraction(0), default=None)
    # bounds that are not exact leave some room above a policy that attains the optimum
    if worst is None or worst.lower <= worst.without_fairness:
        return None
    return worst


def _exact(value: Fraction | None) -> str | None:
    return None if value is None else show(value)


def _decimal(value: Fraction | None) -> float | None:
    return None if value is None else decimal_of(value)
