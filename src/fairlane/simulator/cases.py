"""The grid of a simulation study: cases of requests, each run by every policy at every output value, and measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fairlane.reference.errors import TooLarge
from fairlane.reference.exact import Real
from fairlane.reference.model.graph import Catalog
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request
from fairlane.simulator.run import Run
from fairlane.simulator.run_metrics import RunMetrics, measure_run
from fairlane.simulator.service_lag import ServiceLag, service_lag
from fairlane.simulator.simulate import simulate
from fairlane.simulator.workloads import workload, workload_names

# beyond this many requests the fair reference of every live set would take longer than the run
MOST_LAG_REQUESTS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Requests to simulate, under a label such as the workload's name.

    ``lengths`` says what the requests of a trace show of their output lengths.
    """

    label: str
    requests: tuple[Request, ...]
    lengths: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredCase:
    """One run of a case with its metrics.

    Without ``lag`` no shares are drawn; ``lag_left_out`` then says why, where it was tried. ``lengths`` is the
    case's.
    """

    label: str
    run: Run
    metrics: RunMetrics
    lag: ServiceLag | None = None
    lag_left_out: str = ""
    lengths: str | None = None


def workload_cases(names: Sequence[str] = ()) -> tuple[Case, ...]:
    """Named workloads as cases; all of them where none is named.

    Raises
    ------
    InvalidInstance
        An unknown name.
    """
    return tuple(Case(label=w.name, requests=w.requests) for w in map(workload, names or workload_names()))


def measure_cases(
    cases: Sequence[Case],
    catalog: Catalog,
    policies: Mapping[str, object],
    decode_values: Sequence[Fraction],
    *,
    horizon_ms: Fraction | None = None,
    seed: int = 0,
    two_frames: bool = False,
    launch_gap_ms: Real | str = 0,
    prices: Mapping[str, Fraction] | None = None,
    on_progress: Callable[[int, int], object] | None = None,
) -> tuple[MeasuredCase, ...]:
    """Every case under every policy at every output value.

    Parameters
    ----------
    cases : sequence of Case
        What arrives.
    catalog : Catalog
        The graphs.
    policies : mapping
        Policies by the name that the result gives them.
    decode_values : sequence of Fraction
        Values of an output token, >= 0.
    horizon_ms, seed, two_frames, launch_gap_ms
        As in :func:`~fairlane.simulator.simulate.simulate`.
    prices : mapping or None
        Other fields of the objective, such as ``age_price``; 0 where they are left out.
    on_progress : callable or None
        Told the number of runs done and of all runs after each.

    Returns
    -------
    tuple of MeasuredCase
        Cases first, then policies, then values.
    """
    total = len(cases) * len(policies) * len(decode_values)
    measured: list[MeasuredCase] = []
    others: dict[str, Any] = dict(prices or {})
    for case in cases:
        for name, policy in policies.items():
            for value in decode_values:
                run = simulate(
                    case.requests,
                    catalog,
                    policy,
                    objective=Objective(decode_value=value, **others),
                    horizon_ms=horizon_ms,
                    seed=seed,
                    name=name,
                    two_frames=two_frames,
                    launch_gap_ms=launch_gap_ms,
                )
                measured.append(_measured(case, run))
                if on_progress is not None:
                    on_progress(len(measured), total)
    return tuple(measured)


def _measured(case: Case, run: Run) -> MeasuredCase:
    lag: ServiceLag | None = None
    left_out = ""
    if run.n_requests > MOST_LAG_REQUESTS:
        left_out = f"{run.n_requests:,} requests; the limit is {MOST_LAG_REQUESTS:,}"
    else:
        try:
            lag = service_lag(run)
        except TooLarge as error:
            left_out = str(error)
    return MeasuredCase(
        label=case.label, lengths=case.lengths, run=run, metrics=measure_run(run), lag=lag, lag_left_out=left_out
    )
