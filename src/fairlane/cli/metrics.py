"""``fairlane metrics FILE``: publications of any system, measured by one set of definitions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlane.cli import choices, output

if TYPE_CHECKING:
    from fairlane.simulator.metrics import Metrics


def command(
    file: Annotated[Path, typer.Argument(help="Publications as JSON, JSON lines or CSV, or another system's log.")],
    layout: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="json, jsonl, csv, vllm, vtc, summary or benchmark (of vLLM or SGLang); by the file without it.",
        ),
    ] = None,
    time_unit: Annotated[
        str | None, typer.Option("--time-unit", help="s or ms; needed where the format does not fix it.")
    ] = None,
    ttft_ms: Annotated[str | None, typer.Option("--ttft-ms", help="Target: time to first token.")] = None,
    tpot_ms: Annotated[str | None, typer.Option("--tpot-ms", help="Target: time per output token.")] = None,
    e2e_ms: Annotated[str | None, typer.Option("--e2e-ms", help="Target: arrival to last output.")] = None,
    gap_ms: Annotated[str | None, typer.Option("--gap-ms", help="Target: longest gap between outputs.")] = None,
    missing: Annotated[
        str, typer.Option("--missing-target", help="not-met or met: a request without a target or its figure.")
    ] = "not-met",
    percentiles: Annotated[
        str, typer.Option("--percentiles", help="linear (numpy's default) or nearest-rank.")
    ] = "linear",
    requests: Annotated[bool, typer.Option("--requests", help="List every request as well (with --json).")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Measure a list of publications: TTFT, end to end, TPOT, gaps, output age, fairness and goodput.

    Each request has an id, an arrival and its publications, [ms, tokens] each:
    {"requests": [{"id": "a", "arrival_ms": 0, "publications": [[50, 1], [400, 3]]}]}.
    """
    from fairlane.reference.model.codec import read_text
    from fairlane.simulator.goodput import MissingTarget
    from fairlane.simulator.metrics import measure
    from fairlane.simulator.metrics_json import metrics_to_json, requests_to_json
    from fairlane.simulator.percentiles import PercentileMethod
    from fairlane.simulator.publication_rows import PublicationFormat
    from fairlane.simulator.publication_table import TargetKind
    from fairlane.simulator.publications import format_of, read_publications

    text = read_text(file)
    chosen = format_of(str(file), text) if layout is None else choices.choice(layout, PublicationFormat, "--format")
    unit = choices.time_unit(time_unit)
    how = choices.choice(missing, MissingTarget, "--missing-target")
    method = choices.choice(percentiles, PercentileMethod, "--percentiles")
    asked = {
        kind.value: choices.positive_ms(text, "--" + kind.value.replace("_", "-"))
        for kind, text in zip(TargetKind, (ttft_ms, tpot_ms, e2e_ms, gap_ms), strict=True)
    }
    read = read_publications(text, str(file), layout=chosen, ms_per_unit=unit)
    targets = replace(read.targets, **{name: bound for name, bound in asked.items() if bound is not None})
    metrics = measure(read.table, targets=targets, missing=how, method=method)
    if json:
        document = metrics_to_json(metrics)
        if requests:
            document["requests"] = requests_to_json(read.table, metrics)
        output.print_json(document)
        return
    _print(str(file), metrics)


def _print(title: str, metrics: Metrics) -> None:
    from rich.table import Table

    from fairlane.simulator.percentiles import LEVELS

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("ms")
    for heading in ("samples", "mean", "median", *(f"p{level}" for level in LEVELS[1:]), "max"):
        table.add_column(heading, justify="right")
    for name, sample in (
        ("TTFT", metrics.ttft),
        ("end to end", metrics.e2e),
        ("TPOT", metrics.tpot),
        ("TPOT after first delivery", metrics.tpot_after_first),
        ("gap", metrics.gap),
        ("gap by tokens", metrics.token_weighted_gap),
        ("gap per token", metrics.gap_per_token),
    ):
        values = (sample.mean, *(value for _, value in sample.percentiles), sample.largest)
        table.add_row(name, f"{sample.samples:,}", *(_ms(value) for value in values))
    terminal = output.console()
    # as a title of the table it would be wrapped to the table's width
    terminal.print(title, style="bold", markup=False)
    terminal.print(table)
    terminal.print()
    undefined = f", {metrics.n_tpot_undefined:,} of one delivery without TPOT" if metrics.n_tpot_undefined else ""
    met = metrics.goodput
    lines = {
        "requests": f"{metrics.n_requests:,}: {metrics.n_finished:,} finished{undefined}, "
        f"{metrics.n_unfinished:,} unfinished, {metrics.n_rejected:,} rejected, {metrics.n_failed:,} failed",
        "output": f"{metrics.output_tokens:,} tokens in {_ms(metrics.elapsed_ms)} ms, "
        f"{_plain(metrics.output_tokens_per_ms)} a ms",
        "decode age": f"{_plain(metrics.age_area_ms2)} request·ms²"
        + (f", {metrics.n_open_stalls:,} streams open at the end" if metrics.n_open_stalls else ""),
        "acceptance": _share(metrics.acceptance),
        **_positions(metrics),
        "Jain's index": _plain(metrics.jain),
        "within targets": f"{_share(met.attainment)} ({met.met:,} of {met.requests:,}), "
        f"{_plain(metrics.goodput_per_s)} a second"
        if met.in_force
        else "n/a (no target given)",
        "percentiles": metrics.ttft.method.value,
    }
    for name, text in lines.items():
        terminal.print(f"{name:<15} {text}")


def _positions(metrics: Metrics) -> dict[str, str]:
    """Acceptance by draft position: given that those before were accepted, and of all proposed."""
    found = metrics.acceptance_by_position
    if not found:
        return {}
    given = ", ".join(_share(position.conditional) for position in found)
    whole = ", ".join(_share(position.marginal) for position in found)
    return {"by position": f"{given} given those before; {whole} of all proposed"}


def _ms(value: float | None) -> str:
    return "n/a" if value is None else f"{value:,.1f}" if abs(value) >= 100 else f"{value:,.2f}"


def _plain(value: float | None) -> str:
    return "n/a" if value is None else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _share(value: object) -> str:
    return f"{100 * float(value):.1f} %" if isinstance(value, Fraction) else "n/a"
