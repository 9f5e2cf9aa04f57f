"""Pages escape every text, take markup as it is, and refuse a template's name that nobody gave a value."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from fairlane.cli.verify_html import write_report
from fairlane.oracle import verify_many
from fairlane.pictures.page import Markup, render_page
from fairlane.policies import load_policy
from fairlane.reference.model.graph import Graph
from fairlane.reference.model.instance import Instance
from fairlane.reference.model.objective import Objective
from fairlane.reference.model.request import Request

NASTY = "<script>alert('x')</script> & \"q\""


class _Tags(HTMLParser):
    """Elements that were opened, and those that were left open."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)


def test_text_is_escaped_and_markup_stands() -> None:
    page = render_page("note.html", title=NASTY, up="", box_styles="", text=Markup("<p>a</p>"))
    assert "<script>" not in page
    assert "<title>&lt;script&gt;" in page
    assert "<p>a</p>" in page


def test_a_value_that_is_missing_is_refused() -> None:
    with pytest.raises(UndefinedError, match="'up' is undefined"):
        render_page("note.html", title="", box_styles="", text="")


def test_the_report_of_verify_escapes_names_and_loads_nothing(tmp_path: Path) -> None:
    instance = Instance(
        name=NASTY,
        graphs=[
            Graph(name="<b>", duration_ms=1, decode_capacity=1),
            Graph(name="slow", duration_ms=5, decode_capacity=1),
        ],
        requests=[Request(id="<i>", prompt=0, limit=2), Request(id="b", prompt=0, limit=1, weight=3)],
        objective=Objective(decode_value=4, completion_price=1),
    )
    names = ["fixed-value", "least-served"]
    rows = [row for verdict in verify_many([instance], names, load=load_policy) for row in verdict.rows]
    write_report(rows, {name: load_policy(name) for name in names}, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    tags = _Tags()
    tags.feed(page)
    assert not {"script", "b", "i", "img", "link", "iframe"} & set(tags.seen)
    assert page.count("&lt;script&gt;") >= 1
    assert not re.search(r'(?:src|href)="http', page)
    # a row a policy, under a row of headings
    assert tags.seen.count("tr") == 1 + len(names)
