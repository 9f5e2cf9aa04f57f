"""What a catalog holds, and which of its graphs another one makes pointless."""

from __future__ import annotations

from fairlane.reference.exact import decimal_of
from fairlane.reference.model.codec import graph_to_json
from fairlane.reference.model.graph import Catalog, Graph


def covers(better: Graph, worse: Graph) -> bool:
    """Whether ``better`` can do all that ``worse`` does, in no more time and with no more energy."""
    return (
        better.duration_ms <= worse.duration_ms
        and better.energy_j <= worse.energy_j
        and better.prefill_capacity >= worse.prefill_capacity
        and (worse.prefill_capacity == 0 or better.prefill_lanes >= worse.prefill_lanes)
        and better.decode_capacity >= worse.decode_capacity
        and (worse.decode_capacity == 0 or better.width >= worse.width)
    )


def dominated(catalog: Catalog) -> tuple[tuple[str, str], ...]:
    """Pairs of names, worse and better: the better graph can all that the worse can in no more time and energy.

    Of graphs that cover each other the first in the catalog stays. Such rows are legal, real tables have them
    (padding can be faster), and leaving them out changes no optimum without a price on age.
    """
    out: list[tuple[str, str]] = []
    for i, worse in enumerate(catalog):
        for j, better in enumerate(catalog):
            if i != j and covers(better, worse) and (not covers(worse, better) or j < i):
                out.append((worse.name, better.name))
                break
    return tuple(out)


def graph_rows(catalog: Catalog) -> list[dict[str, object]]:
    """Rows as JSON, a decimal beside each exact duration and energy."""
    rows: list[dict[str, object]] = []
    for graph in catalog:
        decimal = {"duration_ms": decimal_of(graph.duration_ms)}
        if graph.energy_j:
            decimal["energy_j"] = decimal_of(graph.energy_j)
        rows.append({**graph_to_json(graph), "decimal": decimal})
    return rows
