"""The public names of mlsysim by their docstrings."""

from __future__ import annotations

import inspect
from typing import Any

import mlsysim
from mlsysim.book.markdown import code, joined
from mlsysim.catalog import Catalog, Entry
from mlsysim.catalog.loader import Group
from mlsysim.models import PerformanceModel
from mlsysim.study.results.result import Result
from website.knowledge import Knowledge

#: Pages with their titles and what stands on them.
TITLES = {
    "models": (
        "Models and their verbs",
        "What answers questions. The verbs of all models stand with `PerformanceModel`.",
    ),
    "results": ("Results", "What verbs return, and what reads them."),
    "arguments": ("Arguments", "What an argument may be beside a number, a text and a name of the catalog."),
    "catalog": ("Entries of the catalog", "Classes of entries, and how a file of them is read."),
    "language": ("Variables, formulas, systems", "What formulas and models of one's own are written in."),
    "routing": ("Logs of routers", "What a log of a router says."),
}
#: Pages of names that no kind and no room tells.
PAGE_OF = {
    "Q_": "arguments", "ureg": "arguments", "derived": "arguments", "distributions": "arguments", "linked": "arguments",
    "compare": "results", "load_catalog": "catalog", "dropped_tokens": "routing", "expert_loads": "routing",
    "routing_imbalance": "routing",
}  # fmt: skip
#: Classes whose methods are for users.
WITH_METHODS = (PerformanceModel, Result, Catalog)


def pages(known: Knowledge) -> dict[str, str]:
    """A page per kind of name, and one that lists them."""
    names: dict[str, list[str]] = {page: [] for page in TITLES}
    for name in sorted(mlsysim.__all__, key=str.lower):
        if page := page_of(name):
            names[page].append(name)
    names["models"].sort(key=lambda name: name != "PerformanceModel")
    found = {f"api/{page}.md": _page(*TITLES[page], names[page]) for page in TITLES}
    rows = [f"- [{title}]({page}.md): {', '.join(map(code, names[page]))}" for page, (title, _) in TITLES.items()]
    found["api/index.md"] = joined(
        ["# Python", "", "Public names of `mlsysim`. They load when they are first used.", "", *rows]
    )
    return found


def page_of(name: str) -> str:
    """The page of a public name; none for the version and for groups of entries, which the catalog lists."""
    what = getattr(mlsysim, name)
    if name == "__version__" or isinstance(what, Group):
        return ""
    if inspect.isclass(what) and issubclass(what, PerformanceModel):
        return "models"
    if inspect.isclass(what) and issubclass(what, Entry | Catalog):
        return "catalog"
    return PAGE_OF.get(name) or ("results" if what.__module__.startswith("mlsysim.study") else "language")


def _page(title: str, about: str, names: list[str]) -> str:
    lines = [f"# {title}", "", about, ""]
    for name in names:
        lines += [f"## {name}", "", "```{eval-rst}", *_directive(name, getattr(mlsysim, name)), "```", ""]
    return joined(lines)


def _directive(name: str, what: Any) -> list[str]:
    """How Sphinx documents a name; the signature of a model has all its arguments, which its page lists."""
    if not inspect.isclass(what):
        kind = "autofunction" if inspect.isroutine(what) else "autodata"
        return [f".. {kind}:: mlsysim.{name}", *(["   :no-value:"] if kind == "autodata" else [])]
    options = ["   :members:"] if what in WITH_METHODS else []
    return [f".. autoclass:: mlsysim.{name}", *options]
