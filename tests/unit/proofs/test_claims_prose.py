"""The numbers a reader sees: in words as in digits, in every place that shows text, and nowhere else.

Each case is a sentence with a number that no claim backs; what is expected was read off the text by eye.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlane.proofs.claims.note import parse_note
from fairlane.proofs.claims.prose import bare_numbers


def found(text: str) -> list[str]:
    """Line and number of every problem."""
    note = parse_note(text, file=Path("note.md"), shown="note.md")
    return [f"{p.line}: {p.message.partition(' in prose')[0].removeprefix('bare number ')}" for p in note.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Two of them lose", ("Two",)),
        ("nine of the eleven policies", ("nine", "eleven")),
        ("twenty-one rows, a hundred and five", ("twenty-one", "hundred", "five")),
        ("two thousand steps", ("two thousand",)),
        ("more than half, twice as many, doubled", ("half", "twice", "doubled")),
        (
            "a third of it, one tenth, two thirds, three quarters",
            ("a third", "one tenth", "two thirds", "three quarters"),
        ),
        ("the net optimum is zero", ("zero",)),
        ("tenfold, dozens, millions", ("tenfold", "dozens", "millions")),
        ("the third one comes once, both at once; anyone often weighs height", ()),
        ("one stream, the first of all", ()),
    ],
)
def test_number_words_are_found_and_other_words_are_not(text: str, expected: tuple[str, ...]) -> None:
    assert bare_numbers(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Seven laws\n", ["1: Seven"]),
        ("Title\n=====\n\nSeven laws\n----------\n", ["4: Seven"]),
        ("![loss of 7 %](a.png)\n", ["1: 7"]),
        ('![a](a.png "loss of seven")\n', ["1: seven"]),
        ('see [there](http://example.org/1 "7 of them")\n', ["1: 7"]),
        ("see [there][x]\n\n[x]: http://example.org 'seven of them'\n", ["1: seven"]),
        (":::{note} The 7 laws\nText.\n:::\n", ["1: 7"]),
        (":::{admonition} Seven laws\n:class: x7\n\nText.\n:::\n", ["1: Seven"]),
        ("```{figure} picture-7.png\n:width: 70%\n:alt: loss of 8\n\nA loss of 9\n```\n", ["3: 8", "5: 9"]),
        ("```{image} picture-7.png\n:alt: loss of 8\n```\n", ["2: 8"]),
        ("```{figure} a.png\n---\nwidth: 70%\nalt: loss of 8\n---\nA loss of 9\n```\n", ["4: 8", "6: 9"]),
        ("```{table} The 7 laws\n:widths: 1 2\n\n| a |\n|---|\n| 8 |\n```\n", ["1: 7", "6: 8"]),
        ("```{list-table} Seven\n:header-rows: 1\n\n* - a\n  - 8\n```\n", ["1: Seven", "5: 8"]),
        ("```{csv-table} Seven\n:header: a, 8\n\nx, 9\n```\n", ["1: Seven", "2: 8", "4: 9"]),
        ("```{nobody-knows-it} Seven\n:say: 8\n\nabout 9\n```\n", ["1: Seven", "2: 8", "4: 9"]),
        ("```{eval-rst}\nThe loss is 7.\n```\n", ["2: 7"]),
        ("::::{grid}\n:::{grid-item-card} Title of 7\nabout 8\n:::\n::::\n", ["2: 7", "3: 8"]),
        (":::note\nabout 7\n:::\n", ["2: 7"]),
        ("```{code-block} python\n:caption: the 7 laws\nx = 8\n```\n", ["2: 7"]),
        ("<p>\nThe loss\nis 7.\n</p>\n", ["3: 7"]),
        ("<div>The loss is\n<b>seven</b></div>\n", ["2: seven"]),
        ('<img src="a7.png" alt="loss of 7">\n', ["1: 7"]),
        ('the <abbr title="7 laws">laws</abbr>\n', ["1: 7"]),
        ("```{raw} html\n<p>7 laws</p>\n```\n", ["2: 7"]),
        ("the {abbr}`LAW (7 laws)` and {ref}`seven <law-7>`\n", ["1: 7", "1: seven"]),
        ("---\ntitle: The 7 laws\n---\n\ntext\n", ["2: 7"]),
        ("> quoted: 7\n\n- a **bold 8**\n", ["1: 7", "3: 8"]),
        ("loss of &#55; %\n", ["1: 7"]),
        (":::{claim} a\n:kind: exact\n:title: the 7 laws\n1 == 1\n:::\n", ["3: 7"]),
    ],
)
def test_a_number_is_found_wherever_a_reader_sees_it(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "```{code-block} python\n:linenos:\nx = 7\n```\n",
        "```{code} python\nx = 7\n```\n",
        "```{math}\n:label: eq-7\nx = 7\n```\n",
        "```{mermaid}\ngraph 7\n```\n",
        "```{literalinclude} a7.py\n:lines: 1-7\n```\n",
        "```{toctree}\n:maxdepth: 2\nnote-7\n```\n",
        "```{figure} a7.png\n:width: 70%\n:alt: loss of {num}`8`\n\nA loss of {num}`nine`\n```\n",
        ":::{note} The {num}`seven` laws\nText.\n:::\n",
        "<!-- 7 is not seen -->\n",
        "<style>\np { margin: 7px }\n</style>\n",
        '<p style="margin: 7px">text</p>\n',
        "a {math}`7x` and {code}`x = 7`\n",
        "# The {num}`two` halves of {num}`half`\n".replace("halves", "parts"),
    ],
)
def test_notation_layout_and_marked_numbers_pass(text: str) -> None:
    assert found(text) == []


def test_a_claim_inside_any_directive_counts() -> None:
    text = "::::{nobody-knows-it} Title\n:say: it\n\n:::{claim} a\n:kind: exact\n1 == 1\n:::\n::::\n"
    note = parse_note(text, file=Path("note.md"), shown="note.md")
    assert [(claim.id, claim.line) for claim in note.claims] == [("a", 4)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("```{include} other.txt\n```\n", "{include} shows 'other.txt'"),
        ("```{csv-table} T\n:file: losses.csv\n```\n", "{csv-table} shows 'losses.csv'"),
        ("```{raw} html\n:file: losses.html\n```\n", "{raw} shows 'losses.html'"),
    ],
)
def test_text_that_stands_elsewhere_is_refused(text: str, shown: str) -> None:
    (problem,) = parse_note(text, file=Path("note.md"), shown="note.md").problems
    assert problem.message == f"{shown}, in which no number is checked; need the text itself"


def test_a_value_in_a_caption_is_borrowed() -> None:
    text = "```{figure} a.png\n:alt: loss of {val}`loss`\n\nA loss of {val}`loss .2`\n```\n"
    note = parse_note(text, file=Path("note.md"), shown="note.md")
    assert [(m.claim_id, m.decimals, m.line) for m in note.mentions] == [("loss", None, 2), ("loss", 2, 4)]
