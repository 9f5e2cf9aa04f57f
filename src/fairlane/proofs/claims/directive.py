"""What a reader sees of a directive: its title, captions, alternative text and content.

Whatever is not known to be literal counts as prose, so that a directive nobody thought of hides no number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from markdown_it.token import Token

from fairlane.proofs.claims.claim import Option

_DIRECTIVE = re.compile(r"\{([^\s{}]+)\}\s*(.*)")
_OPTION = re.compile(r":([a-z][a-z-]*):(?:\s+(.*?))?\s*$")
_YAML = re.compile(r"([a-z][a-z-]*):(?:\s+(.*?))?\s*$")
# Content and argument are notation or names; their captions and the like are still read.
_LITERAL = frozenset(
    [
        "code",
        "code-block",
        "code-cell",
        "sourcecode",
        "highlight",
        "literalinclude",
        "math",
        "mermaid",
        "graphviz",
        "digraph",
        "graph",
        "toctree",
        "index",
        "contents",
        "bibliography",
        "claim-graph",
        "proof-list",
        "doctest",
        "testcode",
        "testoutput",
        "testsetup",
    ]
)
# The argument is a file or a condition, the content is prose.
_NAMED = frozenset(["figure", "image", "figure-md", "only", "ifconfig"])
# Options that say how something is laid out. The value of any other one counts as prose.
_LAYOUT = frozenset(
    [
        "class",
        "name",
        "label",
        "figclass",
        "width",
        "height",
        "scale",
        "align",
        "figwidth",
        "target",
        "loading",
        "widths",
        "columns",
        "column",
        "gutter",
        "margin",
        "padding",
        "header-rows",
        "stub-columns",
        "open",
        "link",
        "link-type",
        "shadow",
        "text-align",
        "color",
        "icon",
        "animate",
        "format",
        "delim",
        "quote",
        "escape",
        "encoding",
        "maxdepth",
        "depth",
        "numbered",
        "glob",
        "hidden",
        "reversed",
        "titlesonly",
        "lineno-start",
        "linenos",
        "number-lines",
        "emphasize-lines",
        "lines",
        "dedent",
        "language",
        "force",
        "start-line",
        "end-line",
    ]
)


class Content(Enum):
    """How a directive's content is read."""

    MARKDOWN = "markdown"
    HTML = "html"
    LITERAL = "literal"


class Directive(NamedTuple):
    """One directive, taken apart.

    Parameters
    ----------
    name, argument : str
        From its first line.
    options : list of Option
        With their lines.
    body : str
        What follows the options.
    body_line : int
        Its first line.
    """

    name: str
    argument: str
    options: list[Option]
    body: str
    body_line: int

    @property
    def content(self) -> Content:
        """How its body is read."""
        if self.name in _LITERAL:
            return Content.LITERAL
        return Content.HTML if self.name == "raw" else Content.MARKDOWN

    def captions(self, line: int) -> Iterator[tuple[str, int]]:
        """Title, caption, alternative text and whatever else options show, each with its line."""
        if self.content is Content.MARKDOWN and self.name not in _NAMED:
            yield self.argument, line
        for option in self.options:
            if option.name not in _LAYOUT:
                yield option.value, option.line

    def unread(self) -> str | None:
        """Why the reader sees text that stands elsewhere, None where that is not so."""
        if self.name == "include":
            return f"{{include}} shows {self.argument!r}, in which no number is checked; need the text itself"
        for option in self.options:
            if option.name in ("file", "url") and self.name not in _LITERAL:
                return f"{{{self.name}}} shows {option.value!r}, in which no number is checked; need the text itself"
        return None


def read_directive(token: Token, line: int) -> Directive | None:
    """A fence as a directive, None for a block of code; three colons without a name are read as prose."""
    match = _DIRECTIVE.fullmatch(token.info.strip())
    if match is None:
        if token.type != "colon_fence":
            return None
        name, argument = "", token.info.strip()
    else:
        name, argument = match.groups()
    options, count = read_options(token.content, line + 1)
    body = "\n".join(token.content.splitlines()[count:])
    return Directive(name=name, argument=argument, options=options, body=body, body_line=line + 1 + count)


def read_options(content: str, first_line: int) -> tuple[list[Option], int]:
    """Options at the top of a directive, and how many lines they take. Indented lines continue the option above.

    ``:name: value`` a line, or ``name: value`` between two lines of three hyphens.
    """
    options: list[Option] = []
    lines = content.splitlines()
    in_yaml = bool(lines) and lines[0].strip() == "---" and "---" in (text.strip() for text in lines[1:])
    count = 0
    for i, text in enumerate(lines):
        if in_yaml and text.strip() == "---":
            count = i + 1
            if i:
                break
            continue
        match = (_YAML if in_yaml else _OPTION).match(text)
        if match is not None:
            options.append(Option(name=match[1], value=match[2] or "", line=first_line + i))
        elif options and text[:1].isspace() and text.strip():
            last = options[-1]
            options[-1] = Option(name=last.name, value=f"{last.value}\n{text.strip()}".strip("\n"), line=last.line)
        elif not in_yaml:
            break
        count = i + 1
    return options, count
