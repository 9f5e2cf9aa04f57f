"""``fairlane experiment regret``: every policy's exact regret on the suite beside its behaviour on a workload."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlane.cli import output, trace_option
from fairlane.cli.targets import file_target
from fairlane.reference.atomic_write import write_text
from fairlane.reference.errors import InvalidInstance

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from rich.table import Table

    from fairlane.reference.model.instance import Instance
    from fairlane.reference.model.request import Request
    from fairlane.simulator.experiments import PolicyRegret, TraceBehaviour

DEFAULT_WORKLOAD = "sixteen_requests"

LATENCY = ("TTFT p50 ms", "TTFT p99 ms", "TPOT p50 ms", "TPOT p99 ms")
SHARES = ("age area ms²", "open stalls", "useful tok/ms", "starved", "Jain")
# columns from which both groups stand side by side
WIDE = 130


def command(
    decode_value: Annotated[str, typer.Option("--decode-value", help="Value of an output token on the workload.")],
    policies: Annotated[
        str | None,
        typer.Option("--policies", help="Names or module:attribute, as in fixed-value,ongoing. Default: all."),
    ] = None,
    instances: Annotated[
        str | None, typer.Option("--instances", help="Instances of the suite, separated by commas. Default: all.")
    ] = None,
    trace: Annotated[Path | None, typer.Option("--trace", help="A trace instead of a named workload.")] = None,
    layout: Annotated[str | None, typer.Option("--format", help=trace_option.FORMAT_HELP)] = None,
    time_unit: Annotated[str | None, typer.Option("--time-unit", help=trace_option.UNIT_HELP)] = None,
    columns: Annotated[str | None, typer.Option("--columns", help=trace_option.COLUMNS_HELP)] = None,
    acceptance: Annotated[str | None, typer.Option("--acceptance", help=trace_option.ACCEPTANCE_HELP)] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help=trace_option.LIMIT_HELP)] = None,
    known_lengths: Annotated[bool, typer.Option("--known-lengths", help=trace_option.KNOWN_HELP)] = False,
    length_prior: Annotated[str | None, typer.Option("--length-prior", help=trace_option.PRIOR_HELP)] = None,
    rows: Annotated[int | None, typer.Option("--rows", min=1, help="Only the first requests to arrive.")] = None,
    workload: Annotated[
        str | None, typer.Option("--workload", help=f"A named workload. Default: {DEFAULT_WORKLOAD}.")
    ] = None,
    catalog: Annotated[
        Path | None, typer.Option("--catalog", help="Graph timings for the workload instead of the built-in table.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of every draw.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    target: Annotated[
        Path | None, typer.Option("--output", help="Also write the JSON document here.", callback=file_target)
    ] = None,
    gaps: Annotated[
        Path | None, typer.Option("--gaps", help="Also write every exact gap here, as CSV.", callback=file_target)
    ] = None,
) -> None:
    """Exact regret on small solved instances beside figures of one long run, policy by policy.

    An instance is small enough to solve, a workload is long enough to starve somebody: the two need not agree.
    """
    from fairlane.reference.exact import parse_number
    from fairlane.reference.model.codec import load_catalog
    from fairlane.simulator.experiments import suite_regret, trace_behaviour
    from fairlane.simulator.experiments.documents import gaps_table, regret_document
    from fairlane.simulator.timing_tables import synthetic_catalog

    value = parse_number(decode_value, "--decode-value")
    if value < 0:
        raise InvalidInstance(f"--decode-value is {decode_value!r}; need a value >= 0")
    rules = output.policies_by_name(_listed(policies, "--policies"))
    suite = _suite(_listed(instances, "--instances"))
    options = trace_option.TraceOptions(
        layout=layout,
        time_unit=time_unit,
        columns=columns,
        acceptance=acceptance,
        limit=limit,
        known_lengths=known_lengths,
        length_prior=length_prior,
    )
    label, requests, lengths = _requests(trace, workload, options)
    requests = requests if rows is None else sorted(requests, key=lambda r: r.arrival_ms)[:rows]
    graphs = synthetic_catalog() if catalog is None else load_catalog(catalog)
    with output.progress("simulating") as shown:
        behaviours = trace_behaviour(rules, requests, graphs, decode_value=value, seed=seed, on_progress=shown)
    with output.progress("evaluating on the suite") as shown:
        regrets = suite_regret(rules, suite, on_progress=shown)
    asked = {
        "--decode-value": decode_value,
        "--policies": policies,
        "--instances": instances,
        "--trace": None if trace is None else trace.name,
        **options.given(),
        "--rows": rows,
        "--workload": workload,
        "--catalog": None if catalog is None else catalog.name,
        "--seed": seed,
    }
    document = regret_document(
        regrets,
        behaviours,
        command=output.command_line("experiment regret", asked),
        workload=label,
        n_requests=len(requests),
        decode_value=value,
        seed=seed,
        lengths=lengths,
    )
    if target is not None:
        output.write_json(document, target)
    if gaps is not None:
        write_text(gaps_table(regrets), gaps)
    if json:
        output.print_json(document)
    else:
        _print(regrets, behaviours, suite, f"{label}, {len(requests):,} requests{_lengths(lengths)}", value, seed)
        for path in (target, gaps):
            if path is not None:
                typer.echo(f"written to {path}")
    if any(r.failure is not None for r in regrets) or any(b.broke_rule for b in behaviours):
        raise typer.Exit(1)


def _listed(text: str | None, option: str) -> list[str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise InvalidInstance(f"{option} is {text!r}; need names separated by commas")
    return names


def _suite(wanted: list[str] | None) -> list[Instance]:
    from fairlane import suite

    return [suite.load(name) for name in wanted or suite.names()]


def _requests(
    trace: Path | None, workload: str | None, options: trace_option.TraceOptions
) -> tuple[str, Sequence[Request], str | None]:
    if trace is not None:
        if workload is not None:
            raise InvalidInstance("--workload and --trace are both given; need one of them")
        read = trace_option.requests_in(trace, options)
        return trace.stem, read.requests, read.lengths
    options.need_none("--trace")
    from fairlane.simulator.workloads import workload as named

    found = named(workload or DEFAULT_WORKLOAD)
    return found.name, found.requests, None


def _lengths(lengths: str | None) -> str:
    return "" if lengths is None else f", output lengths {lengths}"


def _print(
    regrets: Sequence[PolicyRegret],
    behaviours: Sequence[TraceBehaviour],
    suite: Sequence[Instance],
    title: str,
    value: Fraction,
    seed: int,
) -> None:
    terminal = output.console()
    terminal.print(_regret_table(regrets, len(suite)))
    terminal.print()
    terminal.print(f"{title}, decode value {output.brief(value)}, seed {seed}", style="bold", markup=False)
    for groups in (LATENCY + SHARES,) if terminal.width >= WIDE else (LATENCY, SHARES):
        terminal.print(_behaviour_table(behaviours, groups))
    for regret in regrets:
        if regret.failure is not None:
            terminal.print(f"{regret.policy} broke a rule on {regret.failure}", markup=False)
    for behaviour in behaviours:
        if behaviour.refusal is not None:
            terminal.print(f"{behaviour.policy} did not run: {behaviour.refusal}", markup=False)
    terminal.print("Left out of the model: cache capacity, admission, restore, host prerequisites, GPU performance.")


def _regret_table(regrets: Sequence[PolicyRegret], n_instances: int) -> Table:
    table = output.plain_table(
        f"Exact regret on {n_instances} solved instances",
        ("policy", "optimal on", "mean gap", "largest gap", "where"),
        words=("policy", "where"),
    )
    for regret in regrets:
        table.add_row(
            regret.policy,
            str(regret.optimal_on),
            output.percent(regret.mean_gap),
            output.percent(regret.largest_gap),
            regret.worst or "",
        )
    return table


def _behaviour_table(behaviours: Sequence[TraceBehaviour], headings: tuple[str, ...]) -> Table:
    table = output.plain_table("", ("policy", *headings), words=("policy",))
    for behaviour in behaviours:
        cells = _cells(behaviour)
        table.add_row(behaviour.policy, *(cells.get(heading, "n/a") for heading in headings))
    return table


def _cells(behaviour: TraceBehaviour) -> dict[str, str]:
    metrics = behaviour.metrics
    if metrics is None:
        return {}
    found = metrics.publications
    figures = (
        *(_figure(x) for x in (found.ttft.at(50), found.ttft.at(99), found.tpot.at(50), found.tpot.at(99))),
        "n/a" if found.age_area_ms2 is None else f"{found.age_area_ms2:.2e}",
        "n/a" if found.n_open_stalls is None else f"{found.n_open_stalls:,}",
        _figure(metrics.useful_tokens_per_elapsed_ms),
        f"{metrics.n_starved:,}",
        "n/a" if found.jain is None else f"{found.jain:.3f}",
    )
    return dict(zip(LATENCY + SHARES, figures, strict=True))


def _figure(value: float | None) -> str:
    if value is None:
        return "n/a"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
