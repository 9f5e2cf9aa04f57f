"""The claim graph as one self-contained SVG: a box a claim, coloured by status, a link to where it stands.

Claims that rest on each other are drawn in layers, what they rest on above; the rest stand in a grid below.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence

import networkx as nx

from fairlane.proofs.claims.checking import Entry
from fairlane.proofs.claims.dependency import Uses
from fairlane.proofs.claims.status import Colour

ROW_PX, GAP_PX, BOX_PX, LETTER_PX = 74.0, 14.0, 30.0, 7.3
MAX_WIDTH_PX = 860.0

# Fill and edge; every pair keeps black text readable, and the words say the same as the colours.
PAINT = {
    Colour.GREEN: ("#c9ecd0", "#1d7a37"),
    Colour.GREY: ("#e3e5e8", "#5c6670"),
    Colour.AMBER: ("#ffe2a8", "#9a6200"),
    Colour.RED: ("#ffc9c4", "#b3261e"),
}

Place = tuple[float, float]
Link = Callable[[Entry], str]


def claim_graph_svg(uses: Uses, entries: Mapping[str, Entry], *, link: Link) -> str:
    """The graph as SVG text.

    Parameters
    ----------
    uses : mapping
        The claims that each claim uses.
    entries : mapping
        Entries by id; claims without one are left out.
    link : callable
        The address of a claim.

    Returns
    -------
    str
        One ``<svg>`` element, the same bytes for the same claims.
    """
    shown = nx.DiGraph()
    shown.add_nodes_from(entries)
    shown.add_edges_from((child, parent) for child in entries for parent in uses[child] if parent in entries)
    places, width, height = layout(shown, list(entries))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="claim-graph" role="img" aria-label="Claim graph" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        'font-family="system-ui, sans-serif" font-size="12.5">',
        '<defs><marker id="claim-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L8 4L0 8z" fill="#7a828c"/></marker></defs>',
    ]
    for child in entries:
        for parent in sorted(shown.successors(child)):
            parts.append(_arrow(places[parent], places[child]))
    for name, entry in entries.items():
        parts.append(_box(name, entry, places[name], link(entry)))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def layout(graph: nx.DiGraph, order: Sequence[str]) -> tuple[dict[str, Place], float, float]:
    """Centres of the boxes, and the size of the drawing.

    Components stand side by side as far as there is room; inside one, a claim's layer is the length of its longest way
    down, and each layer is put in the order of its parents' mean places, which keeps most arrows from crossing.
    """
    rank = {name: i for i, name in enumerate(order)}
    components = sorted(nx.weakly_connected_components(graph), key=lambda c: min(rank[n] for n in c))
    places: dict[str, Place] = {}
    left, top, bottom, width = 0.0, 0.0, 0.0, 200.0
    for component in (c for c in components if len(c) > 1):
        inside, wide, high = _component(graph.subgraph(component), rank)
        if left and left + wide > MAX_WIDTH_PX:
            left, top = 0.0, bottom
        places.update({name: (x + left, y + top) for name, (x, y) in inside.items()})
        left += wide + GAP_PX
        bottom, width = max(bottom, top + high), max(width, left)
    top = bottom + GAP_PX + BOX_PX / 2
    alone = sorted((next(iter(c)) for c in components if len(c) == 1), key=rank.__getitem__)
    for row in _rows(alone):
        x = GAP_PX
        for name in row:
            places[name] = (x + box_width(name) / 2, top)
            x += box_width(name) + GAP_PX
        width = max(width, x)
        top += BOX_PX + GAP_PX
    return places, width, top


def _component(graph: nx.DiGraph, rank: Mapping[str, int]) -> tuple[dict[str, Place], float, float]:
    """Centres of one component's boxes with its corner at the origin, its width and its height."""
    acyclic = nx.condensation(graph)
    places: dict[str, Place] = {}
    top, width = GAP_PX + BOX_PX / 2, 0.0
    for layer in nx.topological_generations(acyclic.reverse()):
        names = sorted((n for c in layer for n in acyclic.nodes[c]["members"]), key=rank.__getitem__)
        names.sort(key=lambda n: _mean([places[p][0] for p in graph.successors(n) if p in places]))
        rows = _rows(names)
        for row in rows:
            left = GAP_PX
            for name in row:
                places[name] = (left + box_width(name) / 2, top)
                left += box_width(name) + GAP_PX
            width = max(width, left)
            top += BOX_PX + GAP_PX
        top += ROW_PX - BOX_PX - GAP_PX
    return places, width, top - BOX_PX / 2


def box_width(name: str) -> float:
    """Pixels a claim's box takes."""
    return len(name) * LETTER_PX + 18


def _rows(names: Sequence[str]) -> list[list[str]]:
    rows: list[list[str]] = []
    used = MAX_WIDTH_PX
    for name in names:
        if used + box_width(name) > MAX_WIDTH_PX:
            rows.append([])
            used = GAP_PX
        rows[-1].append(name)
        used += box_width(name) + GAP_PX
    return rows


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _arrow(start: Place, end: Place) -> str:
    (x1, y1), (x2, y2) = start, end
    y1, y2 = y1 + BOX_PX / 2, y2 - BOX_PX / 2
    middle = (y1 + y2) / 2
    return (
        f'<path d="M{x1:.1f} {y1:.1f}C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.1f}" '
        'fill="none" stroke="#7a828c" stroke-opacity="0.55" stroke-width="1.2" marker-end="url(#claim-arrow)"/>'
    )


def _box(name: str, entry: Entry, place: Place, address: str) -> str:
    fill, edge = PAINT[entry.colour]
    x, y = place
    wide = box_width(name)
    tip = f"{name}: {entry.colour}, {'doubtful' if entry.doubtful else entry.status}, {entry.strength or 'no evidence'}"
    return (
        f'<a href="{html.escape(address)}"><title>{html.escape(tip)}. {html.escape(entry.summary)}</title>'
        f'<rect x="{x - wide / 2:.1f}" y="{y - BOX_PX / 2:.1f}" width="{wide:.1f}" height="{BOX_PX:.0f}" rx="6" '
        f'fill="{fill}" stroke="{edge}" stroke-width="1.4"/>'
        f'<text x="{x:.1f}" y="{y + 4.3:.1f}" text-anchor="middle" fill="#111">{html.escape(name)}</text></a>'
    )


def box_styles() -> str:
    """CSS for claims' boxes: an edge and a title in the colour of the status."""
    rules = []
    for colour, (fill, edge) in PAINT.items():
        rules.append(f".admonition.claim-{colour} {{ border-left: .35em solid {edge}; }}")
        title = f".admonition.claim-{colour} > p.admonition-title"
        rules.append(f"{title} {{ background: {fill}; color: #111; }}")
        rules.append(f"{title}::before {{ background-color: {edge}; }}")
    return "\n".join(rules)


def legend_html() -> str:
    """The colours in words."""
    words = {
        Colour.GREEN: "holds, and so does all it rests on",
        Colour.GREY: "cited, assumed or a definition",
        Colour.AMBER: "unknown, stale, or resting on something that is not sound",
        Colour.RED: "failed",
    }
    items = "".join(
        f'<li><span class="claim-swatch" style="background:{PAINT[colour][0]};border-color:{PAINT[colour][1]}"></span>'
        f"{colour}: {text}</li>"
        for colour, text in words.items()
    )
    return f'<ul class="claim-legend">{items}</ul>\n'
