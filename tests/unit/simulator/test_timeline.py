"""The hand-made SVG of timelines: well formed, to scale, with waste and notes visible."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlane.pictures import svg
from fairlane.pictures.timeline import COLOURS, Block, Lane, LaneKind, Panel, Row, describe, draw_timelines
from fairlane.reference.errors import InvalidInstance

NS = "{http://www.w3.org/2000/svg}"


def block(**fields: object) -> Block:
    whole = {"start_ms": 0, "end_ms": 10, "graph": "d2w4", "decode_capacity": 2, "width": 4}
    lanes = (Lane(request_id="a", kind=LaneKind.DECODE, tokens=1),)
    return Block(**{**whole, "lanes": lanes, **fields})  # type: ignore[arg-type]  # fields of a block


def boxes(text: str, colour: str) -> list[tuple[float, float]]:
    """Width and height of each box of a colour that is part of a block."""
    root = ET.fromstring(text)
    return [
        (float(r.attrib["width"]), float(r.attrib["height"]))
        for group in root.iter(f"{NS}g")
        for r in group.iter(f"{NS}rect")
        if r.attrib["fill"] == colour
    ]


def test_the_filled_level_is_the_useful_share_of_a_lane() -> None:
    text = draw_timelines([Panel(title="x", blocks=(block(),))])
    ((_, filled),) = boxes(text, COLOURS[LaneKind.DECODE])
    unused = [height for _, height in boxes(text, "url(#unused)")]
    # 1 of 4 positions of the row; 1 of 8 of the graph
    assert filled / (filled + unused[1]) == pytest.approx(1 / 4, abs=0.01)
    assert unused[0] == pytest.approx((22 - 2) * 7 / 8, abs=0.01)


def test_all_panels_share_one_time_scale() -> None:
    short, long = Panel(title="s", blocks=(block(),)), Panel(title="l", blocks=(block(end_ms=40),))
    for columns in (1, 2):
        one, four = (width for width, _ in boxes(draw_timelines([short, long], columns=columns), svg.LIGHT))
        assert four == pytest.approx(4 * one, rel=1e-3)


def test_a_note_marks_its_block_and_is_written() -> None:
    text = draw_timelines([Panel(title="x", blocks=(block(note="first wrong decision"),))])
    assert "▼ first wrong decision" in text
    assert text.count(f'stroke="{svg.VERMILLION}"') == 1
    assert "▼" not in draw_timelines([Panel(title="x", blocks=(block(),))])


def test_prompts_share_a_capacity_and_only_the_last_has_room_left() -> None:
    lanes = tuple(Lane(request_id=i, kind=LaneKind.PREFILL, tokens=n) for i, n in (("a", 40), ("b", 20)))
    shared = block(lanes=lanes, prefill_capacity=64, decode_capacity=0, width=1)
    assert [offered for _, offered in shared.offers()] == [40, 24]
    assert (shared.useful_tokens, shared.offered_tokens) == (60, 64)
    assert "60 of 64 positions useful" in describe(shared)


def test_rows_not_given_are_added_in_order_of_service() -> None:
    panel = Panel(title="x", blocks=(block(),), rows=(Row(request_id="waits", arrival_ms=0),))
    assert [row.request_id for row in panel.all_rows()] == ["waits", "a"]


@pytest.mark.parametrize(("columns", "width"), [(0, 900), (1, 10)])
def test_impossible_layouts_are_refused(columns: int, width: int) -> None:
    with pytest.raises(InvalidInstance):
        draw_timelines([Panel(title="x", blocks=())], columns=columns, width_px=width)
    with pytest.raises(InvalidInstance, match="panels is empty"):
        draw_timelines([])


def test_a_block_ends_after_it_starts() -> None:
    with pytest.raises(InvalidInstance, match="ends at -1"):
        block(end_ms=-1)


labels = st.text(max_size=12) | st.sampled_from(["<b>&\"'", "\0\x1b", "\ud800", "長い名前" * 9, " "])


@given(
    st.lists(
        st.tuples(
            labels, labels, st.sampled_from(list(LaneKind)), st.integers(0, 9), st.integers(0, 50), st.integers(0, 9)
        ),
        max_size=6,
    ),
    labels,
    st.integers(1, 3),
)
def test_any_labels_and_numbers_give_well_formed_svg(
    lanes: list[tuple[str, str, LaneKind, int, int, int]], title: str, columns: int
) -> None:
    blocks = tuple(
        block(
            start_ms=start,
            end_ms=start + length,
            graph=graph,
            note=title if length == 3 else "",
            lanes=(Lane(request_id=request, kind=kind, tokens=tokens),),
        )
        for request, graph, kind, tokens, start, length in lanes
    )
    panel = Panel(title=title, blocks=blocks, subtitle=title, rows=(Row(request_id=title, arrival_ms=3),))
    text = draw_timelines([panel] * 2, columns=columns)
    text.encode("utf-8")
    ET.fromstring(text)


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.integers(1, 20))
def test_ticks_lie_inside_and_are_not_too_many(low: float, span: float, most: int) -> None:
    places = svg.ticks(low, low + span, most)
    slack = 1e-6 * span + 1e-6 * abs(low)
    assert len(places) <= most + 1
    assert all(low - slack <= at <= low + span + slack for at in places)


def test_text_is_cut_with_an_ellipsis_only_where_it_must_be() -> None:
    assert svg.fit("short", 100, 12) == "short"
    cut = svg.fit("a much longer label than fits", 60, 12)
    assert cut.endswith("…")
    assert svg.text_width_px(cut, 12) <= 60
    assert svg.fit("abc", 1, 12) == ""
