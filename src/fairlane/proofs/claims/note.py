"""Reading a MyST note: its claims, the numbers its prose borrows from them, and what is malformed.

Only the block and inline structure comes from the Markdown parser; a claim's own text is read here, so that every
message names a file and a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from mdit_py_plugins.myst_role import myst_role_plugin

from fairlane.proofs.claims.claim import Claim, Kind, Mention, Note, Problem
from fairlane.proofs.claims.directive import Content, read_directive, read_options
from fairlane.proofs.claims.prose import read_html, read_inline, read_text

_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
# What of a note's front matter a site shows.
_SHOWN = re.compile(r"(?:title|subtitle|description|abstract):.*")


def new_markdown() -> MarkdownIt:
    """A parser of notes: CommonMark with tables, colon fences, roles, dollar math and front matter."""
    parser = MarkdownIt("commonmark").enable("table")
    return parser.use(front_matter_plugin).use(colon_fence_plugin).use(myst_role_plugin).use(dollarmath_plugin)


@cache
def markdown() -> MarkdownIt:
    """The one parser that reads every note."""
    return new_markdown()


def parse_note(text: str, *, file: Path, shown: str) -> Note:
    """A note as its claims, mentions and problems.

    Parameters
    ----------
    text : str
        The Markdown.
    file : Path
        Where it stands; relative files of claims are looked up beside it.
    shown : str
        Its name in messages.

    Returns
    -------
    Note
        Always; what is malformed is in ``problems``.
    """
    claims: list[Claim] = []
    mentions: list[Mention] = []
    problems: list[Problem] = []
    titles: list[str] = []

    def inline(children: Sequence[Token], line: int) -> None:
        read_inline(children, path=shown, line=line, mentions=mentions, problems=problems)

    def walk(markdown_text: str, first_line: int) -> None:
        line = first_line
        heading = False
        lines = markdown_text.splitlines()
        for token in markdown().parse(markdown_text):
            if token.map is not None:
                line = first_line + token.map[0]
            if token.type == "heading_open":
                heading = not titles
            elif token.type == "inline":
                if heading:
                    titles.append(token.content)
                    heading = False
                inline(token.children or (), line)
            elif token.type in ("fence", "colon_fence"):
                directive(token, line, closed=_is_closed(token, lines))
            elif token.type == "html_block":
                read_html(token.content, path=shown, line=line, problems=problems)
            elif token.type == "front_matter":
                for i, entry in enumerate(token.content.splitlines()):
                    if _SHOWN.match(entry):
                        read_text(entry, path=shown, line=line + 1 + i, problems=problems)

    def caption(markdown_text: str, line: int) -> None:
        for token in markdown().parseInline(markdown_text):
            inline(token.children or (), line)

    def directive(token: Token, line: int, *, closed: bool) -> None:
        found = read_directive(token, line)
        if found is None:
            return
        if found.name == "claim":
            if not closed:
                # Markdown closes it at the end of the text, and takes every later claim for a part of this one.
                message = f"claim {found.argument!r} is not closed; need a line {token.markup!r} at its end"
                problems.append(Problem(path=shown, line=line, message=message))
            claim = _parse_claim(found.argument, token, file=file, path=shown, line=line, problems=problems)
            if claim is not None:
                claims.append(claim)
                title = claim.find("title")
                if title is not None:
                    caption(title.value, title.line)
            return
        reason = found.unread()
        if reason is not None:
            problems.append(Problem(path=shown, line=line, message=reason))
        for shown_text, at in found.captions(line):
            caption(shown_text, at)
        if found.content is Content.MARKDOWN:
            walk(found.body, found.body_line)
        elif found.content is Content.HTML:
            read_html(found.body, path=shown, line=found.body_line, problems=problems)

    walk(text, 1)
    title = titles[0] if titles else file.stem
    return Note(
        path=shown,
        file=file,
        title=title,
        text=text,
        claims=tuple(claims),
        mentions=tuple(mentions),
        problems=tuple(sorted(problems, key=lambda p: p.line)),
    )


def _is_closed(token: Token, lines: Sequence[str]) -> bool:
    """Whether a fence ends with its own closing line."""
    assert token.map is not None, "a fence stands on lines"
    first, end = token.map
    last = lines[end - 1].strip(" >") if end - 1 < len(lines) else ""
    return end - first > 1 and len(last) >= len(token.markup) and not last.strip(token.markup[0])


def _parse_claim(
    argument: str, token: Token, *, file: Path, path: str, line: int, problems: list[Problem]
) -> Claim | None:
    def bad(at: int, message: str) -> None:
        problems.append(Problem(path=path, line=at, message=message))

    if _ID.fullmatch(argument) is None:
        bad(line, f"claim id is {argument!r}; need lower-case words joined by single hyphens, such as 'yield-step'")
        return None
    content = token.content
    options, rest = read_options(content, line + 1)
    seen: dict[str, int] = {}
    for option in options:
        if option.name in seen:
            bad(option.line, f"claim {argument!r} gives :{option.name}: again (first on line {seen[option.name]})")
            return None
        seen[option.name] = option.line
    kinds = [option for option in options if option.name == "kind"]
    if not kinds:
        bad(line, f"claim {argument!r} has no :kind:; need one of {', '.join(Kind)}")
        return None
    if kinds[0].value not in list(Kind):
        bad(kinds[0].line, f"claim {argument!r} has kind {kinds[0].value!r}; need one of {', '.join(Kind)}")
        return None
    lines = content.splitlines()[rest:]
    while lines and not lines[0].strip():
        lines.pop(0)
        rest += 1
    return Claim(
        id=argument,
        kind=Kind(kinds[0].value),
        options=tuple(option for option in options if option.name != "kind"),
        body="\n".join(lines).rstrip(),
        path=path,
        folder=file.parent,
        line=line,
        last_line=line + (token.map[1] - token.map[0] if token.map is not None else 1) - 1,
        body_line=line + 1 + rest,
    )


def note_files(path: Path) -> Iterator[Path]:
    """Markdown files of a note or of a folder of notes, by name; hidden and underscored folders are left out."""
    if path.is_file():
        yield path
        return
    for file in sorted(path.rglob("*.md")):
        if not any(part.startswith((".", "_")) for part in file.relative_to(path).parts):
            yield file
