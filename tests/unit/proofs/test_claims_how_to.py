"""The how-to page is a note of its own: every claim it shows is green or grey, and it shows every kind."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from fairlane.proofs.claims.claim import Kind
from fairlane.proofs.claims.domain import Domain
from fairlane.proofs.claims.kinds import KINDS
from fairlane.proofs.claims.status import STRENGTHS, Colour
from tests.claim_texts import checked

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "write-a-note.md"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    notes: list[str] = []
    for token in MarkdownIt("commonmark").parse(PAGE.read_text(encoding="utf-8")):
        if token.type != "fence":
            continue
        first, _, rest = token.content.partition("\n")
        if token.info == "markdown":
            notes.append(token.content)
        elif first.startswith("# ") and first.endswith((".py", ".csv")):
            (tmp_path / first[2:]).write_text(rest, encoding="utf-8")
    (tmp_path / "page.md").write_text("\n".join(notes), encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    yield tmp_path
    sys.path.remove(str(tmp_path))
    sys.modules.pop("experiments", None)


def test_every_claim_on_the_page_stands(folder: Path) -> None:
    report = checked(folder)
    assert report.problems == ()
    wrong = [found.summary for found in report.entries if found.colour not in (Colour.GREEN, Colour.GREY)]
    assert wrong == []
    assert {found.claim.kind for found in report.entries} == set(Kind)


def test_the_page_names_every_kind_option_domain_and_strength() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for spec in KINDS:
        for option in (*spec.required, *spec.optional):
            assert f":{option}:" in text, (spec.kind, option)
    for domain in Domain:
        assert f"`{domain}`" in text
    assert ", ".join(STRENGTHS).replace(", ", " ") in " ".join(text.split()).replace(", ", " ")
