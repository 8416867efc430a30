"""Calculators as pages of the theme, with KaTeX shared."""

from __future__ import annotations

from mlsysim.book.markdown import code, joined, prose
from mlsysim.models import every_model
from mlsysim.web.pages import embedded, style
from website.knowledge import Knowledge, Model


def pages(known: Knowledge) -> dict[str, str]:
    """A page per model, and one that lists them."""
    found = {f"calculators/{model.__name__}.md": _page(model) for model in known.models}
    rows = [f"- [{prose(model.question())}]({model.__name__}.md), by {code(model.__name__)}" for model in known.models]
    found["calculators/index.md"] = joined([
        "# Calculators", "",
        "Each answers as you type, in this browser and without a server: the same equations as in Python, printed as "
        "JavaScript.", "", *rows, "", "[How they are made](../docs/calculators.md), and what is not in them.",
    ])  # fmt: skip
    return found


def scripts() -> dict[str, str]:
    """A script per model, and the style that they share."""
    found = {f"static/calculators/{model.__name__}.js": embedded(model) for model in every_model()}
    return {**found, "static/calculators/calculator.css": style()}


def _page(model: Model) -> str:
    """An element that the script fills."""
    name = model.__name__
    return joined([
        "---", "hide-toc: true", "---", "",
        f"# {prose(model.question())}", "",
        f"Formulas, inputs and accuracy: [{name}](../models/{name}.md).", "",
        "```{raw} html",
        '<link rel="stylesheet" href="../_static/calculators/calculator.css">',
        '<link rel="stylesheet" href="../_static/calculator.css">',
        '<div id="calculator" data-pages="../docs"></div>',
        "<noscript>This page computes in the browser and needs JavaScript.</noscript>",
        f'<script defer src="../_static/calculators/{name}.js"></script>',
        "```",
    ])  # fmt: skip
