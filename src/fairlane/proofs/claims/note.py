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

from fairlane.proofs.claims.claim import Claim, Kind, Mention, Note, Option, Problem
from fairlane.proofs.claims.prose import read_inline

_DIRECTIVE = re.compile(r"\{([\w:-]+)\}\s*(.*)")
_OPTION = re.compile(r":([a-z][a-z-]*):(?:\s+(.*?))?\s*$")
_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
# Directives whose content is Markdown again: a claim or a bare number inside one counts like any other.
_NESTING = frozenset(
    [
        "note",
        "tip",
        "hint",
        "important",
        "warning",
        "caution",
        "danger",
        "attention",
        "error",
        "seealso",
        "admonition",
        "dropdown",
        "details",
        "epigraph",
        "sidebar",
        "topic",
        "card",
        "grid",
        "list-table",
    ]
)


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
                read_inline(token.children or (), path=shown, line=line, mentions=mentions, problems=problems)
            elif token.type in ("fence", "colon_fence"):
                directive(token, line, closed=_is_closed(token, lines))

    def directive(token: Token, line: int, *, closed: bool) -> None:
        match = _DIRECTIVE.fullmatch(token.info.strip())
        if match is None:
            return
        name, argument = match.groups()
        if name == "claim":
            if not closed:
                # Markdown closes it at the end of the text, and takes every later claim for a part of this one.
                message = f"claim {argument!r} is not closed; need a line {token.markup!r} at its end"
                problems.append(Problem(path=shown, line=line, message=message))
            claim = _parse_claim(argument, token, file=file, path=shown, line=line, problems=problems)
            if claim is not None:
                claims.append(claim)
        elif name in _NESTING:
            body, skipped = _without_options(token.content)
            walk(body, line + 1 + skipped)

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
    options, rest = _read_options(content, line + 1)
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


def _read_options(content: str, first_line: int) -> tuple[list[Option], int]:
    """Options at the top of a directive, and how many lines they take. Indented lines continue the option above."""
    options: list[Option] = []
    lines = content.splitlines()
    count = 0
    for i, text in enumerate(lines):
        match = _OPTION.match(text)
        if match is not None:
            options.append(Option(name=match[1], value=match[2] or "", line=first_line + i))
        elif options and text[:1].isspace() and text.strip():
            last = options[-1]
            options[-1] = Option(name=last.name, value=f"{last.value}\n{text.strip()}".strip("\n"), line=last.line)
        else:
            break
        count = i + 1
    return options, count


def _without_options(content: str) -> tuple[str, int]:
    _, count = _read_options(content, 0)
    return "\n".join(content.splitlines()[count:]), count


def note_files(path: Path) -> Iterator[Path]:
    """Markdown files of a note or of a folder of notes, by name; hidden and underscored folders are left out."""
    if path.is_file():
        yield path
        return
    for file in sorted(path.rglob("*.md")):
        if not any(part.startswith((".", "_")) for part in file.relative_to(path).parts):
            yield file
