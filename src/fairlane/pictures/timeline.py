"""Timelines of lanes over time as one inline SVG: one row a request, one block a graph, width and waste visible.

A block's level is the part of its positions that did useful work; the hatched rest is padding, empty rows and
rejected drafts. All panels share one time axis, so that schedules can be compared by eye.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from fairlane.pictures import svg
from fairlane.pictures.svg import number as px
from fairlane.reference.errors import InvalidInstance
from fairlane.reference.exact import Real

ROW_PX = 24
CELL_PX = 18
STRIP_PX = 22
AXIS_PX = 34
GAP_PX = 22
LEGEND_PX = 24
TEXT_PX = 12
SMALL_PX = 11


class LaneKind(StrEnum):
    """What a lane did for its request."""

    PREFILL = "prefill"
    DECODE = "decode"


COLOURS = {LaneKind.PREFILL: svg.SKY, LaneKind.DECODE: svg.ORANGE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One request in a block: prompt tokens consumed (prefill) or output tokens published (decode)."""

    request_id: str
    kind: LaneKind
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One graph launch. Capacities are the graph's own; 0 leaves that kind of waste out of the picture.

    A block with a ``note`` is marked, and the note is written above the panel.
    """

    start_ms: Real
    end_ms: Real
    graph: str
    lanes: tuple[Lane, ...]
    prefill_capacity: int = 0
    decode_capacity: int = 0
    width: int = 1
    note: str = ""

    def __post_init__(self) -> None:
        if not self.end_ms >= self.start_ms:
            raise InvalidInstance(f"block {self.graph!r} ends at {self.end_ms} ms; need >= its start, {self.start_ms}")

    @property
    def offered_tokens(self) -> int:
        """Positions the graph computes, padding included; what its lanes hold where that is more."""
        return max(self.prefill_capacity + self.decode_capacity * self.width, self.useful_tokens)

    @property
    def useful_tokens(self) -> int:
        """Prompt tokens consumed and output tokens published by decode rows."""
        return sum(lane.tokens for lane in self.lanes)

    def offers(self) -> tuple[tuple[Lane, int], ...]:
        """Each lane with the positions it was offered, at least 1.

        A decode row is offered the width. Prompts share the capacity in order, so that only the last of them has
        room left over.
        """
        prompts = [lane for lane in self.lanes if lane.kind is LaneKind.PREFILL]
        left_over = max(0, self.prefill_capacity - sum(lane.tokens for lane in prompts))
        out: list[tuple[Lane, int]] = []
        for lane in self.lanes:
            if lane.kind is LaneKind.DECODE:
                offered = max(self.width, lane.tokens)
            else:
                offered = lane.tokens + left_over if lane is prompts[-1] else lane.tokens
            out.append((lane, max(1, offered)))
        return tuple(out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One request's row: when it arrived, and when it finished if it did (both may be unknown)."""

    request_id: str
    arrival_ms: Real | None = None
    end_ms: Real | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One schedule. Rows left out are added in order of first service."""

    title: str
    blocks: tuple[Block, ...]
    rows: tuple[Row, ...] = ()
    subtitle: str = ""

    def all_rows(self) -> tuple[Row, ...]:
        """The rows given, then one for every other request in a lane."""
        rows = {row.request_id: row for row in self.rows}
        for block in self.blocks:
            for lane in block.lanes:
                rows.setdefault(lane.request_id, Row(request_id=lane.request_id))
        return tuple(rows.values())

    @property
    def note(self) -> str:
        """The notes of marked blocks, in order."""
        return "; ".join(block.note for block in self.blocks if block.note)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Time to pixels."""

    low_ms: float
    high_ms: float
    left_px: float
    width_px: float

    def __call__(self, at_ms: Real) -> float:
        span = self.high_ms - self.low_ms
        share = (float(at_ms) - self.low_ms) / span if span > 0 else 0.0
        return self.left_px + min(1.0, max(0.0, share)) * self.width_px


def draw_timelines(panels: Sequence[Panel], *, columns: int = 1, width_px: int = 1080) -> str:
    """One ``<svg>`` element with a timeline for every panel, on one common time scale.

    Parameters
    ----------
    panels : sequence of Panel
        At least one.
    columns : int
        Panels beside each other, >= 1. One column stacks them over each other, which leaves most room and lines
        equal instants up.
    width_px : int
        Width of the drawing in its own units, >= 320; a page scales it.

    Returns
    -------
    str
        An SVG element without any outside resource, ready for an HTML page or a file of its own.

    Raises
    ------
    InvalidInstance
        No panel, or a column count or width outside its range.

    Examples
    --------
    >>> lane = Lane(request_id="a", kind=LaneKind.PREFILL, tokens=64)
    >>> block = Block(start_ms=0, end_ms=2, graph="p64", lanes=(lane,), prefill_capacity=64)
    >>> draw_timelines([Panel(title="one graph", blocks=(block,))]).startswith("<svg")
    True
    """
    if not panels:
        raise InvalidInstance("panels is empty; need at least one")
    if columns < 1 or width_px < 320:
        raise InvalidInstance(f"columns is {columns} and width_px {width_px}; need at least 1 and 320")
    columns = min(columns, len(panels))
    low, high = _time_range(panels)
    rows = [panel.all_rows() for panel in panels]
    ids = [svg.clean(row.request_id) for group in rows for row in group]
    gutter = min(150.0, 14 + max(svg.text_width_px(text, TEXT_PX) for text in ("graph", *ids)))
    each = (width_px - (columns - 1) * GAP_PX) / columns
    parts: list[str] = []
    top = 4.0
    for first in range(0, len(panels), columns):
        tallest = 0.0
        header = max(_header_px(panel) for panel in panels[first : first + columns])
        for j, panel in enumerate(panels[first : first + columns]):
            left = j * (each + GAP_PX)
            scale = _Scale(low, high, left + gutter, each - gutter - 12)
            tallest = max(tallest, _panel(parts, panel, rows[first + j], scale, left, top, each, header))
        top += tallest + GAP_PX
    _legend(parts, top, panels)
    height = top + LEGEND_PX
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width_px} {px(height)}" role="img" '
        f'width="{width_px}" height="{px(height)}" style="max-width:100%;height:auto" '
        f'font-family="{svg.safe(svg.FONT)}" font-size="{TEXT_PX}" fill="{svg.BLACK}">'
        f"<title>{svg.safe('; '.join(panel.title for panel in panels))}</title>"
        '<defs><pattern id="unused" width="5" height="5" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="5" height="5" fill="#ffffff"/>'
        f'<rect width="1.6" height="5" fill="#a8a8a8"/></pattern></defs>'
        f'<rect width="{width_px}" height="{px(height)}" fill="#ffffff"/>'
    )
    return head + "".join(parts) + "</svg>"


def _time_range(panels: Sequence[Panel]) -> tuple[float, float]:
    starts = [float(b.start_ms) for p in panels for b in p.blocks]
    starts += [float(r.arrival_ms) for p in panels for r in p.rows if r.arrival_ms is not None]
    ends = [float(b.end_ms) for p in panels for b in p.blocks]
    ends += [float(r.end_ms) for p in panels for r in p.rows if r.end_ms is not None]
    low = min(starts, default=0.0)
    high = max([*ends, low])
    return low, high if high > low else low + 1.0


def _header_px(panel: Panel) -> float:
    """Room above the graph strip: the title, the lines below it, and the marker of a note."""
    return 13 + 16 * (bool(panel.subtitle) + bool(panel.note)) + (20 if panel.note else 10)


def _panel(
    parts: list[str],
    panel: Panel,
    rows: tuple[Row, ...],
    scale: _Scale,
    left: float,
    top: float,
    each: float,
    header: float,
) -> float:
    """Draw one panel and give its height."""
    y = top + 13
    title = svg.fit(panel.title, each, 14)
    parts.append(f'<text x="{px(left)}" y="{px(y)}" font-size="14" font-weight="600">{svg.safe(title)}</text>')
    for line, colour in ((panel.subtitle, svg.GREY), (f"▼ {panel.note}" if panel.note else "", svg.VERMILLION)):
        if line:
            y += 16
            shown = svg.fit(line, each, TEXT_PX)
            parts.append(f'<text x="{px(left)}" y="{px(y)}" fill="{colour}">{svg.safe(shown)}</text>')
    strip = top + header
    first_row = strip + STRIP_PX + 6
    bottom = first_row + len(rows) * ROW_PX
    _axis(parts, scale, first_row, bottom)
    places = {row.request_id: first_row + i * ROW_PX for i, row in enumerate(rows)}
    for row in rows:
        _row_label(parts, row, places[row.request_id], scale, left)
    parts.append(
        f'<text x="{px(scale.left_px - 8)}" y="{px(strip + 15)}" text-anchor="end" fill="{svg.GREY}">graph</text>'
    )
    if not panel.blocks:
        parts.append(f'<text x="{px(scale.left_px)}" y="{px(strip + 15)}" fill="{svg.GREY}">no graph ran</text>')
    for block in panel.blocks:
        _block(parts, block, scale, strip, places)
    for block in panel.blocks:
        if block.note:
            x, right = scale(block.start_ms), scale(block.end_ms)
            parts.append(
                f'<rect x="{px(x)}" y="{px(strip - 2)}" width="{px(max(2.0, right - x))}" '
                f'height="{px(bottom - strip + 2)}" fill="none" stroke="{svg.VERMILLION}" stroke-width="2"/>'
                f'<text x="{px((x + right) / 2)}" y="{px(strip - 4)}" text-anchor="middle" '
                f'fill="{svg.VERMILLION}">▼</text>'
            )
    for row in rows:
        # after the blocks, which would cover half of it
        if row.end_ms is not None:
            x, y = scale(row.end_ms), places[row.request_id] + CELL_PX / 2
            parts.append(
                f'<circle cx="{px(x)}" cy="{px(y)}" r="4" fill="{svg.BLACK}" stroke="#ffffff" stroke-width="1"/>'
            )
    return bottom + AXIS_PX - top


def _axis(parts: list[str], scale: _Scale, top: float, bottom: float) -> None:
    room = max(2, int(scale.width_px // 90))
    for at in svg.ticks(scale.low_ms, scale.high_ms, room):
        x = px(scale(at))
        parts.append(
            f'<line x1="{x}" y1="{px(top - 4)}" x2="{x}" y2="{px(bottom + 4)}" stroke="#ececec"/>'
            f'<text x="{x}" y="{px(bottom + 17)}" text-anchor="middle" font-size="{SMALL_PX}" '
            f'fill="{svg.GREY}">{svg.label(at)}</text>'
        )
    parts.append(
        f'<line x1="{px(scale.left_px)}" y1="{px(bottom + 3)}" x2="{px(scale.left_px + scale.width_px)}" '
        f'y2="{px(bottom + 3)}" stroke="{svg.GREY}"/>'
        f'<text x="{px(scale.left_px + scale.width_px)}" y="{px(bottom + 31)}" text-anchor="end" '
        f'font-size="{SMALL_PX}" fill="{svg.GREY}">ms</text>'
    )


def _row_label(parts: list[str], row: Row, y: float, scale: _Scale, left: float) -> None:
    name = svg.fit(row.request_id, scale.left_px - left - 12, TEXT_PX)
    middle = y + CELL_PX / 2
    parts.append(
        f'<text x="{px(scale.left_px - 8)}" y="{px(middle + 4)}" text-anchor="end">{svg.safe(name)}'
        f"<title>{svg.safe(row.request_id)}</title></text>"
    )
    if row.arrival_ms is None:
        return
    begin = scale(row.arrival_ms)
    end = scale(row.end_ms) if row.end_ms is not None else scale.left_px + scale.width_px
    dash = "" if row.end_ms is not None else ' stroke-dasharray="2 4"'
    parts.append(
        f'<line x1="{px(begin)}" y1="{px(middle)}" x2="{px(end)}" y2="{px(middle)}" '
        f'stroke="#8a8a8a" stroke-width="1.5"{dash}/>'
        f'<line x1="{px(begin)}" y1="{px(y + 2)}" x2="{px(begin)}" y2="{px(y + CELL_PX - 2)}" '
        f'stroke="{svg.BLACK}" stroke-width="2"/>'
    )


def _level(parts: list[str], x: float, y: float, width: float, height: float, share: float, colour: str) -> None:
    """A box hatched above and filled below, the fill being the useful share."""
    filled = height * min(1.0, max(0.0, share))
    if share < 1:
        parts.append(
            f'<rect x="{px(x)}" y="{px(y)}" width="{px(width)}" height="{px(height - filled)}" fill="url(#unused)"/>'
        )
    if filled > 0:
        parts.append(
            f'<rect x="{px(x)}" y="{px(y + height - filled)}" width="{px(width)}" height="{px(filled)}" '
            f'fill="{colour}"/>'
        )
    parts.append(
        f'<rect x="{px(x)}" y="{px(y)}" width="{px(width)}" height="{px(height)}" fill="none" stroke="#ffffff" '
        'stroke-width="2"/>'
        f'<rect x="{px(x + 0.5)}" y="{px(y)}" width="{px(max(0.3, width - 1))}" height="{px(height)}" fill="none" '
        'stroke="#5a5a5a" stroke-width="0.8"/>'
    )


def _inside(parts: list[str], texts: Sequence[str], x: float, y: float, width: float) -> None:
    """The first of the texts that fits whole; a number cut short would be another number."""
    shown = next((text for text in texts if svg.text_width_px(text, SMALL_PX) <= width - 4), "")
    if shown:
        parts.append(
            f'<text x="{px(x + width / 2)}" y="{px(y)}" text-anchor="middle" font-size="{SMALL_PX}" stroke="#ffffff" '
            f'stroke-width="3" stroke-linejoin="round" paint-order="stroke">{svg.safe(shown)}</text>'
        )


def _block(parts: list[str], block: Block, scale: _Scale, strip: float, places: dict[str, float]) -> None:
    x = scale(block.start_ms)
    width = max(0.8, scale(block.end_ms) - x)
    rows = sum(lane.kind is LaneKind.DECODE for lane in block.lanes)
    parts.append(f"<g><title>{svg.safe(describe(block))}</title>")
    share = block.useful_tokens / block.offered_tokens if block.offered_tokens else 1.0
    _level(parts, x, strip, width, STRIP_PX - 2, share, svg.LIGHT)
    used = f" {rows}/{block.decode_capacity}" if block.decode_capacity > 1 else ""
    cut = svg.fit(block.graph, width - 4, SMALL_PX)
    # two letters of a name say nothing
    _inside(parts, (block.graph + used, block.graph, cut if len(cut) >= 5 else ""), x, strip + 14, width)
    for lane, offered in block.offers():
        y = places[lane.request_id]
        text = f"{lane.tokens:,}/{offered:,}" if offered > 1 and offered != lane.tokens else f"{lane.tokens:,}"
        _level(parts, x, y, width, CELL_PX, lane.tokens / offered, COLOURS[lane.kind])
        _inside(parts, (text, f"{lane.tokens:,}"), x, y + 13, width)
    parts.append("</g>")


def describe(block: Block) -> str:
    """A block in words: its interval, what was used of it, and who was in it."""
    lanes = ", ".join(
        f"{lane.request_id} {'+' if lane.kind is LaneKind.DECODE else 'prompt '}{lane.tokens}" for lane in block.lanes
    )
    rows = sum(lane.kind is LaneKind.DECODE for lane in block.lanes)
    parts = [f"{block.graph}: {svg.label(float(block.start_ms))} to {svg.label(float(block.end_ms))} ms"]
    if block.decode_capacity:
        parts.append(f"{rows} of {block.decode_capacity} rows, width {block.width}")
    if block.offered_tokens:
        parts.append(f"{block.useful_tokens} of {block.offered_tokens} positions useful")
    return "; ".join([*parts, lanes])


def _legend(parts: list[str], y: float, panels: Sequence[Panel]) -> None:
    kinds = {lane.kind for panel in panels for block in panel.blocks for lane in block.lanes}
    x = 2.0
    entries = [(COLOURS[kind], f"{word} tokens") for kind, word in _WORDS.items() if kind in kinds]
    for fill, text in (*entries, ("url(#unused)", "unused: padding, empty rows, rejected drafts")):
        parts.append(
            f'<rect x="{px(x)}" y="{px(y)}" width="16" height="14" fill="{fill}" stroke="#5a5a5a" stroke-width="0.8"/>'
            f'<text x="{px(x + 22)}" y="{px(y + 11)}">{text}</text>'
        )
        x += 22 + svg.text_width_px(text, TEXT_PX) + 22
    if any(row.arrival_ms is not None for panel in panels for row in panel.rows):
        parts.append(
            f'<line x1="{px(x)}" y1="{px(y + 7)}" x2="{px(x + 34)}" y2="{px(y + 7)}" stroke="#8a8a8a" '
            'stroke-width="1.5"/>'
            f'<line x1="{px(x)}" y1="{px(y)}" x2="{px(x)}" y2="{px(y + 14)}" stroke="{svg.BLACK}" stroke-width="2"/>'
            f'<circle cx="{px(x + 34)}" cy="{px(y + 7)}" r="3.5" fill="{svg.BLACK}"/>'
            f'<text x="{px(x + 44)}" y="{px(y + 11)}">arrival, waiting, finished</text>'
        )


_WORDS = {LaneKind.PREFILL: "prompt", LaneKind.DECODE: "output"}
