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

from fairlane.proofs.claims.graph_page import box_styles
from fairlane.proofs.claims.note import new_markdown

_DIRECTIVE = re.compile(r"\{([\w:-]+)\}\s*(.*)")
_OPTION = re.compile(r":([a-z-]+):\s*(.*)")

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --line: #d4d8dd; --link: #0b5cad; --code: #f4f5f7; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --paper: #15181c; --line: #3a4048; --link: #7cb7ff; --code: #20242a; }
}
body { margin: 0 auto; padding: 1rem; max-width: 60rem; font: 16px/1.55 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); overflow-wrap: anywhere; }
a { color: var(--link); }
pre { background: var(--code); padding: .6rem .8rem; overflow-x: auto; font-size: .85rem; line-height: 1.4; }
code { font-family: ui-monospace, monospace; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { border: 1px solid var(--line); padding: .25rem .6rem; text-align: left; }
.admonition { border-left: .35rem solid var(--line); padding: .1rem .9rem .4rem; margin: 1.1rem 0;
  background: color-mix(in srgb, var(--code) 60%, transparent); }
.admonition-title { font-weight: 600; margin: -.1rem -.9rem .4rem; padding: .3rem .9rem; }
.claim-graph-frame { overflow-x: auto; background: #fff; border: 1px solid var(--line); }
.claim-legend { list-style: none; padding: 0; }
.claim-swatch { display: inline-block; width: .9rem; height: .9rem; border: 1.5px solid; border-radius: 3px;
  margin-right: .5rem; vertical-align: -.1rem; }
"""


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
    body = _parser().render(text)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}{box_styles()}\n</style>\n</head>\n<body>\n"
        f'<nav><a href="{up}index.html">Notes</a> · <a href="{up}claim-graph.html">Claim graph</a></nav>\n'
        f"<main>\n{body}</main>\n</body>\n</html>\n"
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
