"""One Markdown page as one HTML file that needs nothing else: no network, no script, readable on a phone."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.myst_blocks import myst_block_plugin

from fairlane.pictures.page import Markup, render_page
from fairlane.proofs.claims.graph_page import box_styles
from fairlane.proofs.claims.note import new_markdown

_DIRECTIVE = re.compile(r"\{([\w:-]+)\}\s*(.*)")
_OPTION = re.compile(r":([a-z-]+):\s*(.*)")


def page_of(title: str, text: str, *, up: str) -> str:
    """A whole HTML page.

    Parameters
    ----------
    title : str
        The browser's title.
    text : str
        Markdown, with the directives that claim pages use.
    up : str
        The way to the index, such as ``"../"``.
    """
    return render_page(
        "note.html", title=title, up=up, box_styles=Markup(box_styles()), text=Markup(_parser().render(text))
    )


@cache
def _parser() -> MarkdownIt:
    parser = new_markdown().use(myst_block_plugin)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("colon_fence", _fence)
    parser.add_render_rule("front_matter", _nothing)
    parser.add_render_rule("myst_line_comment", _nothing)
    parser.add_render_rule("myst_target", _target)
    return parser


def _nothing(_self: Any, _tokens: Sequence[Token], _i: int, _options: Any, _env: Any) -> str:
    return ""


def _target(_self: Any, tokens: Sequence[Token], i: int, _options: Any, _env: Any) -> str:
    return f'<a id="{html.escape(tokens[i].content)}"></a>\n'


def _fence(_self: Any, tokens: Sequence[Token], i: int, _options: Any, _env: Any) -> str:
    token = tokens[i]
    match = _DIRECTIVE.fullmatch(token.info.strip())
    if match is None:
        return f"<pre><code>{html.escape(token.content)}</code></pre>\n"
    name, argument = match.groups()
    if name == "raw" and argument == "html":
        return token.content
    options, body = _split(token.content)
    if name in ("code-block", "code", "math", "toctree"):
        return f"<pre><code>{html.escape(body)}</code></pre>\n"
    classes = f"admonition {options.get('class', name)}"
    title = html.escape(argument or name.capitalize())
    inner = _parser().render(body)
    return f'<div class="{html.escape(classes)}">\n<p class="admonition-title">{title}</p>\n{inner}</div>\n'


def _split(content: str) -> tuple[Mapping[str, str], str]:
    options: dict[str, str] = {}
    lines = content.splitlines()
    while lines and (match := _OPTION.fullmatch(lines[0])) is not None:
        options[match[1]] = match[2]
        lines.pop(0)
    return options, "\n".join(lines) + "\n"
