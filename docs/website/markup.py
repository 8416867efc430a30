"""Printed pages as Sphinx takes them quickly: headings in Markdown, what stands between them as HTML.

Sphinx needs headings for titles, contents and links. A formula book has tens of thousands of links and symbols, which
its document tree would carry at a cost of minutes; tests follow every link of the pages that come out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.attrs import attrs_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

_FENCE = "`" * 6
#: Ends of lines within tables and lists, each of which would be a node of its own in a browser.
_BETWEEN_CELLS = re.compile(r"(</?(?:thead|tbody|tr|t[hd]|ul|ol)>|</li>)\n(?=<)")

#: What is printed in other words than those of Markdown: what the theme and the script of the site look for.
_SHAPES = {
    "math_inline": '<span class="math">{}</span>',
    "math_block": '<div class="math display">{}</div>\n',
    "code_inline": '<code class="docutils literal notranslate">{}</code>',
    "table_open": '<div class="table-wrapper docutils container"><table class="docutils">\n',
    "table_close": "</table></div>\n",
}


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    reader.use(dollarmath_plugin).use(attrs_plugin, spans=True)
    for name, shape in _SHAPES.items():
        reader.renderer.rules[name] = partial(_shaped, shape)
    return reader


def _shaped(shape: str, tokens: Sequence[Token], place: int, *_: Any) -> str:
    text = html.escape(tokens[place].content.strip(), quote=False)
    # A long name may break after an underscore.
    return shape.format(text.replace("_", "_<wbr>") if tokens[place].type == "code_inline" else text)


_READER = _reader()


def boxed(name: str, lines: list[str]) -> list[str]:
    """Lines of Markdown in a box that the style of the site knows by a name."""
    return [f'<div class="{name}">', "", *lines, "", "</div>"]


def with_html(page: str) -> str:
    """Convert what stands between the headings and directives of a page of Markdown to HTML."""
    tokens = _READER.parse(page)
    parts: list[str] = []
    between: list[Token] = []

    def close() -> None:
        if text := _READER.renderer.render(between, _READER.options, {}).strip():
            text = _BETWEEN_CELLS.sub(r"\1", text)
            parts.append(f"{_FENCE}{{raw}} html\n{text}\n{_FENCE}\n")
        between.clear()

    places = iter(range(len(tokens)))
    for place in places:
        token = tokens[place]
        if token.type == "heading_open" and token.level == 0:
            close()
            parts.append(f"{'#' * int(token.tag[1:])} {tokens[next(places)].content}\n")
            next(places)
        elif token.type == "fence" and token.info and token.level == 0:
            close()
            parts.append(f"{token.markup}{token.info}\n{token.content}{token.markup}\n")
        else:
            between.append(_led(token))
    close()
    return "\n".join(parts)


def _led(token: Token) -> Token:
    """A token with its links to pages as links to what becomes of them."""
    for each in _within(token):
        href = each.attrs.get("href")
        if each.type == "link_open" and isinstance(href, str):
            outside = re.match(r"[a-z]+:", href)
            each.attrSet("class", "reference external" if outside else "reference internal")
            if not outside:
                each.attrSet("href", re.sub(r"\.md(?=#|$)", ".html", href))
    return token


def _within(token: Token) -> Iterator[Token]:
    yield token
    for child in token.children or ():
        yield from _within(child)
