"""``fairlane simulate``: policies on named workloads or on real traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlane.cli import choices, output, policy_options, trace_option
from fairlane.cli.targets import file_target, folder_target
from fairlane.reference.atomic_write import write_text
from fairlane.reference.errors import InvalidInstance, Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from fairlane.reference.model.graph import Catalog
    from fairlane.simulator.cases import Case, MeasuredCase

MOST_GAP_MS = 10**15


def command(
    decode_values: Annotated[str, typer.Option("--decode-values", help="Values of an output token, as in 1,16,64.")],
    target: Annotated[
        Path, typer.Option("--output", help="A directory to make; it must not exist.", callback=folder_target)
    ],
    mixed: Annotated[bool, typer.Option("--mixed", help="The built-in table with mixed graphs.")] = False,
    workload: Annotated[
        list[str] | None, typer.Option("--workload", help="A named workload; repeat for more. Default: all sixteen.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", help="A policy; repeat for more. Default: fixed-value.")
    ] = None,
    parameters: policy_options.Parameters = None,
    time_price: policy_options.TimePrice = "0",
    first_output_price: policy_options.FirstOutputPrice = "0",
    completion_price: policy_options.CompletionPrice = "0",
    age_price: policy_options.AgePrice = "0",
    energy_price: policy_options.EnergyPrice = "0",
    catalog: Annotated[
        Path | None, typer.Option("--catalog", help="Graph timings instead of the built-in table.")
    ] = None,
    requests: Annotated[Path | None, typer.Option("--requests", help="A trace instead of named workloads.")] = None,
    layout: Annotated[str | None, typer.Option("--format", help=trace_option.FORMAT_HELP)] = None,
    time_unit: Annotated[str | None, typer.Option("--time-unit", help=trace_option.UNIT_HELP)] = None,
    columns: Annotated[str | None, typer.Option("--columns", help=trace_option.COLUMNS_HELP)] = None,
    acceptance: Annotated[str | None, typer.Option("--acceptance", help=trace_option.ACCEPTANCE_HELP)] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help=trace_option.LIMIT_HELP)] = None,
    known_lengths: Annotated[bool, typer.Option("--known-lengths", help=trace_option.KNOWN_HELP)] = False,
    length_prior: Annotated[str | None, typer.Option("--length-prior", help=trace_option.PRIOR_HELP)] = None,
    horizon_ms: Annotated[str | None, typer.Option("--horizon-ms", help="No graph starts at or after this.")] = None,
    in_flight: Annotated[
        int, typer.Option("--in-flight", help="1, or 2: the next graph is chosen while one runs, and queued.")
    ] = 1,
    launch_gap_ms: Annotated[
        str, typer.Option("--launch-gap-ms", help="Least time from a choice to the start of its graph.")
    ] = "0",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of every draw.")] = 0,
    html: Annotated[Path | None, typer.Option("--html", help="Write a self-contained report here.")] = None,
    perfetto: Annotated[Path | None, typer.Option("--perfetto", help="Write a trace for Perfetto here.")] = None,
    pictures: Annotated[bool, typer.Option("--pictures", help="Also PNG and SVG pictures of each case.")] = False,
) -> None:
    """Simulate, and write summary.csv, requests.csv, trace.jsonl and catalog.json into a new directory."""
    from fairlane.reference.exact import parse_number
    from fairlane.simulator import run_files
    from fairlane.simulator.cases import measure_cases

    for file in (html, perfetto):
        # what goes into the new directory is checked by making it
        if file is not None and file.absolute().parent != target.absolute():
            file_target(file)
    report: ModuleType | None = None
    if pictures or html is not None:
        # it draws with an extra, whose absence is told before the run
        from fairlane.pictures import report
    values = [parse_number(text, "--decode-values") for text in decode_values.split(",")]
    if any(value < 0 for value in values):
        raise InvalidInstance(f"--decode-values is {decode_values!r}; need values >= 0")
    graphs = _catalog(catalog, mixed=mixed)
    options = trace_option.TraceOptions(
        layout=layout,
        time_unit=time_unit,
        columns=columns,
        acceptance=acceptance,
        limit=limit,
        known_lengths=known_lengths,
        length_prior=length_prior,
    )
    cases = _cases(requests, workload, options)
    rules = policy_options.policies_with(policy or ["fixed-value"], parameters or ())
    prices = policy_options.prices_of(
        {
            "time_price": time_price,
            "first_output_price": first_output_price,
            "completion_price": completion_price,
            "age_price": age_price,
            "energy_price": energy_price,
        }
    )
    if in_flight not in (1, 2):
        raise InvalidInstance(f"--in-flight is {in_flight}; need 1 or 2")
    gap = parse_number(launch_gap_ms, "--launch-gap-ms")
    if not 0 <= gap <= MOST_GAP_MS:
        raise InvalidInstance(f"--launch-gap-ms is {launch_gap_ms!r}; need >= 0 and <= 10^15 ms")
    horizon = choices.positive_ms(horizon_ms, "--horizon-ms")
    horizon_exact = None if horizon is None or horizon_ms is None else parse_number(horizon_ms, "--horizon-ms")
    with output.progress("simulating") as shown:
        entries = measure_cases(
            cases,
            graphs,
            rules,
            values,
            horizon_ms=horizon_exact,
            seed=seed,
            two_frames=in_flight > 1,
            launch_gap_ms=gap,
            prices=prices,
            on_progress=shown,
        )
    for line in dict.fromkeys(f"{e.label}: {e.lag_left_out}" for e in entries if e.lag_left_out):
        typer.echo(f"service lag is left out of {line}", err=True)
    with output.new_directory(target) as folder:
        write_text(run_files.to_csv(run_files.summary_rows(entries)), folder / "summary.csv")
        write_text(run_files.to_csv(list(run_files.request_rows(entries))), folder / "requests.csv")
        write_text(run_files.catalog_text(graphs), folder / "catalog.json")
        with (folder / "trace.jsonl").open("w", encoding="utf-8") as lines:
            for entry in entries:
                lines.writelines(line + "\n" for line in run_files.trace_lines(entry))
        if report is not None and pictures:
            for k, entry in enumerate(entries):
                for name, content in report.picture_files(entry).items():
                    (folder / f"{k:03d}-{entry.label}-{name}").write_bytes(content)
    if report is not None and html is not None:
        write_text(report.render_report(entries, title="fairlane simulate"), html)
    if perfetto is not None:
        from fairlane.pictures.perfetto import trace_text

        write_text("".join(trace_text(entries[0].run)), perfetto)
    _print(entries, target)
    if not any(entry.metrics.publications.n_requests for entry in entries):
        raise Unsupported("no request arrived before the horizon, so nothing was simulated; need a later --horizon-ms")


def _catalog(path: Path | None, *, mixed: bool) -> Catalog:
    from fairlane.reference.model.codec import load_catalog
    from fairlane.simulator.timing_tables import synthetic_catalog

    if path is not None:
        if mixed:
            raise InvalidInstance("--mixed and --catalog are both given; need one of them")
        return load_catalog(path)
    return synthetic_catalog(mixed=mixed)


def _cases(trace: Path | None, names: list[str] | None, options: trace_option.TraceOptions) -> tuple[Case, ...]:
    from fairlane.simulator.cases import Case, workload_cases

    if trace is None:
        options.need_none("--requests")
        return workload_cases(names or ())
    if names:
        raise InvalidInstance("--workload and --requests are both given; need one of them")
    read = trace_option.requests_in(trace, options)
    return (Case(label=trace.stem, requests=read.requests, lengths=read.lengths),)


def _print(entries: Sequence[MeasuredCase], target: Path) -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    headings = ("workload", "policy", "value", "graphs", "finished", "mean TTFT ms", "p99 gap ms", "useful tokens/ms")
    for heading in headings:
        words = heading in headings[:2]
        table.add_column(
            heading, justify="left" if words else "right", no_wrap=not words, max_width=24 if words else None
        )
    for entry in entries:
        figures = entry.metrics.publications
        useful = entry.metrics.useful_tokens_per_busy_ms
        table.add_row(
            entry.label,
            entry.run.policy,
            output.brief(entry.run.decode_value),
            f"{entry.run.n_launches:,}",
            f"{figures.n_finished:,} of {figures.n_requests:,}",
            _figure(figures.ttft.mean),
            _figure(figures.gap.at(99)),
            _figure(useful),
        )
    terminal = output.console()
    terminal.print(table)
    late = {entry.label: entry.metrics.n_not_arrived for entry in entries if entry.metrics.n_not_arrived}
    for label, count in late.items():
        terminal.print(f"{label}: {count:,} requests arrive after the horizon and are in no count", markup=False)
    for lengths in dict.fromkeys(entry.lengths for entry in entries if entry.lengths is not None):
        terminal.print(f"output lengths: {lengths}", markup=False)
    terminal.print(f"written to {target}: summary.csv, requests.csv, trace.jsonl, catalog.json")
    terminal.print("Left out of the model: cache capacity, admission, restore, host prerequisites, GPU performance.")


def _figure(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4g}"
