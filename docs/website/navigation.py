"""The tree beside a page, computed from titles alone: the theme shows nothing else, and headings are a thousand."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

#: Before the theme asks for the tree.
_EARLY = 400


def setup(app: Sphinx) -> dict[str, Any]:
    """Put it before the theme."""
    app.connect("html-page-context", _lighten, priority=_EARLY)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def _lighten(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: nodes.document | None) -> None:
    whole, env = context.get("toctree"), app.env
    if whole is None:
        return
    if not hasattr(app, "titles_of_pages"):
        app.titles_of_pages = {name: _titles(toc) for name, toc in env.tocs.items()}  # type: ignore[attr-defined]

    def of_titles(**options: Any) -> str:
        tocs = env.tocs
        env.tocs = app.titles_of_pages  # type: ignore[attr-defined]
        try:
            return whole(**options)
        finally:
            env.tocs = tocs

    context["toctree"] = of_titles


def _titles(toc: nodes.bullet_list) -> nodes.bullet_list:
    """The contents of a page without its headings: its title, and the trees of pages below it."""
    found = toc.deepcopy()
    for item in found.children:
        if len(item) > 1:
            below = list(item[1].findall(addnodes.toctree))
            item[1:] = [nodes.bullet_list("", *below)] if below else []
    return found
