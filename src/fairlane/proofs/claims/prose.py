"""Numbers in prose: each is borrowed from a claim, marked as a mere label, or reported.

A number typed into a sentence stays when the claim behind it changes. So prose takes its numbers from claims by
``{val}``, marks the harmless ones (a section number, a year, the two of "two questions") by ``{num}``, and everything
else is a problem, in digits or in words. "One", "once", "both" and ordinals pass: they are mostly no quantities.
Code spans and formulas are notation, not assertions, and pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser

from markdown_it.token import Token

from fairlane.proofs.claims.claim import Mention, Problem

_WHOLE = (
    "zero|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|"
    "hundreds?|thousands?|millions?|billions?|dozens?|half|halves|twice|thrice|"
    "doubl(?:e[sd]?|ing)|tripl(?:e[sd]?|ing)|quadrupl(?:e[sd]?|ing)|(?:two|three|four|five|ten|hundred)fold"
)
_PART = "(?:third|quarter|fifth|sixth|seventh|eighth|ninth|tenth|hundredth|thousandth)"
# "a third" is a number as often as an ordinal; "the third" is not.
_WORD = rf"(?:{_WHOLE}|{_PART}s|(?:a|one)[ -]{_PART})"
# A number does not start inside a word: p99, H2 and x_1 are names.
_NUMBER = re.compile(
    r"(?<![\w^])[+\-−]?(?:\d[\d.,/]*\d|\d|[½⅓⅔¼¾⅕])%?" + rf"|(?<!\w){_WORD}(?:[ -]{_WORD}|-one)*(?!\w)", re.IGNORECASE
)
_VALUE = re.compile(r"\s*([a-z][a-z0-9-]*)(?:\s+\.(\d{1,2}))?\s*")
# Roles whose content is notation or a name; of any other one the reader sees the text.
_NOTATION = frozenset(
    ["num", "math", "eq", "code", "kbd", "samp", "file", "command", "download", "cite", "cite:p", "cite:t"]
)
_SEEN_ATTRIBUTES = frozenset(["alt", "title", "aria-label", "placeholder", "summary", "label", "value", "content"])


def bare_numbers(text: str) -> tuple[str, ...]:
    """Numbers that a run of plain text contains, in digits or in words.

    Examples
    --------
    >>> bare_numbers("p99 of 2 lanes is 9/5, not 1.75")
    ('2', '9/5', '1.75')
    >>> bare_numbers("One loses two thirds, the third twenty-one")
    ('two thirds', 'twenty-one')
    """
    return tuple(match.group() for match in _NUMBER.finditer(text))


def read_text(text: str, *, path: str, line: int, problems: list[Problem]) -> None:
    """Report the bare numbers of plain text whose first line is given."""
    for i, part in enumerate(text.split("\n")):
        for number in bare_numbers(part):
            wanted = f"{{val}}`claim-id`, or {{num}}`{number}` for a label"
            problems.append(Problem(path=path, line=line + i, message=f"bare number {number} in prose; need {wanted}"))


def read_html(text: str, *, path: str, line: int, problems: list[Problem]) -> None:
    """The same of what a reader sees of HTML: its text, and attributes such as ``alt`` and ``title``."""
    reader = _SeenText()
    reader.feed(text)
    reader.close()
    for at, seen in reader.seen:
        read_text(seen, path=path, line=line + at - 1, problems=problems)


class _SeenText(HTMLParser):
    """Pieces of visible text with their lines; comments and styles are not seen."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[int, str]] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_style = tag == "style"
        self.seen += [(self.getpos()[0], value) for name, value in attrs if value and name in _SEEN_ATTRIBUTES]

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if not self._in_style:
            self.seen.append((self.getpos()[0], data))


def read_inline(
    children: Sequence[Token], *, path: str, line: int, mentions: list[Mention], problems: list[Problem]
) -> None:
    """Collect mentions and problems of one paragraph, heading, cell or caption.

    Parameters
    ----------
    children : sequence of Token
        The inline tokens.
    path, line : str, int
        Where the first of them stands.
    mentions, problems : list
        Receive what is found.
    """
    for token in children:
        title = token.attrs.get("title")
        if title is not None:  # of a link or an image
            read_text(str(title), path=path, line=line, problems=problems)
        if token.type in ("softbreak", "hardbreak"):
            line += 1
        elif token.type == "text":
            read_text(token.content, path=path, line=line, problems=problems)
        elif token.type == "image":
            read_inline(token.children or (), path=path, line=line, mentions=mentions, problems=problems)
        elif token.type == "html_inline":
            read_html(token.content, path=path, line=line, problems=problems)
        elif token.type == "myst_role":
            _read_role(token, path=path, line=line, mentions=mentions, problems=problems)


def _read_role(token: Token, *, path: str, line: int, mentions: list[Mention], problems: list[Problem]) -> None:
    role = str(token.meta.get("name"))
    if role in ("val", "claim"):
        match = _VALUE.fullmatch(token.content)
        if match is None or (role == "claim" and match[2] is not None):
            wanted = "`claim-id` or `claim-id .3`" if role == "val" else "`claim-id`"
            message = f"{{{role}}} holds {token.content!r}; need {wanted}"
            problems.append(Problem(path=path, line=line, message=message))
            return
        decimals = int(match[2]) if match[2] is not None else None
        mentions.append(Mention(role=role, claim_id=match[1], decimals=decimals, path=path, line=line))
    elif role not in _NOTATION:
        # {ref}`text <target>`: the target is not shown
        read_text(re.sub(r"<[^<>]*>\s*$", "", token.content), path=path, line=line, problems=problems)
