"""``fairlane catalog check FILE``: whether a file is a catalog, and what is odd about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fairlane.cli import output


def check(
    file: Annotated[Path, typer.Argument(help="A JSON array of graphs.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check a graph catalog and list graphs that another one makes pointless."""
    from fairlane.reference.model.catalog_report import dominated, graph_rows
    from fairlane.reference.model.codec import load_catalog

    catalog = load_catalog(file)
    pairs = dominated(catalog)
    if json:
        output.print_json(
            {
                "graphs": graph_rows(catalog),
                "dominated": [{"graph": worse, "by": better} for worse, better in pairs],
            }
        )
        return
    from rich.table import Table

    table = Table(title=f"{file}: {len(catalog)} graphs", title_justify="left")
    energies = any(graph.energy_j for graph in catalog)
    for heading in ("graph", "ms", "prefill", "lanes", "rows", "width", *(("J",) if energies else ())):
        table.add_column(heading, justify="left" if heading == "graph" else "right")
    for graph in catalog:
        table.add_row(
            graph.name,
            output.brief(graph.duration_ms),
            *(str(n) if n else "-" for n in (graph.prefill_capacity,)),
            str(graph.prefill_lanes) if graph.prefill_capacity else "-",
            str(graph.decode_capacity) if graph.decode_capacity else "-",
            str(graph.width) if graph.decode_capacity else "-",
            *((output.brief(graph.energy_j),) if energies else ()),
        )
    terminal = output.console()
    terminal.print(table)
    energy = " and with no more energy" if energies else ""
    for worse, better in pairs:
        terminal.print(f"{worse} is never needed: {better} does at least as much in no more time{energy}")
