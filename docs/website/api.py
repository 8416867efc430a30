"""The reference by task: a page for each kind of question, and one for each model."""

from __future__ import annotations

from collections.abc import Iterable

from mlsysim.book.markdown import code, joined
from website import model_reference
from website.knowledge import Knowledge
from website.markup import with_html
from website.public_names import TASKS, anchor, by_page, directive, short


def pages(known: Knowledge) -> dict[str, str]:
    """A page per task and per model, and one that lists them."""
    names = by_page()
    found = {"api/models.md": model_reference.overview(known)}
    found |= {f"api/{page}.md": _page(task.title, task.about, names[page]) for page, task in TASKS.items()}
    found |= {f"reference/{model.__name__}.md": model_reference.page(known, model, names) for model in known.models}
    rows = [
        f"- [{task.title}]({page}.md): "
        + ", ".join(f"[{code(short(name))}]({page}.md#{anchor(name)})" for name in names[page])
        for page, task in TASKS.items()
    ]
    models = ", ".join(f"[{code(model.__name__)}](../reference/{model.__name__}.md)" for model in known.models)
    found["api/index.md"] = with_html(joined([
        "# Python", "", "Every public name of `mlsysim`, by task. Names load when they are first used.", "",
        f"- [Models and their arguments](models.md): {models}", *rows,
    ]))  # fmt: skip
    return found


def _page(title: str, about: str, names: Iterable[str]) -> str:
    lines = [f"# {title}", "", about, ""]
    for name in names:
        lines += [f"## {short(name)}", "", "```{eval-rst}", *directive(name), "```", ""]
    return joined(lines)
