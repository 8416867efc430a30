"""The head of a page: its description, and what is shown where a link to it is shared."""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from sphinx.application import Sphinx

#: Characters that search engines and previews show of a description.
LONGEST = 200
PREVIEW = "_static/preview.png"
PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the tags to every page."""
    app.connect("html-page-context", _describe)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def _describe(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.document | None) -> None:
    if tree is None:
        return
    base = app.config.html_baseurl
    told = {
        "og:type": "website",
        "og:site_name": app.config.project,
        "og:title": unescape(TAG.sub("", context["title"])),
        "og:description": (about := description(tree)),
        "og:image": urljoin(base, PREVIEW) if base else context["pathto"](PREVIEW, 1),
        "og:image:alt": "An equation of the library with its numbers put in, and its curve",
    }
    if base:
        told["og:url"] = urljoin(base, context["pageurl"])
    tags = [
        f'<meta name="description" content="{escape(about)}">',
        '<meta name="twitter:card" content="summary_large_image">',
    ]
    tags += [f'<meta property="{name}" content="{escape(text)}">' for name, text in told.items()]
    context["metatags"] += "\n".join(tags)


def description(tree: nodes.document) -> str:
    """The first paragraph of a page, cut at a word."""
    text = " ".join(next(_paragraphs(tree), tree.get("title", "")).split())
    return text if len(text) <= LONGEST else text[:LONGEST].rpartition(" ")[0] + " …"


def _paragraphs(tree: nodes.document):
    """Texts of paragraphs with words, of the document or of HTML in it."""
    for node in tree.findall(lambda each: isinstance(each, nodes.paragraph | nodes.raw)):
        texts = [node.astext()] if isinstance(node, nodes.paragraph) else PARAGRAPH.findall(node.astext())
        yield from (text for text in (unescape(TAG.sub("", each)).strip() for each in texts) if " " in text)
