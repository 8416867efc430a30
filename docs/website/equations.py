"""Equations as KaTeX takes them, and headings that are reached by the names that GitHub gives them."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_DOLLARS = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)


def setup(app: Sphinx) -> dict[str, Any]:
    """Make it the renderer of mathematics."""
    app.add_html_math_renderer("katex", (_inline, None), (_display, None))
    app.add_js_file("katex.min.js", loading_method="defer")
    app.add_js_file("equations.js", loading_method="defer")
    app.add_js_file("site.js", loading_method="defer")
    app.add_css_file("equations.css")
    app.connect("doctree-read", _name)
    app.connect("doctree-read", _mark)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer: Any, node: nodes.math) -> None:
    _put(writer, node, "span", "")


def _display(writer: Any, node: nodes.math_block) -> None:
    _put(writer, node, "div", "display")


def _put(writer: Any, node: nodes.Element, tag: str, kind: str) -> None:
    text = writer.encode(node.astext())
    writer.body.append(f"{writer.starttag(node, tag, '', CLASS=f'math {kind}'.strip())}{text}</{tag}>")
    raise nodes.SkipNode


def _mark(app: Sphinx, tree: nodes.document) -> None:
    """Let equations between dollar signs in outputs of notebooks, which Jupyter typesets, be equations here too."""
    for node in tree.findall(nodes.raw):
        if node.get("format") == "html" and "$$" in node.astext():
            marked = _DOLLARS.sub(r'<div class="math display">\1</div>', node.astext())
            node.children = [nodes.Text(marked)]
            node.rawsource = marked


def _name(app: Sphinx, tree: nodes.document) -> None:
    """Let a heading be reached by its name in links of printed pages, where docutils has another."""
    slugs = app.env.metadata[app.env.docname].get("myst_slugs", {})
    wanted = {found[1]: slug for slug, found in slugs.items() if found[1] != slug}
    for section in tree.findall(nodes.section):
        section["ids"] += [wanted[each] for each in section["ids"] if each in wanted]
